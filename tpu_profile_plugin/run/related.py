"""Which runs have programs in common, by the names and sizes of their HLO modules; nothing is decoded for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tpu_profile_plugin.run.facts import RunFacts

R = TypeVar("R")
_STEP = 100
"""Runs whose shares are the same percentage share equally much."""


def shared_programs(one: RunFacts, other: RunFacts) -> float:
    """How much of two runs' programs is shared, 0 to 1: by name, weighted by size.

    Programs of one name and different size count as far as the smaller one goes. 0 if a run has no programs.
    """
    ours, theirs = dict(one.program_bytes), dict(other.program_bytes)
    names = ours.keys() | theirs.keys()
    both = sum(min(ours.get(name, 0), theirs.get(name, 0)) for name in names)
    total = sum(max(ours.get(name, 0), theirs.get(name, 0)) for name in names)
    return both / total if total else 0.0


def most_related_first(facts: RunFacts, others: Iterable[tuple[R, RunFacts]]) -> list[tuple[R, float]]:
    """The others that share programs, with how much; equally related ones stay in their order."""
    shared = [(other, shared_programs(facts, of_other)) for other, of_other in others]
    return sorted((one for one in shared if one[1] > 0), key=lambda one: -round(_STEP * one[1]))
