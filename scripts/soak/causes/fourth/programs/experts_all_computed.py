"""JAX mixture of experts that computes all eight experts for every token and keeps the result of one."""

import jax
import jax.numpy as jnp
import numpy as np
from window import FIXED, windows

EXPERTS, TOKENS, WIDTH = 8, 512, 256
rng = np.random.default_rng(0)
params = {
    "gate": jnp.asarray(rng.normal(0, 0.05, (WIDTH, EXPERTS)), jnp.float32),
    "up": jnp.asarray(rng.normal(0, 0.05, (EXPERTS, WIDTH, 2 * WIDTH)), jnp.float32),
    "down": jnp.asarray(rng.normal(0, 0.05, (EXPERTS, 2 * WIDTH, WIDTH)), jnp.float32),
}
x = jnp.asarray(rng.normal(size=(TOKENS, WIDTH)), jnp.float32)
y = jnp.asarray(rng.normal(size=(TOKENS, WIDTH)), jnp.float32)


def mixture_of_all(params, x, chosen):
    hidden = jax.nn.relu(jnp.einsum("td,edh->eth", x, params["up"]))
    outputs = jnp.einsum("eth,ehd->etd", hidden, params["down"])
    return jnp.einsum("te,etd->td", jax.nn.one_hot(chosen, EXPERTS), outputs)


def mixture_of_chosen(params, x, chosen):
    order = jnp.argsort(chosen)
    slots = jnp.searchsorted(chosen[order], jnp.arange(EXPERTS))[:, None] + jnp.arange(TOKENS // EXPERTS * 2)
    held = chosen[order[slots.clip(0, TOKENS - 1)]] == jnp.arange(EXPERTS)[:, None]
    tokens = jnp.where(held & (slots < TOKENS), order[slots.clip(0, TOKENS - 1)], TOKENS)
    hidden = jax.nn.relu(jnp.einsum("ecd,edh->ech", x[tokens.clip(0, TOKENS - 1)], params["up"]))
    outputs = jnp.einsum("ech,ehd->ecd", hidden, params["down"])
    return jnp.zeros_like(x).at[tokens.ravel()].set(outputs.reshape(-1, WIDTH), mode="drop")


def loss_fn(params, x, y):
    odds = jax.nn.softmax(x @ params["gate"])
    chosen = odds.argmax(-1)
    mixed = (mixture_of_chosen if FIXED else mixture_of_all)(params, x, chosen)
    return jnp.mean((mixed * odds.max(-1)[:, None] - y) ** 2)


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


params, loss = train_step(params, x, y)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, loss = train_step(params, x, y)
            loss.block_until_ready()
