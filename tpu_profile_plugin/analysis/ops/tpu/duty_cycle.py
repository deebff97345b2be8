"""Duty cycle of TPU chips: time covered by ops relative to the recorded time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import MODULES, SPARSE_MODULES, lines_named, spans_at
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import chip_of
from tpu_profile_plugin.analysis.ops.tpu import ops as tpu_ops
from tpu_profile_plugin.columns import Plane, XSpace

_OFF_DUTY = dict.fromkeys((*tpu_ops.WAITS_FOR_HOST, tpu_ops.ASYNC_DONE, "megacore fusion"), tpu_ops.Duty.OFF)
TENSOR_CORE_DUTY = {**_OFF_DUTY, tpu_ops.CUSTOM_CALL: tpu_ops.Duty.CUSTOM_CALL}
"""Categories of ops that wait for the host or for another core; custom calls may wait."""
SPARSE_CORE_DUTY = _OFF_DUTY
"""The same for SparseCores: as in XProf, their custom calls are always on duty."""


@dataclass(frozen=True, slots=True)
class DutyCycle:
    """Picoseconds summed over chips: recorded, busy, and busy without custom calls of unknown cost.

    A core is busy while its innermost op is on duty, e.g. not while an infeed runs inside a loop.
    """

    recorded_ps: int = 0
    busy_ps: int = 0
    sure_ps: int = 0

    @property
    def percent(self) -> float:
        """Busy time as a share of all recorded time, 0 to 100."""
        return 100.0 * ratio(self.busy_ps, self.recorded_ps)

    @property
    def sure_percent(self) -> float:
        """Busy time without custom calls of unknown cost as a share of all recorded time, 0 to 100."""
        return 100.0 * ratio(self.sure_ps, self.recorded_ps)


def combine_duty(parts: Iterable[DutyCycle]) -> DutyCycle:
    """Adds up duty cycles."""
    parts = list(parts)
    return DutyCycle(*(sum(getattr(part, name) for part in parts) for name in DutyCycle.__slots__))


def duty_cycle(space: XSpace, works: Sequence[tuple[Plane, tpu_ops.CoreWork]]) -> DutyCycle:
    """The duty cycle of a host's chips from the busy time of each core; a chip is busy when any of its cores is."""
    chips: dict[tuple[str, int], list[tuple[Plane, tpu_ops.CoreWork]]] = {}
    for plane, work in works:
        chip = chip_of(space, plane)
        key = ("plane", plane.index) if chip is None else ("chip", chip)
        chips.setdefault(key, []).append((plane, work))
    recorded = busy = sure = 0
    for cores in chips.values():
        spans = [span for plane, work in cores if (span := _span(plane, work))]
        if spans:
            recorded += _covered([(np.array([first], np.int64), np.array([last], np.int64)) for first, last in spans])
            busy += _covered([line for _, work in cores for line in work.busy])
            sure += _covered([line for _, work in cores for line in work.sure])
    return DutyCycle(recorded, busy, sure)


def _covered(parts: Sequence[tpu_ops.Spans]) -> int:
    """Length of the union of all spans; the spans within each part are disjoint."""
    if len(parts) == 1:
        begin, end = parts[0]
        return int((end - begin).sum())
    if not parts:
        return 0
    begin, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _native.covered(begin, end - begin)


def _span(plane: Plane, work: tpu_ops.CoreWork) -> tuple[int, int] | None:
    """Span from the first to the last op or program run of a core; None without any."""
    spans = [work.span_ps] if work.span_ps else []
    for line in lines_named(plane, MODULES, SPARSE_MODULES):
        events = plane.lines.events_of(line)
        if events.start < events.stop:
            begin, end = spans_at(plane, events)
            spans.append((int(begin.min()), int(end.max())))
    return tpu_ops.enclosing_span(spans)
