"""Parts of collectives between slices on all TPUs of a host: ops of the TPU and copies between host and device.

The copies are events of the plane that the MegaScale runtime writes. Its devices have numbers of their own, which are
assigned to the TPUs in ascending order, as XProf does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import MODULES, OPS, events_of_lines, lines_named, tensor_core
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.columns import Plane, XSpace, stats
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.columns.tables import Kind

PLANE = "/device:CUSTOM:Megascale Trace"
KINDS = (
    *("send", "recv", "send-done", "recv-done"),
    *("DeviceToHost START", "DeviceToHost END", "HostToDevice START", "HostToDevice END"),
)
OP = re.compile(r"(send|recv|send-done|recv-done)\.?(\d+)?")
NUMBERED = re.compile(r"[a-zA-Z-]+\.(\d+)")
RENDEZVOUS = re.compile(r'_xla_host_transfer_rendezvous="([^"]*)"')
GRAPH = re.compile(r"device_(\d+)_gid_([a-zA-Z0-9_.-]+_\d+)")
DEVICE = re.compile(r"device_(\d+)_gid_")
TURN = re.compile(r"device_\d+_gid_[^$]+\$.*\^i(\d+).*")
_KEY, _ACTION = "graph_key", "action_index"
RUN_ID = "run_id"
_NO_RUN = -1


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
    for plane in space.planes:
        number = tensor_core(plane.name)
        if number is not None and plane.name[-1].isdigit():
            runs[number] = _runs(plane)
            columns.append(_ops(plane, number, runs[number], codes))
    for plane in space.planes:
        if plane.name == PLANE:
            columns += _copies(space, plane, runs, codes)
    none = np.zeros(0, np.int64)
    device, run, rendezvous, kind, begin, end, turn = (
        np.concatenate([none, *(part[at] for part in columns)]) for at in range(7)
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
    ids, named = stats.of_kind(plane, plane.events.stats, RUN_ID, Kind.UINT64)
    shared, known = stats.of_kind(plane, plane.event_metadata.stats, RUN_ID, Kind.UINT64)
    metadata = plane.events.metadata
    return np.where(known[metadata], shared[metadata], ids).view(np.int64), known[metadata] | named


def _run_of(runs: tuple[I64, I64], begin: I64) -> I64:
    """The run id of the last module that began before or with an event."""
    index = np.searchsorted(runs[0], begin, side="right") - 1
    return np.where(index >= 0, runs[1][index], _NO_RUN) if len(runs[0]) else np.full(len(begin), _NO_RUN)


def _ops(plane: Plane, device: int, runs: tuple[I64, I64], codes: dict[str, int]) -> list[I64]:
    """Sends and receives of a TPU; a done op takes the rendezvous of the op with its number in the same run."""
    kind, number, rendezvous = described(plane, codes)
    rows = events_of_lines(plane, lines_named(plane, OPS))
    rows = rows[kind[plane.events.metadata[rows]] >= 0]
    begin = plane.events.begin_ps[rows]
    rows = rows[np.lexsort((-plane.events.duration_ps[rows], begin))]
    begin, metadata = plane.events.begin_ps[rows], plane.events.metadata[rows]
    kinds, numbers, op_rendezvous = kind[metadata], number[metadata], rendezvous[metadata]
    run = _run_of(runs, begin)
    for starts, ends in ((0, 2), (1, 3)):
        pairs = np.stack([run, numbers], axis=1)
        first, last = np.flatnonzero((kinds == starts) & (op_rendezvous >= 0)), np.flatnonzero(kinds == ends)
        op_rendezvous[last] = lookup(pairs[first], op_rendezvous[first], pairs[last])
    keep = (op_rendezvous >= 0) & (run != _NO_RUN)
    end = begin + plane.events.duration_ps[rows]
    return [part[keep] for part in (np.full(len(rows), device), run, op_rendezvous, kinds, begin, end, 0 * begin)]


def lookup(keys: I64, values: I64, wanted: I64) -> I64:
    """The value of each key, the last of equal keys; -1 for unknown keys."""
    if not len(keys) or not len(wanted):
        return np.full(len(wanted), -1, np.int64)
    every, code = np.unique(np.concatenate([keys, wanted]), axis=0, return_inverse=True)
    table: I64 = np.full(len(every), -1, np.int64)
    code = code.reshape(-1)
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


def _copies(space: XSpace, plane: Plane, runs: dict[int, tuple[I64, I64]], codes: dict[str, int]) -> list[list[I64]]:
    """The first start and the last end of the copies of each execution of a graph."""
    columns = StatColumns(space, plane, plane.events.stats, (_KEY,))
    rows, code_of_key, texts = columns.texts(_KEY)
    key = code_of_key.astype(np.int64)
    raw = _each(texts, lambda text: int(match[1]) if (match := DEVICE.search(text)) else -1)
    known = raw[key] >= 0
    rows, key = rows[known], key[known]
    every = np.unique(raw[key])
    devices = sorted(runs)
    device_of = np.array([*devices[: len(every)], *([-1] * (len(every) - len(devices)))], np.int64)
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
    wanted = (device >= 0) & (code[key] >= 0) & (((kinds == 4) | (kinds == 6)) & first | last)
    parts = []
    for ordinal in devices:
        mine = np.flatnonzero(wanted & (device == ordinal))
        run = _run_of(runs[ordinal], begin[mine])
        mine, run = mine[run != _NO_RUN], run[run != _NO_RUN]
        parts.append([device[mine], run, code[key[mine]], kinds[mine], begin[mine], end[mine], turn[key[mine]]])
    return parts


def _each(texts: list[str], of: Callable[[str], int]) -> I64:
    return np.array([of(text) for text in texts], np.int64)


def copy_kinds(plane: Plane) -> tuple[I64, Bools]:
    """By row of the event metadata: the kind of copy (-1: no copy), and whether it is an execution of a graph."""
    table = plane.event_metadata
    names = [shown or name for name, shown in zip(table.names, table.display_names, strict=True)]
    kind = _each(names, lambda name: KINDS.index(name) if name in KINDS[4:] else -1)
    return kind, np.array([GRAPH.fullmatch(name) is not None for name in names], np.bool_)


def last_ends(kinds: I64, key: I64, begin: I64, end: I64, graph: Bools) -> I64:
    """The last copy end of each kind during each execution of its graph; rows by key and begin.

    An end is listed once for each of these executions.
    """
    runs = np.flatnonzero(graph)
    last = [np.zeros(0, np.int64)]
    stop = _first_at(key, begin, key[runs], end[runs])
    for kind in (5, 7):
        latest = np.maximum.accumulate(np.where(kinds == kind, np.arange(len(kinds)), -1))
        ended = latest[np.maximum(stop - 1, 0)] if len(runs) else runs
        last.append(ended[(ended > runs) & (stop > 0)])
    return np.concatenate(last)


def _first_at(key: I64, begin: I64, keys: I64, times: I64) -> I64:
    """The first row of each key that begins at a time or later, or the end of the rows of the key."""
    order = np.lexsort(
        (np.append(np.ones(len(key)), np.zeros(len(keys))), np.append(begin, times), np.append(key, keys))
    )
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(order < len(key))
    return place[len(key) :]
