"""The devices of a host: TensorCores, GPUs, devices of XLA's CPU backend; and the programs that they ran."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.attribution import (
    EventOp,
    hlo_runs,
    instruction_name,
    is_end,
    named_ops,
    names_hlo_ops,
    row_ops,
)
from tpu_profile_plugin.analysis.common.planes import (
    ASYNC_OPS,
    MODULES,
    OPS,
    SPARSE_STEPS,
    STEPS,
    TPU_PREFIX,
    device_planes,
    events_of_lines,
    host_plane,
    is_tensor_core,
    is_tpu,
    lines_named,
    recorded_lines,
    rows_of_lines,
    spans_at,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.rows import extents, pair_in_order, row_codes, sums_by
from tpu_profile_plugin.analysis.common.spans import times_of
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns
from tpu_profile_plugin.analysis.devices import cpu_tf, cpu_torch
from tpu_profile_plugin.analysis.devices.kinds import async_role, gpu_work, hlo_work, opcode_in
from tpu_profile_plugin.analysis.devices.model import ASYNCHRONOUS, NO_LAUNCH, Device, Op, OpSpans, Work, ordered
from tpu_profile_plugin.analysis.devices.torch_collectives import torch_collectives
from tpu_profile_plugin.analysis.environment.device_names import names_of_planes, plane_number
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I32, I64


def _tensor_core(space: XSpace, plane: Plane, name: str) -> Device:
    ops = _tensor_core_ops(space, plane)
    spans = _spans(plane, _op_lines(plane), ops)
    windows = _spans(plane, lines_named(plane, ASYNC_OPS), ops)
    modules = events_of_lines(plane, lines_named(plane, MODULES))
    begin, end = spans_at(plane, modules)
    order = np.argsort(begin, kind="stable")
    control = spans.work == Work.CONTROL
    return Device(
        name=name,
        kind="tpu",
        ordinal=tensor_core(plane.name) or 0,
        plane=plane.index,
        ops=ops,
        runs=ordered(spans.where(~control)),
        control=ordered(spans.where(control)),
        windows=ordered(windows) if len(windows) else paired_windows(ordered(spans), ops),
        programs=times_of(begin, end) if len(modules) else None,
        starts=begin[order],
        launch_key=_run_ids(space, plane)[order],
    )


def _op_lines(plane: Plane) -> list[int]:
    """The lines with the ops of a core, else those with the runs of its programs, which are as good as ops for time."""
    return lines_named(plane, OPS) or lines_named(plane, MODULES)


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


def _tensor_core_ops(space: XSpace, plane: Plane) -> tuple[Op, ...]:
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
    work = np.array([op.work for op in ops], np.uint8)
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


_STREAM = "Stream"
_COPIES = (Work.COPY, Work.UPLOAD, Work.DOWNLOAD, Work.PEER_COPY)


def _gpu(space: XSpace, plane: Plane, position: int, name: str) -> Device:
    number = plane_number(plane)
    lines = np.flatnonzero(recorded_lines(plane)).tolist()
    streams = [line for line in lines if plane.lines.name[line].startswith(_STREAM)]
    events = events_of_lines(plane, streams or lines)
    begin = plane.events.begin_ps[events]
    order = np.argsort(begin, kind="stable")
    events, begin = events[order], begin[order]
    op, ops = _gpu_ops(space, plane, events)
    work = np.array([op.work for op in ops], np.uint8)
    runs = OpSpans(begin, begin + plane.events.duration_ps[events], op, work[op], events)
    key, known = read.ints(space, plane, plane.events.stats, "correlation_id")
    return Device(
        name=name,
        kind="gpu",
        ordinal=position if number is None else number,
        plane=plane.index,
        ops=ops,
        runs=ordered(runs),
        starts=begin,
        launch_key=np.where(known, key, NO_LAUNCH)[events],
    )


def _gpu_ops(space: XSpace, plane: Plane, events: I64) -> tuple[I32, tuple[Op, ...]]:
    """The op of each event, and the distinct ops: by kernel, HLO op and program."""
    names, named = plane.event_metadata.names, named_ops(space, plane).by("program", "path")
    sent, sizes = torch_collectives(space, plane, events)
    columns = (plane.events.metadata[events].astype(np.int64), named.op[events].astype(np.int64), sent)
    op, first = row_codes(*columns)
    ops = []
    for row, code, size in zip(*(column[first].tolist() for column in columns), strict=True):
        hlo_op = named.at(code).hlo_op
        work, collective = gpu_work(names[row], hlo_op, sizes[size].launches if size >= 0 else "")
        name = names[row] if work in _COPIES else hlo_op or names[row]
        device_op = Op(name, named.at(code).program or 0, work, collective)
        ops.append(sizes[size].of(device_op) if size >= 0 and work == Work.COMMUNICATION else device_op)
    return op.astype(np.int32), tuple(ops)


NO_RUN = -1
"""The number of every run in TensorFlow's XLA; JAX numbers runs with any other integers."""


