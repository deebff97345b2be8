"""Which op each event runs: HLO op, program, framework op and source, decided once for devices of all kinds.

Profilers write this in three ways: into the stats of the event's metadata (TPUs: `row_ops`), as program and instruction
into those of the event (GPUs, XLA's CPU backend: `named_ops`), whose details are then those of the program in the
file, or into the name of the event (ops of TensorFlow on the host). `event_ops` joins all three.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW, parse_op
from tpu_profile_plugin.analysis.common.planes import (
    MODULES,
    SPARSE_MODULES,
    is_host,
    lines_named,
    rows_named,
    shown_names,
)
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, Bools

FRAMEWORK_OP = "tf_op"
"""Stat of events and their metadata: the framework op."""
_HLO_OP, _MODULE, _PROGRAM = "hlo_op", "hlo_module", "program_id"
_FIELDS = {_HLO_OP: "path", _MODULE: "hlo_module", FRAMEWORK_OP: "framework_op"}
"""By stat, the field of an op that it is."""
_COSTS = ("flops", "bytes_accessed")
_PLACEHOLDER = "XlaModule:"
"""The framework op that tracers write for everything that XLA compiled."""
_PROGRAM_OF_MODULE = re.compile(r".*\(([0-9]{1,20})\)", re.DOTALL)
_LINE = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)
_END = "end: "
"""An op of the CPU backend that goes on in other threads is followed by an event of this name, on the thread that
completes it."""


class EventOp(NamedTuple):
    """An op, as events name it or with what else the profile has; texts are "" and numbers None where unknown.

    Attributes:
      program: id of the HLO program, unsigned.
      hlo_module: name of the program.
      path: the HLO instruction, after the instructions that called it: `outer::inner`.
      framework_op: the op of the framework, `name:type`, that the instruction was compiled from, or that the host runs.
      expression: the instruction in full.
      category: HLO category.
      flops, bytes: of one run.
    """

    program: int | None = None
    hlo_module: str = ""
    path: str = ""
    framework_op: str = ""
    expression: str = ""
    source_file: str = ""
    source_line: int | None = None
    category: str = ""
    flops: float | None = None
    bytes: float | None = None

    @property
    def hlo_op(self) -> str:
        """The HLO instruction."""
        return self.path.rpartition("::")[2]

    @property
    def key(self) -> OpKey:
        """Program and HLO instruction."""
        return self.program or 0, self.hlo_op

    def filled_from(self, other: EventOp) -> EventOp:
        """The op with what only `other` knows of it."""
        known = {name: value for name, value in self._asdict().items() if value not in ("", None)}
        return other._replace(**known)

    @property
    def source(self) -> str:
        """`file:line`; "" if unknown."""
        return f"{self.source_file}:{self.source_line}" if self.source_file else ""


NO_OP = EventOp()
OpKey: TypeAlias = tuple[int, str]
"""Program id, 0 if unknown, and HLO instruction."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedOps:
    """The ops that the events of a plane name in their own stats: event i names `ops[op[i]]`, none if that is -1."""

    op: I32
    ops: tuple[EventOp, ...]

    def by(self, *fields: str) -> NamedOps:
        """The ops by some of their fields, the others unknown: ops that differ in the others alone are one."""
        return self._numbered([EventOp(**{field: getattr(op, field) for field in fields}) for op in self.ops])

    def hlo(self) -> NamedOps:
        """The HLO ops alone, by program and path."""
        return self._numbered([EventOp(op.program, path=op.path) if op.path else NO_OP for op in self.ops])

    def _numbered(self, ops: Sequence[EventOp]) -> NamedOps:
        """With other ops in place of its own; `NO_OP` is none."""
        numbers: dict[EventOp, int] = {}
        number = [-1 if op == NO_OP else numbers.setdefault(op, len(numbers)) for op in ops]
        return NamedOps(np.array([*number, -1], np.int32)[self.op], tuple(numbers))

    def at(self, code: int) -> EventOp:
        """The op with a number, `NO_OP` for -1."""
        return self.ops[code] if code >= 0 else NO_OP


def names_hlo_ops(plane: Plane) -> bool:
    """Whether events of the plane may name HLO ops; the plane is not decoded."""
    return plane.declared.stat_metadata.row(_HLO_OP) is not None


def with_hlo_ops(space: XSpace, plane: Plane) -> Plane:
    """The plane with at least the events that name HLO ops."""
    return space.filtered(EventFilter(plane, event=lambda _: False, stats=(_HLO_OP,)))[0]


