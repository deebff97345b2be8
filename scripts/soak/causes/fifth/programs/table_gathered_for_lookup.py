"""JAX recommender on four devices that gathers its whole sharded embedding table to look up the words of a batch."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from window import FIXED, windows

mesh = jax.make_mesh((4,), ("shard",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
WORDS, WIDTH, ROWS = 80_000, 64, 1024
table = jax.device_put(rng.normal(size=(WORDS, WIDTH)).astype(np.float32), NamedSharding(mesh, P("shard")))
weights = jax.device_put(rng.normal(0, 0.1, (WIDTH, 512)).astype(np.float32), NamedSharding(mesh, P()))
ids = [jax.device_put(rng.integers(0, WORDS, ROWS), NamedSharding(mesh, P())) for _ in range(4)]


def look_up(table, ids):
    if FIXED:
        local = ids - jax.lax.axis_index("shard") * table.shape[0]
        held = (local >= 0) & (local < table.shape[0])
        rows = jnp.where(held[:, None], table[local.clip(0, table.shape[0] - 1)], 0)
        return jax.lax.psum(rows, "shard")
    return jax.lax.all_gather(table, "shard", tiled=True)[ids]


def score_shard(table, weights, ids):
    rows = look_up(table, ids)
    own = jax.lax.dynamic_slice_in_dim(rows, jax.lax.axis_index("shard") * (ROWS // 4), ROWS // 4)
    return jax.nn.gelu(own @ weights) @ weights.T


spec = {"mesh": mesh, "in_specs": (P("shard"), P(), P()), "out_specs": P("shard"), "check_vma": False}
score = jax.jit(jax.shard_map(score_shard, **spec))

score(table, weights, ids[0])
for steps in windows(8):
    for step in steps:
        with jax.profiler.StepTraceAnnotation("score", step_num=step):
            score(table, weights, ids[step % 4]).block_until_ready()
