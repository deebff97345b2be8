"""Lines derived on TensorCore planes: framework ops, name scopes, source lines, and host offload copies."""

from __future__ import annotations

import re

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common import planes as ids
from tpu_profile_plugin.analysis.common.planes import ABSENT, Arg, ExtraLine
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.derived.lines import Levels, Sources, derive, op_levels
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, U32, Bools

_STATS = ("tf_op", "source", "_a")
_MOVED, _SHAPE = "raw_bytes_accessed", "shape_with_layout"
_OFFLOAD = re.compile(r"(.*?)(copy|dynamic-slice|dynamic-update-slice)-(start|done)")
_NUMBER = re.compile(r"\.(\d+)\Z")
_HOST_MEMORY = "S(5)"


def derive_tpu(space: XSpace, plane: Plane, on_events: StatColumns, group: I64 | None) -> list[ExtraLine]:
    """The non-empty derived lines of one TensorCore plane; `on_events` holds the stats of its events."""
    on_rows = StatColumns(space, plane, plane.event_metadata.stats, _STATS)
    ops, op_texts = _texts(plane, on_rows, on_events, "tf_op")
    locations, location_texts = _texts(plane, on_rows, on_events, "source")
    synchronous = ~_is_async(plane, on_rows, on_events)
    events = np.flatnonzero(_has_text(plane, ops, locations) & synchronous)
    lines: list[ExtraLine] = []
    if len(events):
        events = _native.walk_order(plane.events.begin_ps, plane.events.duration_ps, events)
        none = np.full(len(events), -1, dtype=np.int32)
        op_row = ops[events] if ops is not None else none
        scopes, frameworks = op_levels(op_row, op_texts, [1])
        source = Levels(locations[events] if locations is not None else none, [])
        source.rows = [[source.names.code(text)] for text in location_texts]
        derived = derive(Sources.of(plane, events, group), [scopes, frameworks, source], stream=False)
        kinds = (
            (ids.NAME_SCOPE_ID, ids.NAME_SCOPE),
            (ids.FRAMEWORK_OPS_ID, ids.FRAMEWORK_OPS),
            (ids.SOURCE_ID, ids.SOURCE),
        )
        lines += [line.line(id_, name) for line, (id_, name) in zip(derived, kinds, strict=True) if len(line)]
    return lines + host_offload(space, plane, synchronous)


def _texts(plane: Plane, on_rows: StatColumns, on_events: StatColumns, stat: str) -> tuple[I32 | None, list[str]]:
    """Code of a stat's text per event, its own or else its metadata's, -1 if neither; None if there is no text."""
    row, row_code, texts = on_rows.texts(stat)
    event, event_code, event_texts = on_events.texts(stat)
    if len(row) == 0 and len(event) == 0:
        return None, []
    by_row = np.full(len(plane.event_metadata.id), -1, dtype=np.int32)
    by_row[row] = row_code
    code = by_row[plane.events.metadata]
    code[event] = event_code + len(texts)
    return code, texts + event_texts


def _has_text(plane: Plane, *columns: I32 | None) -> Bools:
    """Events with a code in any of the columns."""
    present = np.zeros(len(plane.events.metadata), dtype=np.bool_)
    for column in columns:
        if column is not None:
            present |= column >= 0
    return present


def _is_async(plane: Plane, on_rows: StatColumns, on_events: StatColumns) -> Bools:
    """Events marked asynchronous (`_a`) by their own stats or by their metadata's."""
    row, event = on_rows.ints("_a"), on_events.ints("_a")
    row_is_async = np.zeros(len(plane.event_metadata.id), dtype=np.bool_)
    row_is_async[row.event] = row.value != 0
    is_async = row_is_async[plane.events.metadata] if len(row) else np.zeros(len(plane.events.metadata), dtype=np.bool_)
    is_async[event.event] = event.value != 0
    return is_async


def host_offload(space: XSpace, plane: Plane, synchronous: Bools) -> list[ExtraLine]:
    """Lines of copies between device and host memory, from start to done event, among the `synchronous` events."""
    key_of: dict[tuple[str, str], int] = {}
    key = np.full(len(plane.event_metadata.id), -1, dtype=np.int64)
    starts = np.zeros(len(key), dtype=np.bool_)
    display_names: list[str] = []
    for row, display in enumerate(plane.event_metadata.display_names):
        if "-start" not in display and "-done" not in display:
            continue
        match = _OFFLOAD.match(display)
        if match is None or _HOST_MEMORY not in plane.event_metadata.names[row]:
            continue
        number = _NUMBER.search(display)
        pair = (match[1] + match[2], number[1] if number else "0")
        key[row] = key_of.setdefault(pair, len(key_of))
        starts[row] = match[3] == "start"
        if len(display_names) < len(key_of):
            display_names.append(f"offload-{pair[0]}.{pair[1]}")
    if not key_of:
        return []
    events = np.flatnonzero((key >= 0)[plane.events.metadata] & synchronous)
    events = _native.walk_order(plane.events.begin_ps, plane.events.duration_ps, events)
    on_rows = StatColumns(space, plane, plane.event_metadata.stats, (_MOVED, _SHAPE))
    return _offload_rows(plane, on_rows, events, key, starts, display_names)


def _offload_rows(
    plane: Plane, on_rows: StatColumns, events: I64, key: I64, starts: Bools, display_names: list[str]
) -> list[ExtraLine]:
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    rows = plane.events.metadata[events]
    start, done, line = _native.pair_offload(
        begin, duration, key[rows].astype(np.uint32), starts[rows], ids.HOST_OFFLOAD_ROWS
    )
    order = np.argsort(line, kind="stable")
    cuts = np.searchsorted(line[order], np.arange(int(line.max()) + 2 if len(line) else 1))
    lines = []
    for number in range(len(cuts) - 1):
        pairs = order[cuts[number] : cuts[number + 1]]
        first, last = start[pairs], done[pairs]
        distinct = np.flatnonzero(np.bincount(rows[first]))
        code = np.searchsorted(distinct, rows[first])
        lines.append(
            ExtraLine(
                id=ids.HOST_OFFLOAD_ID + number,
                name=f"{ids.HOST_OFFLOAD}{number}",
                begin_ps=begin[first],
                duration_ps=begin[last] + duration[last] - begin[first],
                metadata=code.astype(np.uint32),
                names=("",) * len(distinct),
                display_names=tuple(display_names[int(key[row])] for row in distinct.tolist()),
                extra_args=_offload_args(on_rows, len(key), rows[first], rows[last]),
            )
        )
    return lines


def _offload_args(on_rows: StatColumns, count: int, starts: U32, dones: U32) -> dict[str, Arg]:
    """Arguments of copies from their two ops (rows below `count`): shape of the start op, bytes of the done op."""
    moved = on_rows.signed(_MOVED)
    moved_by_row = np.full(count, ABSENT, dtype=np.int64)
    moved_by_row[moved.event] = moved.value
    row, code, texts = on_rows.texts(_SHAPE)
    shape_by_row = np.full(count, -1, dtype=np.int32)
    shape_by_row[row] = code
    return {
        "_a": np.ones(len(starts), dtype=np.int64),
        _MOVED: moved_by_row[dones],
        _SHAPE: (shape_by_row[starts], tuple(texts)),
    }
