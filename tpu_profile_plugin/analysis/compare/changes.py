"""How the ops of a match differ, and their change in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tpu_profile_plugin.analysis.compare.described import CONTAINERS
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.run import WorkedOp

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


def describe(matches: Sequence[Match], short: Mapping[str, str]) -> str:
    """A change in words: the op with most time, loops around others last, how many there are, and how they changed.

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


def _weight(match: Match) -> tuple[bool, float]:
    ops = [op for op in (*match.base, *match.run) if op.name != CONTAINERS]
    return bool(ops), max(sum(op.ps for op in match.base), sum(op.ps for op in match.run))


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
