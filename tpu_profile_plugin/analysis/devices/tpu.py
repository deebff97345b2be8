"""TensorCores as devices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.attribution import instruction_name, row_ops
from tpu_profile_plugin.analysis.common.planes import (
    MODULES,
    OPS,
    events_of_lines,
    is_tensor_core,
    lines_named,
    rows_of_lines,
    spans_at,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.rows import pair_in_order
from tpu_profile_plugin.analysis.common.spans import times_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.devices.kinds import async_role, hlo_work, opcode_in
from tpu_profile_plugin.analysis.devices.model import ASYNCHRONOUS, NO_LAUNCH, Device, Op, OpSpans, Work, ordered
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

ASYNC_OPS = "Async XLA Ops"


def tpu_devices(space: XSpace, planes: Sequence[Plane]) -> list[Device]:
    """The TensorCores that ran ops; SparseCores work for them and are no devices of their own."""
    devices = (_device(space, plane) for plane in planes if is_tensor_core(plane) and lines_named(plane, OPS))
    return [device for device in devices if device.span() is not None]


def _device(space: XSpace, plane: Plane) -> Device:
    ops = _ops(space, plane)
    spans = _spans(plane, lines_named(plane, OPS), ops)
    windows = _spans(plane, lines_named(plane, ASYNC_OPS), ops)
    modules = events_of_lines(plane, lines_named(plane, MODULES))
    begin, end = spans_at(plane, modules)
    order = np.argsort(begin, kind="stable")
    control = spans.work == Work.CONTROL
    ordinal = tensor_core(plane.name) or 0
    return Device(
        name=f"TPU {ordinal}",
        kind="tpu",
        ordinal=ordinal,
        plane=plane.index,
        ops=ops,
        runs=ordered(spans.where(~control)),
        control=ordered(spans.where(control)),
        windows=ordered(windows) if len(windows) else paired_windows(ordered(spans), ops),
        programs=times_of(begin, end) if len(modules) else None,
        starts=begin[order],
        launch_key=_run_ids(space, plane)[order],
    )


def _run_ids(space: XSpace, plane: Plane) -> I64:
    """The run id of each module event, line by line, or `NO_LAUNCH`; stats of other events are not read."""
    parts = [np.zeros(0, np.int64)]
    for line in lines_named(plane, MODULES):
        owners = plane.lines.events_of(line)
        recorded = StatColumns(space, plane, plane.events.stats_on(MODULES), ("run_id",), owners).ints("run_id")
        ids = np.full(owners.stop - owners.start, NO_LAUNCH)
        ids[recorded.event - owners.start] = recorded.value
        parts.append(ids)
    return np.concatenate(parts)


def _ops(space: XSpace, plane: Plane) -> tuple[Op, ...]:
    """One op per row of the event metadata."""
    meta = plane.event_metadata
    ops = []
    for text, display_name, op in zip(meta.names, meta.display_names, row_ops(space, plane), strict=True):
        name = instruction_name(text, display_name)
        work, collective = hlo_work(opcode_in(text), op.category, name, text)
        ops.append(Op(name, op.program or 0, work, collective, text if work == Work.COMMUNICATION else ""))
    return tuple(ops)


def _spans(plane: Plane, lines: list[int], ops: tuple[Op, ...]) -> OpSpans:
    events = events_of_lines(plane, lines)
    rows = rows_of_lines(plane, lines)
    op = plane.events.metadata[rows].view(np.int32)  # rows are few
    work = np.array([one.work for one in ops], np.uint8)
    return OpSpans(*spans_at(plane, rows), op, work[op], events)


def paired_windows(spans: OpSpans, ops: tuple[Op, ...]) -> OpSpans:
    """Windows from start to done ops, paired by name, first in first out; of communication and copies only."""
    roles = [async_role(op.name) if op.work in ASYNCHRONOUS else None for op in ops]
    keys: dict[tuple[int, str], int] = {}
    key = np.array(
        [-1 if role is None else keys.setdefault((ops[i].program, role[0]), len(keys)) for i, role in enumerate(roles)],
        np.int64,
    )
    starts = np.array([role is not None and role[1] for role in roles], np.bool_)
    if not bool((key >= 0).any()):
        return OpSpans()
    start, done = pair_in_order(key[spans.op], starts[spans.op])
    order = np.argsort(spans.begin_ps[start], kind="stable")  # before the other columns are copied
    start, done = start[order], done[order]
    return OpSpans(spans.begin_ps[start], spans.end_ps[done], spans.op[start], spans.work[start], spans.event[start])
