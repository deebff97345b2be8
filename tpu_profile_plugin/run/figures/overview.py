"""What a run is and what limits it, in short: the devices, the steps and what they are spent on, the findings."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.environment.environment import Environment
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.run.figures.findings import Findings, run_findings
from tpu_profile_plugin.run.figures.spending import CATEGORY_IDS, Spent, most_first
from tpu_profile_plugin.run.figures.summary import Diagnostics, run_diagnostics
from tpu_profile_plugin.run.hosts import RunHosts


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """What a run is and what limits it.

    Attributes:
      report: the findings, the checks without one, and the headline.
    """

    report: Findings

    @property
    def view(self) -> RunView:
        """The run as the rules of the findings see it, with summary and decomposition."""
        return self.report.view

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


def run_overview(run: RunHosts) -> Overview:
    """The overview of the chosen hosts."""
    return Overview(run_findings(run))
