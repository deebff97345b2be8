"""Ops of PyTorch in groups, as its own profiler adds them up: by kind of op, with or without shapes of operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, PYTORCH_SUFFIX, OpName, parse_op
from tpu_profile_plugin.analysis.common.planes import on_recorded_line, rows_named
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.environment.environment import plane_text
from tpu_profile_plugin.analysis.ops.gpu_kernels import KernelTimes, combine_kernel_times, uses_tensor_core
from tpu_profile_plugin.analysis.ops.gpu_ops import OP_BEGINS
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, combine
from tpu_profile_plugin.analysis.ops.thread_ops import Runs, host_ops
from tpu_profile_plugin.analysis.ops.torch_inputs import SHAPES, TYPES, OpInputs, half_equivalents
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64

_BETWEEN = "\n"


@dataclass(frozen=True, slots=True)
class OpGroups:
    """Ops by kind and operands; rows of the tables are named by `group_name`.

    Attributes:
      device: what the ops launched, with their runs; idle time is not counted.
      kernels: kernel times by group.
      host: the ops on the host's threads.
    """

    device: OpTable = field(default_factory=OpTable)
    kernels: KernelTimes = field(default_factory=KernelTimes)
    host: OpTable = field(default_factory=OpTable)


def group_name(kind: str, shapes: str = "", types: str = "") -> str:
    """The name of a group; `kind_and_inputs` takes it apart."""
    return _BETWEEN.join((kind, shapes, types))


def kind_and_inputs(group: str) -> tuple[str, OpInputs]:
    kind, shapes, types = group.split(_BETWEEN)
    return kind, OpInputs(shapes, types, "", int(shapes != ""))


def op_groups(space: XSpace, devices: Sequence[Plane], host: Plane) -> OpGroups:
    """The groups of one host, by kind, shapes and types."""
    parts = [_on_device(space, plane) for plane in devices if len(plane.events)]
    threads = host_ops(space, host, np.zeros(0, np.int64), _by_inputs(space, host))
    return OpGroups(
        combine(table for table, _ in parts), combine_kernel_times(times for _, times in parts), threads.ops
    )


def combine_op_groups(parts: Sequence[OpGroups]) -> OpGroups:
    return OpGroups(
        combine(part.device for part in parts),
        combine_kernel_times(part.kernels for part in parts),
        combine((part.host for part in parts), cores=False),
    )


def by_kind(groups: OpGroups) -> tuple[OpGroups, dict[str, OpInputs]]:
    """The groups without regard to operands, and the operands in most runs of each kind."""

    def plain(table: OpTable) -> OpTable:
        names = tuple(group_name(kind_and_inputs(name)[0]) for name in table.name)
        return combine([replace(table, name=names)], cores=False)

    def counted(counter: Counter[str]) -> Counter[str]:
        by_group: Counter[str] = Counter()
        for name, count in counter.items():
            by_group[group_name(kind_and_inputs(name)[0])] += count
        return by_group

    runs: dict[str, dict[OpInputs, int]] = {}
    for table in (groups.device, groups.host):
        for name, count in zip(table.name, table.occurrences.tolist(), strict=True):
            kind, inputs = kind_and_inputs(name)
            if inputs.shapes:
                of_kind = runs.setdefault(kind, {})
                of_kind[inputs] = max(of_kind.get(inputs, 0), count)
    kernels = KernelTimes(counted(groups.kernels.total_ns), counted(groups.kernels.matrix_ns))
    most = {
        kind: replace(
            max(counts, key=lambda inputs: (counts[inputs], inputs.shapes, inputs.types)), variants=len(counts)
        )
        for kind, counts in runs.items()
    }
    return OpGroups(plain(groups.device), kernels, plain(groups.host)), most


def _texts(space: XSpace, plane: Plane, name: str, events: I64) -> tuple[I64, Sequence[str]]:
    """The code of a text of each event, -1 for none, and the texts."""
    column, texts = read.strings(space, plane, plane.events.stats, name)
    return column[events].astype(np.int64), texts


def _groups(
    space: XSpace, plane: Plane, events: I64, kind: I64, kinds: Sequence[str]
) -> tuple[I64, list[tuple[str, str]]]:
    """The group of each event, and per group its name and its kind."""
    (shapes, shape_texts), (types, type_texts) = (_texts(space, plane, name, events) for name in (SHAPES, TYPES))
    code, first = row_codes(kind, shapes, types)
    names = []
    for k, shape, type_ in zip(kind[first].tolist(), shapes[first].tolist(), types[first].tolist(), strict=True):
        texts = shape_texts[shape] if shape >= 0 else "", type_texts[type_] if type_ >= 0 else ""
        names.append((group_name(kinds[k], *(texts if texts[0] else ("", ""))), kinds[k]))
    return code, names


def _on_device(space: XSpace, plane: Plane) -> tuple[OpTable, KernelTimes]:
    stats = plane.events.stats
    named = named_ops(space, plane).by("framework_op")
    events = np.flatnonzero((named.op >= 0) & on_recorded_line(plane))
    if not len(events):
        return OpTable(), KernelTimes()
    kinds = [parse_op(op.framework_op).type for op in named.ops]
    code, names = _groups(space, plane, events, _dense(kinds)[named.op[events]], sorted(set(kinds)))
    duration = plane.events.duration_ps[events]

    def total(values: I64 | F64) -> I64:
        sums: I64 = np.bincount(code, weights=values, minlength=len(names)).round().astype(np.int64)
        return sums

    flops, moved, begins = (
        read.ints(space, plane, stats, n)[0][events] for n in ("flops", "bytes_accessed", OP_BEGINS)
    )
    time, runs = total(duration), total(begins)
    table = OpTable(
        module=(0,) * len(names),
        name=tuple(name for name, _ in names),
        category=tuple(kind for _, kind in names),
        provenance=tuple(kind + PYTORCH_SUFFIX for _, kind in names),
        eager=np.zeros(len(names), np.bool_),
        occurrences=np.where(runs > 0, runs, np.bincount(code, minlength=len(names))),
        time_ps=time,
        self_ps=time,
        min_ps=np.zeros(len(names), np.int64),
        cores=np.ones(len(names), np.int64),
        flops=total(flops * half_equivalents(space, plane, events)).astype(np.float64),
        model_flops=total(flops).astype(np.float64),
        bytes=total(moved).astype(np.float64),
    )
    if len(set(table.name)) < len(table):  # names differ in the types of what has no shapes alone
        table = combine([table, OpTable()])
    return table, _kernel_times(space, plane, events, code, [name for name, _ in names])


def _dense(kinds: Sequence[str]) -> I64:
    number = {kind: i for i, kind in enumerate(sorted(set(kinds)))}
    return np.array([number[kind] for kind in kinds], np.int64)


def _kernel_times(space: XSpace, plane: Plane, events: I64, code: I64, names: Sequence[str]) -> KernelTimes:
    details, texts = read.strings(space, plane, plane.events.stats, "kernel_details")
    is_kernel = np.array([*(bool(text) for text in texts), False], np.bool_)[details[events]]
    vendor = plane_text(space, plane, "device_vendor")
    on_units = rows_named(plane, lambda name: uses_tensor_core(name, vendor))
    matrix = is_kernel & on_units[plane.events.metadata[events]]
    time = plane.events.duration_ps[events].astype(np.float64)

    def counted(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Counter[str]:
        ns: Counter[str] = Counter()
        sums = np.bincount(code[chosen], weights=time[chosen], minlength=len(names))
        for name, ps in zip(names, sums.tolist(), strict=True):
            ns[name] += round(ps / 1000)
        return ns

    return KernelTimes(counted(is_kernel), counted(matrix))


def _by_inputs(space: XSpace, plane: Plane) -> Callable[[Runs], Runs]:
    """Renames the ops of runs on the host by kind and operands."""

    def regrouped(runs: Runs) -> Runs:
        kinds = [op.type if op.category == PYTORCH else op.name for _, op in runs.ops]
        code, names = _groups(space, plane, runs.event, _dense(kinds)[runs.op], sorted(set(kinds)))
        return Runs(runs.event, code, [(0, OpName(PYTORCH, name, kind)) for name, kind in names])

    return regrouped
