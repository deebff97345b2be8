"""Stragglers: devices and hosts with much more work of their own than the median, for which others wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.columns.arrays import F64

LEAST_RATIO = 1.5
"""Least ratio of a straggler's work to the median; others must also wait for it."""
LEAST_WAIT = 2.0
"""Least ratio of the others' time in collectives to the straggler's: they wait."""
MODIFIED_Z = 3.5
"""Least modified z-score of the work of a host that stands out."""
LEAST_FOR_Z = 5
"""Least number of hosts for z-scores."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """A device or host that others wait for.

    Attributes:
      index: its position.
      ratio: its own work over the median.
      z: modified z-score of its work among all; None if there are too few or they do not vary.
      waits: the others' mean time in collectives over its own; None if it spends none.
    """

    index: int
    ratio: float
    z: float | None
    waits: float | None


def stragglers(work: Sequence[float], communication: Sequence[float]) -> list[Straggler]:
    """Devices or hosts with 1.5 times the median work or more, while others spend twice their time in collectives.

    Args:
      work: own time of each, without communication, idle time and waits.
      communication: time of each in collectives.
    """
    times, talk = np.array(work, np.float64), np.array(communication, np.float64)
    if len(times) < 2 or not (times > 0).any():
        return []
    scores = modified_z(times)
    slow = []
    for i in range(len(times)):
        median = float(np.median(np.delete(times, i))) if len(times) == 2 else float(np.median(times))
        ratio = float(times[i]) / median if median > 0 else float("inf")
        others = float(np.delete(talk, i).mean())
        if ratio >= LEAST_RATIO and others > 0 and others >= LEAST_WAIT * talk[i]:
            z = None if scores is None else float(scores[i])
            slow.append(Straggler(i, ratio, z, others / float(talk[i]) if talk[i] > 0 else None))
    return sorted(slow, key=lambda one: -one.ratio)


def modified_z(values: F64) -> F64 | None:
    """0.6745 (x - median) / median absolute deviation; None for few values or if more than half are equal."""
    if len(values) < LEAST_FOR_Z:
        return None
    centred = values - np.median(values)
    spread = float(np.median(np.abs(centred)))
    return 0.6745 * centred / spread if spread > 0 else None


def outliers(values: Sequence[float]) -> list[tuple[int, float]]:
    """Positions and modified z-scores of values far above the others, most first."""
    scores = modified_z(np.array(values, np.float64))
    if scores is None:
        return []
    far = [(i, float(score)) for i, score in enumerate(scores.tolist()) if score >= MODIFIED_Z]
    return sorted(far, key=lambda one: -one[1])
