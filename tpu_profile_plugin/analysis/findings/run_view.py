"""A run as rules see it: its hosts' summaries merged, and the base of every share, the average step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.communication.run import RunCommunication
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.steps.slowest import SlowestSteps, slowest_steps
from tpu_profile_plugin.analysis.summary.host import RunSummary
from tpu_profile_plugin.units import PS_PER_MS

T = TypeVar("T")


@dataclass(frozen=True)
class RunView:
    """A run.

    Attributes:
      hosts: names of the hosts that were read, as in addresses of pages.
      summary, budget, communication: as other tools have them; positions of hosts refer to `hosts`.
    """

    hosts: tuple[str, ...]
    summary: RunSummary
    budget: RunBudget
    communication: RunCommunication

    @cached_property
    def step_ps(self) -> int:
        """The average step: over steps and devices, else over the host's steps; 0 if there are none."""
        if self.budget.duration_ps.size:
            return round(exact_sum(self.budget.duration_ps) / self.budget.duration_ps.size)
        times = self.summary.merged_steps.step_ms()
        return round(sum(times) / len(times) * PS_PER_MS) if times else 0

    @cached_property
    def period_ps(self) -> int:
        """The time from the begin of a step to that of the next one, on average; the step itself without devices."""
        cells = self.budget.duration_ps.size
        between = round(exact_sum(self.budget.between_ps) / cells) if cells else 0
        return self.step_ps + between

    @cached_property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.budget) or len(self.summary.merged_steps)

    @cached_property
    def slowest(self) -> SlowestSteps:
        """The steps of the slowest hosts in parts, as the overview shows them; empty without steps."""
        merged = self.summary.merged_steps
        return slowest_steps(merged if len(merged) else self.summary.steps, single_host=len(self.hosts) == 1)

    @property
    def whole_recording(self) -> bool:
        """There are no steps: what is called a step is the whole recording."""
        return "recording" in self.budget.sources

    @property
    def base(self) -> str:
        """What shares of parts are of, for sentences: "step" or "recording"."""
        return "recording" if self.whole_recording else "step"

    def part_ps(self, category: int) -> int:
        """A part of the time budget, averaged over steps and devices; see `budget.categories`."""
        cells = self.budget.duration_ps.size
        return round(exact_sum(self.budget.time_ps[:, :, category]) / cells) if cells else 0

    def between_part_ps(self, category: int) -> int:
        """A part of the time between successive steps, per step and device."""
        cells = self.budget.duration_ps.size
        return round(exact_sum(self.budget.between_time_ps[:, category]) / cells) if cells else 0

    def present(self, gathered: Sequence[T | None]) -> list[tuple[T, str]]:
        """What hosts have gathered, with the host's name; hosts without a result are left out."""
        return [(part, host) for part, host in zip(gathered, self.hosts, strict=True) if part is not None]

    def share(self, ps: float) -> float:
        """A time as a share of the average step; 0 without steps."""
        return ps / self.step_ps if self.step_ps else 0.0

    def parts(self) -> list[tuple[str, float]]:
        """Every part of the time budget with its share of the step, largest first."""
        shares = ((name, self.share(self.part_ps(i))) for i, name in enumerate(CATEGORIES))
        return sorted(shares, key=lambda part: -part[1])

    @property
    def hardware(self) -> Hardware:
        """The kind of devices."""
        return self.summary.environment.hardware

    @property
    def frameworks(self) -> Sequence[str]:
        """Frameworks that wrote the profile, the most important first."""
        return self.summary.frameworks
