"""Collectives between slices as a trace for viewers: tracks of the TPUs and of the MegaScale runtime with their events.

Copies between host and device are events of the plane that the MegaScale runtime writes. Its devices have numbers of
their own, which are assigned to the TPUs in ascending order, as XProf does.

Content and names of tracks are XProf's. Events are ordered by begin, longer events first. Their arguments stay in the
profile until they are written (`arguments`); arguments that the trace adds are kept here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    MODULES,
    OPS,
    STEPS,
    events_of_lines,
    lines_named,
    shown_names,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.rows import joined, members, row_codes, rows_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.columns import Plane, Stats, XSpace, stats
from tpu_profile_plugin.columns.arrays import I64, U8, U32, U64, Bools
from tpu_profile_plugin.columns.tables import Kind
from tpu_profile_plugin.units import PS_PER_NS

PLANE = "/device:CUSTOM:Megascale Trace"
KINDS = (
    *("send", "recv", "send-done", "recv-done"),
    *("DeviceToHost START", "DeviceToHost END", "HostToDevice START", "HostToDevice END"),
)
SEND, RECV, SEND_DONE, RECV_DONE, TO_HOST, FROM_DEVICE, TO_DEVICE, FROM_HOST = range(len(KINDS))
OP = re.compile(r"(send|recv|send-done|recv-done)\.?(\d+)?")
NUMBERED = re.compile(r"[a-zA-Z-]+\.(\d+)")
RENDEZVOUS = re.compile(r'_xla_host_transfer_rendezvous="([^"]*)"')
GRAPH = re.compile(r"device_(\d+)_gid_([a-zA-Z0-9_.-]+_\d+)")
DEVICE = re.compile(r"device_(\d+)_gid_")
TURN = re.compile(r"device_\d+_gid_[^$]+\$.*\^i(\d+).*")
GRAPH_KEY, _ACTION = "graph_key", "action_index"
RUN_ID = "run_id"
NO_RUN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Events of collectives, ordered by device, kind, iteration and time.

    Attributes:
      device: int64[n], number of the TPU.
      run: int64[n], run id of the module.
      rendezvous: int64[n], rows of `names`.
      kind: int64[n], index in `KINDS`.
      begin_ps, end_ps: int64[n].
      names: names of the rendezvous.
    """

    device: I64
    run: I64
    rendezvous: I64
    kind: I64
    begin_ps: I64
    end_ps: I64
    names: tuple[str, ...]


def collective_parts(space: XSpace) -> Parts:
    """The parts of all collectives of a host."""
    codes: dict[str, int] = {}
    columns: list[list[I64]] = []
    runs: dict[int, tuple[I64, I64]] = {}
    for plane, number in _numbered(space):
        runs[number] = _runs(plane)
        columns.append(_tpu_parts(plane, number, runs[number], codes))
    for plane in space.planes:
        if plane.name == PLANE:
            columns += _copy_parts(space, plane, runs, codes)
    none = np.zeros(0, np.int64)
    device, run, rendezvous, kind, begin, end, turn = (
        np.concatenate([none, *(part[i] for part in columns)]) for i in range(7)
    )
    order = np.lexsort((begin - end, begin, turn, kind, device))
    return Parts(device[order], run[order], rendezvous[order], kind[order], begin[order], end[order], tuple(codes))


def _runs(plane: Plane) -> tuple[I64, I64]:
    """Begin and run id of the modules, by begin; modules without an id are numbered from 1."""
    rows = events_of_lines(plane, lines_named(plane, MODULES))
    rows = rows[np.lexsort((-plane.events.duration_ps[rows], plane.events.begin_ps[rows]))]
    ids, has = (of[rows] for of in run_ids(plane))
    return plane.events.begin_ps[rows], np.where(has, ids, np.cumsum(~has))


def run_ids(plane: Plane) -> tuple[I64, Bools]:
    """Run id of each event, and whether it has one: an unsigned stat of the metadata, else of the event."""
    ids, has_own = stats.of_kind(plane, plane.events.stats, RUN_ID, Kind.UINT64)
    shared, has_shared = stats.of_kind(plane, plane.event_metadata.stats, RUN_ID, Kind.UINT64)
    metadata = plane.events.metadata
    return np.where(has_shared[metadata], shared[metadata], ids).view(np.int64), has_shared[metadata] | has_own


