"""Lost time per step and device, and the parts of the time budget that it lies in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, members
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.columns.arrays import F64, I64

LEAST_SHARE = 0.05
"""Smallest share of the step that is worth a finding: below it, noise and other causes weigh more."""
EXPOSED_SHARE = 0.10
"""Exposed communication, as a share of the step: below it, overlapping more gains less than a tenth."""
INPUT_SHARE = 0.05
"""Waiting for input, as a share of the step: from here XProf calls a run moderately input-bound."""
LEAST_ANY = 0.25
"""Least share of the step of ordinary work that has a name; it costs nothing that is known."""
_SAME = 1e-6
"""Relative difference of sums that are the same but for rounding."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Lost time.

    Attributes:
      ps: per step and device that takes part.
      share: of the budget's base, 0 to 1.
      segments: ids of the parts of the time budget that it lies in; `ps` never exceeds their sum.
      whole: it is all the time of the only one.
    """

    ps: float
    share: float
    segments: tuple[str, ...]
    whole: bool = False


def lost_to(budget: RunBudget, *parts: str) -> Lost:
    """The time of parts or groups of parts in steps, and between steps if `LEAST_SHARE` of it is there."""
    inside = sum(budget.part_ps(part) for part in parts)
    columns = [column for part in parts for column in members(part)]
    between = float(budget.between_parts_ps[columns].sum()) if budget.between_step_ps else 0.0
    segments = tuple(part for part in parts if budget.part_ps(part))
    if between and between >= LEAST_SHARE * (inside + between):
        return within(budget, inside + between, (*segments, BETWEEN))
    return within(budget, inside, segments or parts[:1])


def located(budget: RunBudget, by_part: I64) -> Lost:
    """A time summed over steps and devices: int64[c + 1] by category, the last between steps.

    Parts with less than `LEAST_SHARE` of it are not named.
    """
    mean = average(budget, by_part)
    least = max(LEAST_SHARE * float(mean.sum()), 1.0)
    segments = tuple(
        name for name, part_ps in zip((*CATEGORIES, BETWEEN), mean.tolist(), strict=True) if part_ps >= least
    )
    return within(budget, float(mean.sum()), segments)


def average(budget: RunBudget, by_part: I64) -> F64:
    """A time summed over steps and devices as that of the average step, float64[c + 1], by category as of `located`."""
    mean: F64 = by_part / np.append(np.full(len(CATEGORIES), max(budget.cells, 1)), max(budget.gaps, 1))
    return mean


def share_within(budget: RunBudget, by_part: F64, segments: Sequence[str]) -> float:
    """Share of parts, groups or the time between steps that a time of the average step takes, 0 to 1."""
    columns = sorted({column for segment in segments for column in members(segment)})
    ps = float(by_part[columns].sum()) + (float(by_part[-1]) if BETWEEN in segments else 0.0)
    return min(ps / max(segments_ps(budget, segments), 1.0), 1.0)


def within(budget: RunBudget, ps: float, segments: Sequence[str]) -> Lost:
    """A time that lies in these parts, at most their sum."""
    most = segments_ps(budget, segments)
    whole = len(segments) == 1 and ps >= (1 - _SAME) * most
    ps = min(max(ps, 0.0), most)
    return Lost(ps, ps / budget.base_ps if budget.base_ps else 0.0, tuple(segments), whole)


def segments_ps(budget: RunBudget, segments: Sequence[str]) -> float:
    """The sum of parts, groups or the time between steps; a part inside a named group counts once."""
    columns = sorted({column for segment in segments for column in members(segment)})
    return float(np.sum(budget.parts_ps[columns])) + (budget.between_step_ps if BETWEEN in segments else 0.0)
