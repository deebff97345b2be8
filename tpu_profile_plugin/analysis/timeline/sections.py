"""Planes and lines that a timeline shows, with their order, process and thread ids, and names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import PlaneExtras, is_counter_line, is_tensor_core
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

HOST_PID = 701
FIRST_DEVICE_PID = 1
LAST_DEVICE_PID = 500
FIRST_CUSTOM_PID = 501
HOST_STRIDE = 1000
"""Offset of process ids per host, for traces of several hosts."""

_HOST, _GPU, _TPU, _CUSTOM = "/host:CPU", "/device:GPU:", "/device:TPU:", "/device:CUSTOM:"
_TRANSFERS = "Async XLA Ops"


@dataclass(frozen=True, slots=True)
class Section:
    """One plane as a process; `plane` is its index in the profile.

    `has_lines` counts empty lines too, except on GPUs and TensorCores, where profilers leave them behind.
    """

    pid: int
    name: str
    plane: int
    has_lines: bool

    @property
    def is_tpu(self) -> bool:
        """True for planes of TPUs."""
        return self.name.startswith(_TPU)


@dataclass(frozen=True, slots=True)
class LineTrack:
    """Track of one line of the file (`table` 0) or derived line (`table` 1 + index), and its events `first`..`last`."""

    pid: int
    tid: int
    name: str
    section: int
    table: int
    first: int
    last: int


def sections(space: XSpace, *, older: bool = False) -> tuple[Section, ...]:
    """The planes that a timeline shows, ascending by process id; TPU planes are ignored if there are GPU planes.

    In the older form only the first plane of the host's own name is shown; custom planes are numbered as devices, and
    ignored if there are others; and the ids of devices have no upper limit.
    """
    planes = [(plane.name, index, plane) for index, plane in enumerate(space.planes)]
    visible: list[Section] = []
    hosts = sorted((entry for entry in planes if entry[0].startswith(_HOST)), key=lambda entry: entry[0])
    if older:
        hosts = [entry for entry in hosts if entry[0] == _HOST][:1]
    visible += [_section(HOST_PID + i, index, plane) for i, (_, index, plane) in enumerate(hosts)]
    devices = [entry for entry in planes if entry[0].startswith(_GPU)]
    devices = devices or [entry for entry in planes if entry[0].startswith(_TPU)]
    custom = [entry for entry in planes if entry[0].startswith(_CUSTOM)]
    if older:
        devices, custom = devices or custom, []
    for _, index, plane in devices:
        pid = (FIRST_DEVICE_PID + plane.id) & 0xFFFFFFFF
        visible.append(_section(pid if older or pid <= LAST_DEVICE_PID else FIRST_DEVICE_PID, index, plane))
    for _, index, plane in custom:
        visible.append(_section((FIRST_CUSTOM_PID + plane.id) & 0xFFFFFFFF, index, plane))
    return tuple(sorted(visible, key=lambda section: section.pid))


def _section(pid: int, index: int, plane: Plane) -> Section:
    return Section(pid, plane.name, index, len(plane.events if _drops_empty_lines(plane) else plane.lines) > 0)


def _drops_empty_lines(plane: Plane) -> bool:
    return is_tensor_core(plane) or plane.name.startswith(_GPU)


def transfers(plane: Plane) -> I64:
    """The events on lines of asynchronous transfers, ascending."""
    titles = zip(plane.lines.name, plane.lines.display_name, strict=True)
    events = [plane.lines.events_of(line) for line, (name, shown) in enumerate(titles) if (shown or name) == _TRANSFERS]
    return np.concatenate([np.empty(0, np.int64), *(np.arange(one.start, one.stop) for one in events)])


def line_tracks(
    index: int, section: Section, plane: Plane, extras: PlaneExtras, *, older: bool = False
) -> list[LineTrack]:
    """Tracks of a section's lines that have events, without counters, in file order, derived lines last.

    In the older form counters are events like others, and some empty lines have tracks.
    """
    tracks = []
    lines = plane.lines
    given = extras.line_display_id
    display = lines.display_id if given is None else np.where(given != 0, given, lines.display_id)
    for line in range(len(lines)):
        events = lines.events_of(line)
        if events.start == events.stop and (not older or _drops_empty_lines(plane)):
            continue
        if not older and is_counter_line(lines.name[line]):
            continue
        tid = int(display[line] or lines.id[line]) & 0xFFFFFFFF
        name = lines.display_name[line] or lines.name[line]
        tracks.append(LineTrack(section.pid, tid, name, index, 0, events.start, events.stop))
    for number, extra in enumerate(extras.lines):
        if len(extra.begin_ps):
            tid = _extra_tid(extra.id, extra.display_id, lines.id, display)
            tracks.append(LineTrack(section.pid, tid, extra.name, index, 1 + number, 0, len(extra.begin_ps)))
    return tracks


def _extra_tid(line: int, display: int, ids: I64, displays: I64) -> int:
    """Thread id of a derived line; that of the file's line if both have the same line id."""
    if display:
        return display & 0xFFFFFFFF
    same = np.flatnonzero((ids & 0xFFFFFFFF) == (line & 0xFFFFFFFF))
    if len(same) and displays[same[0]]:
        return int(displays[same[0]]) & 0xFFFFFFFF
    return line & 0xFFFFFFFF