def _run_of(runs: tuple[I64, I64], begin: I64) -> I64:
    """The run id of the last module that began before or with an event."""
    index = np.searchsorted(runs[0], begin, side="right") - 1
    return np.where(index >= 0, runs[1][index], NO_RUN) if len(runs[0]) else np.full(len(begin), NO_RUN)


def _tpu_parts(plane: Plane, device: int, runs: tuple[I64, I64], codes: dict[str, int]) -> list[I64]:
    """Sends and receives of a TPU; a done op takes the rendezvous of the op with its number in the same run."""
    kind, number, rendezvous = described(plane, codes)
    rows = events_of_lines(plane, lines_named(plane, OPS))
    rows = rows[kind[plane.events.metadata[rows]] >= 0]
    begin = plane.events.begin_ps[rows]
    rows = rows[np.lexsort((-plane.events.duration_ps[rows], begin))]
    begin, metadata = plane.events.begin_ps[rows], plane.events.metadata[rows]
    kinds, numbers, op_rendezvous = kind[metadata], number[metadata], rendezvous[metadata]
    run = _run_of(runs, begin)
    pass_on(op_rendezvous, kinds, np.stack([run, numbers], axis=1), ((SEND, SEND_DONE), (RECV, RECV_DONE)))
    keep = (op_rendezvous >= 0) & (run != NO_RUN)
    end, turn = begin + plane.events.duration_ps[rows], np.zeros(len(rows), np.int64)
    return [part[keep] for part in (np.full(len(rows), device), run, op_rendezvous, kinds, begin, end, turn)]


def pass_on(rendezvous: I64, kind: I64, keys: I64, pairs: Iterable[tuple[int, int]]) -> None:
    """Gives done ops the rendezvous of the op with their keys that they complete; modifies `rendezvous` in place."""
    for starts, ends in pairs:
        first, last = np.flatnonzero((kind == starts) & (rendezvous >= 0)), np.flatnonzero(kind == ends)
        rendezvous[last] = lookup(keys[first], rendezvous[first], keys[last])


def lookup(keys: I64, values: I64, wanted: I64) -> I64:
    """The value of each key, the last of equal keys; -1 for unknown keys."""
    if not len(wanted):
        return np.zeros(0, np.int64)
    code, first = row_codes(*np.concatenate([keys, wanted]).T)
    table: I64 = np.full(len(first), -1, np.int64)
    table[code[: len(keys)]] = values
    return table[code[len(keys) :]]


def described(plane: Plane, codes: dict[str, int]) -> tuple[I64, I64, I64]:
    """Kind, number and rendezvous by row of the event metadata; -1 if absent."""
    table = plane.event_metadata
    out: I64 = np.full((3, len(table)), -1, np.int64)
    for row, (name, shown) in enumerate(zip(table.names, table.display_names, strict=True)):
        op = OP.fullmatch(shown or name)
        if op is None:
            continue
        numbered = NUMBERED.fullmatch(shown or name)
        text = RENDEZVOUS.search(name) if shown else None
        out[:2, row] = KINDS.index(op[1]), int(numbered[1]) % (1 << 62) if numbered else 0
        if text is not None and text[1] and not op[1].endswith("-done"):
            out[2, row] = codes.setdefault(text[1], len(codes))
    return out[0], out[1], out[2]