def is_end(plane: Plane) -> Bools:
    """Per row of the event metadata, whether its events only tell that an op of the CPU backend is complete."""
    return rows_named(plane, lambda name: name.startswith(_END))


def hlo_runs(space: XSpace, plane: Plane) -> tuple[NamedOps, I64]:
    """The HLO ops of a plane, and the events that run one: those that only complete an op are no runs of it."""
    named = named_ops(space, plane).hlo()
    events = np.flatnonzero(named.op >= 0)
    return named, events[~is_end(plane)[plane.events.metadata[events]]]


def named_ops(space: XSpace, plane: Plane) -> NamedOps:
    """The ops that the events of a plane name in their own stats; read once for as long as the plane is decoded."""
    return plane.once("named_ops", lambda: _named_ops(space, plane))


def _named_ops(space: XSpace, plane: Plane) -> NamedOps:
    stats = StatColumns(space, plane, plane.events.stats, (*_FIELDS, _PROGRAM))
    recorded = [name for name in (*_FIELDS, _PROGRAM) if stats.has(name)]
    op = np.full(len(plane.events), -1, np.int32)
    if not recorded:
        return NamedOps(op, ())
    if all(np.array_equal(stats.owners(name), stats.owners(recorded[0])) for name in recorded):
        events = stats.owners(recorded[0])
    else:
        op[np.concatenate([stats.owners(name) for name in recorded])] = 0
        events = np.flatnonzero(op == 0)
    fields: list[str] = []
    columns: list[I64] = []
    values: list[Sequence[Any]] = []
    code: I32 | I64
    for name in recorded:
        if name == _PROGRAM:
            program = stats.ints(name)
            owners = program.event
            code, first = row_codes(program.value)
            distinct: Sequence[Any] = program.value[first].view(np.uint64).tolist()
        else:
            owners, code, distinct = stats.texts(name)
        fields.append(_FIELDS.get(name, "program"))
        columns.append(_codes_at(events, len(op), owners, code))
        values.append([*distinct, getattr(NO_OP, fields[-1])])
    op[events], first = row_codes(*columns)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    cells = ([of_column[code] for of_column, code in zip(values, row, strict=True)] for row in rows)
    return NamedOps(op, tuple(EventOp(**dict(zip(fields, row, strict=True))) for row in cells))


def _codes_at(events: I64, count: int, owners: I64, code: I32 | I64) -> I64:
    """The codes of the `events`, of `count` in all; the largest code plus 1 where there is none."""
    if len(owners) == len(events):
        return code.astype(np.int64)  # every one of them has a code
    codes = np.full(count, int(code.max(initial=-1)) + 1, np.int64)
    codes[owners] = code
    return codes[events]


def row_ops(space: XSpace, plane: Plane) -> tuple[EventOp, ...]:
    """The op that each row of a plane's event metadata describes; the rows of ops of TPUs do."""
    return plane.once("row_ops", lambda: _row_ops(space, plane))


def _row_ops(space: XSpace, plane: Plane) -> tuple[EventOp, ...]:
    meta = plane.event_metadata
    texts = {**_FIELDS, "hlo_category": "category"}
    numbers = {"flops": "flops", "bytes_accessed": "bytes", _PROGRAM: "program"}
    stats = StatColumns(space, plane, meta.stats, ("source", *texts, *numbers))
    fields: dict[int, dict[str, Any]] = {}
    for name, field in texts.items():
        owners, code, distinct = stats.texts(name)
        for row, text in zip(owners.tolist(), code.tolist(), strict=True):
            fields.setdefault(row, {})[field] = distinct[text]
    owners, code, sources = stats.texts("source")
    for row, text in zip(owners.tolist(), code.tolist(), strict=True):
        file, line = split_source(sources[text])
        fields.setdefault(row, {}).update({"source_file": file, "source_line": line} if file else {})
    for name, field in numbers.items():
        column = stats.ints(name)
        for row, value in zip(column.event.tolist(), column.value.tolist(), strict=True):
            fields.setdefault(row, {})[field] = value % 2**64 if name == _PROGRAM else float(value)
    ops = [NO_OP] * len(meta)
    for row, of_row in fields.items():
        if "program" in of_row:
            of_row.setdefault("path", instruction_name(meta.names[row], meta.display_names[row]))
        ops[row] = EventOp(**of_row)
    return tuple(ops)


def instruction_name(name: str, display_name: str = "") -> str:
    """The instruction that an event is named after.

    The display name of an asynchronous op is that of its kind; an HLO text begins with the instruction's own.
    """
    return hlo_name(name) if name.startswith("%") else display_name or name


