"""XLA ops of one TPU core: metrics per op from the events of its op line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import OP_LINES, OPS, SPARSE_OPS, events_of_lines, lines_named
from tpu_profile_plugin.analysis.common.spans import union
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.ops.table import OpTable, combine
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, U8, Bools

CUSTOM_CALL = "custom-call"
ASYNC_DONE = "async-done"
_WAITING_NAMES = ("async-done", "host-send-done", "host-recv-done")
"""Parts of the names of ops whose time counts as async-done, as in XProf."""
WAITS_FOR_HOST = frozenset(("infeed", "outfeed", "host send", "host send-done", "host recv", "host recv-done"))
_NO_KEY = 2**32 - 1
SILENT_CORE_PS = 1
"""Observed time of a core without ops, as in XProf: any positive value makes it 100% idle."""


@dataclass(frozen=True, slots=True)
class DeviceSpans:
    """Spans of a plane's events on the device's clock where recorded, else on the host's.

    Attributes:
      begin_ps, duration_ps: one value per event of the plane.
    """

    begin_ps: I64
    duration_ps: I64

    @property
    def end_ps(self) -> I64:
        """Begin plus duration."""
        return self.begin_ps + self.duration_ps


NO_SPANS = DeviceSpans(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class OpMetadata:
    """Op metadata of a plane, one row per row of `event_metadata`.

    Attributes:
      counted: the row is an op, i.e. has a program and a symbol; other rows only enclose ops.
      row: the row that describes the op; rows of one program and symbol share the one whose event completed first.
      shared: number of the program and symbol of rows that share them, -1 for others.
      program: program id; category: code into `categories`.
      flops, model_flops, bytes: of one execution.
    """

    counted: Bools
    row: I64
    shared: I64
    program: np.ndarray[Any, np.dtype[np.uint64]]
    name: list[str]
    category: np.ndarray[Any, np.dtype[np.int32]]
    categories: list[str]
    provenance: list[str]
    flops: I64
    model_flops: I64
    bytes: I64

    def category_of(self, row: int) -> str:
        """The category's text, "" when there is none."""
        code = int(self.category[row])
        return self.categories[code] if code >= 0 else ""

    def time_categories(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[str]]:
        """Category of each op's time in steps and in the duty cycle: codes into the returned categories.

        Normally the op's category; ops with one of `_WAITING_NAMES` count as waiting.
        """
        categories = [*self.categories, ""]
        code = self.category.astype(np.int64)
        code[code < 0] = len(categories) - 1
        waits = np.array([category in WAITS_FOR_HOST for category in categories], np.bool_)
        is_done = np.array([any(part in name for part in _WAITING_NAMES) for name in self.name], np.bool_)
        is_done &= ~waits[code]
        if is_done.any():
            categories += [] if ASYNC_DONE in categories else [ASYNC_DONE]
            code[is_done] = categories.index(ASYNC_DONE)
        return code, categories


def device_spans(space: XSpace, plane: Plane) -> DeviceSpans:
    """The spans of all events of a plane."""
    offset, has_offset = read.ints(space, plane, plane.events.stats, "device_offset_ps")
    duration, has_duration = read.ints(space, plane, plane.events.stats, "device_duration_ps")
    both = has_offset & has_duration
    if both.all():
        return DeviceSpans(offset, duration)
    events = plane.events
    return DeviceSpans(np.where(both, offset, events.begin_ps), np.where(both, duration, events.duration_ps))


def op_metadata(space: XSpace, plane: Plane) -> OpMetadata:
    """Reads the op metadata of a plane from its event metadata."""
    stats, meta = plane.event_metadata.stats, plane.event_metadata
    program, has_program = read.ints(space, plane, stats, "program_id")
    symbol, has_symbol = read.ints(space, plane, stats, "symbol_id")
    category, categories = read.strings(space, plane, stats, "hlo_category")
    op, texts = read.strings(space, plane, stats, "tf_op")
    flops, _ = read.ints(space, plane, stats, "flops")
    model_flops, _ = read.ints(space, plane, stats, "model_flops")
    accessed, _ = read.ints(space, plane, stats, "bytes_accessed")
    counted = has_program & has_symbol & (symbol != 0)
    shared = _shared(counted, program, symbol)
    return OpMetadata(
        counted=counted,
        row=described_by(plane, shared, op_events(plane))[0] if (shared >= 0).any() else np.arange(len(counted)),
        shared=shared,
        program=program.view(np.uint64),
        name=[display or name for display, name in zip(meta.display_names, meta.names, strict=True)],
        category=category,
        categories=categories,
        provenance=[texts[code] if code >= 0 else "" for code in op.tolist()],
        flops=flops,
        model_flops=model_flops,
        bytes=accessed,
    )


