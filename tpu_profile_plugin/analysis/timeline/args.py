"""Locations of the arguments of a timeline's events, for the native core, which decodes them on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import ABSENT, PlaneExtras
from tpu_profile_plugin.analysis.timeline.hidden import (
    FLOW,
    FOLDED_ARGS,
    GROUP_ID,
    HIDDEN_ARGS,
    IS_EAGER,
    LONG_NAME,
    RUN_ID,
    STEP_NAME,
)
from tpu_profile_plugin.analysis.timeline.host import HIDDEN, HostTrace, Source
from tpu_profile_plugin.columns import Plane, Stats, XSpace
from tpu_profile_plugin.columns.arrays import I64, U8, U32
from tpu_profile_plugin.columns.stats import strings

SHORTEST_FRAME = 16
"""Full names longer than this are written as stack frames."""

_FRAMED = (LONG_NAME, "hlo_text")
_SPECIAL = (LONG_NAME, GROUP_ID, FLOW, STEP_NAME, IS_EAGER, RUN_ID)
_NO_STATS = Stats(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.uint64))


@dataclass(frozen=True, slots=True)
class ArgSheet:
    """Arguments of one table of events; see `native/src/trace/args.rs`."""

    metadata: U32
    long_name: U32
    metadata_stats: Stats
    metadata_row: I64 | None
    event_stats: Stats
    event_row: I64 | None
    keys: U32
    refs: U32
    integers: list[tuple[int, U32, I64]]
    texts: list[tuple[int, U32, U32]]


@dataclass(frozen=True, slots=True)
class TraceArgs:
    """Arguments of a whole trace.

    Attributes:
      sheets: in the order of the trace's sources.
      keys: all argument names, ascending.
      texts: all texts that values may refer to.
      frames: uint32 per text: number of its stack frame, 0 if it is not a frame.
      stack: texts of the frames, starting with number 1.
    """

    data: U8
    sheets: list[ArgSheet]
    keys: _native.TraceNames
    texts: _native.TraceNames
    long_name: int
    group_id: int
    flow: int
    frames: U32
    stack: tuple[str, ...]


class _Pool:
    """Collects texts in one list."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, texts: Sequence[str]) -> int:
        first = len(self.texts)
        self.texts += texts
        return first


def trace_args(space: XSpace, trace: HostTrace, *, folded: bool, hidden: frozenset[str] = HIDDEN_ARGS) -> TraceArgs:
    """The arguments of a trace's events.

    Args:
      space: the profile.
      trace: the timeline of the profile.
      folded: omit arguments that the streaming viewer shows as properties of the event (group, flow, asynchronous).
      hidden: stats that are no arguments.
    """
    planes = {source.plane: space.planes[source.plane] for source in trace.sources}
    names = {name for plane in planes.values() for name in plane.stat_metadata.names}
    names |= {name for source in trace.sources if source.line for name in source.line.extra_args}
    keys = sorted(names | set(_SPECIAL))
    ids = {name: number for number, name in enumerate(keys)}
    hidden = hidden | FOLDED_ARGS if folded else hidden
    pool = _Pool()
    columns = {
        index: (
            np.array([HIDDEN if name in hidden else ids[name] for name in plane.stat_metadata.names], np.uint32),
            _numbered(pool.add(plane.stat_metadata.names), len(plane.stat_metadata)),
        )
        for index, plane in planes.items()
    }
    sheets = []
    for source in trace.sources:
        plane, extra = space.planes[source.plane], trace.extras.planes[source.plane]
        if source.line is None:
            sheets.append(_plane_sheet(plane, extra, ids, columns[source.plane], pool, space if folded else None))
        else:
            sheets.append(_line_sheet(plane, extra, source, ids, columns[source.plane], pool, hidden))
    frames, stack = _frames(sheets, [ids[name] for name in _FRAMED if name in ids], pool.texts)
    return TraceArgs(
        data=space.data,
        sheets=sheets,
        keys=_native.TraceNames(keys),
        texts=_native.TraceNames(pool.texts),
        long_name=ids[LONG_NAME],
        group_id=ids[GROUP_ID],
        flow=ids[FLOW],
        frames=frames,
        stack=stack,
    )


def _numbered(first: int, count: int) -> U32:
    return np.arange(first, first + count, dtype=np.uint32)


def _long_names(names: Sequence[str], display_names: Sequence[str], pool: _Pool) -> U32:
    """Text of the full name per metadata row, HIDDEN if it is also the displayed name."""
    first = pool.add(names)
    has = np.array([bool(display) for display in display_names], np.bool_)
    return np.where(has, _numbered(first, len(names)), np.uint32(HIDDEN)).astype(np.uint32)


