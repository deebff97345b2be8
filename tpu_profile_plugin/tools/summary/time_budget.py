"""The time budget: the parts of every step on every device, and the causes of idle time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, NOT_RECORDED, PARTS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.op_names import shown_event
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.run.catalogue.steps import AVERAGE
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.spending import run_notes
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.steps import Decomposition, decomposition
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

ALL = "all"
LEAST_LARGEST = 5.0
"""Percent of the steps below which no part is called the largest."""
_NO_CAUSE = ("compute", "data_movement", "idle_gap", "idle_other", "not_recorded")


@dataclass(frozen=True)
class BudgetSteps:
    """All steps, with an entry per step.

    Attributes:
      name: names, or numbers of steps without one.
      begin_ps: [step][device], on the time axis of the device's host.
      duration_ps: [step][device].
    """

    number: I64
    name: Sequence[str]
    begin_ps: Annotated[I64, "number[][]"]
    duration_ps: Annotated[I64, "number[][]"]


@dataclass(frozen=True)
class BudgetDevice:
    """A device whose time is accounted for.

    Attributes:
      label: its name, with that of its host if there are several.
      kind: "tpu", "gpu", "cpu" or "host".
    """

    label: str
    name: str
    host: str
    kind: str


@dataclass(frozen=True)
class BetweenSteps:
    """The time between successive steps.

    Attributes:
      duration_ps: by device.
      time_ps: [device][category].
    """

    duration_ps: I64
    time_ps: Annotated[I64, "number[][]"]


@dataclass(frozen=True)
class IdleCause:
    """Code of a host that idle time is attributed to.

    Attributes:
      inner: its innermost event that covers the idle time.
      time_ps: per step and device.
      percent: of what the decomposition divides; null if that is 0.
    """

    name: str
    inner: str
    host: str
    time_ps: float
    percent: float | None


@dataclass(frozen=True)
class LargestPart:
    """The largest part of the average step that tells a cause."""

    category: str
    percent: float


@dataclass(frozen=True)
class TimeBudget(Document):
    """The parts of every step on every device; all times are whole picoseconds.

    Attributes:
      categories: ids of the parts.
      time_ps: [step][device][category]; the parts of a device add up to its step.
      average: by device and category the mean over the steps in which the device takes part; percentages are of the
        time from step to step if the recording has time between steps, else of the step. `between_steps` is the last
        category of each device, and `all` the last device: the mean.
      takes_part: [step][device]: the device works in the step; averages leave out the others.
      decomposition: the same by category of the user documents.
      causes: host code behind idle time, most time first.
      largest: null below 5 percent.
      notes: sentences.
    """

    steps: BudgetSteps
    devices: Sequence[BudgetDevice]
    categories: Sequence[str]
    time_ps: Annotated[I64, "number[][][]"]
    average: Table
    between: BetweenSteps
    causes: Sequence[IdleCause]
    takes_part: Annotated[Bools, "boolean[][]"]
    decomposition: Decomposition
    largest: LargestPart | None
    notes: Sequence[str]


def build(run: Run, query: Query) -> TimeBudget:
    """The parts of every step, their average and what is known about their causes."""
    budget = run_decomposition(run)
    hosts = [host.name for host in run.readable]
    labels = device_names(budget.devices, hosts, several=len(budget.hosts) > 1)
    return TimeBudget(
        steps=BudgetSteps(budget.number, budget.labels, budget.begin_ps, budget.duration_ps),
        devices=[
            BudgetDevice(label, device.name, hosts[device.host], device.kind)
            for label, device in zip(labels, budget.devices, strict=True)
        ],
        categories=CATEGORIES,
        time_ps=budget.time_ps.stacked(PARTS),
        average=_average(budget, labels),
        between=BetweenSteps(budget.between_ps, budget.between_time_ps),
        causes=_causes(budget, hosts),
        takes_part=budget.takes_part,
        decomposition=decomposition(budget, hosts),
        largest=_largest(budget),
        notes=[*run_notes(run, budget), *run.warnings],
    )


def _average(budget: RunBudget, names: list[str]) -> Table:
    """The parts of each device's average step, then their mean over the devices that take part."""
    times = np.column_stack([budget.of_devices_ps[1], budget.between_of_devices_ps()])
    if names:
        names, times = [*names, ALL], np.vstack([times, [*budget.parts_ps, budget.part_ps(BETWEEN)]])
    known = np.where(np.arange(times.shape[1]) == NOT_RECORDED, np.nan, times)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 100 * known / np.nansum(known, axis=1, keepdims=True)
    categories = [*CATEGORIES, BETWEEN]
    return Table(
        AVERAGE,
        {
            "device": [name for name in names for _ in categories],
            "category": categories * len(names),
            "time_ps": times.ravel(),
            "percent": shares.ravel(),
        },
    )


def _causes(budget: RunBudget, hosts: list[str]) -> list[IdleCause]:
    """Host code per step, averaged over the devices of its host that take part."""
    return [
        IdleCause(
            name=shown_event(cause.name),
            inner=shown_event(cause.inner),
            host=hosts[host],
            time_ps=ps,
            percent=100 * ps / budget.base_ps if budget.base_ps else None,
        )
        for host, cause, ps in budget.causes_per_step()
    ]


def _largest(budget: RunBudget) -> LargestPart | None:
    """The part with most time other than computation and unexplained time, of the average step."""
    category = max((name for name in (*CATEGORIES, BETWEEN) if name not in _NO_CAUSE), key=budget.part_ps)
    percent = 100 * budget.share(category)
    return LargestPart(category, percent) if percent >= LEAST_LARGEST else None


TOOL = Tool(
    id="time_budget",
    title="Time budget",
    group="Summary",
    summary="What a step consists of: computation, exposed communication and copies, and idle time by cause.",
    build=build,
    lacks=lacks_devices,
)
