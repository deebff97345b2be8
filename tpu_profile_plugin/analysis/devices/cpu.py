"""Devices of XLA's CPU backend, of which one process may have several: ops on any thread, by device ordinal."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.attribution import EventOp, is_end, named_ops, names_hlo_ops
from tpu_profile_plugin.analysis.common.rows import extents, pair_in_order, row_codes
from tpu_profile_plugin.analysis.common.spans import times_of
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns
from tpu_profile_plugin.analysis.devices.kinds import hlo_work
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

NO_RUN = -1
"""The number of every run in TensorFlow's XLA; JAX numbers runs with any other integers."""


def cpu_devices(space: XSpace, plane: Plane, programs: HloPrograms) -> list[Device]:
    """The devices whose ops the threads of a host ran, in order of their ordinals."""
    if not names_hlo_ops(plane):
        return []
    named = named_ops(space, plane).hlo()
    events = np.flatnonzero(named.op >= 0)
    events = events[~is_end(plane)[plane.events.metadata[events]]]
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
    ops = tuple(_op(op, programs) for op in named.ops)
    op = named.op[events]
    work = np.array([device_op.work for device_op in ops], np.uint8)[op]
    spans = OpSpans(plane.events.begin_ps[events], end, op, work, events)
    return [_device(plane, ordinal, ops, spans, device, run) for ordinal in np.unique(device)]


def _device(plane: Plane, ordinal: int, ops: tuple[Op, ...], spans: OpSpans, device: I64, run: I64) -> Device:
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


def _op(op: EventOp, programs: HloPrograms) -> Op:
    program = op.program or 0
    module = programs.program(program)
    row = module.row_of.get(op.hlo_op) if module else None
    work, collective = hlo_work(module.opcodes[row] if module and row is not None else "", "", op.hlo_op)
    return Op(op.hlo_op, program, work, collective)