def _plane_sheet(
    plane: Plane, extra: PlaneExtras, ids: dict[str, int], columns: tuple[U32, U32], pool: _Pool, framed: XSpace | None
) -> ArgSheet:
    """Arguments of a plane's own events; `framed`: the profile, for texts that become stack frames."""
    steps = pool.add(extra.step_names)
    metadata = plane.event_metadata
    texts = [(ids[STEP_NAME], extra.step_event, (extra.step_code + steps).astype(np.uint32))]
    return ArgSheet(
        metadata=plane.events.metadata,
        long_name=_long_names(metadata.names, metadata.display_names, pool),
        metadata_stats=metadata.stats,
        metadata_row=None,
        event_stats=plane.events.stats,
        event_row=None,
        keys=columns[0],
        refs=columns[1],
        integers=[
            (ids[IS_EAGER], extra.eager_event, extra.eager_value.astype(np.int64)),
            (ids[RUN_ID], extra.run_id_event, extra.run_id_value),
        ],
        texts=texts if framed is None else [*texts, *_long_texts(framed, plane, ids, pool)],
    )


def _long_texts(space: XSpace, plane: Plane, ids: dict[str, int], pool: _Pool) -> list[tuple[int, U32, U32]]:
    """Stats of events that become stack frames when they are long; those of an event win over those of its metadata."""
    long_texts = []
    for name in _FRAMED:
        if plane.stat_metadata.row(name) is None:
            continue
        shared, texts = strings(space, plane, plane.event_metadata.stats, name)
        event_codes, more = strings(space, plane, plane.events.stats, name)
        codes = np.where(event_codes >= 0, event_codes + len(texts), shared[plane.events.metadata])
        is_long = np.array([len(text) > SHORTEST_FRAME for text in [*texts, *more]], np.bool_)
        events = np.flatnonzero((codes >= 0) & np.append(is_long, False)[codes])
        long_texts.append(
            (ids[name], events.astype(np.uint32), (codes[events] + pool.add([*texts, *more])).astype(np.uint32))
        )
    return long_texts


def _line_sheet(
    plane: Plane,
    extra: PlaneExtras,
    source: Source,
    ids: dict[str, int],
    columns: tuple[U32, U32],
    pool: _Pool,
    hidden: frozenset[str],
) -> ArgSheet:
    line = source.line
    assert line is not None
    integers: list[tuple[int, U32, I64]] = []
    texts: list[tuple[int, U32, U32]] = []
    for name, values in line.extra_args.items():
        if name in hidden:
            continue
        if isinstance(values, tuple):
            texts.append((ids[name], *_coded(values[0], pool.add(values[1]))))
        else:
            present = np.flatnonzero(values != ABSENT)
            integers.append((ids[name], present.astype(np.uint32), values[present]))
    if line.step_code is not None:
        texts.append((ids[STEP_NAME], *_coded(line.step_code, pool.add(extra.step_names))))
    return ArgSheet(
        metadata=line.metadata,
        long_name=_long_names(line.names, line.display_names, pool),
        metadata_stats=_NO_STATS if line.metadata_source is None else plane.event_metadata.stats,
        metadata_row=line.metadata_source,
        event_stats=_NO_STATS if line.event_source is None else plane.events.stats,
        event_row=line.event_source,
        keys=columns[0],
        refs=columns[1],
        integers=integers,
        texts=texts,
    )


def _coded(codes: NDArray[np.int32], first: int) -> tuple[U32, U32]:
    present = np.flatnonzero(codes != ABSENT)
    return present.astype(np.uint32), (codes[present] + first).astype(np.uint32)


def _frames(sheets: Sequence[ArgSheet], keys: Sequence[int], texts: Sequence[str]) -> tuple[U32, tuple[str, ...]]:
    """Assigns a frame number to each distinct long full name and to the long texts of these arguments."""
    numbers: dict[str, int] = {}
    frames = np.zeros(len(texts), np.uint32)
    for sheet in sheets:
        used = [sheet.long_name[sheet.long_name != HIDDEN]]
        used += [np.unique(values) for key, _, values in sheet.texts if key in keys]
        for text in np.concatenate(used).tolist():
            name = texts[text]
            if len(name) > SHORTEST_FRAME:
                frames[text] = numbers.setdefault(name, len(numbers) + 1)
    return frames, tuple(numbers)