def cpu_devices(space: XSpace, plane: Plane, programs: HloPrograms) -> list[Device]:
    """The devices whose ops the threads of a host ran, in order of their ordinals."""
    if not names_hlo_ops(plane):
        return []
    named, events = hlo_runs(space, plane)
    if not len(events):
        return []
    stats = StatColumns(space, plane, plane.events.stats, ("device_ordinal", "run_id", "_p", "_c"))
    order = np.argsort(plane.events.begin_ps[events], kind="stable")
    device, run = (stats.ints(name).at(events)[0][order] for name in ("device_ordinal", "run_id"))
    produced, produces = stats.ints("_p").at(events)
    row = np.flatnonzero(produces[order])
    producers = row, produced[order][row]
    events = events[order]
    end = _completed(plane, events, row_codes(device, run)[0], producers, stats.ints("_c"))
    ops = tuple(_cpu_op(op, programs) for op in named.ops)
    op = named.op[events]
    work = np.array([device_op.work for device_op in ops], np.uint8)[op]
    spans = OpSpans(plane.events.begin_ps[events], end, op, work, events)
    return [_cpu_device(plane, ordinal, ops, spans, device, run) for ordinal in np.unique(device)]


def _cpu_device(plane: Plane, ordinal: int, ops: tuple[Op, ...], spans: OpSpans, device: I64, run: I64) -> Device:
    rows = np.flatnonzero(device == ordinal)
    device_spans, run = spans.where(rows), run[rows]
    control = device_spans.work == Work.CONTROL
    # A run of a program lasts from its first op to its last.
    numbered = run != NO_RUN
    runs, first, last = extents(run[numbered], device_spans.begin_ps[numbered], device_spans.end_ps[numbered])
    order = np.argsort(first, kind="stable")
    return Device(
        name=f"CPU device {int(ordinal)}",
        kind="cpu",
        ordinal=int(ordinal),
        plane=plane.index,
        ops=ops,
        runs=device_spans.where(~control),
        control=device_spans.where(control),
        programs=times_of(first, last) if len(runs) else None,
        starts=first[order],
        launch_key=runs[order],
    )


def _completed(plane: Plane, events: I64, run: I64, producers: tuple[I64, I64], consumers: SparseColumn) -> I64:
    """When each op was complete.

    An op that only hands its work to other threads is complete when the thread that finishes the work goes on with the
    next op of the same run; the end event that consumes the op's context follows when there is nothing more to go on
    with. `run` numbers the runs of programs on devices, `producers` are the ops (indices into `events`) that produce a
    context, and its id, `consumers` the events that consume one.
    """
    end = plane.events.begin_ps[events] + plane.events.duration_ps[events]
    ends = np.flatnonzero(is_end(plane)[plane.events.metadata])
    consumed, consumes = consumers.at(ends)
    ends, consumed = ends[consumes], consumed[consumes]
    row, produced = producers
    if not len(ends) or not len(row):
        return end
    key, _ = row_codes(np.concatenate([produced, consumed]))
    time = np.concatenate([plane.events.begin_ps[events[row]], plane.events.begin_ps[ends]])
    opens = np.arange(len(time)) < len(row)
    order = np.lexsort((~opens, time))
    opened, closed = pair_in_order(key[order], opens[order])
    producer, finisher = row[order[opened]], ends[order[closed] - len(row)]
    later = plane.events.begin_ps[finisher] > end[producer]
    producer, finisher = producer[later], finisher[later]
    following = _next_begin(plane, events, run, end[producer], finisher, run[producer])
    end[producer] = np.minimum(plane.events.begin_ps[finisher], following)
    return end


def _next_begin(plane: Plane, events: I64, run: I64, time: I64, on_thread_of: I64, of_run: I64) -> I64:
    """Per query the begin of the first op of a run at or after `time` on the thread of an event; the largest number
    without one. The ops (`events`) are in order of begin.
    """
    line = np.searchsorted(plane.lines.event_start, np.concatenate([events, on_thread_of]), side="right")
    key, _ = row_codes(line, np.concatenate([run, of_run]))
    begin, count = plane.events.begin_ps[events], len(events)
    order = np.argsort(key[:count], kind="stable")
    # The events are in order of begin: the wanted one is the first with the key from a certain index on.
    wanted = key[count:] * count + np.searchsorted(begin, time)
    position = np.searchsorted(key[order] * count + order, wanted)
    row = order[np.minimum(position, count - 1)]
    same = (position < count) & (key[row] == key[count:])
    first: I64 = np.where(same, begin[row], np.iinfo(np.int64).max)
    return first


