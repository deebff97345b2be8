"""Runs of one program in order of time, without what slows all of their ops alike, and where they shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, UNKNOWN
from tpu_profile_plugin.analysis.trend.change_points import (
    LEAST_KNOWN,
    LEAST_RUNS,
    Shift,
    discoveries,
    shifts,
    spread,
    without_spikes,
)
from tpu_profile_plugin.analysis.trend.summary import KEY, Conditions, PlaceTime, RunSummary
from tpu_profile_plugin.columns.arrays import F64

_LEAST_ALIKE = 0.5
"""With less of the time of ops of equal dimensions than in the run before, shapes have changed."""
_LEAST_CONTROLS = 5
"""Fewest places that tell what all of them share: fewer may have changed together."""
_CONTROL_SHARE = 0.002
"""Places of a smaller share of the step vary by themselves."""
_MOST_WEIGHT = 0.125
"""No place counts for more among those that tell it: half of the weight has to agree."""
_MIDDLE = (1 / 3, 2 / 3)
"""The part of the weight whose factors count, in order of their size."""
_LEAST_PRESENT = 0.8
"""Places that are in fewer of the runs tell nothing of the machine."""
_LEAST_EFFECT = 0.0005
"""Smaller shifts of a place, as a share of the step, are not told."""
_QUIET = 0.01
"""Where steps vary by more without what all places share, places alone have to shift by as much to be told."""
_MADE_UP = 0.25
"""Places whose differences add up to less than this share of their sizes make up for each other."""
_LEAST_LASTING = 0.05
"""What all places share and that lasts is taken away as it is from this share of the step on; less may be noise."""
_UNEQUAL = 1 / 3
"""When a machine gets busier, the step takes up to this share of the change more or less than most places."""
_ALONE, _TOGETHER, _OF_MACHINE = 0.0005, 0.03, 0.005
"""Chance of a shift of the step that no place confirms, of one that a place does, and of what all places share: each
new run is another test."""
_ALONE_PLACES = 0.002
"""Share of false ones among shifts of places that no shift of the step confirms: there are many places, too."""
_FOLLOWING = ("idle_transfer", "idle_launch", "idle_gap", "idle_other", UNKNOWN, BETWEEN)
"""Parts of the budget that follow from what other places and the machine do: they tell no change by themselves."""
_CONFIRMING = 0.5
"""Share of a shift of the step that a place has to make to confirm it."""
_MOST_SLOPE = 2.0
"""What a place takes more, at most, as a multiple of what all share."""
_MAD = 1.4826
_NEAR = 2
"""Shifts at most this many runs apart are one."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaceSeries:
    """A place over the runs of a series.

    Attributes:
      place: as in the last run that has it.
      ps: float64[n], 0 where a run has none.
      adjusted: the same without what all places share.
      shifts: where it shifts.
    """

    place: PlaceTime
    ps: F64
    adjusted: F64
    shifts: tuple[Shift, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What a place contributes to a shift: its mean before and after, ps per step."""

    place: PlaceTime
    before: float
    after: float

    @property
    def delta(self) -> float:
        """The difference that it makes to the step, in ps."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Event:
    """A shift of the step, of places that make up for each other, or of both.

    Attributes:
      index: position of the first run that has it.
      kind: "step"; if places shift and the step does not, "moved" if they make up for each other, else "places".
      step: the shift of the step as adjusted; None if it does not shift.
      parts: the places that shift, the largest difference first.
      gone: position of the first run in which the step is back at the level before; None if it is not.
    """

    index: int
    kind: str
    step: Shift | None
    parts: tuple[Part, ...]
    gone: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Comparable runs, the oldest first.

    Attributes:
      conditions: of all.
      reason: why the series does not go on from the one before; "" for the first of a program.
      runs: the runs.
      step_ps: float64[n].
      factor: float64[n], the time that all places take in common, as a factor of their usual one.
      adjusted: float64[n], the step without it.
      explained: the share of the variance from run to run that this explains.
      variation: the standard deviation from run to run as a share of the step, before and after.
      places: those that shift, and the largest.
      events: in order of time.
      machine: where the time that all places take in common shifts.
    """

    conditions: Conditions
    reason: str
    runs: tuple[RunSummary, ...]
    step_ps: F64
    factor: F64
    adjusted: F64
    explained: float
    variation: tuple[float, float]
    places: tuple[PlaceSeries, ...]
    events: tuple[Event, ...]
    machine: tuple[Shift, ...] = ()


def series_of(summaries: Sequence[RunSummary]) -> list[Series]:
    """The series of runs that have figures, those of one program after another."""
    known = [one for one in summaries if one.conditions is not None and one.step_ps > 0]
    known.sort(key=lambda one: (one.written_ms, one.run))
    programs: dict[tuple[str, tuple[str, ...]], list[RunSummary]] = {}
    for one in known:
        assert one.conditions is not None
        programs.setdefault((one.conditions.program, one.conditions.frameworks), []).append(one)
    found = []
    for runs in programs.values():
        begin, reason = 0, ""
        for end in range(1, len(runs) + 1):
            changed = "" if end == len(runs) else _changed(runs[end - 1], runs[end])
            if end == len(runs) or changed:
                found.append(_series(runs[begin:end], reason))
                begin, reason = end, changed
    return found


def _changed(before: RunSummary, after: RunSummary) -> str:
    """What makes two successive runs of a program hardly comparable, as a sentence; "" if nothing does."""
    old, new = before.conditions, after.conditions
    assert old is not None
    assert new is not None
    for name, one, other in (
        ("type of device", old.device or "none", new.device or "none"),
        ("number of devices", old.devices, new.devices),
        ("number of hosts", old.hosts, new.hosts),
        ("unit of a step", old.unit, new.unit),
    ):
        if one != other:
            return f"The {name} changed from {one} to {other}."
    sizes = dict(zip(map(KEY, before.places), (one.sizes for one in before.places), strict=True))
    known = zip(after.places, map(sizes.get, map(KEY, after.places)), strict=True)
    both = [(one.ps, one.sizes == old_sizes) for one, old_sizes in known if one.sizes and old_sizes]
    whole, alike = sum(ps for ps, _ in both), sum(ps for ps, same in both if same)
    return "The shapes of most ops changed." if both and alike < _LEAST_ALIKE * whole else ""


def _series(runs: Sequence[RunSummary], reason: str) -> Series:
    step = np.array([one.step_ps for one in runs])
    places, times = columns_of(runs)
    of_places, sure = _shifted(places, times, step)
    changed = {one.place.key for one in of_places if one.shifts}
    factor = common_factor(times, step, [row for row, place in enumerate(places) if place.key in changed])
    adjusted = without_factor(step, factor, _level(factor))
    raw, left = (spread(np.log(values)) for values in (step, adjusted))
    explained = max(1 - (left / raw) ** 2, 0.0) if raw else 0.0
    clear = shifts(adjusted, _TOGETHER)
    of_step = tuple(one for one in clear if one.chance < _ALONE or _is_confirmed(one, of_places))
    events = _events(of_step, of_places, sure, adjusted, np.log(factor))
    conditions = runs[0].conditions
    assert conditions is not None
    return Series(
        *(conditions, reason, tuple(runs), step, factor, adjusted, explained, (raw, left), of_places, events),
        machine=tuple(shifts(factor, _OF_MACHINE)) if explained else (),
    )


def columns_of(runs: Sequence[RunSummary]) -> tuple[list[PlaceTime], F64]:
    """All places, and float64[n, k], their times in ps by run."""
    numbers: dict[tuple[str, str, str], int] = {}
    places: dict[int, PlaceTime] = {}
    of_runs = []
    for run in runs:
        rows = [numbers.setdefault(key, len(numbers)) for key in map(KEY, run.places)]
        places.update(zip(rows, run.places, strict=True))
        of_runs.append(rows)
    times = np.zeros((len(runs), len(places)))
    for row, (run, rows) in enumerate(zip(runs, of_runs, strict=True)):
        times[row, rows] = [place.ps for place in run.places]
    return list(places.values()), times


def common_factor(times: F64, step: F64, leave: Sequence[int] = (), least_runs: int = 2 * LEAST_RUNS) -> F64:
    """float64[n]: what most places take longer in a run than usual, as a factor; 1 without enough places.

    The weighted mean of the middle third of their factors, in which no place counts for much, so that a change of a few
    does not tell of the machine. A median would be the factor of one place, which would not vary without it.

    Args:
      times: float64[n, k] by run and place.
      step: float64[n].
      leave: places that are left out where others are enough, as those that shift, which would hide a part of it.
      least_runs: with fewer runs it is 1.
    """
    share = np.median(times, axis=0) / max(float(np.median(step)), 1e-9)
    known = (share >= _CONTROL_SHARE) & ((times > 0).mean(axis=0) >= _LEAST_PRESENT)
    others = known.copy()
    others[list(leave)] = False
    known = others if others.sum() >= _LEAST_CONTROLS else known
    if known.sum() < _LEAST_CONTROLS or len(step) < least_runs:
        return np.ones(len(step))
    chosen = times[:, known]
    weight = np.minimum(share[known], _MOST_WEIGHT * share[known].sum())
    usual = np.array([np.median(column[column > 0]) for column in chosen.T])
    factors = np.where(chosen > 0, chosen, np.nan) / usual
    order = np.argsort(factors, axis=1)  # NaN last
    weights = np.take_along_axis(np.where(np.isnan(factors), 0.0, weight), order, axis=1)
    reached = np.cumsum(weights, axis=1)
    ends = reached[:, -1:] * np.array(_MIDDLE)
    inside = np.minimum(reached, ends[:, 1:]) - np.maximum(reached - weights, ends[:, :1])
    inside = np.maximum(inside, 0.0)
    ordered = np.nan_to_num(np.take_along_axis(factors, order, axis=1))
    found: F64 = (inside * ordered).sum(axis=1) / inside.sum(axis=1)
    return found


def without_factor(values: F64, factor: F64, level: F64) -> F64:
    """Values without what the factor explains of their changes from run to run, as strongly as they respond;
    with few runs, it is taken that they respond as most places do.

    Nothing is taken away where that leaves no less: noise of the factor would be added. `level`: see `_level`.
    """
    if len(values) < 2 * LEAST_RUNS or not bool((values > 0).all()):
        return values
    values, factor = values / level, factor / level
    rises, of_factor = np.diff(np.log(values)), np.diff(np.log(factor))
    slope = 1.0 if len(values) < LEAST_KNOWN else _slope(rises, of_factor)
    adjusted: F64 = values / factor**slope
    return adjusted if np.abs(rises - slope * of_factor).sum() < np.abs(rises).sum() else values


def _slope(rises: F64, of_factor: F64) -> float:
    """How strongly values rise with the factor, of logarithms: least squares without what is far from most."""
    weight = np.abs(of_factor)
    if not weight.any():
        return 0.0
    ratios = np.divide(rises, of_factor, out=np.zeros_like(rises), where=weight > 0)
    order = np.argsort(ratios)
    total = np.cumsum(weight[order])
    slope = ratios[order[np.searchsorted(total, total[-1] / 2)]]  # least absolute deviations
    left = np.abs(rises - slope * of_factor)
    usual = left <= 3 * _MAD * float(np.median(left))  # no shift, no outlier
    squares = float((of_factor[usual] ** 2).sum())
    found = float((rises[usual] * of_factor[usual]).sum()) / squares if squares else float(slope)
    return min(max(found, 0.0), _MOST_SLOPE)


def _level(factor: F64) -> F64:
    """float64[n]: the factor between its large shifts; 1 without any. Over many runs it has hardly any noise."""
    ends = [0, *(one.index for one in _lasting(factor)), len(factor)]
    if len(ends) == 2:
        return np.ones(len(factor))
    means = [float(np.exp(np.log(factor[a:b]).mean())) for a, b in pairwise(ends)]
    return np.repeat(means, np.diff(ends))


def _lasting(factor: F64) -> list[Shift]:
    return [one for one in shifts(factor) if abs(one.delta) >= _LEAST_LASTING * one.before]


def _shifted(places: Sequence[PlaceTime], times: F64, step: F64) -> tuple[tuple[PlaceSeries, ...], float]:
    """The places with those of their shifts that count among so many, the largest first; the chance of sure ones."""
    shared = common_factor(times, step)
    level = _level(shared)
    usual, found = float(np.median(step)), []
    heavy = np.median(times, axis=0) >= _MOST_WEIGHT / 4 * usual
    for row, place in enumerate(places):
        factor = common_factor(times, step, [row]) if heavy[row] else shared
        adjusted = without_factor(times[:, row], factor, level) if (times[:, row] > 0).all() else times[:, row] / factor
        found.append(PlaceSeries(place, times[:, row], adjusted, tuple(shifts(adjusted))))
    every = np.array([shift.chance for one in found for shift in one.shifts])
    tests = len(every) + sum(not one.shifts for one in found)
    counts = iter(discoveries(every, tests).tolist())
    sure = every[discoveries(every, tests, _ALONE_PLACES)].max(initial=0.0)
    kept = [
        replace(one, shifts=tuple(s for s in one.shifts if next(counts) and abs(s.delta) >= _LEAST_EFFECT * usual))
        for one in found
    ]
    return tuple(sorted(kept, key=lambda one: -float(one.ps.mean()))), float(sure)


def _is_confirmed(shift: Shift, places: Sequence[PlaceSeries]) -> bool:
    """Whether a place that shifts there by itself makes most of a shift of the step: a machine slows many places."""
    near = (own.delta for one in places for own in one.shifts if abs(own.index - shift.index) <= _NEAR)
    return any(delta / shift.delta >= _CONFIRMING for delta in near)


def _events(
    of_step: Sequence[Shift], places: Sequence[PlaceSeries], sure: float, adjusted: F64, log_factor: F64
) -> tuple[Event, ...]:
    points = {shift.index: shift for shift in of_step}
    alone: dict[int, list[PlaceSeries]] = {}
    for one in places:
        for own in one.shifts:
            told = own.chance <= sure and one.place.part not in _FOLLOWING
            if told and not any(abs(own.index - index) <= _NEAR for index in points):
                near = next((index for index in alone if abs(own.index - index) <= _NEAR), own.index)
                alone.setdefault(near, []).append(one)
    ends = sorted([0, *points, *alone, len(adjusted)])
    events = []
    for index in sorted({*points, *alone}):
        before = max(end for end in ends if end < index)
        after = min(end for end in ends if end > index)
        shift = points.get(index)
        parts = _parts(places, before, index, after, shift)
        machine = _surely_shared(log_factor[before:index], log_factor[index:after])
        if shift is None and not _is_told(parts, adjusted, machine):
            continue
        if shift is not None and abs(math.log(shift.after / shift.before)) <= _UNEQUAL * machine:
            continue
        events.append(Event(index, _kind(shift, parts), shift, parts, _gone(of_step, shift)))
    return tuple(events)


def _parts(places: Sequence[PlaceSeries], before: int, index: int, after: int, shift: Shift | None) -> tuple[Part, ...]:
    """The places that shift there: by their own test, or by as much as is clear from the runs around."""
    found = []
    for one in places:
        own = any(abs(each.index - index) <= _NEAR for each in one.shifts)
        old, new = one.adjusted[before:index], one.adjusted[index:after]
        delta, noise = float(np.median(new) - np.median(old)), spread(without_spikes(one.adjusted))
        clear = abs(delta) > 3 * noise * math.sqrt(1 / len(old) + 1 / len(new))
        if own or (shift is not None and clear and abs(delta) >= 0.02 * abs(shift.delta)):
            found.append(Part(one.place, float(np.median(old)), float(np.median(new))))
    return tuple(sorted(found, key=lambda part: -abs(part.delta)))


def _kind(shift: Shift | None, parts: Sequence[Part]) -> str:
    if shift is not None:
        return "step"
    together = abs(sum(part.delta for part in parts))
    return "moved" if together <= _MADE_UP * sum(abs(part.delta) for part in parts) else "places"


def _is_told(parts: Sequence[Part], adjusted: F64, machine: float) -> bool:
    """Whether places shift by more than too little to be told, and more than the machine: not all slow down alike."""
    varies = spread(np.log(adjusted))
    least = (varies if varies > _QUIET else _LEAST_EFFECT) * float(np.median(adjusted))
    return any(abs(part.delta) >= max(least, math.expm1(machine) * min(part.before, part.after)) for part in parts)


def _surely_shared(old: F64, new: F64) -> float:
    """By how much what all places take in common surely differs between two sides, of logarithms; 0 if it may not."""
    freedom = len(old) + len(new) - 2
    squares = float(((old - old.mean()) ** 2).sum() + ((new - new.mean()) ** 2).sum())
    reach = 2 * math.sqrt(squares / max(freedom, 1) * (1 / len(old) + 1 / len(new)))
    return max(abs(float(new.mean() - old.mean())) - reach, 0.0)


def _gone(of_step: Sequence[Shift], shift: Shift | None) -> int | None:
    """When a later shift brings the step back to where it was."""
    if shift is None:
        return None
    for later in of_step:
        if later.index > shift.index and abs(later.after - shift.before) < abs(shift.delta) / 4:
            return later.index
    return None