def _copy_parts(
    space: XSpace, plane: Plane, runs: dict[int, tuple[I64, I64]], codes: dict[str, int]
) -> list[list[I64]]:
    """The first start and the last end of the copies of each execution of a graph."""
    columns = StatColumns(space, plane, plane.events.stats, (GRAPH_KEY,))
    rows, code_of_key, texts = columns.texts(GRAPH_KEY)
    key = code_of_key.astype(np.int64)
    raw = _each(texts, lambda text: int(match[1]) if (match := DEVICE.search(text)) else -1)
    numbered = raw[key] >= 0
    rows, key = rows[numbered], key[numbered]
    every = np.unique(raw[key])
    devices = sorted(runs)
    device_of: I64 = np.full(len(every), -1, np.int64)
    device_of[: len(devices)] = devices[: len(every)]
    device = device_of[np.searchsorted(every, raw[key])]
    names = [match[2] if (match := GRAPH.search(text)) else "" for text in texts]
    code = np.array([codes.setdefault(name, len(codes)) if name else -1 for name in names], np.int64)
    turn = _each(texts, lambda text: int(match[1]) if (match := TURN.fullmatch(text)) else 0)
    kind, graph = copy_kinds(plane)
    order = np.lexsort((-plane.events.duration_ps[rows], plane.events.begin_ps[rows], key))
    rows, key, device = rows[order], key[order], device[order]
    metadata, begin = plane.events.metadata[rows], plane.events.begin_ps[rows]
    end = begin + plane.events.duration_ps[rows]
    kinds = kind[metadata]
    action, present = stats.of_kind(plane, plane.events.stats, _ACTION, Kind.INT64)
    first = (present & (action == 0))[rows]
    last = np.zeros(len(rows), np.bool_)
    last[last_ends(kinds, key, begin, end, graph[metadata])] = True
    wanted = (device >= 0) & (code[key] >= 0) & (np.isin(kinds, (TO_HOST, TO_DEVICE)) & first | last)
    parts = []
    for ordinal in devices:
        mine = np.flatnonzero(wanted & (device == ordinal))
        run = _run_of(runs[ordinal], begin[mine])
        mine, run = mine[run != NO_RUN], run[run != NO_RUN]
        parts.append([device[mine], run, code[key[mine]], kinds[mine], begin[mine], end[mine], turn[key[mine]]])
    return parts


def _each(texts: list[str], of: Callable[[str], int]) -> I64:
    return np.array([of(text) for text in texts], np.int64)


def copy_kinds(plane: Plane) -> tuple[I64, Bools]:
    """By row of the event metadata: the kind of copy (-1: no copy), and whether it is an execution of a graph."""
    table = plane.event_metadata
    names = shown_names(table.names, table.display_names)
    kind = _each(names, lambda name: KINDS.index(name) if name in KINDS[TO_HOST:] else -1)
    return kind, np.array([GRAPH.fullmatch(name) is not None for name in names], np.bool_)


def last_ends(kinds: I64, key: I64, begin: I64, end: I64, graph: Bools) -> I64:
    """The last copy end of each kind during each execution of its graph; rows by key and begin.

    An end is listed once for each of these executions.
    """
    runs = np.flatnonzero(graph)
    last = [np.zeros(0, np.int64)]
    stop = _first_at(key, begin, key[runs], end[runs])
    for kind in (FROM_DEVICE, FROM_HOST):
        latest = np.maximum.accumulate(np.where(kinds == kind, np.arange(len(kinds)), -1))
        ended = latest[np.maximum(stop - 1, 0)] if len(runs) else runs
        last.append(ended[ended > runs])
    return np.concatenate(last)


def _first_at(key: I64, begin: I64, keys: I64, times: I64) -> I64:
    """The first row of each key that begins at a time or later, or the end of the rows of the key."""
    order = np.lexsort(
        (np.append(np.ones(len(key)), np.zeros(len(keys))), np.append(begin, times), np.append(key, keys))
    )
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(order < len(key))
    return place[len(key) :]


