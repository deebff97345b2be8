"""How many processors the threads of a host share, as far as a profile tells."""

from __future__ import annotations

from collections import Counter

from tpu_profile_plugin.columns import Plane

_POOLS = "tf_XLAEigen", "tf_xla-cpu-codegen", "tf_data_private_threadpool"
"""Pools of XLA and tf.data that have a thread per processor."""


def processors(plane: Plane) -> int | None:
    """As many as the largest pool has threads that recorded anything; None without such a pool."""
    counts = Counter(name.partition("/")[0] for name in plane.lines.name)
    return max(counts[pool] for pool in _POOLS) or None