def _cpu_op(op: EventOp, programs: HloPrograms) -> Op:
    program = op.program or 0
    module = programs.program(program)
    row = module.row_of.get(op.hlo_op) if module else None
    work, collective = hlo_work(module.opcodes[row] if module and row is not None else "", "", op.hlo_op)
    return Op(op.hlo_op, program, work, collective)


RUNS_WITHIN_HOST_CALLS = frozenset((cpu_tf.NAME, cpu_torch.NAME))
"""Names of devices whose ops have run when the host's call of them returns."""


def devices_of(space: XSpace, programs: HloPrograms) -> tuple[Device, ...]:
    """The TensorCores or GPUs of a profile; else devices of the CPU backend, else the CPU for TensorFlow or PyTorch.

    Args:
      space: the profile; only the planes of devices are decoded if there are any.
      programs: its HLO programs, which tell what the CPU backend's ops are.
    """
    planes, names = device_planes(space), names_of_planes(space)
    if planes and is_tpu(planes[0]):
        # Of stats only run ids are read, but groups of events, which steps are made of, need all.
        space.decode_with_some_stats(planes, lines=(MODULES,), unless=(STEPS, SPARSE_STEPS))
        # SparseCores work for TensorCores and are no devices of their own.
        own = (plane for plane in planes if is_tensor_core(plane) and _op_lines(plane))
        cores = (_tensor_core(space, plane, names[plane.index]) for plane in own)
        return tuple(core for core in cores if core.span() is not None)
    space.decode(planes)
    if planes:
        gpus = (_gpu(space, plane, position, names[plane.index]) for position, plane in enumerate(planes))
        return tuple(gpu for gpu in gpus if len(gpu.runs))
    host = host_plane(space)
    if host is None:
        return ()
    return tuple(
        cpu_devices(space, host, programs)
        or cpu_tf.tensorflow_devices(space, host)
        or cpu_torch.pytorch_devices(space, host)
    )


_MODULE = re.compile(r"(?P<name>[\w.\-]+)\((?P<id>\d{1,20})\)\Z")
"""How runs of programs are named on TPUs: `jit_step(7)`."""


def programs_of_devices(space: XSpace, devices: Sequence[Device], programs: HloPrograms) -> tuple[ProgramRan, ...]:
    """The programs that ops of the devices name, in no order; those without HLO by the names in the events."""
    times: dict[int, int] = {}
    for device in devices:
        program = np.array([op.program for op in device.ops], np.uint64)
        ids, which = np.unique(program, return_inverse=True)
        sums = sums_by(which.reshape(-1)[device.runs.op], device.runs.end_ps - device.runs.begin_ps, len(ids))
        for number, ps in zip(ids.tolist(), sums.tolist(), strict=True):
            times[number] = times.get(number, 0) + ps
    ran = {number: ps for number, ps in times.items() if number and ps}
    names = program_names(space, {number for number in ran if number not in programs.names})
    return tuple(
        ProgramRan(programs.names.get(number) or names.get(number, str(number)), ps, number in programs.modules)
        for number, ps in ran.items()
    )


def programs_declared(space: XSpace) -> set[int]:
    """Ids of the programs that TPUs ran, by names in the metadata, without reading an event; of other devices none."""
    return {
        int(match["id"]) % 2**64
        for plane in space.planes
        if plane.name.startswith(TPU_PREFIX)
        for text in plane.declared.event_metadata.names
        if text.endswith(")") and (match := _MODULE.match(text))
    }


def program_names(space: XSpace, wanted: set[int]) -> dict[int, str]:
    """`module(program id)` by program id, for programs without HLO: from runs on TPUs, else from stats of ops."""
    names: dict[int, str] = {}
    host = host_plane(space)
    for plane in (*device_planes(space), *([] if host is None else [host])):
        if not wanted - names.keys():
            break
        for text in plane.declared.event_metadata.names:
            if (match := _MODULE.match(text)) and (number := int(match["id"]) % 2**64) in wanted:
                names.setdefault(number, text)
        if wanted - names.keys() and plane.declared.stat_metadata.row("hlo_module") is not None:
            names = {**_of_stats(space, plane, wanted), **names}
    return names


def _of_stats(space: XSpace, plane: Plane, wanted: set[int]) -> dict[int, str]:
    return {
        op.program: f"{op.hlo_module}({op.program})"
        for op in named_ops(space, plane).ops
        if op.hlo_module and op.program in wanted
    }
