"""Framework op stats: time per TensorFlow or JAX op, on devices and on hosts, with and without idle time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, starmap
from typing import Any

from tpu_profile_plugin.analysis.common.op_names import in_gradient
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpTable, framework_ops
from tpu_profile_plugin.analysis.ops.rates import Resource, peak_gib
from tpu_profile_plugin.analysis.ops.torch_groups import by_kind, kind_and_inputs
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs
from tpu_profile_plugin.analysis.summary.framework import graphs_note, inputs_note
from tpu_profile_plugin.analysis.summary.host_summary import FrameworkOps
from tpu_profile_plugin.run.figures.framework_ops import run_framework_ops
from tpu_profile_plugin.run.figures.op_inputs import run_op_groups, run_op_inputs
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, numbers, texts
from tpu_profile_plugin.tools.common.ops import BACKEND, OP_EXTRAS, OP_PARAMS, chosen_ops, peak_properties
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import GIB, GIGA, NS_PER_S, NS_PER_US, PS_PER_US

MAX_ROWS = 500
"""Maximum number of rows each of device and host, including idle time."""

_PERCENT_HELP = "as a fraction of all time on the {}; 0 on rows of the other side"
_MATRIX_COLUMN = numbers("gpu_tensorcore_utilization", "GPU TensorCore utilization", "",
                         "Share of the op's kernel time in kernels that use tensor cores, 0 to 1.")  # fmt: skip
COLUMNS = (
    numbers("rank", "Rank", "", "Rank by self time, device ops first."),
    texts("host_or_device", "Host/device", "Host or Device: where the op ran."),
    texts("type", "Operation Type", "Type of the framework op; Unknown for ops without a framework op."),
    texts("operation", "Operation Name", "Name of the framework op, else of the device op."),
    numbers("occurrences", "#Occurrences", "", "Number of runs."),
    numbers("total_time", "Total time (us)", "us", "Time of all runs, including nested ops."),
    numbers("avg_time", "Avg. time (us)", "us", "Total time divided by occurrences."),
    numbers("total_self_time", "Total self-time (us)", "us", "Time of all runs, excluding nested ops."),
    numbers("avg_self_time", "Avg. self-time (us)", "us", "Total self-time divided by occurrences."),
    numbers("device_total_self_time_percent", "Total self-time on Device (%)", "",
            f"Total self-time {_PERCENT_HELP.format('device')}."),
    numbers("device_cumulative_total_self_time_percent", "Cumulative total-self time on Device (%)", "",
            f"Self-time of this row and those above {_PERCENT_HELP.format('device')}."),
    numbers("host_total_self_time_percent", "Total self-time on Host (%)", "",
            f"Total self-time {_PERCENT_HELP.format('host')}."),
    numbers("Host_cumulative_total_self_time_percent", "Cumulative total-self time on Host (%)", "",
            f"Self-time of this row and those above {_PERCENT_HELP.format('host')}."),
    numbers("measured_flop_rate", "Normalized FLOP Rate (FLOPs/s)", "GFLOP/s", "FLOPs divided by total time."),
    numbers("model_flop_rate", "Model FLOP Rate (GFLOP/s)", "GFLOP/s", "FLOPs of the model divided by total time."),
    numbers("measured_memory_bw", "Measured Memory BW (GBytes/Sec)", "GiB/s", "Bytes accessed divided by total time."),
    numbers("operational_intensity", "Operational Intensity (FLOPs/Byte)", "", "FLOPs divided by bytes accessed."),
    texts("bound_by", "Bound by", "Resource that limits the op: the highest share of its peak."),
    texts("eager", "Execution mode", "Eager: op by op; Function: as part of a graph or function."),
)  # fmt: skip
GPU_COLUMNS = (*COLUMNS[:-2], _MATRIX_COLUMN, *COLUMNS[-2:])
PYTORCH_COLUMNS = (
    texts("shapes", "Input shapes", "Sizes of the operands in most runs; empty if the profiler did not record shapes."),
    texts("dtypes", "Input types", "Data types of the operands in these runs."),
    numbers("variants", "Different inputs", "", "Number of different shapes and types; 0 if none were recorded."),
    texts("stack", "Call stack", "Calls of Python that led to the op, innermost first, if the profiler recorded them."),
)
"""Of PyTorch, after the columns that all profiles have."""
GROUP = Param(
    "group",
    "string",
    "name",
    "Rows of PyTorch's ops: by name, which has the modules (name), by kind (op), or by kind and operands (shape).",
    choices=("name", "op", "shape"),
)


def build(run: Run, query: Query) -> tuple[Table, Table]:
    """The table with idle time, then the one without."""
    ops = run_framework_ops(run)
    if query.text(BACKEND.name) == "cpu" or (query.text(BACKEND.name) == "auto" and not ops.environment.device_cores):
        cpu = chosen_ops(run, query)
        ops = replace(ops, device=cpu.records.table, environment=cpu.environment)
    inputs = run_op_inputs(run)
    if inputs and query.text(GROUP.name) != "name":
        return _grouped(run, ops, by_shape=query.text(GROUP.name) == "shape")
    return _table(ops, inputs, with_idle=True), _table(ops, inputs, with_idle=False)


def _grouped(run: Run, ops: FrameworkOps, *, by_shape: bool) -> tuple[Table, Table]:
    """The same of groups of ops, whose names are the kinds; the task is that of the ops."""
    groups, most = run_op_groups(run), dict[str, OpInputs]()
    if not by_shape:
        groups, most = by_kind(groups)
    known = {name: kind_and_inputs(name) for table in (groups.device, groups.host) for name in table.name}
    inputs = {name: most.get(kind, own) for name, (kind, own) in known.items()}
    device = groups.device.with_total(ops.device.total_ps)
    host = replace(ops.host, ops=groups.host.with_total(ops.host.ops.total_ps))
    rows = replace(ops, device=device, kernels=groups.kernels, host=host)
    kinds = {name: kind for name, (kind, _) in known.items()}
    training = any(map(in_gradient, ops.host.ops.name, ops.host.ops.category))
    with_idle, without = (
        _table(rows, inputs, with_idle=idle, kinds=kinds, training=training) for idle in (True, False)
    )
    return with_idle, without


@dataclass(frozen=True, slots=True)
class _Op:
    """A row: fields are named as columns; `flops`, `model_flops` and `bytes` are sums over all occurrences."""

    operation: str
    type: str
    occurrences: int
    total_time: float
    total_self_time: float
    flops: float
    model_flops: float
    bytes: float
    eager: bool


def _ops(table: OpTable, with_idle: bool) -> list[_Op]:
    """The ops with most self time, idle time included; the limit applies before idle time is removed."""
    numbers = (
        table.occurrences,
        table.time_ps / PS_PER_US,
        table.self_ps / PS_PER_US,
        table.flops,
        table.model_flops,
        table.bytes,
    )
    columns = (column.tolist() for column in (*numbers, table.eager))
    ops = list(starmap(_Op, zip(table.name, table.category, *columns, strict=True)))
    # Device ops of the category IDLE form a row of that name; the time without any op is added to it.
    row = next((i for i, op in enumerate(ops) if (op.operation, op.type) == (IDLE, IDLE)), None)
    idle_op = _Op(IDLE, IDLE, 0, 0.0, 0.0, 0.0, 0.0, 0.0, False) if row is None else ops.pop(row)
    total, self_time = (time + table.idle_ps / PS_PER_US for time in (idle_op.total_time, idle_op.total_self_time))
    ops.append(replace(idle_op, total_time=total, total_self_time=self_time))
    ops.sort(key=lambda op: (-op.total_self_time, op.operation))
    return [op for op in ops[:MAX_ROWS] if with_idle or op.operation != IDLE]


def bound_by(flop_rate: float, bytes_per_second: float, peaks: Peaks, *, gpu: bool = False) -> str:
    """The resource with the highest share of its peak, for rates in GFLOP/s and bytes/s; Unknown if all are 0.

    On GPUs all bytes may have gone through shared memory, whose traffic is not recorded.
    """
    shares = {
        Resource.UNKNOWN: 0.0,
        Resource.COMPUTE: ratio(flop_rate, peaks.tera_flops * 1000.0),
        Resource.HBM: ratio(bytes_per_second, peaks.hbm * GIGA),
    }
    if gpu:
        shared = peak_gib(peaks, Resource.VMEM_WRITE, Hardware.GPU) * GIB
        shares[Resource.SHARED] = ratio(bytes_per_second, shared)
    return max(shares, key=lambda resource: shares[resource]).value


def _table(
    run: FrameworkOps,
    inputs: Mapping[str, OpInputs],
    *,
    with_idle: bool,
    kinds: Mapping[str, str] | None = None,
    training: bool = False,
) -> Table:
    """A table; with `kinds`, the rows are groups, by name, and `training` is known."""
    device = framework_ops(run.device) if kinds is None else run.device
    gpu = run.environment.hardware is Hardware.GPU
    sides = (device, "Device") if run.environment.device_cores else None, (run.host.ops, "Host")
    parts = [_columns(table, side, run, with_idle=with_idle) for table, side in filter(None, sides)]
    columns = GPU_COLUMNS if gpu else COLUMNS
    data = {column.id: list(chain.from_iterable(part[column.id] for part in parts)) for column in columns[1:]}
    if inputs:
        columns = (*columns, *PYTORCH_COLUMNS)
        data |= _inputs([inputs.get(name, OpInputs()) for name in data["operation"]])
    if kinds is None:
        training = any(map(in_gradient, data["operation"], data["type"]))
    else:
        data["operation"] = [kinds.get(name, name) for name in data["operation"]]
    properties = {"architecture_type": "Unknown", "task_type": "Training" if training else "Inference"}
    # Additions of ours: for how many cores the times add up, and rates that nothing measured exceeds.
    if run.environment.device_cores:
        properties |= {"cores": str(run.environment.device_cores), **peak_properties(run.peaks)}
    if graphs := graphs_note(run.device):
        properties["graphs_note"] = graphs
    if not inputs and (missing := inputs_note(run.device, run.host.ops)):
        properties["inputs_note"] = missing
    return Table(columns, {"rank": range(1, len(data["type"]) + 1), **data}, properties)


def _columns(table: OpTable, side: str, run: FrameworkOps, *, with_idle: bool) -> dict[str, Sequence[Any]]:
    """The columns of one side without the rank, by id."""
    ops, gpu = _ops(table, with_idle), run.environment.hardware is Hardware.GPU
    total = (table.total_ps if with_idle else table.op_ps) / PS_PER_US
    shares = [ratio(op.total_self_time, total) for op in ops]
    none, on_device = [0.0] * len(ops), side == "Device"
    cumulative = list(accumulate(shares))
    flop_rates = [ratio(op.flops, op.total_time * NS_PER_US) for op in ops]
    byte_rates = [ratio(op.bytes, op.total_time * NS_PER_US) * NS_PER_S for op in ops]
    rates = zip(flop_rates, byte_rates, strict=True)
    return {
        "host_or_device": [side] * len(ops),
        **attributes(ops, "type", "operation", "occurrences", "total_time", "total_self_time"),
        "avg_time": [ratio(op.total_time, op.occurrences) for op in ops],
        "avg_self_time": [ratio(op.total_self_time, op.occurrences) for op in ops],
        "device_total_self_time_percent": shares if on_device else none,
        "device_cumulative_total_self_time_percent": cumulative if on_device else none,
        "host_total_self_time_percent": none if on_device else shares,
        "Host_cumulative_total_self_time_percent": none if on_device else cumulative,
        "measured_flop_rate": flop_rates,
        "model_flop_rate": [ratio(op.model_flops, op.total_time * NS_PER_US) for op in ops],
        "measured_memory_bw": [rate / GIB for rate in byte_rates],
        "operational_intensity": [ratio(op.flops, op.bytes) for op in ops],
        _MATRIX_COLUMN.id: [run.kernels.matrix_share(op.operation) if on_device and gpu else 0.0 for op in ops],
        "bound_by": [bound_by(*rate, run.peaks, gpu=gpu) for rate in rates],
        "eager": ["Eager" if op.eager else "Function" for op in ops],
    }


def _inputs(inputs: Sequence[OpInputs]) -> dict[str, list[Any]]:
    return {
        "shapes": [one.shapes for one in inputs],
        "dtypes": [one.types for one in inputs],
        "variants": [one.variants for one in inputs],
        "stack": [one.stack for one in inputs],
    }


TOOL = Tool(
    id="framework_op_stats",
    title="Framework Op Stats",
    group="Ops",
    summary="Time of TensorFlow, JAX and PyTorch ops on devices and hosts.",
    build=build,
    params=(*OP_PARAMS[:1], GROUP),
    extras=OP_EXTRAS,
    aliases=("tensorflow_stats",),
)
