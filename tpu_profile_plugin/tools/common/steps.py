"""A run's steps as several pages show them, XProf's reading of them, and messages about the recording."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, BETWEEN_LABEL, CATEGORIES, GROUPS, LABELS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.statistics import Statistics
from tpu_profile_plugin.analysis.steps.breakdown import InputVerdict, input_verdict
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.analysis.summary.recording import Coverage, coverage
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.spending import step_notes
from tpu_profile_plugin.run.figures.steps import HostTimes, host_times
from tpu_profile_plugin.run.figures.summary import Diagnostics
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.units import PS_PER_MS

Numbers = Annotated[F64, "number[]"]
"""In documents: numbers that are all finite."""


@dataclass(frozen=True)
class BudgetPart:
    """A part of a step, or of a category of its time."""

    id: str
    name: str
    help: str


@dataclass(frozen=True)
class BudgetCategory(BudgetPart):
    """A category of step time with its parts, of which the time between steps has none."""

    parts: Sequence[BudgetPart]


@dataclass(frozen=True)
class DecomposedSteps:
    """All steps, with an entry per step; times are picoseconds, averaged over the devices that take part.

    Attributes:
      name: names, or numbers of steps without one.
      parts_ps: by id of the part, without parts that are 0 throughout.
      devices: number of devices that take part.
      slowest: position of the device with the longest step.
      begin_ps: begin of that step, on the time axis of its host.
      end_ps: end of that step.
    """

    name: Sequence[str]
    number: I64
    duration_ps: Numbers
    parts_ps: dict[str, Numbers]
    devices: I64
    slowest: I64
    begin_ps: I64
    end_ps: I64


@dataclass(frozen=True)
class DecomposedDevice:
    """A device whose time is decomposed.

    Attributes:
      kind: "tpu", "gpu", "cpu" or "host".
      steps: number of steps in which it takes part.
    """

    name: str
    host: str
    kind: str
    steps: int


@dataclass(frozen=True)
class Decomposition:
    """The time budget of the average step and of each step; times are picoseconds, averaged over devices.

    Attributes:
      base: what every share is of: "step", "time from step to step" or "recording".
      base_ps: its length on average.
      step_ps: the average step.
      source: where the steps come from: "device", "host", "inferred", "dispatch" or "recording"; "" without steps.
      left_out: number of marked steps that are not among `steps` because the recording may have cut them.
      groups: the categories in the order of display; the last is the time between steps.
      average_ps: the average step by id of the part, and the time between steps; without those that are 0. They add up
        to `base_ps`, without `not_recorded`.
    """

    base: str
    base_ps: float
    step_ps: float
    source: str
    left_out: int
    groups: Sequence[BudgetCategory]
    average_ps: dict[str, float]
    steps: DecomposedSteps
    devices: Sequence[DecomposedDevice]


@dataclass(frozen=True)
class RecordingCover:
    """The part of a recording that steps cover, on the host where they cover least."""

    host: str
    length_ms: float
    steps_ms: float
    before_ms: float
    after_ms: float


@dataclass(frozen=True)
class StepReading:
    """The steps of a run.

    Attributes:
      input: the verdict on input, by XProf's thresholds on shares of the decomposition; what may be input is idle time
        that nothing explains.
      recording: null without marked steps.
      notes: sentences on where the steps come from, exceptions among them, and what they leave out.
    """

    decomposition: Decomposition
    input: InputVerdict
    hosts: HostTimes
    recording: RecordingCover | None
    notes: Sequence[str]


@dataclass(frozen=True)
class WaitingShare:
    """XProf's shares of step time that TPU cores wait for input, in percent, an entry per step.

    Attributes:
      average: over the cores.
      longest: statistics of `maximum` over the steps.
      cores: host and ordinal of the core that waits longest; "unknown" if none waits.
    """

    average: Numbers
    minimum: Numbers
    maximum: Numbers
    longest: Statistics
    cores: Sequence[str]


@dataclass(frozen=True)
class XprofTip:
    """A tip, with links as in Markdown; it may begin with the id of a tool."""

    heading: str
    text: str


@dataclass(frozen=True)
class XprofFigure:
    """A figure as XProf shows it; `property` is its name in XProf's answer."""

    name: str
    value: str
    property: str


