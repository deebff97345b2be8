"""Pod viewer: time breakdown of each step on every worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.run.facts import host_facts, lacks_time
from tpu_profile_plugin.run.figures.budget import budget as host_budget
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.spending import run_notes
from tpu_profile_plugin.run.figures.summary import host_summary, run_summary
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.common.steps import CATEGORY_LABELS, BudgetCategory
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class PodSteps:
    """The steps of the time budget with a column per device, for pods of hundreds of hosts.

    Attributes:
      names: names, or numbers of steps without one.
      left_out: number of marked steps that are not among these because the recording may have cut them.
      hosts: by column.
      labels: names of the devices by column, with their host if there are several.
      begin_ps: [step][column], on the time axis of the column's host; null in XProf's reading.
      takes_part: [step][column]; null if all devices take part in all steps.
      total_ns: [step][column].
      parts_ns: by id of the part [step][column], without parts that are 0 throughout. The parts of a column add up to
        its step, to the nanosecond, but for XProf's.
    """

    numbers: I64
    names: Sequence[str]
    left_out: int
    hosts: Sequence[str]
    labels: Sequence[str]
    begin_ps: Annotated[I64, "number[][]"] | None
    takes_part: Annotated[Bools, "boolean[][]"] | None
    total_ns: Annotated[I64, "number[][]"]
    parts_ns: dict[str, Annotated[I64, "number[][]"]]


@dataclass(frozen=True)
class Pod(Document):
    """The time of every worker in every step.

    Attributes:
      groups: the categories with their parts, in the order of display.
      notes: sentences on where the steps come from, or why there are none.
      device_type: e.g. "TPU v4".
    """

    steps: PodSteps
    groups: Sequence[BudgetCategory]
    notes: Sequence[str]
    device_type: str


def build(run: Run, query: Query) -> Pod:
    """The time budget as arrays over steps and devices."""
    summary = run_summary(run)
    budget = run_decomposition(run)
    hosts = [host.name for host in run.readable]
    total_ns, parts_ns = _rounded(budget.time_ps.stacked(PARTS))
    return Pod(
        steps=PodSteps(
            numbers=budget.number,
            names=budget.labels,
            left_out=budget.left_out,
            hosts=[hosts[device.host] for device in budget.devices],
            labels=device_names(budget.devices, hosts, several=len(budget.hosts) > 1),
            begin_ps=budget.begin_ps,
            takes_part=None if bool(budget.takes_part.all()) else budget.takes_part,
            total_ns=total_ns,
            parts_ns=parts_ns,
        ),
        groups=CATEGORY_LABELS[:-1],
        notes=run_notes(run, budget),
        device_type=summary.environment.device_type,
    )


def _rounded(ps: I64) -> tuple[I64, dict[str, I64]]:
    """Totals and parts in ns of picoseconds [step][column][part]: sums are rounded, so that parts add up."""
    ends = (np.cumsum(ps, axis=2) + 500) // 1000
    parts = zip(CATEGORIES, np.moveaxis(np.diff(ends, axis=2, prepend=0), 2, 0), strict=True)
    return ends[:, :, -1], {key: part for key, part in parts if part.any()}


TOOL = Tool(
    id="pod_viewer",
    title="Pod Viewer",
    group="Fleet",
    summary="Time of each worker in each step, by category, to find stragglers.",
    build=build,
    lacks=lacks_time,
    needs=(host_summary, host_budget, host_facts),
)
