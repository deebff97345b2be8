"""Framework op stats: time per TensorFlow or JAX op, on devices and on hosts, with and without idle time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, starmap
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import in_gradient
from tpu_profile_plugin.analysis.common.reasons import NO_FRAMEWORK_OPS, Reason
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpTable, framework_ops
from tpu_profile_plugin.analysis.ops.rates import Resource, peak_gib
from tpu_profile_plugin.analysis.ops.torch_groups import by_kind, kind_and_inputs
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs
from tpu_profile_plugin.analysis.summary.framework import graphs_note, inputs_note
from tpu_profile_plugin.analysis.summary.host_summary import FrameworkOps
from tpu_profile_plugin.run.catalogue.ops import FRAMEWORK_OPS, FRAMEWORK_OPS_OF_PYTORCH
from tpu_profile_plugin.run.facts import RunFacts, lacks_time
from tpu_profile_plugin.run.figures.op import run_op_groups, run_op_inputs
from tpu_profile_plugin.run.figures.ops import run_framework_ops
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Column, Table, attributes
from tpu_profile_plugin.tools.common.ops import (
    BACKEND,
    OP_PARAMS,
    OpNotes,
    RateLimits,
    chosen_ops,
    measured,
    over_cores,
    peak_limits,
)
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import GIB, GIGA, NS_PER_S, NS_PER_US, PS_PER_US

MAX_ROWS = 500
"""Maximum number of rows each of device and host, including idle time."""

_MATRIX = "gpu_tensorcore_utilization"
"""Of GPUs only."""
_OF_SIDE = {
    **dict.fromkeys(("device_total_self_time_percent", "device_cumulative_total_self_time_percent", _MATRIX), "Device"),
    **dict.fromkeys(("host_total_self_time_percent", "Host_cumulative_total_self_time_percent"), "Host"),
}
"""Columns that are empty in rows of the other side."""
_COSTS = ("measured_flop_rate", "model_flop_rate", "measured_memory_bw", "operational_intensity")
"""Columns in which 0 means that the costs of the op are unknown."""
GROUP = Param(
    "group",
    "string",
    "name",
    "Rows of PyTorch's ops: by name, which has the modules (name), by kind (op), or by kind and operands (shape).",
    choices=("name", "op", "shape"),
)


@dataclass(frozen=True)
class FrameworkOpStats(Document):
    """Ops of TensorFlow, JAX or PyTorch on devices and hosts.

    Attributes:
      with_idle: one row per op, device first, most self time first; idle time is a row, and shares are of all time.
      without_idle: as above without idle time; shares are of the time in which ops ran.
      task: what the program does.
      inputs_note: why rows of PyTorch's ops cannot be grouped by shapes; empty if they can, and for other frameworks.
    """

    with_idle: Table
    without_idle: Table
    task: Literal["Training", "Inference"]
    inputs_note: str
    notes: OpNotes


@dataclass(frozen=True)
class FrameworkOpCells:
    """The columns of both tables by id, as XProf has them, and what they were computed from.

    Attributes:
      with_idle, without_idle: the columns; 0 for unknown costs and for shares of the other side.
      training: whether ops belong to gradients.
      inputs_note: why there are no columns of `FRAMEWORK_OPS_OF_PYTORCH`; "" if there are, and for other frameworks.
    """

    ops: FrameworkOps
    with_idle: dict[str, Any]
    without_idle: dict[str, Any]
    training: bool
    inputs_note: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the tables show."""
        gpu = self.ops.environment.hardware is Hardware.GPU
        own = tuple(each for each in FRAMEWORK_OPS if gpu or each.id != _MATRIX)
        return (*own, *FRAMEWORK_OPS_OF_PYTORCH) if "shapes" in self.with_idle else own


def build(run: Run, query: Query) -> FrameworkOpStats:
    """The ops with idle time, and without."""
    found = op_cells(run, query)
    cores = found.ops.environment.device_cores or None
    limits = peak_limits(found.ops.peaks) if cores else RateLimits()
    return FrameworkOpStats(
        with_idle=_table(found.columns, found.with_idle, cores, idle=True),
        without_idle=_table(found.columns, found.without_idle, cores, idle=False),
        task="Training" if found.training else "Inference",
        inputs_note=found.inputs_note,
        notes=OpNotes(False, cores, None, graphs_note(found.ops.device), limits),
    )


