"""The timeline of a large file before its events are in memory: recorded lines, as boxes, without derived rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import is_counter_line, shown_names
from tpu_profile_plugin.analysis.timeline.host import THREADS, Track, name_ids
from tpu_profile_plugin.analysis.timeline.sections import Section, sections
from tpu_profile_plugin.analysis.timeline.steps import time_origin_ns
from tpu_profile_plugin.analysis.timeline.titles import section_titles
from tpu_profile_plugin.columns import EventFilter, XSpace
from tpu_profile_plugin.columns.arrays import I64, U32


@dataclass(frozen=True, slots=True)
class Preview:
    """What is shown of a host while its timeline is made; attributes as those of `HostTrace`.

    Events have the numbers that they have in the whole timeline, unless derived ones join their track there.
    `titles`: displayed names of sections by process id.
    """

    native: _native.TracePreview
    sections: tuple[Section, ...]
    tracks: tuple[Track, ...]
    time_origin_ns: int | None
    titles: dict[int, str] = field(repr=False)
    sampled_ps: None = None


def preview(space: XSpace) -> Preview | None:
    """Reads the lines of a lazy profile once, without keeping events; None if there is nothing to show so soon.

    Nothing is, if not all times are as in the file.
    """
    if space.decoder is None or space.impossible or space.clocks:
        return None
    outline = replace(space, planes=tuple(space.filtered(*(EventFilter(plane, ()) for plane in space.planes))))
    visible = sections(outline)
    names = sorted({name for section in visible for name in _names(outline, section)})
    ids = {name: number for number, name in enumerate(names)}
    lines = [line for table, section in enumerate(visible) for line in _lines(outline, table, section)]
    tracks = tuple(sorted({(pid, tid): Track(pid, tid, name) for *_, pid, tid, name in lines}.values(), key=_key))
    number = {_key(track): i for i, track in enumerate(tracks)}
    order = sorted((number[pid, tid], table, line) for table, line, pid, tid, _ in lines)
    columns = np.array(order, np.uint32).reshape(-1, 3).T.copy()
    native = _native.TracePreview(
        space.data,
        [(section.plane, *_name_ids(outline, section, ids)) for section in visible],
        (columns[1], columns[2], columns[0]),
        (np.array([t.pid for t in tracks], np.uint32), np.array([t.tid for t in tracks], np.uint32)),
        names,
        THREADS,
    )
    if not len(native):
        return None
    return Preview(native, visible, tracks, time_origin_ns(outline), section_titles(outline, visible))


def _key(track: Track) -> tuple[int, int]:
    return track.pid, track.tid


def _names(space: XSpace, section: Section) -> list[str]:
    metadata = space.planes[section.plane].event_metadata
    return shown_names(metadata.names, metadata.display_names)


def _name_ids(space: XSpace, section: Section, ids: dict[str, int]) -> tuple[I64, U32]:
    metadata = space.planes[section.plane].event_metadata
    return metadata.id, name_ids(metadata.names, metadata.display_names, ids)


def _lines(space: XSpace, table: int, section: Section) -> list[tuple[int, int, int, int, str]]:
    """Table, number, process, thread and name of the lines with events, without counters."""
    lines = space.planes[section.plane].lines
    shown = [i for i in np.flatnonzero(lines.filled).tolist() if not is_counter_line(lines.name[i])]
    threads = [int(lines.display_id[i] or lines.id[i]) & 0xFFFFFFFF for i in shown]
    titles = [lines.display_name[i] or lines.name[i] for i in shown]
    return [(table, i, section.pid, tid, name) for i, tid, name in zip(shown, threads, titles, strict=True)]


def preview_boxes(previews: Sequence[Preview], window: tuple[int, int], columns: int, limit: int, head: bytes) -> bytes:
    """As `window.boxes`, of previews."""
    return _native.preview_columns([one.native for one in previews], window, columns, limit, head, THREADS)
