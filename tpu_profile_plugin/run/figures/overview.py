"""What a run is and what limits it, in short: the devices, the steps and what they are spent on, the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, GROUPS, UNKNOWN, label_of
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.environment.environment import Environment
from tpu_profile_plugin.analysis.findings.find import Report
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.run.figures.diagnostics import Diagnostics, run_diagnostics
from tpu_profile_plugin.run.figures.findings import run_findings
from tpu_profile_plugin.run.hosts import RunHosts

CATEGORY_IDS = (*(group.id for group in GROUPS), BETWEEN)
PART_IDS = (*CATEGORIES, BETWEEN)


@dataclass(frozen=True, slots=True)
class Spent:
    """A category or part of the average step.

    Attributes:
      id, name: stable id and display name.
      ps: time per step, averaged over the devices that take part.
      share: of the run's base, 0 to 1; None for what was not recorded.
    """

    id: str
    name: str
    ps: float
    share: float | None

    @property
    def percent(self) -> float | None:
        """The share in percent."""
        return None if self.share is None else 100 * self.share


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """What a run is and what limits it.

    Attributes:
      view: the run as the rules of the findings see it, with summary and decomposition.
      report: the findings, the checks without one, and the headline.
    """

    view: RunView
    report: Report

    @property
    def environment(self) -> Environment:
        """Hosts and devices."""
        return self.view.summary.environment

    @property
    def decomposition(self) -> RunBudget:
        """The parts of the steps; of the hosts alone if no device was recorded."""
        return self.view.budget

    @property
    def frameworks(self) -> list[str]:
        """Display names of the frameworks that wrote the profile, the most important first."""
        return [NAMES[name] for name in self.view.summary.frameworks]

    @property
    def spent(self) -> list[Spent]:
        """The categories of the average step that take time, the largest first."""
        return most_first(self.view.budget, CATEGORY_IDS)

    @property
    def diagnostics(self) -> Diagnostics:
        """Errors and warnings of the profiler."""
        summary, environment = self.view.summary, self.view.summary.environment
        devices = environment.device_type, environment.device_cores
        return run_diagnostics(summary.errors, summary.warnings, *devices, ())


def most_first(budget: RunBudget, names: Sequence[str]) -> list[Spent]:
    """These categories or parts of the average step, largest first, without empty ones."""
    shares = {name: None if name == UNKNOWN else budget.share(name) for name in names}
    spent = [Spent(name, label_of(name).name, budget.part_ps(name), share) for name, share in shares.items()]
    return sorted((one for one in spent if one.ps), key=lambda one: -one.ps)


def run_overview(run: RunHosts) -> Overview:
    """The overview of the chosen hosts."""
    return Overview(*run_findings(run))