def _shared(counted: Bools, program: I64, symbol: I64) -> I64:
    """`OpMetadata.shared`; programs normally have one row per symbol."""
    shared, ops = np.full(len(counted), -1, np.int64), np.flatnonzero(counted)
    keys = np.stack([program[ops], symbol[ops]], axis=1)
    _, where, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    where = where.reshape(-1)
    shared[ops] = np.where(count[where] > 1, where, -1)
    return shared


def described_by(plane: Plane, shared: I64, events: I64, group: I64 | None = None) -> I64:
    """Row that describes each metadata row in each group of `events`, int64[groups, rows]; groups count from 0.

    Among rows that share a program and symbol it is the row whose event completed first, else the row itself.
    """
    group = np.zeros(len(events), np.int64) if group is None else group
    describing: I64 = np.repeat(np.arange(len(shared))[None], int(group.max(initial=0)) + 1, axis=0)
    row = plane.events.metadata[events].astype(np.int64)
    index = np.flatnonzero(shared[row] >= 0)
    end = plane.events.begin_ps[events[index]] + plane.events.duration_ps[events[index]]
    # The event completed first is the innermost of the events that end first.
    index = index[np.lexsort((-index, end))][::-1]
    first = np.full((len(describing), int(shared.max(initial=-1)) + 1), -1, np.int64)
    first[group[index], shared[row[index]]] = row[index]
    rows = np.flatnonzero(shared >= 0)
    completed = first[:, shared[rows]]
    describing[:, rows] = np.where(completed >= 0, completed, rows)
    return describing


def op_events(plane: Plane) -> I64:
    """Indices of the events on the plane's op line by begin, longest first."""
    parts = []
    for line in lines_named(plane, OPS, SPARSE_OPS):
        events = events_of_lines(plane, [line])
        begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
        later, earlier = slice(1, None), slice(None, -1)
        same = (begin[later] == begin[earlier]) & (duration[later] <= duration[earlier])
        sorted_already = bool(((begin[later] > begin[earlier]) | same).all())
        parts.append(events if sorted_already else events[np.lexsort((-duration, begin))])
    return np.concatenate([np.zeros(0, np.int64), *parts])


Spans = tuple[I64, I64]
"""Begins and ends of disjoint spans, ascending."""


@dataclass(frozen=True, slots=True)
class CoreWork:
    """Busy time of a core on the host's clock.

    Attributes:
      busy: spans per op line with the innermost op on duty; sure: the same without custom calls of unknown cost.
      span_ps: first begin and last end of the ops.
    """

    busy: tuple[Spans, ...] = ()
    sure: tuple[Spans, ...] = ()
    span_ps: tuple[int, int] | None = None

    @property
    def busy_spans(self) -> Spans | None:
        """The busy spans of all lines together; None if the core was never busy."""
        begin, end = (np.concatenate([np.zeros(0, np.int64), *(line[i] for line in self.busy)]) for i in (0, 1))
        return union(begin, end) if len(begin) else None


class Duty(IntEnum):
    """Role of an op's self time in the duty cycle."""

    ON = 0
    CUSTOM_CALL = 1
    OFF = 2


def op_table(
    space: XSpace, plane: Plane, op_meta: OpMetadata, duty_of: Mapping[str, Duty], step_spans: DeviceSpans
) -> tuple[OpTable, CoreWork]:
    """Metrics of one core's ops, and its busy time.

    Nesting of the sums is determined on the device's clock; busy time and the minimum time of an op are on the host's.
    `duty_of` has the categories that are not always on duty. `step_spans`, the core's steps, extend the observed time,
    as do, on the host's clock, the events shown on the line of framework ops.
    """
    duty = _duty(space, plane, op_meta, duty_of)
    row_of = op_meta.row.astype(np.uint32)
    begins = [int(step_spans.begin_ps.min())] if len(step_spans.begin_ps) else []
    ends = [int(step_spans.end_ps.max())] if len(step_spans.begin_ps) else []
    framework = _framework_span(space, plane)
    if framework is not None:
        begins.append(framework[0])
        ends.append(framework[1])
    tables: list[OpTable] = []
    busy: list[Spans] = []
    sure: list[Spans] = []
    host_spans: list[tuple[int, int]] = []
    for line in lines_named(plane, *OP_LINES):
        events = plane.lines.events_of(line)
        sums, span, host_span, on_duty, surely_on_duty = _native.core_ops(
            plane.events.begin_ps[events],
            plane.events.duration_ps[events],
            row_of[plane.events.metadata[events]],
            len(op_meta.name),
            duty[events],
            plane.events.stats.start[events.start : events.stop + 1],
            plane.events.stats.key,
            plane.events.stats.kind,
            plane.events.stats.value,
            _clock_keys(plane),
        )
        if plane.lines.name[line] in (OPS, SPARSE_OPS):
            busy.append(on_duty)
            sure.append(surely_on_duty)
            host_spans += [] if host_span is None else [host_span]
        used = np.flatnonzero(op_meta.counted & (sums[0] > 0))
        tables.append(metadata_ops(op_meta, used, *(column[used] for column in sums)))
        if span is not None:
            begins.append(span[0])
            ends.append(span[1])
    # A core normally has one op line.
    table = combine(tables)
    work = CoreWork(tuple(busy), tuple(sure), enclosing_span(host_spans))
    return table.with_total(max(ends) - min(begins) if begins else SILENT_CORE_PS), work


