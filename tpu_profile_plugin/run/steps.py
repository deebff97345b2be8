"""The steps of a run in both readings: XProf's, and ours, which follows the slowest host of each step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.steps.bottleneck import InputVerdict, Verdict, aspect, generic_verdict, tpu_verdict
from tpu_profile_plugin.analysis.steps.breakdown import (
    GenericBreakdown,
    TpuBreakdown,
    generic_breakdown,
    tpu_breakdown,
)
from tpu_profile_plugin.analysis.steps.input_breakdown import InputBreakdown, input_breakdown
from tpu_profile_plugin.analysis.steps.slowest import SlowestSteps, slowest_steps, slowest_verdict
from tpu_profile_plugin.analysis.steps.table import CLASS_INDEX, EventClass, StepTable
from tpu_profile_plugin.analysis.summary.host import RunSummary

UNSEEN = "UNSEEN"
"""Level of the input verdict when the profile has no event of an input pipeline."""


@dataclass(frozen=True)
class StepAnalysis:
    """Breakdown and bottleneck of the run's steps, and the host's input processing; `generic` or `tpu` is set."""

    generic: GenericBreakdown | None
    tpu: TpuBreakdown | None
    verdict: Verdict
    input: InputBreakdown

    @property
    def steps(self) -> int:
        """Number of steps."""
        breakdown = self.tpu or self.generic
        return len(breakdown.labels) if breakdown else 0


def analyse(summary: RunSummary, *, steps: StepTable | None = None) -> StepAnalysis:
    """Analyses the run's steps, or the given ones."""
    table = summary.steps if steps is None else steps
    on_tpu = summary.environment.hardware.value == "TPU" if not len(table) else table.on_tpu
    source = input_breakdown(summary.host, _transfer_share(table))
    if on_tpu:
        tpu = tpu_breakdown(table)
        return StepAnalysis(None, tpu, tpu_verdict(tpu), source)
    generic = generic_breakdown(table)
    return StepAnalysis(generic, None, generic_verdict(generic), source)


def _transfer_share(steps: StepTable) -> float:
    """Share of host-to-device copies in the step time."""
    if steps.on_tpu or not len(steps):
        return 0.0
    copies = float(steps.times[:, 0, CLASS_INDEX[EventClass.HOST_TO_DEVICE]].sum())
    return ratio(copies, float(steps.duration_ps[:, 0].sum()))


@dataclass(frozen=True, slots=True)
class Reading:
    """The steps of the slowest hosts and their verdict; `sees_input` is False without events of an input pipeline."""

    steps: SlowestSteps
    verdict: Verdict
    sees_input: bool


def own_steps(summary: RunSummary) -> StepTable:
    """The steps that our pages show: of GPUs with the events of the host, of CPUs without instants if any are left."""
    return summary.merged_steps if len(summary.merged_steps) else summary.steps


def read_steps(summary: RunSummary) -> Reading:
    """Our reading of a run's steps."""
    steps = slowest_steps(own_steps(summary), single_host=len(summary.host_names) == 1)
    verdict, seen = slowest_verdict(steps), _sees_input(summary, steps)
    if not seen and verdict.input.level in ("NOT", "POTENTIALLY"):
        others = aspect(0.0 if steps.on_tpu else steps.percent("other"))
        verdict = replace(verdict, input=InputVerdict("unknown", UNSEEN, 0.0), all_others=others)
    return Reading(steps, verdict, seen)


def _sees_input(summary: RunSummary, steps: SlowestSteps) -> bool:
    if summary.input_events or bool(steps.waiting_most.any()):
        return True
    return summary.steps.on_tpu and "infeed" in summary.steps.categories
