"""Offsets between clocks: of hosts by collectives that end together, of host and device by launches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.columns import DeviceClock
from tpu_profile_plugin.columns.arrays import I64

LEAST_PAIRS = 3


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """What to add to the times of one clock so that they agree with another.

    Attributes:
      offset_ps: median over the pairs.
      spread_ps: interquartile range of the pairs around it.
      pairs: number of pairs.
      violations: pairs that violate causality even with the offset.
    """

    offset_ps: int
    spread_ps: int
    pairs: int
    violations: int


def offset_by_ends(reference_begin: I64, reference_end: I64, begin: I64, end: I64) -> ClockOffset | None:
    """The offset of a host's clock to that of a reference, from collectives that both took part in.

    A collective in which every rank waits for all ends on all ranks at about the same time, so the offset is the median
    difference of the ends. It violates causality if, with the offset, one side ended before the other began.
    """
    if len(end) < LEAST_PAIRS:
        return None
    difference = reference_end - end
    low, middle, high = np.quantile(difference, (0.25, 0.5, 0.75), method="nearest").tolist()
    violations = (end + middle < reference_begin) | (reference_end < begin + middle)
    return ClockOffset(int(middle), int(high - low), len(end), int(violations.sum()))


def best_shift(reference_end: I64, end: I64, most: int = 64) -> int:
    """How many of the reference's collectives come before a host's first: the shift with the steadiest differences.

    Looks at shifts up to `most` in both directions; 0 if the two are equally long.
    """
    if len(end) == len(reference_end):
        return 0
    best: tuple[float, int] | None = None
    for shift in range(-min(most, len(end) - 1), min(most, len(reference_end) - 1) + 1):
        first, last = max(shift, 0), min(len(reference_end), len(end) + shift)
        if last - first < max(LEAST_PAIRS, min(len(end), len(reference_end)) // 2):
            continue
        difference = reference_end[first:last] - end[first - shift : last - shift]
        low, high = np.quantile(difference, (0.25, 0.75))
        spread = float(high - low)
        if best is None or (spread, abs(shift)) < (best[0], abs(best[1])):
            best = (spread, shift)
    return 0 if best is None else best[1]


def device_offset(delay_ps: I64, clock: DeviceClock | None) -> ClockOffset | None:
    """How far a device's clock was behind its host's, if `clock` says that it disagreed.

    Spread is that of the delays between launch and begin. Violations are counted without the offset.
    """
    if len(delay_ps) < LEAST_PAIRS:
        return None
    low, high = np.quantile(delay_ps, (0.25, 0.75), method="nearest").tolist()
    offset, violations = (0, 0) if clock is None else (clock.offset_ps, clock.impossible)
    return ClockOffset(offset, int(high - low), len(delay_ps), violations)
