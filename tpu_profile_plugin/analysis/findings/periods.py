"""Shares of the step, or of the time from step to step: short steps with long pauses say little."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.budget import HostBudget
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.run_view import RunView


@dataclass(frozen=True, slots=True)
class Lost:
    """A part of the time budget, per step and device.

    Attributes:
      ps: in steps, and between them too if much of it is there.
      share: of the step, or of the time from step to step; base: which of them, for sentences.
      between: the latter.
    """

    ps: int
    share: float
    base: str
    between: bool


def lost_to(run: RunView, category: int) -> Lost:
    """What a category takes of the steps, or from step to step if `LEAST_SHARE` of it or more is between the steps."""
    inside, between = run.part_ps(category), run.between_part_ps(category)
    if between and between >= LEAST_SHARE * (inside + between):
        return Lost(inside + between, (inside + between) / run.period_ps, "time from step to step", True)
    return Lost(inside, run.share(inside), run.base, False)


def share_of_saving(run: RunView, ps: float, *, between: bool) -> tuple[float, str]:
    """The share that a finding with this saving has, and of what: the step, or with `between` the time to the next."""
    length = run.period_ps if between else run.step_ps
    return min(ps / length, 1.0) if length else 0.0, "time from step to step" if between else run.base


def share_of_all(budget: HostBudget, category: int) -> float:
    """Share of a category in the time of all devices of a host, first to last step; 0 without devices."""
    whole = exact_sum(budget.time_ps) + exact_sum(budget.between_time_ps)
    lost = exact_sum(budget.time_ps[:, :, category]) + exact_sum(budget.between_time_ps[:, category])
    return lost / whole if whole else 0.0


def covered(run: RunView) -> float:
    """Share of the time from the first step to the last that is within steps, 0 to 1; 1 without devices."""
    inside, between = exact_sum(run.budget.duration_ps), exact_sum(run.budget.between_ps)
    return inside / (inside + between) if inside else 1.0


def share_of_period(run: RunView, ps: float) -> float:
    """A time per step and device as a share of the time from step to step; 0 without steps."""
    return run.share(ps) * covered(run)
