"""PPO on a toy environment: rollout from memory, advantages, several epochs of updates."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

WARMUP = 5
ENVS, HORIZON, OBS, ACTIONS, HIDDEN = 32, 64, 64, 8, 256
GAMMA, LAMBDA, CLIP, EPOCHS = 0.99, 0.95, 0.2, 3


def init_params(key):
    a, b, c, d = jax.random.split(key, 4)
    return {
        "in": jax.random.normal(a, (OBS, HIDDEN)) * OBS**-0.5,
        "mid": jax.random.normal(b, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "policy": jax.random.normal(c, (HIDDEN, ACTIONS)) * 0.01,
        "value": jax.random.normal(d, (HIDDEN, 1)) * 0.01,
    }


def network(params, obs):
    x = jnp.tanh(obs @ params["in"])
    x = jnp.tanh(x @ params["mid"])
    return x @ params["policy"], (x @ params["value"])[..., 0]


@jax.jit
def evaluate(params, obs, actions):
    logits, values = network(params, obs)
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]
    return logp, values


def advantages(rewards, values, dones):
    def backward(carry, inputs):
        following, running = carry
        reward, value, done = inputs
        delta = reward + GAMMA * following * (1 - done) - value
        running = delta + GAMMA * LAMBDA * (1 - done) * running
        return (value, running), running

    start = (jnp.zeros(ENVS), jnp.zeros(ENVS))
    _, result = jax.lax.scan(backward, start, (rewards, values, dones), reverse=True)
    return result


if FIXED:
    advantages = jax.jit(advantages)


@jax.jit
def update(params, obs, actions, old_logp, adv, returns):
    def loss(params):
        logits, values = network(params, obs)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]
        ratio = jnp.exp(logp - old_logp)
        gain = jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * adv)
        return -gain.mean() + 0.5 * jnp.mean((values - returns) ** 2)

    for _ in range(EPOCHS):
        grads = jax.grad(loss)(params)
        params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads)
    return params


class Trainer:
    def __init__(self):
        self.params = init_params(jax.random.key(1))
        rng = np.random.default_rng(0)
        self.rollouts = []
        for _ in range(4):
            obs = jnp.asarray(rng.normal(size=(HORIZON, ENVS, OBS)), jnp.float32)
            actions = jnp.asarray(rng.integers(0, ACTIONS, (HORIZON, ENVS)))
            rewards = jnp.asarray(rng.normal(size=(HORIZON, ENVS)), jnp.float32)
            dones = jnp.asarray(rng.random((HORIZON, ENVS)) < 0.02, jnp.float32)
            self.rollouts.append((obs, actions, rewards, dones))

    def step(self, i):
        obs, actions, rewards, dones = self.rollouts[i % len(self.rollouts)]
        logp, values = evaluate(self.params, obs, actions)
        adv = advantages(rewards, values, dones)
        self.params = update(self.params, obs, actions, logp, adv, adv + values)
        jax.block_until_ready(self.params)


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(6):
    for i in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            trainer.step(i + WARMUP)
