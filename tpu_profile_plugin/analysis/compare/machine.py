"""Whether the machine differs between two runs: unchanged ops that are all slower, or faster, by about one factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.compare.match import Match
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
    times = np.array([[sum(op.ps for op in side) for side in (matches[i].base, matches[i].run)] for i in rows])
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
    old, new = (sum(op.runs for op in side) for side in (match.base, match.run))
    return bool(old) and bool(new) and 1 / LEAST_FACTOR < new / old < LEAST_FACTOR