T = TypeVar("T")
TRACE_ME = "XLA TraceMe"
SHOWN = {STEPS: "1. Steps", MODULES: "2. XLA Modules", OPS: "3. XLA Ops", TRACE_ME: "4. XLA TraceMe"}
"""Lines of TPUs that become tracks, with the names of the tracks."""
_TRACK_KEY = re.compile(r"device_(\d+)_gid_([^$]+)\$.*\^i(\d+).*")


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
        more = [arguments.sorted() for arguments in self.more]

        def between(flow: tuple[I64, I64], first: int) -> tuple[I64, I64]:
            event, number = flow
            chosen = (event >= first) & (event < first + size)
            return event[chosen] - first, number[chosen]

        for first in range(0, len(self), size):
            yield replace(
                rows_of(self, slice(first, first + size)),
                more=[arguments.between(first, first + size) for arguments in more],
                leaves=[between(flow, first) for flow in self.leaves],
                enters=[between(flow, first) for flow in self.enters],
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
        labels = _labels(trace, plane)
        for line, name in enumerate(plane.lines.name):
            if name in SHOWN:
                part = plane.lines.events_of(line)
                of_device[number].append(_track(name, number, False, plane, np.arange(part.start, part.stop), labels))
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
        has_device = np.array([DEVICE.search(key) is not None for key in keys] or [False], np.bool_)
        rows = np.flatnonzero((code >= 0) & has_device[code])
        order = rows[np.argsort(code[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        made = [(part[0], keys[code[part[0]]], part) for part in np.split(order, starts[1:]) if len(part)]
        for _, key, part in sorted(made, key=lambda entry: int(entry[0])):
            device = DEVICE.search(key)
            assert device is not None
            track = _track(key.partition("$")[0], 0, True, plane, part, labels)
            match = _TRACK_KEY.fullmatch(key)
            place = (match[2], int(match[1]), int(match[3])) if match else ("", 0, 0)  # graph, device, iteration
            by_device.setdefault(int(device[1]), []).append((place, track))
    out = {}
    for device_id, number in zip(sorted(by_device), devices, strict=False):
        out[number] = [track for _, track in sorted(by_device[device_id], key=lambda entry: entry[0])]
        for track in out[number]:
            track.device = number
    return out


def _assign_runs(trace: Trace, tracks: list[Track]) -> None:
    """Assigns to events the run of the module that began last before or with them."""
    none = np.zeros(0, np.int64)
    begins, runs = [none], [none]
    for track in (track for track in tracks if track.name == MODULES):
        ids, has = run_ids(track.plane)
        ids, has = ids[track.row], has[track.row]
        track.run = np.where(has, ids, np.cumsum(~has))
        trace.add(track, np.flatnonzero(~has), RUN_ID, track.run[~has])
        begins.append(track.begin_ps)
        runs.append(track.run)
    begin, run = np.concatenate(begins), np.concatenate(runs)
    order = np.argsort(begin, kind="stable")
    for track in (track for track in tracks if track.name != MODULES):
        track.run = _run_of((begin[order], run[order]), track.begin_ps)


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


_DESCRIPTION = "If you would like to see them, please add &group_tiny_events=false to the URL."


def hide_tiny_events(trace: Trace) -> None:
    """Merges neighbours within the same nanosecond into one event that names them; sends and receives stay.

    On the tracks of ops and of traced scopes. Viewers count in nanoseconds and would stack these events.
    """
    named = np.array([OP.fullmatch(name) is not None for name in trace.labels.all()], np.bool_)
    for track in trace.tracks:
        if track.name in (OPS, TRACE_ME) and not track.runtime:
            _hide(trace, track, named)


def _hide(trace: Trace, track: Track, kept: Bools) -> None:
    tiny = (track.duration_ps < PS_PER_NS) & ~kept[track.label]
    same = np.zeros(len(track), np.bool_)
    same_begin = np.diff(track.begin_ps // PS_PER_NS) == 0
    same[1:] = tiny[1:] & tiny[:-1] & same_begin & (track.run[1:] == track.run[:-1])
    first = np.flatnonzero(~same)
    count = np.diff(np.append(first, len(track)))
    groups = np.flatnonzero(count > 1)
    if not len(groups):
        return
    labels, texts = _hidden_texts(trace, track.label, first[groups], count[groups])
    end = np.maximum.reduceat(track.begin_ps + track.duration_ps, first)
    begin = track.begin_ps[first]
    track.row, track.label, track.run = track.row[first], track.label[first], track.run[first]
    track.row[groups], track.label[groups] = -1, labels
    track.begin_ps, track.duration_ps = begin, end - begin
    for key, values in (
        ("description", np.full(len(groups), trace.texts.code(_DESCRIPTION))),
        ("hidden_events", texts),
    ):
        code, kind = np.full(len(groups), trace.keys.code(key)), np.full(len(groups), Kind.STR, np.uint8)
        track.more.append(Arguments(groups, code, kind, values.astype(np.uint64)))


def _hidden_texts(trace: Trace, label: I64, first: I64, count: I64) -> tuple[I64, I64]:
    """The names of the merged events, and the lists of the events that they hide."""
    names = trace.labels.all()
    labels, texts = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
    for size in np.unique(count).tolist():
        chosen = np.flatnonzero(count == size)
        members = label[first[chosen][:, None] + np.arange(size)]
        kinds, code = np.unique(members, axis=0, return_inverse=True)
        lists = trace.texts.codes(", ".join(names[code] for code in row) for row in kinds.tolist())
        labels[chosen], texts[chosen] = trace.labels.code(f"{size} events are hidden"), lists[code.reshape(-1)]
    return labels, texts


_LEFT_OUT = frozenset((
    "_c", "_ct", "_p", "_pt", "_r", "_a", "flops", "flow", "kernel_details", "program_id", "symbol_id", "source",
    "source_stack",
))  # fmt: skip
"""Stats that XProf leaves out: links between threads, and values that its other tools show."""
_KINDS = (Kind.DOUBLE, Kind.UINT64, Kind.INT64, Kind.STR, Kind.REF, Kind.BYTES)
_LONG_NAME = "long_name"


@dataclass(frozen=True, slots=True, eq=False)
class PlaneArguments:
    """Arguments shared by the events of a plane.

    Attributes:
      plane: the plane.
      key: int64[s], number of the name of a stat by row of the stat metadata; -1: left out.
      start, shared: the arguments of row i of the event metadata are `shared[start[i]:start[i + 1]]`.
    """

    plane: Plane
    key: I64
    start: I64
    shared: Arguments


def plane_arguments(trace: Trace, plane: Plane) -> PlaneArguments:
    """The arguments of the event metadata."""
    names = plane.stat_metadata.names
    key = np.array([-1 if name in _LEFT_OUT else trace.keys.code(name) for name in names], np.int64)
    table = plane.event_metadata
    long = np.flatnonzero([shown != "" for shown in table.display_names])
    full = trace.texts.codes([table.names[row] for row in long.tolist()])
    kind = np.full(len(long), Kind.STR, np.uint8)
    named = Arguments(long, np.full(len(long), trace.keys.code(_LONG_NAME), np.int64), kind, full.astype(np.uint64))
    recorded = _converted(trace, plane, key, table.stats, np.arange(len(table)))
    shared = joined([named, recorded]).sorted()
    return PlaneArguments(plane, key, np.searchsorted(shared.event, np.arange(len(table) + 1)), shared)


def arguments(trace: Trace, of: PlaneArguments, tracks: Sequence[Track]) -> Arguments:
    """The arguments of the events of some tracks of one plane; events are numbered across the tracks."""
    row = np.concatenate([track.row for track in tracks])
    real = np.flatnonzero(row >= 0)
    events, taken = _owned_rows(of.start, of.plane.events.metadata[row[real]].astype(np.int64))
    shared = Arguments(real[events], of.shared.key[taken], of.shared.kind[taken], of.shared.value[taken])
    recorded = _converted(trace, of.plane, of.key, of.plane.events.stats, row[real])
    before = np.cumsum([0, *map(len, tracks)])
    added = [
        replace(more, event=more.event + first)
        for track, first in zip(tracks, before.tolist(), strict=False)
        for more in track.more
    ]
    return joined([shared, replace(recorded, event=real[recorded.event]), *added]).sorted()


def _owned_rows(start: I64 | U32, owners: I64) -> tuple[I64, I64]:
    """Positions of the owners' entries, and the owner of each entry."""
    begin = start[owners].astype(np.int64)
    count = start[owners + 1].astype(np.int64) - begin
    return members(begin, count)


def _converted(trace: Trace, plane: Plane, key: I64, stats: Stats, owners: I64) -> Arguments:
    """The stats of some owners, renumbered from 0; texts become numbers, and bytes become empty texts, as in XProf."""
    owner, taken = _owned_rows(stats.start, owners)
    wanted = (key[stats.key[taken]] >= 0) & np.isin(stats.kind[taken], _KINDS)
    owner, taken = owner[wanted], taken[wanted]
    kind: U8 = stats.kind[taken].copy()
    value: U64 = stats.value[taken].copy()
    plain, ref, blob = (kind == text for text in (Kind.STR, Kind.REF, Kind.BYTES))
    if plain.any():
        local, firsts = _native.text_codes(trace.space.data, value[plain])
        value[plain] = trace.texts.codes(trace.space.texts(firsts))[local].astype(np.uint64)
    if ref.any():
        rows, inverse = np.unique(value[ref], return_inverse=True)
        names = plane.stat_metadata.names
        value[ref] = trace.texts.codes([names[row] for row in rows.tolist()])[inverse.reshape(-1)].astype(np.uint64)
    if blob.any():
        value[blob] = trace.texts.code("")
    kind[plain | ref | blob] = Kind.STR
    return Arguments(owner, key[stats.key[taken]], kind, value)
