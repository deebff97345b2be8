"""A JAX policy gradient loop whose 160 environments are stepped one by one in Python."""

import math
import random

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

ENVS, HORIZON = 160, 12
rng = np.random.default_rng(0)
params = {
    "w1": jnp.asarray(rng.normal(0, 0.3, (4, 64)), jnp.float32),
    "w2": jnp.asarray(rng.normal(0, 0.1, (64, 64)), jnp.float32),
    "w3": jnp.asarray(rng.normal(0, 0.1, (64, 2)), jnp.float32),
}


class CartPole:
    def __init__(self):
        self.reset()

    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]

    def step(self, action):
        for _ in range(6):  # substeps of the integrator
            x, v, angle, spin = self.state
            force = 10.0 if action else -10.0
            sine, cosine = math.sin(angle), math.cos(angle)
            pushed = (force + 0.05 * spin * spin * sine) / 1.1
            turned = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
            moved = pushed - 0.05 * turned * cosine / 1.1
            self.state = [x + 0.003 * v, v + 0.003 * moved, angle + 0.003 * spin, spin + 0.003 * turned]
        if abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2:
            self.reset()
        return self.state


class Batched:
    def __init__(self):
        self.state = rng.uniform(-0.05, 0.05, (ENVS, 4))

    def step(self, actions):
        for _ in range(6):
            x, v, angle, spin = self.state.T
            sine, cosine = np.sin(angle), np.cos(angle)
            pushed = (np.where(actions, 10.0, -10.0) + 0.05 * spin * spin * sine) / 1.1
            turned = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
            moved = pushed - 0.05 * turned * cosine / 1.1
            self.state = np.stack(
                [x + 0.003 * v, v + 0.003 * moved, angle + 0.003 * spin, spin + 0.003 * turned], axis=1
            )
        out = (abs(self.state[:, 0]) > 2.4) | (abs(self.state[:, 2]) > 0.2)
        self.state[out] = 0
        return self.state


def logits(params, x):
    return jnp.tanh(jnp.tanh(x @ params["w1"]) @ params["w2"]) @ params["w3"]


act = jax.jit(lambda params, x: jnp.argmax(logits(params, x), axis=-1))


@jax.jit
def update(params, observations, actions):
    def loss(params):
        return -jnp.mean(jax.nn.log_softmax(logits(params, observations))[jnp.arange(actions.size), actions])

    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, jax.grad(loss)(params))


envs = [CartPole() for _ in range(ENVS)]
batched = Batched()


def rollout(params, observation):
    observations, actions = [], []
    for _ in range(HORIZON):
        action = np.asarray(act(params, observation))
        observations.append(observation)
        actions.append(action)
        if FIXED:
            observation = batched.step(action).astype(np.float32)
        else:
            observation = np.array([env.step(a) for env, a in zip(envs, action)], np.float32)
    return np.concatenate(observations), np.concatenate(actions), observation


observation = np.zeros((ENVS, 4), np.float32)
update(params, *rollout(params, observation)[:2])
for steps in windows(12):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("update", step_num=step):
            observations, actions, observation = rollout(params, observation)
            params = update(params, observations, actions)
    jax.block_until_ready(params)