@dataclass(frozen=True)
class XprofReading:
    """XProf's statements, in a document whose other figures are XProf's, too.

    Attributes:
      step_time_ms: statistics over the steps, each as long as on its slowest host.
      statements: verdicts as sentences, with links as in Markdown; the conclusion on input is the first.
      tips: of the overview.
      figures: of the overview.
      waiting: of the input pipeline; null without TPUs.
    """

    step_time_ms: Statistics
    statements: Sequence[str]
    tips: Sequence[XprofTip] = ()
    figures: Sequence[XprofFigure] = ()
    waiting: WaitingShare | None = None


@dataclass(frozen=True)
class Message:
    """A message of the profiler, or about the recording as a whole."""

    severity: Literal["error", "warning"]
    text: str


def messages_of(diagnostics: Diagnostics, without: Collection[str]) -> list[Message]:
    """The messages, errors first, but for those that the page shows elsewhere."""
    errors = [Message("error", text.strip()) for text in diagnostics.errors]
    warnings = [Message("warning", text.strip()) for text in diagnostics.warnings if text not in without]
    return [message for message in dict.fromkeys((*errors, *warnings)) if message.text]


def decomposition(budget: RunBudget, hosts: Sequence[str]) -> Decomposition:
    """The decomposition of a time budget; `hosts` are the names of the run's hosts."""
    average = {name: budget.part_ps(name) for name in (BETWEEN, *CATEGORIES)}
    return Decomposition(
        base=budget.base,
        base_ps=budget.base_ps,
        step_ps=budget.step_ps,
        source=next(iter(budget.sources), ""),
        left_out=budget.left_out,
        groups=CATEGORY_LABELS,
        average_ps={key: ps for key, ps in average.items() if ps},
        steps=_steps(budget),
        devices=[
            DecomposedDevice(device.name, hosts[device.host], device.kind, steps)
            for device, steps in zip(budget.devices, budget.takes_part.sum(axis=0).tolist(), strict=True)
        ],
    )


CATEGORY_LABELS = (
    *(
        BudgetCategory(
            group.id,
            group.label.name,
            group.label.sentence,
            [BudgetPart(part, LABELS[part].name, LABELS[part].sentence) for part in group.parts],
        )
        for group in GROUPS
    ),
    BudgetCategory(BETWEEN, BETWEEN_LABEL.name, BETWEEN_LABEL.sentence, ()),
)
"""The categories in the order of display; the last is the time between steps."""


def _steps(budget: RunBudget) -> DecomposedSteps:
    none = np.empty(0, np.int64)
    if not len(budget):
        return DecomposedSteps([], none, np.empty(0), {}, none, none, none, none)
    length, parts = budget.of_steps_ps
    slowest = np.where(budget.takes_part, budget.duration_ps, -1).argmax(axis=1)
    step = np.arange(len(budget))
    begin = budget.begin_ps[step, slowest]
    return DecomposedSteps(
        name=budget.labels,
        number=budget.number,
        duration_ps=length,
        parts_ps={key: parts[:, i] for i, key in enumerate(CATEGORIES) if bool(parts[:, i].any())},
        devices=budget.takes_part.sum(axis=1),
        slowest=slowest,
        begin_ps=begin,
        end_ps=begin + budget.duration_ps[step, slowest],
    )


def step_reading(run: Run, summary: RunSummary) -> StepReading:
    """The decomposition of the run's steps with verdict, hosts, coverage and notes."""
    budget = run_decomposition(run)
    hosts = [host.name for host in run.readable]
    covered = coverage(budget, summary.recordings)
    return StepReading(
        decomposition=decomposition(budget, hosts),
        input=input_verdict(len(budget), 100 * budget.share("input"), 100 * budget.share("idle_other")),
        hosts=host_times(budget, hosts),
        recording=None if covered is None else _recording(covered, hosts[covered.host]),
        notes=step_notes(budget, covered, summary.frameworks),
    )


def _recording(covered: Coverage, host: str) -> RecordingCover:
    times = (covered.length_ps, covered.steps_ps, covered.before_ps, covered.after_ps)
    return RecordingCover(host, *(ps / PS_PER_MS for ps in times))
