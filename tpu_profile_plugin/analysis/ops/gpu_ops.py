"""Ops of GPUs: kernels by HLO instruction or framework op; those that name no op go to the most likely one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import OpKey, named_ops, with_hlo_ops
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, memcpy_kind, parse_op
from tpu_profile_plugin.analysis.common.planes import (
    ABSENT,
    PlaneExtras,
    Preprocessed,
    host_plane,
    on_recorded_line,
    recorded_lines,
)
from tpu_profile_plugin.analysis.common.rows import row_codes, sums_by
from tpu_profile_plugin.analysis.hlo.cost import Cost
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, Source, combine, hlo_op_table
from tpu_profile_plugin.analysis.ops.torch_inputs import half_equivalents
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.units import PS_PER_NS

# The op of each event of a GPU plane, and the costs recorded with the events.


@dataclass(frozen=True, slots=True)
class Executions:
    """Events of ops in the order of the plane.

    Attributes:
      event: the events, int64[n].
      op: the op of each event, int64[n].
      flops, bytes: costs recorded with the events, int64[n].
    """

    event: I64
    op: I64
    flops: I64
    bytes: I64


def executions(space: XSpace, plane: Plane, op: I64, name: I64, group: I64) -> Executions:
    """Assigns events to ops.

    Consecutive events of a line with the same op name in the same group count as one run of the first event's op, even
    if they name another program; the last costs recorded with its events are the costs of a run.

    Args:
      space: the profile.
      plane: a GPU plane.
      op: per event, the index of the op it names, or -1.
      name: per op, a code of its name, or -1 for ops that do not form runs.
      group: per event, its group, or -1.
    """
    events = np.flatnonzero(op >= 0)
    line = np.searchsorted(plane.lines.event_start, events, side="right")
    starts = np.ones(len(events), np.bool_)
    if len(events):
        code, event_group = name[op[events]], group[events]
        same = (code[1:] == code[:-1]) & (code[1:] >= 0) & (line[1:] == line[:-1])
        # XProf takes a missing group for 0 when it compares the next event's group with it.
        starts[1:] = ~(same & (event_group[1:] >= 0) & (event_group[1:] == np.maximum(event_group[:-1], 0)))
    run = np.cumsum(starts) - 1
    return Executions(
        event=events,
        op=op[events[starts]][run],
        flops=_recorded(space, plane, "flops", events, run, starts),
        bytes=_recorded(space, plane, "bytes_accessed", events, run, starts),
    )


def _recorded(space: XSpace, plane: Plane, stat: str, events: I64, run: I64, starts: Bools) -> I64:
    """The last value of a stat in the run of each event, 0 without any."""
    if not len(events):
        return events
    value, present = read.ints(space, plane, plane.events.stats, stat)
    marked = np.where(present[events], np.arange(len(events)), -1)
    last = np.maximum.reduceat(marked, np.flatnonzero(starts))[run]
    return np.where(last >= 0, value[events[last]], 0)


OP_BEGINS = "op_begins"
"""Stat of the first kernel or copy of each run of an op of PyTorch."""


@dataclass(frozen=True, slots=True)
class _Op:
    """An op that events of a plane name; `cost` is None for ops that are no HLO instructions.

    `counts_recorded`: costs recorded with the events are the op's, as XProf takes them of HLO instructions alone.
    """

    module: int
    name: str
    category: str
    provenance: str
    cost: Cost | None
    counts_recorded: bool = True


def gpu_ops(space: XSpace, planes: Sequence[Plane], pre: Preprocessed | None, hlo: HloOps) -> OpTable:
    """Op metrics of all GPUs of a host; `pre` is None for profiles without groups."""
    return combine(_plane_ops(space, plane, pre.planes[plane.index] if pre else None, hlo) for plane in planes)


def _plane_ops(space: XSpace, plane: Plane, extras: PlaneExtras | None, hlo: HloOps) -> OpTable:
    events = plane.events
    if not len(events.begin_ps):
        return OpTable()
    line = np.repeat(np.arange(len(plane.lines.name)), np.diff(plane.lines.event_start))
    recorded = recorded_lines(plane)[line]
    ops, op_of_event = _ops(space, plane, hlo)
    op_of_event[~recorded] = -1
    offset = events.begin_ps - plane.lines.timestamp_ns[line] * PS_PER_NS
    total = 0
    if recorded.any():
        total = int((offset + events.duration_ps)[recorded].max()) - int(offset[recorded].min())
    return _table(space, plane, ops, op_of_event, extras).with_total(total)


def _ops(space: XSpace, plane: Plane, hlo: HloOps) -> tuple[list[_Op], I64]:
    """The distinct ops that the plane's events name, and for each event its op or -1.

    An event whose HLO op is in no program has no op, even if it names a framework op.
    """
    named = named_ops(space, plane)
    ops: list[_Op] = []
    op_of_event = np.full(len(named.op), -1, np.int64)
    events = np.flatnonzero(named.op >= 0)
    codes, rows = named.op[events].astype(np.int64), plane.events.metadata[events].astype(np.int64)
    key_of_event, first = row_codes(codes, rows)
    op_of_key = np.full(len(first), -1, np.int64)
    for key in np.argsort(first).tolist():
        event_op, row = named.ops[codes[first[key]]], int(rows[first[key]])
        op: _Op | None = None
        if event_op.path:
            op = None if event_op.program is None else _hlo_op(hlo, event_op.program, event_op.hlo_op)
        elif event_op.framework_op:
            parsed = parse_op(event_op.framework_op)
            name, kind = f"{parsed.name}/{plane.event_metadata.names[row]}", parsed.type or "unknown"
            op = _Op(0, name, kind, event_op.framework_op, None, parsed.category == PYTORCH)
        if op is not None:
            op_of_key[key] = len(ops)
            ops.append(op)
    op_of_event[events] = op_of_key[key_of_event]
    return ops, op_of_event


def _hlo_op(hlo: HloOps, program: int, name: str) -> _Op | None:
    """The op of an instruction; None if the program or the instruction is not in the profile."""
    instruction = hlo.find(program, name)
    if instruction is None:
        return None
    return _Op(program, name, category(instruction), provenance(instruction), hlo.cost(program, instruction))


def _table(space: XSpace, plane: Plane, ops: list[_Op], op_of_event: I64, extras: PlaneExtras | None) -> OpTable:
    """One row per program and op name; texts and eager execution are those of the first event."""
    names: dict[str, int] = {}
    name = np.array([names.setdefault(o.name, len(names)) if o.cost else -1 for o in ops], np.int64)
    ran = executions(space, plane, op_of_event, name, _groups(plane, extras))
    keys: dict[tuple[int, str], int] = {}
    row_of_op = np.array([keys.setdefault((o.module, o.name), len(keys)) for o in ops], np.int64)
    row = row_of_op[ran.op] if len(ops) else ran.op
    _, first, row = np.unique(row, return_index=True, return_inverse=True)
    row = row.reshape(-1)
    duration = plane.events.duration_ps[ran.event]
    _, time, _, _ = _native.totals_by_key(row.astype(np.uint32), duration, duration, duration, len(first))
    occurrences = np.bincount(row, minlength=len(first)).astype(np.int64)
    # Costs recorded with the events apply where the program provides none.
    first_ops = [ops[i] for i in ran.op[first].tolist()]
    costs = [o.cost or Cost() for o in first_ops]
    counts = np.array([o.counts_recorded for o in first_ops], np.bool_)

    def total(each: list[float], recorded: I64 | F64) -> F64:
        known = np.array(each, np.float64) * occurrences
        recorded_total = np.bincount(row, weights=recorded, minlength=len(first))
        return np.where(known > 0, known, np.where(counts, recorded_total, 0.0))

    begins, _ = read.ints(space, plane, plane.events.stats, OP_BEGINS)
    calls = np.bincount(row, weights=begins[ran.event], minlength=len(first)).astype(np.int64)
    eager = _eager(space, plane, extras)[ran.event[first]]
    normalized = ran.flops * half_equivalents(space, plane, ran.event) if counts.any() else ran.flops
    return OpTable(
        module=tuple(o.module for o in first_ops),
        name=tuple(o.name for o in first_ops),
        category=tuple(o.category for o in first_ops),
        provenance=tuple(o.provenance for o in first_ops),
        eager=eager,
        occurrences=occurrences,
        time_ps=time,
        self_ps=time,
        min_ps=np.zeros(len(first), np.int64),
        cores=np.ones(len(first), np.int64),
        flops=total([cost.flops for cost in costs], normalized),
        model_flops=total([cost.model_flops for cost in costs], ran.flops),
        bytes=total([cost.bytes for cost in costs], ran.bytes),
        calls=calls if calls.any() else np.zeros(0, np.int64),
    )


def _groups(plane: Plane, extras: PlaneExtras | None) -> I64:
    """Group of each event, ABSENT without one."""
    if extras is None or extras.group_id is None:
        return np.full(len(plane.events.begin_ps), ABSENT, np.int64)
    return extras.group_id


def _eager(space: XSpace, plane: Plane, extras: PlaneExtras | None) -> Bools:
    """Per event, whether it ran outside any compiled function: as preprocessing found, else as recorded."""
    eager, _ = read.ints(space, plane, plane.events.stats, "is_eager")
    if extras is not None:
        eager = np.zeros_like(eager)
        eager[extras.eager_event] = extras.eager_value
    return eager > 0


def framework_sources(space: XSpace, planes: Sequence[Plane]) -> dict[str, Source]:
    """Where the program calls each framework op that the events name with a stack, by the op's full name."""
    sources_of: dict[str, Source] = {}
    for plane in planes:
        stats = plane.events.stats
        if plane.stat_metadata.row("source_stack") is None:
            continue
        named = named_ops(space, plane).by("framework_op")
        (source, sources), (stack, stacks) = (read.strings(space, plane, stats, n) for n in ("source", "source_stack"))
        rows = np.flatnonzero((named.op >= 0) & (source >= 0))
        _, first = row_codes(*(column[rows].astype(np.int64) for column in (named.op, source, stack)))
        for row in rows[first].tolist():
            file, _, line = sources[source[row]].rpartition(":")
            place = file, int(line) if line.isdecimal() else -1, stacks[stack[row]] if stack[row] >= 0 else ""
            sources_of.setdefault(named.ops[named.op[row]].framework_op, place)
    return sources_of


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
    parts = [_unclaimed_on(_Events(space, plane), ops, launches) for plane in planes]
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
        number = [numbers.setdefault(op.key, len(numbers)) for op in hlo.ops]
        self.op: I64 = np.array([*number, -1], np.int64)[hlo.op]
        self.keys = list(numbers)
        self.cause, self.caused = read.ints(space, plane, plane.events.stats, "correlation_id")


