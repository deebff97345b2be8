"""Samples requests for display: all if there are few, else some above each of a set of percentiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin import _native

ALL_UP_TO = 60
_PER_RANGE = 10
_RANGES = ((50.0, 1.0), (75.0, 1.0), (90.0, 1.0), (99.0, 0.5), (99.9, 0.05), (99.99, 0.005))

LATENCY_PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9)


def sample(keys: Sequence[float]) -> list[tuple[float, int]]:
    """(percentile, index) of the sampled items, by key ascending.

    Equal keys are in the order in which XProf's unstable sort leaves them.
    """
    rank = np.unique(np.array(keys), return_inverse=True)[1].astype(np.int64)
    order = _native.walk_order(rank, np.zeros(len(rank), np.int64), np.arange(len(rank))).tolist()
    count = len(order)
    ranked = [(100.0 * rank / count, i) for rank, i in enumerate(order)]
    if count <= ALL_UP_TO:
        return ranked
    sampled: list[tuple[float, int]] = []
    for low, width in _RANGES:
        sampled += [item for item in ranked if low <= item[0] < low + width][:_PER_RANGE]
    return sampled


def at_percentile(ordered: Sequence[int], percentile: float) -> int:
    """The item of an ascending, non-empty sequence at the given percentile."""
    return ordered[min(len(ordered) - 1, int(percentile / 100.0 * len(ordered)))]
