"""JAX programs on eight devices of XLA's CPU backend, which share the cores: what they lose between each other.

XLA_FLAGS and NPROC must be set before (see `check`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

STEPS = 8
MESH = Mesh(np.array(jax.devices()), ("d",))
ONE_EACH, ALL = NamedSharding(MESH, P("d")), NamedSharding(MESH, P())
Body = Callable[..., jax.Array]


def on_each_device(body: Body, *specs: P) -> Body:
    """The compiled program; the result is one row per device."""
    return jax.jit(jax.shard_map(body, mesh=MESH, in_specs=specs, out_specs=P("d"), check_vma=False))


def matmuls(x: jax.Array, count: int) -> jax.Array:
    """Computation for a while."""
    return lax.fori_loop(0, count, lambda _, y: jnp.tanh(y @ y), x)


def batch(rows: int, columns: int) -> jax.Array:
    """Input for all devices."""
    return jax.device_put(jnp.full((8 * rows, columns), 1e-3, jnp.float32), ONE_EACH)


def run(profiled: Any, step: Callable[[int], jax.Array]) -> None:
    """Warms a step up and captures eight of them."""
    jax.block_until_ready([step(-1 - i) for i in range(2)])
    with profiled():
        for number in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                last = step(number)
        last.block_until_ready()


def healthy(profiled: Any) -> None:
    """Computes all the time; the host hands over the next step while the devices work on this one."""
    x = batch(256, 256)
    step = on_each_device(lambda y: matmuls(y, 12), P("d"))
    run(profiled, lambda _: step(x))


def two_balanced(profiled: Any) -> None:
    """Trains on two of the devices, with a core each, and reduces a small gradient after much computation."""
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
    weights = jax.device_put(jnp.eye(256) * 0.9, NamedSharding(mesh, P()))
    x = jax.device_put(jnp.full((2 * 256, 256), 1e-3, jnp.float32), NamedSharding(mesh, P("d")))

    def body(weights: jax.Array, x: jax.Array) -> jax.Array:
        def loss(w: jax.Array) -> jax.Array:
            return (lax.scan(lambda y, _: (jnp.tanh(y @ w), None), x, length=16)[0] ** 2).mean()

        return weights - 0.01 * lax.pmean(jax.grad(loss)(weights), "d")

    step = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(P(), P("d")), out_specs=P(), check_vma=False))
    run(profiled, lambda _: step(weights, x))


def collectives(profiled: Any) -> None:
    """Reduces much and computes little, one after the other."""
    x = batch(1024, 1024)
    step = on_each_device(lambda y: lax.psum(y * 2, "d") + 1, P("d"))
    run(profiled, lambda _: step(x))


def gathered_parameters(profiled: Any) -> None:
    """Gathers the parameters of every layer, which are sharded, on each device before it can compute."""
    layers = [jax.device_put(jnp.full((1024, 512), 1e-3, jnp.float32), ONE_EACH) for _ in range(4)]
    x = batch(16, 1024)

    def body(x: jax.Array, *shards: jax.Array) -> jax.Array:
        for shard in shards:
            weights = lax.all_gather(shard, "d", tiled=True)
            x = jnp.tanh(x @ weights @ weights.T)
        return x

    step = on_each_device(body, *[P("d")] * 5)
    run(profiled, lambda _: step(x, *layers))


def late_device(profiled: Any) -> None:
    """Device 0 computes longer than the others, which wait for it in a small reduction."""

    def body(y: jax.Array) -> jax.Array:
        late = lax.axis_index("d") == 0
        y = lax.cond(late, lambda z: matmuls(z, 60), lambda z: matmuls(z, 2), y)
        return y + lax.psum(jnp.sum(y), "d")

    x = batch(256, 256)
    step = on_each_device(body, P("d"))
    run(profiled, lambda _: step(x))


def host_sync(profiled: Any) -> None:
    """Fetches a value to the host after every step; the devices wait until the next one is launched."""
    x = batch(256, 256)
    step = on_each_device(lambda y: matmuls(y, 20), P("d"))

    def fetch(_: int) -> jax.Array:
        y = step(x)
        float(np.asarray(y)[0, 0])
        return y

    run(profiled, fetch)


def load_batch(number: int) -> np.ndarray:
    """Takes long to make a batch."""
    time.sleep(0.03)
    return np.full((8 * 64, 64), 1e-3 * number, np.float32)


def slow_loader(profiled: Any) -> None:
    """Makes every batch on the host before the step that needs it."""
    step = on_each_device(lambda y: matmuls(y, 2), P("d"))
    run(profiled, lambda number: step(jax.device_put(load_batch(number), ONE_EACH)))


def new_shapes(profiled: Any) -> None:
    """Every step has another shape and is compiled anew."""
    step = on_each_device(lambda y: matmuls(y, 2), P("d"))
    run(profiled, lambda number: step(batch(64 + number, 64 + number)))
