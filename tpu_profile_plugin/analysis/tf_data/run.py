"""One run of an input pipeline on a time axis: the calls of its iterators by thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.tf_data.model import NONE, Run, Settings
from tpu_profile_plugin.analysis.tf_data.pipelines import DataCalls, runs_of
from tpu_profile_plugin.analysis.tf_data.settings import settings_at
from tpu_profile_plugin.analysis.timeline.sections import HOST_PID
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools

MAX_BOXES = 20_000
_LAST = (1 << 63) - 1
_MAX_UNIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Track:
    """A thread, with its process and thread id in the timeline."""

    pid: int
    tid: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Calls to draw; short calls of an iterator on one track within one unit of time are merged to one box.

    Columns of one length, by iterator, then begin: `iterator` is an index into the run's iterators, `track` into its
    tracks; times are on the axis of the timeline; `blocking`: on the critical path; `count`: number of calls.
    """

    iterator: I64
    track: I64
    begin_ps: I64
    duration_ps: I64
    blocking: Bools
    count: I64

    def __len__(self) -> int:
        return len(self.iterator)


@dataclass(frozen=True, slots=True, eq=False)
class RunDetail:
    """A run and its calls; `unit_ps` is the unit used for merging, `truncated`: the shortest boxes are left out.

    `settings`: per iterator of the run, as recorded with its first call.
    """

    run: Run
    settings: tuple[Settings, ...]
    tracks: tuple[Track, ...]
    boxes: Boxes
    window_ps: tuple[int, int]
    executions: int
    unit_ps: int
    truncated: bool
    cut: bool


def run_detail(space: XSpace, calls: DataCalls, run: int, resolution: int) -> RunDetail:
    """The run at index `run` of `calls.run`; boxes are merged for a time axis of at most `resolution` units."""
    breakdown = runs_of(space, calls, np.array([run], dtype=np.int64), 1, 0)
    event, iterator, blocking, cut = calls.native.calls(int(calls.run[run]))
    index, in_run = _iterator_indices(calls, breakdown.runs[0], iterator.astype(np.int64))
    event, index, blocking = event[in_run], index[in_run], blocking[in_run]
    settings = _settings(space, calls.plane, event.astype(np.int64), index, len(breakdown.runs[0].iterators))
    tracks, track = _tracks(calls, event.astype(np.int64))
    plane = calls.plane
    begin = plane.events.begin_ps[event]
    # Clipped so that ends fit 64 bits in damaged files.
    duration = np.clip(plane.events.duration_ps[event], 0, _LAST - np.maximum(begin, 0))
    calls_as_boxes = Boxes(index, track, begin, duration, blocking, np.ones(len(event), dtype=np.int64))
    calls_as_boxes = rows_of(calls_as_boxes, np.lexsort((begin, blocking, track, index)))
    window = int(begin.min()), int((begin + duration).max())
    boxes, unit = _bounded(calls_as_boxes, -(-(window[1] - window[0]) // resolution))
    truncated = len(boxes) > MAX_BOXES
    if truncated:
        boxes = rows_of(boxes, np.argsort(-boxes.duration_ps, kind="stable")[:MAX_BOXES])
    boxes = rows_of(boxes, np.lexsort((boxes.begin_ps, boxes.iterator)))
    return RunDetail(breakdown.runs[0], settings, tracks, boxes, window, len(calls_as_boxes), unit, truncated, cut)


def _iterator_indices(calls: DataCalls, run: Run, iterator: I64) -> tuple[I64, Bools]:
    """Index of each iterator number among the run's iterators, and a mask of those that are among them."""
    ids = calls.native.iterators()[0][iterator]
    run_ids = np.array([times.iterator.id for times in run.iterators], np.uint64)
    index = np.minimum(np.searchsorted(run_ids, ids), len(run_ids) - 1)
    return index, run_ids[index] == ids


def _settings(space: XSpace, plane: Plane, event: I64, index: I64, count: int) -> tuple[Settings, ...]:
    """The settings of each of `count` iterators, recorded with the first of its calls: `event` and its `index`."""
    order = np.lexsort((event, plane.events.begin_ps[event], index))
    called, first = np.unique(index[order], return_index=True)
    settings = [NONE] * count
    for iterator, call in zip(called.tolist(), event[order][first].tolist(), strict=True):
        settings[iterator] = settings_at(space, plane, call)
    return tuple(settings)


def _tracks(calls: DataCalls, event: I64) -> tuple[tuple[Track, ...], I64]:
    lines = calls.plane.lines
    lines_used, track = np.unique(np.searchsorted(lines.event_start, event, side="right") - 1, return_inverse=True)
    tracks = tuple(
        Track(
            HOST_PID,
            int(lines.display_id[line] or lines.id[line]) & 0xFFFFFFFF,
            lines.display_name[line] or lines.name[line],
        )
        for line in lines_used.tolist()
    )
    return tracks, track.astype(np.int64)


def _bounded(boxes_in: Boxes, unit: int) -> tuple[Boxes, int]:
    """Merges with increasing units until there are at most MAX_BOXES boxes or none is shorter than the unit."""
    longest = int(boxes_in.duration_ps.max())
    while True:
        unit = min(max(unit, 1), _MAX_UNIT)
        boxes = _merged(boxes_in, unit)
        if len(boxes) <= MAX_BOXES or unit > longest or unit == _MAX_UNIT:
            return boxes, unit
        unit *= 2


def _merged(boxes: Boxes, unit: int) -> Boxes:
    """Merges boxes shorter than a unit that begin in the same unit and share iterator, track and `blocking`."""
    short = boxes.duration_ps < unit
    same = short[1:] & short[:-1]
    for column in (boxes.iterator, boxes.track, boxes.blocking, boxes.begin_ps // unit):
        same &= column[1:] == column[:-1]
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    end = np.maximum.reduceat(boxes.begin_ps + boxes.duration_ps, first)
    merged = rows_of(boxes, first)
    return replace(merged, duration_ps=end - merged.begin_ps, count=np.diff(np.append(first, len(boxes))))