def _duty(space: XSpace, plane: Plane, op_meta: OpMetadata, duty_of: Mapping[str, Duty]) -> U8:
    """The `Duty` of each event; custom calls with a known cost are on duty."""
    code, categories = op_meta.time_categories()
    rows = np.array([duty_of.get(category, Duty.ON) for category in categories], np.uint8)[code]
    rows[(rows == Duty.CUSTOM_CALL) & ((op_meta.flops > 0) | (op_meta.model_flops > 0))] = Duty.ON
    if (rows == Duty.ON).all():
        return np.zeros(len(plane.events.metadata), np.uint8)
    duty: U8 = rows[plane.events.metadata]
    for name in ("flops", "model_flops") if (rows == Duty.CUSTOM_CALL).any() else ():
        if plane.stat_metadata.row(name) is not None:
            cost, _ = read.ints(space, plane, plane.events.stats, name)
            duty[(duty == Duty.CUSTOM_CALL) & (cost > 0)] = Duty.ON
    return duty


def _framework_span(space: XSpace, plane: Plane) -> tuple[int, int] | None:
    """First begin and last end, on the host's clock, of the synchronous events with a framework op."""
    names = ("tf_op", "_a")
    on_rows = StatColumns(space, plane, plane.event_metadata.stats, names)
    on_events = StatColumns(space, plane, plane.events.stats, names)
    rows, events = plane.event_metadata.id, plane.events.metadata
    has_op = _marked(len(rows), on_rows.texts("tf_op")[0])[events]
    has_op[on_events.texts("tf_op")[0]] = True
    if not has_op.any():
        return None
    on_row, on_event = on_rows.ints("_a"), on_events.ints("_a")
    is_async = _marked(len(rows), on_row.event[on_row.value != 0])[events]
    is_async[on_event.event] = on_event.value != 0
    synchronous = np.flatnonzero(has_op & ~is_async)
    if not len(synchronous):
        return None
    begin = plane.events.begin_ps[synchronous]
    return int(begin.min()), int((begin + plane.events.duration_ps[synchronous]).max())


def _marked(count: int, rows: I64) -> Bools:
    marks = np.zeros(count, np.bool_)
    marks[rows] = True
    return marks


def enclosing_span(spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Span from the first begin to the last end; None without any."""
    return (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None


def _clock_keys(plane: Plane) -> tuple[int, int]:
    rows = [plane.stat_metadata.row(name) for name in ("device_offset_ps", "device_duration_ps")]
    begin, duration = (_NO_KEY if row is None else row for row in rows)
    return begin, duration


def metadata_ops(op_meta: OpMetadata, rows: I64, occurrences: I64, time: I64, self_ps: I64, minimum: I64) -> OpTable:
    """The ops of some rows of the metadata, with their sums; costs are those of one execution, multiplied."""
    flops, model_flops, accessed = (
        cost[rows].astype(np.float64) * occurrences for cost in (op_meta.flops, op_meta.model_flops, op_meta.bytes)
    )
    return OpTable(
        module=tuple(op_meta.program[rows].tolist()),
        name=tuple(op_meta.name[i] for i in rows.tolist()),
        category=tuple(op_meta.category_of(i) for i in rows.tolist()),
        provenance=tuple(op_meta.provenance[i] for i in rows.tolist()),
        eager=np.zeros(len(rows), np.bool_),
        occurrences=occurrences,
        time_ps=time,
        self_ps=self_ps,
        min_ps=minimum,
        cores=np.ones(len(rows), np.int64),
        flops=flops,
        model_flops=np.where(model_flops == 0, flops, model_flops),
        bytes=accessed,
    )
