"""What adds up to the difference between two runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.blame.host_groups import NEARLY_ALL
from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    CATEGORIES,
    COMPUTE,
    DATA_MOVEMENT,
    GROUP_OF,
    IDLE_HOST,
    IDLE_LAUNCH,
    IDLE_OTHER,
    IDLE_TRANSFER,
    UNKNOWN,
)
from tpu_profile_plugin.analysis.common.op_names import short_kernels
from tpu_profile_plugin.analysis.compare.host_work import CONTAINERS, primitive
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.places import PlacePair
from tpu_profile_plugin.analysis.compare.run_work import RunWork, Sample, WorkedOp, welch
from tpu_profile_plugin.columns.arrays import F64

LEAST_FACTOR = 1.1
"""Least factor, or its inverse: below, ops are as fast as before."""
ALIKE = 1.3
"""Largest ratio between an op's own factor and the common one: other processes do not slow all ops down equally."""
LEAST_OPS = 5
"""Fewest ops that tell of the machine; fewer may have changed together."""
LEAST_SHARE = 0.8
"""Least share of the time of unchanged ops that must have the common factor."""
LEAST_TIME = 0.005
"""Least share of that time for an op to count among `LEAST_OPS`: short ones vary by themselves."""


@dataclass(frozen=True, slots=True)
class Machine:
    """How much longer unchanged ops take.

    Attributes:
      factor: of the time of an op, run to base.
      members: positions of the matches whose ops have about that factor.
    """

    factor: float
    members: frozenset[int]


def machine(matches: Sequence[Match]) -> Machine | None:
    """The common factor of unchanged ops; None if there is none, or too little to tell.

    It must not hang on one match: without the one with most time it is about the same.
    """
    rows = [i for i, one in enumerate(matches) if one.relation == "same" and _runs_equal(one)]
    times = np.array([matches[i].ps for i in rows])
    if not rows:
        return None
    known = (times > 0).all(axis=1)
    old, new = times[known].T
    index = np.array(rows)[known]
    count = np.array([len(matches[i].base) for i in index])
    if len(index) < 2:
        return None
    factors = new / old
    common = _median(factors, old)
    if 1 / LEAST_FACTOR < common < LEAST_FACTOR:
        return None
    alike = _alike(factors, common)
    counted = alike & (old >= LEAST_TIME * old.sum())
    others = np.arange(len(old)) != old.argmax()
    if (
        count[counted].sum() < LEAST_OPS
        or old[alike].sum() < LEAST_SHARE * old.sum()
        or not _alike(np.array([_median(factors[others], old[others])]), common)[0]
    ):
        return None
    return Machine(common, frozenset(index[alike].tolist()))