def _launches(events: _Events, counts: Bools | None = None) -> _Launches:
    """Ops by correlation id, from the events that name an op, or from those of them in the mask `counts`."""
    rows = np.flatnonzero(events.caused & (events.op >= 0 if counts is None else counts))
    pairs = np.unique(np.stack([events.cause[rows], events.op[rows]], axis=1), axis=0)
    cause, first, count = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    return _Launches(events.keys, cause[count == 1], pairs[first[count == 1], 1])


def _unclaimed_on(events: _Events, ops: HloOps, launches: _Launches) -> Unclaimed:
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
    by_name = _instructions_by_symbol(ops, sorted({program for program, _ in events.keys}))
    rows: dict[OpKey, int] = {}
    kinds: dict[OpKey, str] = {}
    row_of = np.empty(len(distinct), np.int64)
    for i, (device_launch, host_launch, name, hlo) in enumerate(distinct.tolist()):
        if device_launch >= 0:
            key: OpKey | None = on_plane.keys[device_launch]
        elif host_launch >= 0:
            key = launches.keys[host_launch]
        else:
            key = by_name.get(_symbol(names[name]))
        if key is None:
            key = (0, events.keys[hlo][1] if hlo >= 0 else names[name])
            copy = memcpy_kind(names[name], short=True).removeprefix("Memcpy")
            kinds[key] = f"{MEMORY_COPY} {copy}" if copy else UNATTRIBUTED
        row_of[i] = rows.setdefault(key, len(rows))
    duration = plane.events.duration_ps
    row_of_event = row_of[where]
    runs = np.bincount(row_of_event, minlength=len(rows)).astype(np.int64)
    time = sums_by(row_of_event, duration[unclaimed_events], len(rows))
    table = hlo_op_table(ops, list(rows), (runs, time, time, np.zeros(len(rows), np.int64)), UNATTRIBUTED, kinds)
    left = sum(int(table.time_ps[i]) for key, i in rows.items() if key in kinds)
    return Unclaimed(table, left, int(duration[recorded].sum()))


def _symbol(name: str) -> str:
    """Normalises a kernel's or instruction's name to a symbol name."""
    return _NOT_A_NAME.sub("_", name.removesuffix(".kd"))


def _instructions_by_symbol(ops: HloOps, programs: Iterable[int]) -> dict[str, OpKey]:
    """Instructions of the programs by normalised name; ambiguous names are left out."""
    keys: dict[str, OpKey] = {}
    ambiguous: set[str] = set()
    for program_id in programs:
        program = ops.programs.program(program_id)
        for name in program.names if program is not None else ():
            plain = _symbol(name)
            ambiguous |= {plain} if plain in keys else set()
            keys[plain] = (program_id, name)
    return {plain: key for plain, key in keys.items() if plain not in ambiguous}
