"""Attributes GPU events without an HLO op (kernels of CUDA graphs, library kernels, copies) to the most likely op.

XProf ignores them, so their time looks idle. Here an event is attributed to the op of a launch with the same
correlation id, else to the only instruction with the kernel's name, else to a bucket named after the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops, with_hlo_ops
from tpu_profile_plugin.analysis.common.op_names import memcpy_kind
from tpu_profile_plugin.analysis.common.planes import host_plane, on_recorded_line
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.hlo_records import OpKey, hlo_op_table
from tpu_profile_plugin.analysis.ops.table import OpTable, combine
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, Bools

UNATTRIBUTED, MEMORY_COPY = "unattributed", "memcpy"
_NOT_A_NAME = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Rows for the events without an op; times of the events that remain unattributed, and of all events."""

    table: OpTable
    unattributed_ps: int
    all_ps: int


@dataclass(frozen=True, slots=True)
class _Launches:
    """Op of each correlation id whose events all name the same op.

    Attributes:
      keys: the ops.
      cause: correlation ids, ascending.
      op: per correlation id, the index of its op in `keys`.
    """

    keys: list[OpKey]
    cause: I64
    op: I64

    def find(self, cause: I64) -> I64:
        """Index of the op of each correlation id, -1 for none and for the invalid id 0."""
        if not len(self.cause):
            return np.full(len(cause), -1, np.int64)
        index = np.minimum(np.searchsorted(self.cause, cause), len(self.cause) - 1)
        return np.where((self.cause[index] == cause) & (cause != 0), self.op[index], -1)


def unclaimed(space: XSpace, planes: Sequence[Plane], ops: HloOps) -> Unclaimed:
    """Rows for the events that the op table of GPUs omits."""
    host = host_plane(space)
    if host is not None:
        host = with_hlo_ops(space, host)
    launches = _launches(_Events(space, host)) if host is not None else _Launches([], *np.zeros((2, 0), np.int64))
    parts = [_plane(_Events(space, plane), ops, launches) for plane in planes]
    return Unclaimed(
        combine(part.table for part in parts),
        sum(part.unattributed_ps for part in parts),
        sum(part.all_ps for part in parts),
    )


class _Events:
    """The ops that events of a plane name, by number of `keys`, and the launches that events belong to."""

    def __init__(self, space: XSpace, plane: Plane) -> None:
        self.plane, self.named = plane, named_ops(space, plane)
        numbers: dict[OpKey, int] = {}
        hlo = self.named.hlo()
        number = [numbers.setdefault((op.program or 0, op.hlo_op), len(numbers)) for op in hlo.ops]
        self.op: I64 = np.array([*number, -1], np.int64)[hlo.op]
        self.keys = list(numbers)
        self.cause, self.caused = read.ints(space, plane, plane.events.stats, "correlation_id")


def _launches(events: _Events, counts: Bools | None = None) -> _Launches:
    """Ops by correlation id, from the events that name an op, or from those of them in the mask `counts`."""
    rows = np.flatnonzero(events.caused & (events.op >= 0 if counts is None else counts))
    pairs = np.unique(np.stack([events.cause[rows], events.op[rows]], axis=1), axis=0)
    cause, first, count = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    return _Launches(events.keys, cause[count == 1], pairs[first[count == 1], 1])


def _plane(events: _Events, ops: HloOps, launches: _Launches) -> Unclaimed:
    plane, names = events.plane, events.plane.event_metadata.names
    recorded = on_recorded_line(plane)
    claimed = np.array([*(ops.find(*key) is not None for key in events.keys), False], np.bool_)[events.op]
    has_framework_op = np.array([*(bool(op.framework_op) for op in events.named.ops), False], np.bool_)[events.named.op]
    unclaimed_events = np.flatnonzero(recorded & ~claimed & ~((events.op < 0) & has_framework_op))
    on_plane = _launches(events, claimed)
    cause, row = events.cause[unclaimed_events], plane.events.metadata[unclaimed_events].astype(np.int64)
    attributes = (on_plane.find(cause), launches.find(cause), row, events.op[unclaimed_events])
    where, first = row_codes(*attributes)
    distinct = np.stack([column[first] for column in attributes], axis=1)
    by_name = _by_name(ops, sorted({program for program, _ in events.keys}))
    rows: dict[OpKey, int] = {}
    kinds: dict[OpKey, str] = {}
    row_of = np.empty(len(distinct), np.int64)
    for i, (device_launch, host_launch, name, hlo) in enumerate(distinct.tolist()):
        key = (
            on_plane.keys[device_launch]
            if device_launch >= 0
            else launches.keys[host_launch]
            if host_launch >= 0
            else by_name.get(_plain(names[name]))
        )
        if key is None:
            key = (0, events.keys[hlo][1] if hlo >= 0 else names[name])
            kinds[key] = _kind(names[name])
        row_of[i] = rows.setdefault(key, len(rows))
    duration = plane.events.duration_ps
    table = _table(rows, kinds, row_of[where], duration[unclaimed_events], ops)
    left = sum(int(table.time_ps[i]) for key, i in rows.items() if key in kinds)
    return Unclaimed(table, left, int(duration[recorded].sum()))


def _kind(name: str) -> str:
    """Category of an unattributed event; copies are recognised in both spellings."""
    kind = memcpy_kind(name, short=True)
    return f"{MEMORY_COPY} {kind.removeprefix('Memcpy')}" if kind else UNATTRIBUTED


def _plain(name: str) -> str:
    """Normalises a kernel's or instruction's name to a symbol name."""
    return _NOT_A_NAME.sub("_", name.removesuffix(".kd"))


def _by_name(ops: HloOps, programs: Iterable[int]) -> dict[str, OpKey]:
    """Instructions of the programs by normalised name; ambiguous names are left out."""
    keys: dict[str, OpKey] = {}
    ambiguous: set[str] = set()
    for program_id in programs:
        program = ops.programs.program(program_id)
        for name in program.names if program is not None else ():
            plain = _plain(name)
            ambiguous |= {plain} if plain in keys else set()
            keys[plain] = (program_id, name)
    return {plain: key for plain, key in keys.items() if plain not in ambiguous}


def _table(rows: dict[OpKey, int], kinds: dict[OpKey, str], row: I64, duration: I64, ops: HloOps) -> OpTable:
    runs = np.bincount(row, minlength=len(rows)).astype(np.int64)
    time = np.zeros(len(rows), np.int64)
    np.add.at(time, row, duration)
    return hlo_op_table(ops, list(rows), (runs, time, time, np.zeros(len(rows), np.int64)), UNATTRIBUTED, kinds)
