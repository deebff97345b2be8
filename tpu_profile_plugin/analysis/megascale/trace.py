"""Collectives between slices as a trace for viewers: tracks of the TPUs and of the MegaScale runtime with their events.

Content and names of tracks are XProf's. Events are ordered by begin, longer events first. Their arguments stay in the
profile until they are written (`arguments`); arguments that the trace adds are kept here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import MODULES, OPS, STEPS, shown_names, tensor_core
from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.megascale.parts import DEVICE, GRAPH, PLANE, RUN_ID, run_ids
from tpu_profile_plugin.columns import Plane, XSpace, stats
from tpu_profile_plugin.columns.arrays import I64, U8, U64, Bools
from tpu_profile_plugin.columns.tables import Kind

T = TypeVar("T")
TRACE_ME = "XLA TraceMe"
SHOWN = {STEPS: "1. Steps", MODULES: "2. XLA Modules", OPS: "3. XLA Ops", TRACE_ME: "4. XLA TraceMe"}
"""Lines of TPUs that become tracks, with the names of the tracks."""
NO_RUN = -1
GRAPH_KEY = "graph_key"
_KEY = re.compile(r"device_(\d+)_gid_([^$]+)\$.*\^i(\d+).*")


class Names:
    """Distinct texts, numbered from 0."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a text; a new text is added."""
        return self._codes.setdefault(text, len(self._codes))

    def codes(self, texts: Iterable[str]) -> I64:
        """Numbers of several texts; new ones are added."""
        return np.array([self.code(text) for text in texts], np.int64)

    def all(self) -> list[str]:
        """The texts by their numbers."""
        return list(self._codes)


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """Arguments of events.

    Attributes:
      event: int64[n], the event within its track or chunk.
      key: int64[n], number of the name.
      kind: uint8[n], a `Kind`; texts are `Kind.STR`.
      value: uint64[n], bits of a number, or number of the text.
    """

    event: I64
    key: I64
    kind: U8
    value: U64

    def sorted(self) -> Arguments:
        """The arguments by event."""
        return rows_of(self, np.argsort(self.event, kind="stable"))

    def between(self, first: int, last: int) -> Arguments:
        """Arguments of events [first, last), renumbered from 0; they must be sorted."""
        part = rows_of(self, slice(*np.searchsorted(self.event, (first, last)).tolist()))
        return replace(part, event=part.event - first)