def _alike(factors: F64, common: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    near: np.ndarray[tuple[int], np.dtype[np.bool_]] = (factors >= common / ALIKE) & (factors <= common * ALIKE)
    return near


def _median(values: F64, weights: F64) -> float:
    """The value at which half of the weights are reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])


def _runs_equal(match: Match) -> bool:
    old, new = match.runs
    return bool(old) and bool(new) and 1 / LEAST_FACTOR < new / old < LEAST_FACTOR


Kind = Literal[
    "slower", "faster", "added", "removed", "split", "merged", "dtype_changed", "shape_changed", "more_often",
    "fewer_often", "more_executions", "fewer_executions", "single_steps", "machine", "rest",
]  # fmt: skip
MORE_OFTEN = 1.1
"""Least ratio of runs per step to the base's for "more often", if a single run takes no longer."""
LONGER = 1.1
"""Least ratio of the time of a run to the base's for a slower run."""


def kind_of(match: Match) -> Kind:
    """How the ops of a match differ."""
    if match.relation in ("dtype_changed", "shape_changed", "split", "merged", "added", "removed"):
        return match.relation
    (old, new), (before, after) = match.ps, match.runs
    if before and after and old and new:
        longer = (new / after) / (old / before)
        if after > MORE_OFTEN * before and longer < LONGER:
            return "more_often"
        if before > MORE_OFTEN * after and longer > 1 / LONGER:
            return "fewer_often"
    return "slower" if new >= old else "faster"


def how(match: Match) -> str:
    """What changed in element types: "bf16 → f32"; "" if nothing did."""
    return " → ".join(match.types) if any(match.types) else ""


def describe(matches: Sequence[Match], short: Mapping[str, str]) -> str:
    """A change in words: the op that differs most, loops around others last, how many there are, and how they changed.

    `short` are the short names of ops, by name.
    """
    most = max(matches, key=_weight)
    old, new = most.programs
    text = how(most)
    if most.relation == "shape_changed":
        text = _shapes(most)
    if most.relation in ("split", "merged") and old and new and ", " in f"{old}{new}":
        return f"{old} → {new}"
    name = _names(most, short)
    if len(matches) > 1:
        name = f"{len(matches)} ops such as {name}"
    where = old if old == new or not new else new if not old else f"{old} → {new}"
    return " ".join(part for part in (f"{where}: {name}" if where else name, f"({text})" if text else "") if part)


def _weight(match: Match) -> tuple[bool, float, float]:
    ops = [op for op in (*match.base, *match.run) if op.name != CONTAINERS]
    return bool(ops), abs(match.ps[1] - match.ps[0]), max(match.ps)


def _names(match: Match, short: Mapping[str, str]) -> str:
    """The ops of a match by the framework's names, else their own."""

    def side(ops: Sequence[WorkedOp]) -> str:
        ordered = sorted(ops, key=lambda op: -op.ps)
        shown = ", ".join(dict.fromkeys(short[op.name] for op in ordered[:3]))
        return f"{shown} and {len(ordered) - 3} more" if len(ordered) > 3 else shown

    old, new = side(match.base), side(match.run)
    if match.relation in ("split", "merged"):
        return f"{old} → {new}"
    framework = next((op.print.framework for op in (*match.run, *match.base) if op.print.framework), "")
    return f"{new or old}{f' ({framework})' if framework else ''}"


def _shapes(match: Match) -> str:
    """The first shape that differs."""
    pairs = zip(match.base[0].print.shapes, match.run[0].print.shapes, strict=False)
    return next((f"{old} → {new}" for old, new in pairs if old != new), "")


LEAST_CAUSE = 0.5
"""Least share of a difference that one function, or one part of the time between steps, must have to be named."""
NAMELESS = 2.0
"""A sentence names a change of the program unless one that is none is as many times larger."""
_OF_EXECUTIONS = (CATEGORIES[IDLE_LAUNCH], CATEGORIES[IDLE_TRANSFER])
"""Parts of the step that lie between executions of programs: with more of these there is more of them."""
ELSEWHERE = "elsewhere"
"""Detail of what is left of a part beside its places."""
OPS = GROUP_OF[CATEGORIES[COMPUTE]]
"""Category of ops. Their time is two of its parts: computation and data movement."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One change; times in picoseconds per step and device that takes part.

    Attributes:
      what: the op, the program or the part of the step that changed, and how.
      kind: how; "single_steps" for what steps far above the median add, "machine" for the common factor of all ops.
      delta_ps: what it adds to the compared length; all contributions add up to the difference.
      base_ps, run_ps: its time in both runs.
      category: the category that it belongs to, as in the time budget; `BETWEEN` for the time between steps.
      part: id of the part of the time budget; "" for ops.
      matches: the ops, for those about ops.
      low_ps, high_ps: interval of `delta_ps`; None if there are too few steps.
      certain: the interval and what captures differ by anyway leave no room for 0.
      detail: the place, the part of the time between steps or the numbers of executions behind it; "" if unknown.
      place: where it is, for a part of the step at one place; None for all others.
    """

    what: str
    kind: Kind
    delta_ps: int
    base_ps: float
    run_ps: float
    category: str
    part: str = ""
    matches: tuple[Match, ...] = ()
    low_ps: float | None = None
    high_ps: float | None = None
    certain: bool = False
    detail: str = ""
    place: PlacePair | None = None

    @property
    def line(self) -> str:
        """The line or function of all of it; "" if there is none, or several."""
        if self.place is not None:
            return self.place.line
        lines = {op.source for match in self.matches for op in match.run or match.base if op.name != CONTAINERS}
        return next(iter(lines)) if len(lines) == 1 else ""

    @property
    def events(self) -> tuple[str, str]:
        """What the recordings of the base and the run call it, or its op that differs most; "" where it is not."""
        if self.place is not None:
            return self.place.events
        if not self.matches:
            return "", ""
        most = max(self.matches, key=_weight)
        old, new = (max(ops, key=lambda op: op.ps).name if ops else "" for ops in (most.base, most.run))
        return old, new

    @property
    def nameless(self) -> bool:
        """Whether it names no change of the program: idle time that nothing explains, and the machine's speed."""
        return self.part in (CATEGORIES[IDLE_OTHER], UNKNOWN) or self.kind == "machine"


def contributions(
    base: RunWork,
    run: RunWork,
    matches: Sequence[Match],
    floor_ps: float,
    pairs: Mapping[int, Sequence[PlacePair]] | None = None,
) -> list[Contribution]:
    """All changes, the largest first; then what names none (`Contribution.nameless`), and the rest.

    Idle time without a cause comes last unless it is `NAMELESS` times larger than any other change.

    Args:
      base, run: the two runs.
      matches: of their ops (see `match_ops`).
      floor_ps: differences below this are noise whatever the steps say.
      pairs: places by part of the step (see `place_pairs`), the largest of which parts name.
    """
    changes = (*_of_ops(base, run, matches, floor_ps), *_of_parts(base, run, floor_ps, pairs or {}))
    return _in_order(changes, round(run.length.mean) - round(base.length.mean))


def _in_order(changes: Iterable[Contribution], delta_ps: int) -> list[Contribution]:
    """Those that differ, the largest first, and the rest of a difference."""
    changed = [one for one in changes if one.delta_ps]
    named = max((abs(one.delta_ps) for one in changed if not one.nameless), default=0)

    def last(one: Contribution) -> bool:
        return one.nameless and (one.kind == "machine" or abs(one.delta_ps) <= NAMELESS * named)

    changed.sort(key=lambda one: (last(one), -abs(one.delta_ps)))
    rest = delta_ps - sum(one.delta_ps for one in changed)
    return [*changed, Contribution("Rest", "rest", rest, 0.0, 0.0, "", certain=False)]


LEAST_PLACE = 0.001
"""Least share of the longer step that a place must differ by to be a contribution of its own."""
_WHOLE: tuple[Kind, ...] = ("more_executions", "fewer_executions")
"""Kinds that tell more of a part than its places."""


def by_place(
    changes: Sequence[Contribution],
    base: RunWork,
    run: RunWork,
    floor_ps: float,
    pairs: Mapping[int, Sequence[PlacePair]],
) -> list[Contribution]:
    """The same changes with parts of the step place by place; what lies at no place, or hardly differs, stays the part.

    Args:
      changes: what adds up to the difference of the runs, the rest last.
      base, run, floor_ps, pairs: as of `contributions`.
    """
    least = LEAST_PLACE * max(base.length.mean, run.length.mean)
    of_part: dict[str, list[Contribution]] = defaultdict(list)
    for one in changes:
        of_part[one.part].append(one)
    found = of_part[""]
    sides = (_parts(work, moved=IDLE_HOST in pairs) for work in (base, run))
    for i, (name, before, after) in enumerate(zip(_PARTS, *sides, strict=True)):
        whole = of_part[name]
        told = not (before.mean or after.mean) or any(one.kind in _WHOLE for one in whole)
        places = [] if told else _of_places(pairs.get(i, ()), name, floor_ps)
        placed = [change for change in places if abs(change.delta_ps) >= least]
        if not placed:
            found += whole
            continue
        old, new = (
            max(side.mean - sum(times), 0.0)
            for side, times in (
                (before, (one.base_ps for one in placed)),
                (after, (one.run_ps for one in placed)),
            )
        )
        delta = round(after.mean) - round(before.mean) - sum(one.delta_ps for one in placed)
        kind: Kind = "slower" if delta >= 0 else "faster"
        beyond = abs(delta) > floor_ps and any(one.certain for one in whole)
        left = Contribution(
            name, kind, delta, old, new, GROUP_OF.get(name, BETWEEN), name, certain=beyond, detail=ELSEWHERE
        )
        found += [*placed, left]
    return _in_order((one for one in found if one.kind != "rest"), round(run.length.mean) - round(base.length.mean))


_PARTS = (*CATEGORIES, BETWEEN)


def _of_places(pairs: Sequence[PlacePair], part: str, floor_ps: float) -> Iterator[Contribution]:
    """A part of the step place by place, where places are known."""
    for pair in pairs:
        if not pair.text:
            continue
        old, new = (
            Sample(0.0, 0.0, pair.either.time.count) if side is None else side.time for side in (pair.base, pair.run)
        )
        single = abs(new.excess - old.excess) >= LEAST_CAUSE * abs(new.mean - old.mean) > floor_ps
        kind: Kind = "single_steps" if single else "slower" if new.mean >= old.mean else "faster"
        judged = _judged(part, kind, (old, new), floor_ps)
        yield replace(judged, category=GROUP_OF.get(part, BETWEEN), part=part, detail=pair.text, place=pair)


def _parts(work: RunWork, *, moved: bool) -> list[Sample]:
    """The parts of the step and the time between steps; `moved`: functions of the program explain idle time."""
    parts = [*work.parts, work.between]
    if moved and work.in_functions.mean:
        other, within = parts[IDLE_OTHER], work.in_functions
        parts[IDLE_OTHER] = replace(other, mean=other.mean - within.mean, excess=other.excess - within.excess)
        parts[IDLE_HOST] = parts[IDLE_HOST].plus(within)
    return parts


def _of_parts(
    base: RunWork, run: RunWork, floor_ps: float, pairs: Mapping[int, Sequence[PlacePair]]
) -> Iterable[Contribution]:
    """The parts of the time budget that are not the time of ops, and the time between steps."""
    sides = (_parts(work, moved=IDLE_HOST in pairs) for work in (base, run))
    named = zip(_PARTS, *sides, strict=True)
    for i, (name, old, new) in enumerate(named):
        if i not in (COMPUTE, DATA_MOVEMENT) and (old.mean or new.mean):
            for kind, samples in _apart(old, new, floor_ps):
                judged = _judged(name, kind, samples, floor_ps)
                detailed = _detailed(judged, name, (base, run), pairs.get(i, ()))
                yield replace(detailed, category=GROUP_OF.get(name, BETWEEN), part=name)


def _apart(old: Sample, new: Sample, floor_ps: float) -> Iterable[tuple[Kind, tuple[Sample, Sample]]]:
    """A part of all steps, or of ordinary and of single long steps where these make a difference of their own."""
    single = [replace(one, mean=max(one.excess, 0.0), excess=max(one.excess, 0.0), variance=0.0) for one in (old, new)]
    if abs(single[1].mean - single[0].mean) > floor_ps:
        yield "single_steps", (single[0], single[1])
        old, new = (
            replace(one, mean=one.mean - part.mean, excess=0.0) for one, part in zip((old, new), single, strict=True)
        )
    yield "slower" if new.mean >= old.mean else "faster", (old, new)


def _detailed(
    change: Contribution, name: str, works: tuple[RunWork, RunWork], pairs: Sequence[PlacePair]
) -> Contribution:
    """With what is behind a change of a part of the step, where the recordings tell."""
    if name in _OF_EXECUTIONS and change.kind in ("slower", "faster"):
        before, after = (sum(one.executions.values()) for one in works)
        kind = _executions_kind(before, after)
        if kind and (kind == "more_executions") == (change.delta_ps > 0):
            return replace(change, kind=kind, detail=executions_text(before, after))
    deltas: dict[str, float] = defaultdict(float)
    for pair in pairs:
        deltas[pair.text] += (pair.run.time.mean if pair.run else 0.0) - (pair.base.time.mean if pair.base else 0.0)
    return replace(change, detail=_largest(change.delta_ps, deltas))


def _largest(delta_ps: int, deltas: Mapping[str, float]) -> str:
    """What has at least `LEAST_CAUSE` of a difference; "" if nothing has."""
    most = max(deltas, key=lambda name: deltas[name] * delta_ps, default="")
    return most if most and deltas[most] * delta_ps >= LEAST_CAUSE * delta_ps**2 else ""


def _executions_kind(before: float, after: float) -> Kind | None:
    if not before or not after:
        return None
    if after > MORE_OFTEN * before:
        return "more_executions"
    return "fewer_executions" if before > MORE_OFTEN * after else None


def executions_text(before: float, after: float) -> str:
    """Numbers of executions: "61 → 1 executions per step"."""
    return f"{before:,.3g} → {after:,.3g} executions per step"


def _of_ops(base: RunWork, run: RunWork, matches: Sequence[Match], floor_ps: float) -> Iterable[Contribution]:
    """Ops: matches of one program that differ in the same way, or lie at the same place, are one change."""
    common = machine(matches)
    kept = {op.program for match in matches if match.base and match.run for op in (*match.base, *match.run)}
    groups: dict[tuple[Hashable, ...], list[Match]] = defaultdict(list)
    kinds: dict[tuple[Hashable, ...], Kind] = {}
    for i, match in enumerate(matches):
        kind = _kind_among(i, match, common, (base.executions, run.executions))
        key = _group_of(kind, match, i, kept)
        kinds[key] = kind
        groups[key].append(match)
    for key, members in [*groups.items()]:
        alone = max(members, key=_difference)
        together = sum(map(_difference, members))
        if kinds[key] in _TIME and len(members) > 1 and _difference(alone) >= NEARLY_ALL * together:
            groups[key] = [one for one in members if one is not alone]
            apart = (*key, id(alone))
            groups[apart], kinds[apart] = [alone], kinds[key]
    short = short_kernels(op.name for match in matches for op in (*match.base, *match.run))
    for key, members in groups.items():
        kind = kinds[key]
        old = base.total([op for one in members for op in one.base])
        new = run.total([op for one in members for op in one.run])
        if kind in _TIME:
            kind = "slower" if new.mean >= old.mean else "faster"
        judged = _judged(describe(members, short), kind, (old, new), floor_ps)
        if kind == "machine" and common is not None:
            judged = replace(
                judged,
                what=f"{sum(len(one.run) for one in members)} unchanged ops",
                detail=f"{common.factor:.2f} times as long",
            )
        elif kind in _WHOLE:
            programs = members[0].programs
            numbers = base.executions[programs[0]], run.executions[programs[1]]
            judged = replace(judged, what=programs[1] or judged.what, detail=executions_text(*numbers))
        yield replace(judged, matches=tuple(members))


def _difference(match: Match) -> float:
    return abs(match.ps[1] - match.ps[0])


_TIME: tuple[Kind, ...] = ("slower", "faster")
_OF_PLACES: tuple[Kind, ...] = (*_TIME, "more_often", "fewer_often", "added", "removed")
"""Kinds of change of ops that are one for those of one sort at one line."""


def _group_of(kind: Kind, match: Match, number: int, kept: Collection[str]) -> tuple[Hashable, ...]:
    """What is equal for ops that are one change: program, sort of op and line, or how they changed.

    Args:
      kind: how they changed.
      match: some ops; `number`: its position.
      kept: the programs that both runs have in some form.
    """
    program = "" if kind == "machine" else match.programs[1] or match.programs[0]
    ops = [op for op in (*match.run, *match.base) if op.name != CONTAINERS]
    whole = kind in ("added", "removed") and program not in kept
    if kind in _OF_PLACES and not whole and ops:
        most = max(ops, key=lambda op: op.ps)
        if most.print.source:
            sort = primitive(most.print.framework) or most.print.kind
            return "time" if kind in _TIME else kind, program, sort, most.print.source
    alone = kind in (*_TIME, "more_often", "fewer_often", "split", "merged")
    return kind, program, how(match), number if alone else None


def _kind_among(
    number: int, match: Match, common: Machine | None, executions: tuple[Mapping[str, float], Mapping[str, float]]
) -> Kind:
    """How the ops of a match differ, as one change of their program or of the machine if they differ as all do."""
    kind = kind_of(match)
    if common is not None and number in common.members:
        return "machine"
    if kind not in ("more_often", "fewer_often"):
        return kind
    before, after = (one.get(name, 0.0) for one, name in zip(executions, match.programs, strict=True))
    old, new = match.runs
    together = before and after and 1 / MORE_OFTEN < (new / old) / (after / before) < MORE_OFTEN
    return _executions_kind(before, after) or kind if together else kind


def principal(changes: Iterable[Contribution], delta_ps: float) -> Contribution | None:
    """The largest change in the direction of a difference; None without any."""
    along = [one for one in changes if one.kind != "rest" and one.delta_ps * delta_ps > 0]
    most = max(along, key=lambda one: abs(one.delta_ps), default=None)
    named = max((one for one in along if not one.nameless), key=lambda one: abs(one.delta_ps), default=None)
    if most is None or named is None:
        return most
    return named if abs(most.delta_ps) <= NAMELESS * abs(named.delta_ps) else most


def _judged(what: str, kind: Kind, samples: tuple[Sample, Sample], floor_ps: float) -> Contribution:
    old, new = samples
    delta = new.mean - old.mean
    interval = welch(old, new)
    certain = abs(delta) > floor_ps and (interval is None or interval[0] > 0 or interval[1] < 0)
    low, high = interval or (None, None)
    return Contribution(what, kind, round(delta), old.mean, new.mean, OPS, low_ps=low, high_ps=high, certain=certain)
