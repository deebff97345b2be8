"""The difference of the average step as contributions that add up to it, each one change with its name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    CATEGORIES,
    COMPUTE,
    DATA_MOVEMENT,
    GROUP_OF,
    IDLE_OTHER,
)
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.noise import Sample, welch
from tpu_profile_plugin.analysis.compare.run import RunWork, WorkedOp

Kind = Literal[
    "slower", "faster", "added", "removed", "split", "merged", "dtype_changed", "shape_changed", "more_often",
    "fewer_often", "rest",
]  # fmt: skip
MORE_OFTEN = 1.1
"""Least ratio of runs per step to the base's for "more often", if a single run takes no longer."""
LONGER = 1.1
"""Least ratio of the time of a run to the base's for a slower run."""
OPS = GROUP_OF[CATEGORIES[COMPUTE]]
"""Category of ops. Their time is two of its parts: computation and data movement."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One change; times in picoseconds per step and device that takes part.

    Attributes:
      what: the op, the program or the part of the step that changed, and how.
      kind: how.
      delta_ps: what it adds to the compared length; all contributions add up to the difference.
      base_ps, run_ps: its time in both runs.
      category: the category that it belongs to, as in the time budget; `BETWEEN` for the time between steps.
      part: id of the part of the time budget; "" for ops.
      matches: the ops, for those about ops.
      low_ps, high_ps: interval of `delta_ps`; None if there are too few steps.
      certain: the interval and what captures differ by anyway leave no room for 0.
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


def contributions(base: RunWork, run: RunWork, matches: Iterable[Match], floor_ps: float) -> list[Contribution]:
    """All changes, the largest first; then idle time that nothing explains, which names no change, and the rest.

    Args:
      base, run: the two runs.
      matches: of their ops (see `match_ops`).
      floor_ps: differences below this are noise whatever the steps say.
    """
    changes = (*_of_ops(base, run, matches, floor_ps), *_of_parts(base, run, floor_ps))
    changed = [one for one in changes if one.delta_ps]
    changed.sort(key=lambda one: (one.part == CATEGORIES[IDLE_OTHER], -abs(one.delta_ps)))
    rest = round(run.length.mean) - round(base.length.mean) - sum(one.delta_ps for one in changed)
    return [*changed, Contribution("Rest", "rest", rest, 0.0, 0.0, "", certain=False)]


def _of_parts(base: RunWork, run: RunWork, floor_ps: float) -> Iterable[Contribution]:
    """The parts of the time budget that are not the time of ops, and the time between steps."""
    named = zip((*CATEGORIES, BETWEEN), (*base.parts, base.between), (*run.parts, run.between), strict=True)
    for i, (name, old, new) in enumerate(named):
        if i not in (COMPUTE, DATA_MOVEMENT) and (old.mean or new.mean):
            kind: Kind = "slower" if new.mean >= old.mean else "faster"
            judged = _judged(name, kind, (old, new), floor_ps)
            yield replace(judged, category=GROUP_OF.get(name, BETWEEN), part=name)


def _of_ops(base: RunWork, run: RunWork, matches: Iterable[Match], floor_ps: float) -> Iterable[Contribution]:
    """Ops: matches of one program that differ in the same way are one change."""
    groups: dict[tuple[Kind, str, str, int], list[Match]] = defaultdict(list)
    for i, match in enumerate(matches):
        kind = kind_of(match)
        alone = kind in ("slower", "faster", "more_often", "fewer_often", "split", "merged")
        groups[kind, match.programs[1] or match.programs[0], how(match), i if alone else -1].append(match)
    for (kind, _, _, _), members in groups.items():
        old = base.total([op for one in members for op in one.base])
        new = run.total([op for one in members for op in one.run])
        yield replace(_judged(describe(members), kind, (old, new), floor_ps), matches=tuple(members))


def _judged(what: str, kind: Kind, samples: tuple[Sample, Sample], floor_ps: float) -> Contribution:
    old, new = samples
    delta = new.mean - old.mean
    interval = welch(old, new)
    certain = abs(delta) > floor_ps and (interval is None or interval[0] > 0 or interval[1] < 0)
    low, high = interval or (None, None)
    return Contribution(what, kind, round(delta), old.mean, new.mean, OPS, low_ps=low, high_ps=high, certain=certain)


def kind_of(match: Match) -> Kind:
    """How the ops of a match differ."""
    if match.relation in ("dtype_changed", "shape_changed", "split", "merged", "added", "removed"):
        return match.relation
    old, new = (sum(op.ps for op in side) for side in (match.base, match.run))
    before, after = (sum(op.runs for op in side) for side in (match.base, match.run))
    if before and after and old and new:
        longer = (new / after) / (old / before)
        if after > MORE_OFTEN * before and longer < LONGER:
            return "more_often"
        if before > MORE_OFTEN * after and longer > 1 / LONGER:
            return "fewer_often"
    return "slower" if new >= old else "faster"


def how(match: Match) -> str:
    """What changed in element types: "bf16 → f32"; "" if nothing did."""
    old, new = match.types
    return f"{old or 'none'} → {new or 'none'}" if old or new else ""


def describe(matches: Sequence[Match]) -> str:
    """A change in words: the op with most time, how many there are, and how they changed."""
    most = max(matches, key=lambda one: max(sum(op.ps for op in one.base), sum(op.ps for op in one.run)))
    old, new = most.programs
    text = how(most)
    if most.relation == "shape_changed":
        text = _shapes(most)
    if most.relation in ("split", "merged") and old and new and ", " in f"{old}{new}":
        return f"{old} → {new}"
    name = _names(most)
    if len(matches) > 1:
        name = f"{len(matches)} ops such as {name}"
    where = old if old == new or not new else new if not old else f"{old} → {new}"
    return " ".join(part for part in (f"{where}: {name}" if where else name, f"({text})" if text else "") if part)


def _names(match: Match) -> str:
    """The ops of a match by the framework's names, else their own."""

    def side(ops: Sequence[WorkedOp]) -> str:
        ordered = sorted(ops, key=lambda op: -op.ps)
        shown = ", ".join(dict.fromkeys(op.name for op in ordered[:3]))
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
