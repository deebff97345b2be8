"""JAX language model on four devices that gathers the logits of all of them for the softmax of the loss."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((4,), ("vocab",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
WORDS, ROWS = 16000, 256
table = jax.device_put(rng.normal(0, 0.05, (96, WORDS)).astype(np.float32), NamedSharding(mesh, P(None, "vocab")))
states = jnp.asarray(rng.normal(size=(ROWS, 96)), jnp.float32)
targets = jnp.asarray(rng.integers(0, WORDS, ROWS))


def loss_of_gathered(logits, targets):
    logits = jax.lax.all_gather(logits, "vocab", axis=1, tiled=True)
    odds = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(odds, targets[:, None], 1).mean()


def loss_of_shards(logits, targets):
    top = jax.lax.pmax(jax.lax.stop_gradient(logits.max(1)), "vocab")
    total = jax.lax.psum(jnp.exp(logits - top[:, None]).sum(1), "vocab")
    local = targets - jax.lax.axis_index("vocab") * logits.shape[1]
    held = (local >= 0) & (local < logits.shape[1])
    own = jnp.take_along_axis(logits, local.clip(0, logits.shape[1] - 1)[:, None], 1)[:, 0]
    return (jnp.log(total) + top - jax.lax.psum(jnp.where(held, own, 0.0), "vocab")).mean()


def loss_fn(table, states, targets):
    return (loss_of_shards if FIXED else loss_of_gathered)(states @ table, targets)


specs = {"mesh": mesh, "in_specs": (P(None, "vocab"), P(), P()), "check_vma": False}


@jax.jit
def train_step(table, states, targets):
    gradient = jax.shard_map(jax.grad(loss_fn), out_specs=P(None, "vocab"), **specs)
    return table - 0.1 * gradient(table, states, targets)


table = train_step(table, states, targets)
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            table = train_step(table, states, targets).block_until_ready()