def _table(declared: tuple[Column, ...], cells: Mapping[str, Any], cores: int | None, *, idle: bool) -> Table:
    """A table with empty cells where a number has no meaning, and shares that name what they are parts of."""
    shown, sides = dict(cells), np.array(cells["host_or_device"], object)
    shown |= {id_: measured(cells[id_]) for id_ in _COSTS}
    for id_, side in _OF_SIDE.items():
        shown[id_] = np.where(sides == side, np.asarray(cells[id_], np.float64), np.nan)
    return Table(tuple(_based(each, cores, idle) for each in declared), {each.id: shown[each.id] for each in declared})


def _based(each: Column, cores: int | None, idle: bool) -> Column:
    """A column, of a share with label and sentence that name its base."""
    if not each.id.endswith("total_self_time_percent"):
        return each
    side = _OF_SIDE[each.id].lower()
    on = side + (over_cores(cores) if side == "device" else "")
    cumulative = "cumulative" in each.id
    what = "Self time of this row and those above it" if cumulative else "Total self time"
    base = f"the observed time of the {on}, idle time included" if idle else f"the time in which ops ran on the {on}"
    label = f"{'All' if idle else 'Busy'} {side} share{', cumulative' if cumulative else ''}"
    return replace(each, label=label, sentence=f"{what} divided by {base}.")


def op_cells(run: Run, query: Query) -> FrameworkOpCells:
    """The columns of both tables; of PyTorch, ops are grouped as the query asks."""
    ops = run_framework_ops(run)
    if query.text(BACKEND.name) == "cpu" or (query.text(BACKEND.name) == "auto" and not ops.environment.device_cores):
        cpu = chosen_ops(run, query)
        ops = replace(ops, device=cpu.records.table, environment=cpu.environment)
    inputs = run_op_inputs(run)
    if inputs and query.text(GROUP.name) != "name":
        return _grouped(run, ops, by_shape=query.text(GROUP.name) == "shape")
    return _cells(ops, inputs)


def _grouped(run: Run, ops: FrameworkOps, *, by_shape: bool) -> FrameworkOpCells:
    """The columns of groups of ops, whose names are the kinds; the task is that of the ops."""
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
    return replace(_cells(rows, inputs, kinds), training=training)


def _cells(
    ops: FrameworkOps, inputs: Mapping[str, OpInputs], kinds: Mapping[str, str] | None = None
) -> FrameworkOpCells:
    """The columns of both tables; with `kinds`, the rows are groups, by name."""
    device = framework_ops(ops.device) if kinds is None else ops.device
    sides = (device, "Device") if ops.environment.device_cores else None, (ops.host.ops, "Host")
    both = []
    for with_idle in (True, False):
        parts = [_columns(table, side, ops, with_idle=with_idle) for table, side in filter(None, sides)]
        cells = {id_: list(chain.from_iterable(part[id_] for part in parts)) for id_ in parts[0]}
        cells["rank"] = list(range(1, len(cells["type"]) + 1))
        if inputs:
            given = [inputs.get(name, OpInputs()) for name in cells["operation"]]
            cells |= {column.id: [column.value(one) for one in given] for column in FRAMEWORK_OPS_OF_PYTORCH}
        if kinds is not None:
            cells["operation"] = [kinds.get(name, name) for name in cells["operation"]]
        both.append(cells)
    training = any(map(in_gradient, both[0]["operation"], both[0]["type"]))
    note = "" if inputs else inputs_note(ops.device, ops.host.ops)
    return FrameworkOpCells(ops, both[0], both[1], training, note or "")


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
        _MATRIX: [run.kernels.matrix_share(op.operation) if on_device and gpu else 0.0 for op in ops],
        "bound_by": [bound_by(*rate, run.peaks, gpu=gpu) for rate in rates],
        "eager": ["Eager" if op.eager else "Function" for op in ops],
    }


def _lacks(facts: RunFacts) -> Reason | None:
    return lacks_time(facts) if facts.framework_ops else NO_FRAMEWORK_OPS


TOOL = Tool(
    id="framework_op_stats",
    title="Framework Op Stats",
    group="Ops",
    summary="Time of TensorFlow, JAX and PyTorch ops on devices and hosts.",
    build=build,
    params=(*OP_PARAMS[:1], GROUP),
    lacks=_lacks,
    aliases=("tensorflow_stats",),
)