@dataclass(slots=True, eq=False)
class Track:
    """A track of the trace.

    Attributes:
      name: of the line, or of the graph.
      device: number of the TPU.
      runtime: whether the MegaScale runtime wrote it.
      plane: where the events come from.
      row: int64[n], events of the plane; -1 for events that the trace adds.
      label: int64[n], numbers of the names.
      begin_ps, duration_ps: int64[n].
      run: int64[n], run id of the module, or NO_RUN.
      more: arguments that the trace adds.
      leaves, enters: per flow its event and its number.
    """

    name: str
    device: int
    runtime: bool
    plane: Plane
    row: I64
    label: I64
    begin_ps: I64
    duration_ps: I64
    run: I64
    more: list[Arguments] = field(default_factory=list)
    leaves: list[tuple[I64, I64]] = field(default_factory=list)
    enters: list[tuple[I64, I64]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.begin_ps)

    def parts(self, size: int) -> Iterator[Track]:
        """The track in parts of at most so many events; at least one."""
        if len(self) <= size:
            yield self
            return
        more = [one.sorted() for one in self.more]
        for first in range(0, len(self), size):
            chosen = slice(first, first + size)
            yield replace(
                rows_of(self, chosen),
                more=[one.between(first, first + size) for one in more],
                leaves=[_between(flow, first, first + size) for flow in self.leaves],
                enters=[_between(flow, first, first + size) for flow in self.enters],
            )

    @property
    def metadata(self) -> I64:
        """Rows of the event metadata; 0 for events that the trace adds."""
        return np.where(self.row < 0, 0, self.plane.events.metadata[self.row] if len(self.plane.events) else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """All tracks: of each TPU, in ascending order, first those of the TPU, then those of the runtime.

    Attributes:
      space: the profile.
      tracks: the tracks.
      labels, keys, texts: names of events, names of arguments, and values of arguments.
      made: results of `once`.
    """

    space: XSpace
    tracks: list[Track]
    labels: Names
    keys: Names
    texts: Names
    made: dict[tuple[int, str], Any] = field(default_factory=dict)

    def once(self, plane: Plane, what: str, make: Callable[[], T]) -> T:
        """The result of `make`, computed once for a plane: planes of the runtime have thousands of tracks."""
        key = (plane.index, what)
        if key not in self.made:
            self.made[key] = make()
        value: T = self.made[key]
        return value

    def numbers(self, plane: Plane, name: str, kind: Kind = Kind.INT64) -> tuple[I64, Bools]:
        """Values of a stat for the events of a plane, and whether each event has the stat with this kind."""
        column = self.once(plane, name, lambda: stats.of_kind(plane, plane.events.stats, name, kind))
        return column[0].view(np.int64), column[1]

    def add(self, track: Track, event: I64, key: str, values: I64, kind: Kind = Kind.INT64) -> None:
        """Adds an argument to the given events of a track."""
        code = np.full(len(event), self.keys.code(key), np.int64)
        track.more.append(Arguments(event, code, np.full(len(event), kind, np.uint8), values.view(np.uint64)))

    def leave(self, track: Track, event: I64, number: I64) -> None:
        """Flows that leave events of a track."""
        track.leaves.append((event, number))
        self.add(track, event, "flow_out", number)

    def enter(self, track: Track, event: I64, number: I64) -> None:
        """Flows that enter events of a track."""
        track.enters.append((event, number))
        self.add(track, event, "flow_in", number)


def load(space: XSpace) -> Trace:
    """The tracks with run ids, not yet grouped and without flows."""
    trace = Trace(space, [], Names(), Names(), Names())
    tpus = _numbered(space)
    space.decode([*(plane for plane, _ in tpus), *(plane for plane in space.planes if plane.name == PLANE)])
    of_device: dict[int, list[Track]] = {number: [] for _, number in tpus}
    for plane, number in tpus:
        of_device[number] += _lines(trace, plane, number)
    for number, tracks in _graphs(trace, sorted(of_device)).items():
        of_device[number] += tracks
    for number in sorted(of_device):
        _assign_runs(trace, of_device[number])
        trace.tracks.extend(of_device[number])
    return trace


def _numbered(space: XSpace) -> list[tuple[Plane, int]]:
    """The planes of TensorCores, and their numbers."""
    numbered = ((plane, tensor_core(plane.name)) for plane in space.planes if plane.name[-1:].isdigit())
    return [(plane, number) for plane, number in numbered if number is not None]


def _lines(trace: Trace, plane: Plane, number: int) -> list[Track]:
    labels = _labels(trace, plane)
    tracks = []
    for line, name in enumerate(plane.lines.name):
        if name in SHOWN:
            part = plane.lines.events_of(line)
            tracks.append(_track(name, number, False, plane, np.arange(part.start, part.stop), labels))
    return tracks


def _labels(trace: Trace, plane: Plane) -> I64:
    table = plane.event_metadata
    return trace.labels.codes(shown_names(table.names, table.display_names))


def _track(name: str, number: int, runtime: bool, plane: Plane, rows: I64, labels: I64) -> Track:
    begin, duration = plane.events.begin_ps[rows], plane.events.duration_ps[rows]
    order = _native.walk_order(begin, -duration, np.arange(len(rows)))  # XProf's order, also among equal events
    rows = rows[order]
    run: I64 = np.full(len(rows), NO_RUN, np.int64)
    label = labels[plane.events.metadata[rows]]
    return Track(name, number, runtime, plane, rows, label, begin[order], duration[order], run)


def _graphs(trace: Trace, devices: list[int]) -> dict[int, list[Track]]:
    """The tracks of the runtime, one per execution of a graph, by the TPU that its device is assigned to."""
    by_device: dict[int, list[tuple[tuple[str, int, int], Track]]] = {}
    for plane in (plane for plane in trace.space.planes if plane.name == PLANE):
        labels = _labels(trace, plane)
        code, keys = stats.strings(trace.space, plane, plane.events.stats, GRAPH_KEY)
        known = np.array([DEVICE.search(key) is not None for key in keys] or [False], np.bool_)
        rows = np.flatnonzero((code >= 0) & known[code])
        order = rows[np.argsort(code[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        made = [(part[0], keys[code[part[0]]], part) for part in np.split(order, starts[1:]) if len(part)]
        for _, key, part in sorted(made, key=lambda one: int(one[0])):
            device = DEVICE.search(key)
            assert device is not None
            track = _track(key.partition("$")[0], 0, True, plane, part, labels)
            by_device.setdefault(int(device[1]), []).append((_place(key), track))
    out = {}
    for device_id, number in zip(sorted(by_device), devices, strict=False):
        out[number] = [track for _, track in sorted(by_device[device_id], key=lambda one: one[0])]
        for track in out[number]:
            track.device = number
    return out


def _place(key: str) -> tuple[str, int, int]:
    """Sort key of the tracks of a device: graph, device, iteration."""
    match = _KEY.fullmatch(key)
    return (match[2], int(match[1]), int(match[3])) if match else ("", 0, 0)


def _assign_runs(trace: Trace, tracks: list[Track]) -> None:
    """Assigns to events the run of the module that began last before or with them."""
    begins, runs = [], []
    for track in (track for track in tracks if track.name == MODULES):
        ids, has = run_ids(track.plane)
        ids, has = ids[track.row], has[track.row]
        track.run = np.where(has, ids, np.cumsum(~has))
        trace.add(track, np.flatnonzero(~has), RUN_ID, track.run[~has])
        begins.append(track.begin_ps)
        runs.append(track.run)
    if not begins or not sum(map(len, begins)):
        return
    begin, run = np.concatenate(begins), np.concatenate(runs)
    order = np.argsort(begin, kind="stable")
    for track in (track for track in tracks if track.name != MODULES):
        index = np.searchsorted(begin[order], track.begin_ps, side="right") - 1
        track.run = np.where(index >= 0, run[order][index], NO_RUN)


def _between(flow: tuple[I64, I64], first: int, last: int) -> tuple[I64, I64]:
    event, number = flow
    chosen = (event >= first) & (event < last)
    return event[chosen] - first, number[chosen]


def by_track(trace: Trace, track: I64) -> Iterator[tuple[Track, I64]]:
    """The tracks in a column of track indices, each with its rows."""
    order = np.argsort(track, kind="stable")
    starts = np.flatnonzero(np.diff(track[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        if len(rows):
            yield trace.tracks[int(track[rows[0]])], rows


def shown_name(track: Track) -> str:
    """The name of a track as viewers show it."""
    if not track.runtime:
        return SHOWN[track.name]
    match = GRAPH.fullmatch(track.name)
    return f"{match[2]} ({int(match[1])})" if match else track.name