def hlo_name(expression: str) -> str:
    """The name in `%name = ...`, or the whole text when there is no expression."""
    return expression.partition(" = ")[0].removeprefix("%")


def split_source(source: str) -> tuple[str, int]:
    """File and line of `file:line`; ("", 0) for other texts."""
    file, colon, line = source.partition(":")
    match = _LINE.fullmatch(line) if colon and len(line) < 32 else None
    number = int(match[1]) if match else 2**31
    return (file, number) if -(2**31) <= number < 2**31 else ("", 0)


# Ops as events, their metadata, their names and the programs in the file describe them together.


@dataclass(frozen=True, slots=True)
class EventOps:
    """The ops of a plane's events: event i runs `ops[op[i]]`; `costs` are those that events have of their own.

    Modules are named with their program id, as in every tool: `jit_step(7)`.
    """

    op: I32
    ops: tuple[EventOp, ...]
    costs: Mapping[str, SparseColumn]


def event_ops(space: XSpace, plane: Plane, hlo: HloOps) -> EventOps:
    """The op of each event of a plane; `hlo` holds the programs of the file."""
    op: I32 = plane.events.metadata.view(np.int32)  # metadata rows are far fewer than 2^31
    describe = _Describer(space, plane, hlo)
    shared, named = row_ops(space, plane), named_ops(space, plane)
    ops = [describe(row, of_row) for row, of_row in enumerate(shared)]
    events = np.flatnonzero(named.op >= 0)
    if len(events):
        rows, codes = plane.events.metadata[events], named.op[events]
        number, first = row_codes(rows.astype(np.int64), codes.astype(np.int64))
        op = op.copy()
        op[events] = number + len(ops)
        for row, code in zip(rows[first].tolist(), codes[first].tolist(), strict=True):
            of_row, own = shared[row], named.ops[code]
            merged = of_row._replace(
                program=of_row.program if own.program is None else own.program,
                hlo_module=own.hlo_module or of_row.hlo_module,
                path=own.path or of_row.path,
                framework_op=own.framework_op or of_row.framework_op,
            )
            ops.append(describe(row, merged))
    stats = StatColumns(space, plane, plane.events.stats, _COSTS)
    return EventOps(op, tuple(ops), {"flops": stats.ints("flops"), "bytes": stats.ints("bytes_accessed")})


class _Describer:
    """Adds to an op of a plane what the name of its events and its program tell."""

    def __init__(self, space: XSpace, plane: Plane, hlo: HloOps) -> None:
        meta = plane.event_metadata
        self._hlo, self._on_cpu = hlo, is_host(plane.name)
        self._full, self._names = meta.names, shown_names(meta.names, meta.display_names)
        lines = lines_named(plane, MODULES, SPARSE_MODULES)
        on_line = (np.unique(plane.events.metadata[plane.lines.events_of(line)]).tolist() for line in lines)
        self._modules = {row for rows in on_line for row in rows}
        self._module_of: Mapping[int, str] = {
            int(match[1]): self._names[row]
            for row in self._modules
            if (match := _PROGRAM_OF_MODULE.fullmatch(self._names[row]))
        }

    def __call__(self, row: int, op: EventOp) -> EventOp:
        """The op of events with a row of the event metadata, whose stats tell as much as `op`."""
        if row in self._modules:
            return EventOp(hlo_module=self._names[row])
        if op == NO_OP:
            name = self._full[row]
            is_host_op = self._on_cpu and ":" in name and parse_op(name).category == TENSORFLOW
            return EventOp(framework_op=name) if is_host_op else NO_OP
        if op.framework_op == _PLACEHOLDER:
            op = op._replace(framework_op="")
        program = op.program
        if program is None:
            return op
        recorded = f"{op.hlo_module}({program})" if op.hlo_module else ""
        module = self._hlo.programs.names.get(program) or recorded or self._module_of.get(program, "")
        op = op._replace(hlo_module=module)
        instruction = self._hlo.find(program, op.hlo_op) if op.path and not op.category else None
        if instruction is None:
            return op
        cost = self._hlo.cost(program, instruction, on_cpu=self._on_cpu)
        file, line, _ = self._hlo.source(program, op.hlo_op)
        return op._replace(
            framework_op=provenance(instruction) or op.framework_op,
            source_file=file,
            source_line=line if file else None,
            category=category(instruction),
            flops=cost.flops,
            bytes=cost.bytes,
        )
