"""Roofline model: rates of the program, its steps and its ops relative to compute and memory peaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.rates import Resource, peak_gib
from tpu_profile_plugin.analysis.steps.step_ops import StepWork, merged_step_work, step_ops
from tpu_profile_plugin.analysis.steps.step_table import StepTable
from tpu_profile_plugin.analysis.summary.host_summary import may_have_groups
from tpu_profile_plugin.analysis.summary.op_summary import Ops, OpSummary, Programs, Roofline, roofline, supported_peaks
from tpu_profile_plugin.run.catalogue.ops import MEMORY_IDS, RATES, ROOFLINE, ROOFLINE_OF_OPS, memory_name
from tpu_profile_plugin.run.figures.ops import OpRows
from tpu_profile_plugin.run.figures.summary import (
    NO_STEP_MARKER,
    Diagnostics,
    groups_of,
    host_summary,
    run_diagnostics,
    step_warnings,
)
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.ops import (
    OP_PARAMS,
    OpNotes,
    chosen_ops,
    lacks_device_ops,
    measured,
    op_notes,
    over_cores,
)
from tpu_profile_plugin.tools.common.steps import Message, messages_of
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import GIB, GIGA, PS_PER_US

_EFFICIENCIES = ("roofline_efficiency", "compute_efficiency", "max_mem_bw_utilization")
NOT_ON_GPU = frozenset({"dma_stall_percent"}) | {
    f"{memory}_{what}"
    for memory in ("cmem_read", "cmem_write", "vmem_read")
    for what in ("bw", "operational_intensity")
}
"""Columns that tables of GPUs lack."""
_GPU_LABELS = {
    "vmem_write_bw": "Shared memory / L1 bandwidth",
    "vmem_write_operational_intensity": "Shared memory / L1 operational intensity",
}
_ONLY_OPS = ("rank", "total_self_time", "avg_self_time", "total_self_time_percent",
             "cumulative_total_self_time_percent", "dma_stall_percent")  # fmt: skip
"""Columns that are 0 in rows of programs."""


@dataclass(frozen=True)
class RoofMemory:
    """A memory of the device that limits rates.

    Attributes:
      id: prefix of its columns.
      peak_gib_per_s: per core.
      ridge_flops_per_byte: intensity above which compute is the limit.
    """

    id: str
    name: str
    peak_gib_per_s: float
    ridge_flops_per_byte: float


@dataclass(frozen=True)
class RooflineModel(Document):
    """Rates of the program, its steps and its ops beside the peaks of the device.

    Attributes:
      rows: the program (step Total), its ops, the average step and each step, with infeed and outfeed, then without;
        null where a figure depends on an unknown peak or a memory that the device lacks.
      device_type: empty if unknown.
      peak_gflops_per_s: per core, for the fastest data type; null if unknown.
      memories: those with a known peak, if that of compute is known.
      megacore: two cores of a TPU work as one; null on GPUs, as are the next two.
    """

    rows: Table
    device_type: str
    peak_gflops_per_s: float | None
    memories: list[RoofMemory]
    megacore: bool | None
    has_cmem: bool | None
    has_merged_vmem: bool | None
    messages: list[Message]
    notes: OpNotes


@dataclass(frozen=True)
class RooflineRows:
    """The rows by column id, and what they were computed from."""

    summary: OpSummary
    cells: dict[str, list[Any]]
    diagnostics: Diagnostics

    @property
    def gpu(self) -> bool:
        """Whether the ops ran on a GPU."""
        return self.summary.hardware is Hardware.GPU


def build(run: Run, query: Query) -> RooflineModel:
    """Programs, ops and steps, peaks and messages."""
    found = roofline_rows(run, query)
    summary, cells, gpu = found.summary, found.cells, found.gpu
    notes = op_notes(query, summary)
    peaks = supported_peaks(summary)
    gflops = peaks.tera_flops * 1000.0
    memories = [
        RoofMemory(name, "Shared memory / L1" if gpu and name == "vmem_write" else memory_name(memory), peak, ridge)
        for memory, name in MEMORY_IDS.items()
        if (peak := peak_gib(peaks, memory, summary.hardware)) > 0 and (ridge := gflops / (peak * GIB / GIGA)) > 0
        if not gpu or memory in (Resource.HBM, Resource.VMEM_WRITE)
    ]
    absent = set(MEMORY_IDS.values()) - {memory.id for memory in memories}
    unknown = (*(() if gflops > 0 else _EFFICIENCIES), "optimal_flop_rate", "bottleneck_operational_intensity")
    zeros = {*unknown, *(f"{name}_{what}" for name in absent for what in ("bw", "operational_intensity"))}
    all_time = f"the observed time{over_cores(notes.cores)}, idle time included."
    sentences = {
        "total_self_time_percent": f"Total self time divided by {all_time}",
        "cumulative_total_self_time_percent": f"Self time of this op and those above it divided by {all_time}",
        "total_time_in_percentage": f"Total time divided by {all_time}",
    }
    declared = tuple(
        replace(
            each,
            sentence=sentences.get(each.id, each.sentence),
            label=_GPU_LABELS.get(each.id, each.label) if gpu else each.label,
        )
        for each in ROOFLINE
        if not gpu or each.id not in NOT_ON_GPU
    )
    device = bool(summary.environment.device_cores)
    return RooflineModel(
        rows=Table(declared, [measured(cells[each.id]) if each.id in zeros else cells[each.id] for each in declared]),
        device_type=summary.environment.device_type if device else "",
        peak_gflops_per_s=gflops or None,
        memories=memories,
        megacore=None if gpu else bool(summary.chip.megacore),
        has_cmem=None if gpu else any(rate > 0 for rate in peaks.bandwidths[3:5]),
        has_merged_vmem=None if gpu else bool(summary.chip.merged_vmem),
        messages=messages_of(found.diagnostics, {NO_STEP_MARKER}),
        notes=notes,
    )


def roofline_rows(run: Run, query: Query) -> RooflineRows:
    """The rows with infeed and outfeed, then those without."""
    summary = chosen_ops(run, query)
    environment = summary.environment
    # Without any device there are neither rows nor diagnostics, so that no steps are needed.
    shown = environment.device_cores or environment.hardware is not Hardware.CPU_ONLY
    tables = run.map_hosts(host_step_ops) if shown else [StepTable()]
    steps, all_ops, without_transfers = merged_step_work(tables, [True] * len(tables))
    cells: dict[str, list[Any]] = {column.id: [] for column in ROOFLINE}
    if summary.environment.device_cores:
        for work, transfers in ((all_ops, True), (without_transfers, False)):
            _Rows(summary, steps, cells, transfers=transfers).add(work)
    return RooflineRows(summary, cells, _diagnostics(summary, steps))


@per_host()
def host_step_ops(host: HostProfile) -> StepTable:
    """The steps of one host with the work of their ops."""
    space = host.lazy
    space.decode(device_planes(space))
    if not may_have_groups(space):
        return StepTable()
    steps = host_summary(host).steps
    return step_ops(space, groups_of(host), steps) if len(steps) else steps


def _diagnostics(summary: OpSummary, steps: StepTable) -> Diagnostics:
    environment = summary.environment
    if environment.hardware is Hardware.CPU_ONLY:
        return Diagnostics()
    about_steps = step_warnings(len(steps), steps.empty_intersection)
    return run_diagnostics(
        summary.errors, summary.warnings, environment.device_type, environment.device_cores, about_steps
    )


@dataclass(frozen=True)
class _Rows:
    """Appends the rows with or without infeed and outfeed to the columns."""

    summary: OpSummary
    steps: StepTable
    cells: dict[str, list[Any]]
    transfers: bool

    def add(self, work: StepWork) -> None:
        roof = roofline(self.summary, work, transfers=self.transfers)
        self._programs(["Total"], roof.total)
        self._ops(roof)
        labels = ["Average"] if roof.has_average else []
        runs = np.ones(len(labels) + len(self.steps))
        if roof.has_average:
            runs[0] = len(self.steps)  # as in XProf, the average time per run is the time of all steps
        self._programs(labels + [str(number) for number in self.steps.number.tolist()], roof.steps, runs)

    def _programs(self, labels: list[str], programs: Programs, runs: Any = 1.0) -> None:
        time = programs.time_ps / PS_PER_US
        count = len(labels)
        zero = np.zeros(count)
        self._extend(
            count,
            programs,
            step=labels,
            category="Program",
            operation="Program",
            occurrences=zero + 1,
            total_time=time,
            avg_time=time * runs,
            **dict.fromkeys(_ONLY_OPS, zero),
            total_time_in_percentage=(time > 0).astype(np.float64),
            hlo_module_id="0",
            source_info=[None] * count,
            source_stack=[None] * count,
        )

    def _ops(self, roof: Roofline) -> None:
        ops = OpRows(self.summary.records, roof.ops.rows)
        cells = {column.id: column.value(ops) for column in ROOFLINE_OF_OPS}
        total = float(roof.total.time_ps[0]) / PS_PER_US or 1.0
        self._extend(
            len(ops),
            roof.ops,
            step="Total",
            rank=np.arange(1.0, len(ops) + 1),
            category=[category or "unknown" for category in ops.of(ops.table.category)],
            total_self_time_percent=cells["total_self_time"] / total,
            cumulative_total_self_time_percent=np.cumsum(cells["total_self_time"] / total),
            total_time_in_percentage=cells["total_time"] / total,
            **cells,
        )

    def _extend(self, count: int, figure: Programs | Ops, **columns: Any) -> None:
        """Appends `count` rows, with the rates of programs or ops; a text is repeated in all of them."""
        rates = {column.id: column.value(figure) for column in RATES}
        cores = self.summary.environment.device_cores
        columns["total_time_per_core"] = columns["total_time"] / cores
        columns["include_infeed_outfeed"] = [self.transfers] * count
        for name, values in {**columns, **rates}.items():
            listed = [values] * count if isinstance(values, str) else getattr(values, "tolist", lambda v=values: v)()
            self.cells[name].extend(listed)


TOOL = Tool(
    id="roofline_model",
    title="Roofline Model",
    group="Ops",
    summary="Limits by compute and memory for the program, its steps and each op.",
    build=build,
    params=OP_PARAMS,
    lacks=lacks_device_ops,
)
