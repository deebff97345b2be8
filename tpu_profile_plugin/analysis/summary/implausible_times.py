"""Detects implausible event durations: negative, or longer than any recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.units import PS_PER_S

LONGEST_PS = 10 * 86_400 * PS_PER_S
"""Ten days: longer than any recording; 64 bits of picoseconds hold 106 days."""


@dataclass(frozen=True, slots=True)
class ImplausibleTimes:
    """Number of events of a plane that end before they begin, and that last longer than `LONGEST_PS`."""

    plane: str
    negative: int
    too_long: int


def implausible_times(planes: Iterable[Plane]) -> Iterator[ImplausibleTimes]:
    """Yields counts for the planes that have implausible durations."""
    for plane in planes:
        duration = plane.events.duration_ps
        if len(duration) and (int(duration.min()) < 0 or int(duration.max()) > LONGEST_PS):
            yield ImplausibleTimes(
                plane.name, int(np.count_nonzero(duration < 0)), int(np.count_nonzero(duration > LONGEST_PS))
            )
