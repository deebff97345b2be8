"""Roofline model: rates of the program, its steps and its ops relative to compute and memory peaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.rates import Rates, Resource, peak_gib
from tpu_profile_plugin.analysis.steps.step_ops import StepWork, merged_step_work, step_ops
from tpu_profile_plugin.analysis.steps.step_table import StepTable
from tpu_profile_plugin.analysis.summary.host_summary import may_have_groups
from tpu_profile_plugin.analysis.summary.op_summary import Ops, OpSummary, Programs, Roofline, roofline, supported_peaks
from tpu_profile_plugin.run.figures.diagnostics import Diagnostics, run_diagnostics, step_warnings
from tpu_profile_plugin.run.figures.summary import groups_of, host_summary
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table, flags, numbers, property_text, texts
from tpu_profile_plugin.tools.common.ops import (
    OP_EXTRAS,
    OP_PARAMS,
    chosen_ops,
    lacks_device_ops,
    notes_of,
    peaks_of,
    source_cell,
)
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import GIB, GIGA, PS_PER_US

_GIB, _GFLOPS = "GiB/s", "GFLOP/s"


def _bandwidth(name: str, label: str) -> Column:
    return numbers(f"{name}_bw", f"{label} BW (GiB/s)", _GIB, f"{label} traffic per time.")


def _intensity(name: str, label: str) -> Column:
    id_, header = f"{name}_operational_intensity", f"{label} Operational Intensity (FLOP/Byte)"
    return numbers(id_, header, "", f"FLOPs per byte of {label} traffic.")


_MEMORIES = (Resource.HBM, Resource.CMEM_READ, Resource.CMEM_WRITE, Resource.VMEM_READ, Resource.VMEM_WRITE)
MEMORY_IDS = {memory: memory.value.lower().replace(" ", "_") for memory in _MEMORIES}
"""Prefix of the columns and properties of each memory."""
COLUMNS = (
    texts("step", "Step", "Total: the whole profile; Average: of all steps; else the number of the step."),
    numbers("rank", "Rank", "", "Rank of the op by self time; 0 for the whole program."),
    texts("category", "Category", "Kind of the op."),
    texts("operation", "Operation", "Name of the op; Program for the whole program."),
    numbers("occurrences", "# Occurrences", "", "Number of runs on all cores."),
    numbers("total_time", "Total Time (us)", "us", "Time on all cores; of a program, including idle time."),
    numbers("avg_time", "Avg. time (us)", "us", "Total time divided by occurrences."),
    numbers("total_self_time", "Total self time (us)", "us", "Time of all runs, excluding nested ops."),
    numbers("avg_self_time", "Avg. self time (us)", "us", "Total self time divided by occurrences."),
    numbers("total_self_time_percent", "Total self time (%)", "",
            "Share of the device time, including idle time, 0 to 1."),
    numbers("cumulative_total_self_time_percent", "Cumulative total self time (%)", "",
            "Sum of the shares of this row and the rows above, 0 to 1."),
    numbers("dma_stall_percent", "%time stalled by DMA", "", "Share of its time spent waiting for DMA, 0 to 1."),
    numbers("measured_flop_rate", "Normalized FLOP Rate (GFLOP/s)", _GFLOPS,
            "FLOPs in bf16 equivalents divided by time; operations on narrower types count less."),
    numbers("model_flop_rate", "Model FLOP Rate (GFLOP/s)", _GFLOPS, "FLOPs of the model divided by time."),
    numbers("measured_memory_bw", "Memory BW (GiB/s)", _GIB, "Bytes accessed in all memories, divided by time."),
    *(_bandwidth(name, memory.value) for memory, name in MEMORY_IDS.items()),
    numbers("operational_intensity", "Operational Intensity (FLOP/Byte)", "",
            "FLOPs divided by bytes accessed in all memories."),
    *(_intensity(name, memory.value) for memory, name in MEMORY_IDS.items()),
    numbers("bottleneck_operational_intensity", "Bottleneck Operational Intensity (FLOP/Byte)", "",
            "FLOPs per byte of the memory that limits the op; of all memories if compute limits it."),
    texts("bound_by", "Bound by", "Resource that limits the op: the highest share of its peak."),
    numbers("total_time_per_core", "Total Time per core (us)", "us", "Total time divided by the number of cores."),
    numbers("total_time_in_percentage", "Total Time (%)", "", "Share of the time of the program, 0 to 1."),
    numbers("optimal_flop_rate", "Optimal FLOP Rate (GFLOP/s)", _GFLOPS,
            "FLOP rate that the roofline allows at this intensity."),
    numbers("roofline_efficiency", "Roofline efficiency (%)", "", "FLOP rate divided by the optimal rate, 0 to 1."),
    numbers("compute_efficiency", "FLOP Rate / Peak (%)", "", "FLOP rate divided by the peak, 0 to 1."),
    numbers("max_mem_bw_utilization", "Max memory BW utilization (among supported memories) (%)", "",
            "Bandwidth of the most utilized memory divided by its peak, 0 to 1."),
    flags("include_infeed_outfeed", "Include Infeed/Outfeed", "Whether infeed and outfeed are included."),
    texts("hlo_module_id", "Program ID", "Id of the HLO program that the op belongs to."),
    texts("source_info", "Source Info", "Source line of the program."),
)  # fmt: skip

_NOT_ON_GPU = ("dma_stall_percent", *(f"{m}_{what}" for m in ("cmem_read", "cmem_write", "vmem_read")
               for what in ("bw", "operational_intensity")))  # fmt: skip
_GPU_LABELS = {
    "vmem_write_bw": "SHM/L1 BW (GiB/s)",
    "vmem_write_operational_intensity": "SHM/L1 Operational Intensity (FLOP/Byte)",
}
GPU_COLUMNS = tuple(
    replace(column, label=_GPU_LABELS.get(column.id, column.label))
    for column in COLUMNS
    if column.id not in _NOT_ON_GPU
)
_ONLY_OPS = ("rank", "total_self_time", "avg_self_time", "total_self_time_percent",
             "cumulative_total_self_time_percent", "dma_stall_percent")  # fmt: skip
"""Columns that are 0 in rows of programs."""
DIAGNOSTICS = (texts("severity", "Severity", "INFO, WARNING or ERROR."), texts("message", "Message", "The message."))


def build(run: Run, query: Query) -> tuple[Table, Table]:
    """The table of programs, ops and steps, then the table of diagnostics."""
    summary = chosen_ops(run, query)
    environment = summary.environment
    # Without any device there are neither rows nor diagnostics, so that no steps are needed.
    shown = environment.device_cores or environment.hardware is not Hardware.CPU_ONLY
    tables = run.map_hosts(host_step_ops) if shown else [StepTable()]
    steps, all_ops, without_transfers = merged_step_work(tables, [True] * len(tables))
    columns = GPU_COLUMNS if summary.hardware is Hardware.GPU else COLUMNS
    cells: dict[str, list[Any]] = {column.id: [] for column in COLUMNS}
    if summary.environment.device_cores:
        for work, transfers in ((all_ops, True), (without_transfers, False)):
            _Rows(summary, steps, cells, transfers=transfers).add(work)
    properties = {**_properties(summary), **notes_of(query, summary), **peaks_of(summary)}
    table = Table(columns, [cells[column.id] for column in columns], properties)
    return table, Table(DIAGNOSTICS, _diagnostics(summary, steps).columns())


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
            programs.rates,
            step=labels,
            category="Program",
            operation="Program",
            occurrences=zero + 1,
            total_time=time,
            avg_time=time * runs,
            **dict.fromkeys(_ONLY_OPS, zero),
            total_time_in_percentage=(time > 0).astype(np.float64),
            hlo_module_id="0",
            source_info="",
        )

    def _ops(self, roof: Roofline) -> None:
        records, table, ops = self.summary.records, self.summary.records.table, roof.ops
        rows = ops.rows.tolist()
        time, self_time = table.time_ps[ops.rows] / PS_PER_US, table.self_ps[ops.rows] / PS_PER_US
        runs = table.occurrences[ops.rows]
        total = float(roof.total.time_ps[0]) / PS_PER_US or 1.0
        self._extend(
            len(rows),
            ops.rates,
            step="Total",
            rank=np.arange(1.0, len(rows) + 1),
            category=[table.category[i] or "unknown" for i in rows],
            operation=[table.name[i] for i in rows],
            occurrences=runs,
            total_time=time,
            avg_time=time / runs,
            total_self_time=self_time,
            avg_self_time=self_time / runs,
            total_self_time_percent=self_time / total,
            cumulative_total_self_time_percent=np.cumsum(self_time / total),
            dma_stall_percent=self._stalls(ops),
            total_time_in_percentage=time / total,
            hlo_module_id=[str(table.module[i]) for i in rows],
            source_info=[source_cell(records.text[i]) for i in rows],
        )

    def _stalls(self, ops: Ops) -> Any:
        time = self.summary.records.table.time_ps[ops.rows]
        stall = self.summary.records.stall_ps[ops.rows]
        return np.divide(stall, time, out=np.zeros(len(time)), where=time > 0)

    def _extend(self, count: int, rate: Rates, **columns: Any) -> None:
        """Appends `count` rows; a text is repeated in all of them."""
        cores = self.summary.environment.device_cores
        columns["total_time_per_core"] = columns["total_time"] / cores
        columns["include_infeed_outfeed"] = [self.transfers] * count
        for name, values in {**columns, **_rate_cells(rate)}.items():
            listed = [values] * count if isinstance(values, str) else getattr(values, "tolist", lambda v=values: v)()
            self.cells[name].extend(listed)


def _rate_cells(rate: Rates) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "measured_flop_rate": rate.flops,
        "model_flop_rate": rate.model_flops,
        "measured_memory_bw": rate.bandwidth,
        "operational_intensity": rate.intensity,
        "bottleneck_operational_intensity": rate.bound_intensity,
        "bound_by": [resource.value for resource in rate.bound],
        "optimal_flop_rate": rate.optimal_flops,
        "roofline_efficiency": rate.efficiency,
        "compute_efficiency": rate.compute_share,
        "max_mem_bw_utilization": rate.best_memory_share,
    }
    for memory, name in MEMORY_IDS.items():
        cells[f"{name}_bw"] = rate.memory[memory]
        cells[f"{name}_operational_intensity"] = rate.memory_intensity[memory]
    return cells


def _properties(summary: OpSummary) -> dict[str, str]:
    gpu = summary.hardware is Hardware.GPU
    device = bool(summary.environment.device_cores)
    peaks = supported_peaks(summary)
    giga_flops = peaks.tera_flops * 1000.0
    properties = {
        "device_type": summary.environment.device_type if device else "",
        "peak_flop_rate": property_text(giga_flops),
    }
    for memory, name in MEMORY_IDS.items():
        peak = peak_gib(peaks, memory, summary.hardware)
        if not gpu or memory in (Resource.HBM, Resource.VMEM_WRITE):
            properties[f"peak_{name}_bw"] = property_text(peak)
            gigabytes = peak * GIB / GIGA
            properties[f"{name}_ridge_point"] = property_text(giga_flops / gigabytes if gigabytes else 0.0)
    if not gpu:
        properties["megacore"] = str(int(summary.chip.megacore))
        properties["has_cmem"] = str(int(any(rate > 0 for rate in peaks.bandwidths[3:5])))
        properties["has_merged_vmem"] = str(int(summary.chip.merged_vmem))
        properties["time_scale_multiplier"] = property_text(summary.records.time_scale)
    return properties


TOOL = Tool(
    id="roofline_model",
    title="Roofline Model",
    group="Ops",
    summary="Limits by compute and memory for the program, its steps and each op.",
    build=build,
    params=OP_PARAMS,
    extras=OP_EXTRAS,
    lacks=lacks_device_ops,
)
