"""Which op each event of a plane runs: module, instruction, framework op, source, category and cost.

Profilers write this in three ways: into the stats of the event's metadata (TPUs), as program and instruction into those
of the event (GPUs, XLA's CPU backend), whose details are then those of the program in the file, or into the name of
the event (ops of TensorFlow on the host).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW, parse_op
from tpu_profile_plugin.analysis.common.planes import MODULES, SPARSE_MODULES, is_host, lines_named, shown_names
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.text import hlo_name
from tpu_profile_plugin.analysis.ops.tpu.records import split_source
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64

_TEXTS = ("hlo_op", "hlo_module", "tf_op")
_DETAILS = ("source", "hlo_category")
_COSTS = ("flops", "bytes_accessed")
_PROGRAM = "program_id"
_PLACEHOLDER = "XlaModule:"
"""The framework op that tracers write for everything that XLA compiled."""
_PROGRAM_OF_MODULE = re.compile(r".*\(([0-9]{1,20})\)", re.DOTALL)


class EventOp(NamedTuple):
    """What an event runs; texts are "" and numbers None where unknown. Costs are those of one run."""

    hlo_module: str = ""
    hlo_op: str = ""
    framework_op: str = ""
    source_file: str = ""
    source_line: int | None = None
    category: str = ""
    flops: float | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class EventOps:
    """The ops of a plane's events: event i runs `ops[op[i]]`; `costs` are those that events have of their own."""

    op: I32
    ops: tuple[EventOp, ...]
    costs: Mapping[str, SparseColumn]


@dataclass(frozen=True, slots=True)
class _Facts:
    """Stats of one metadata row, or of events that agree in them; `program` is unsigned."""

    program: int | None = None
    hlo_op: str = ""
    hlo_module: str = ""
    tf_op: str = ""
    source: str = ""
    hlo_category: str = ""
    flops: int | None = None
    bytes_accessed: int | None = None


def event_ops(space: XSpace, plane: Plane, hlo: HloOps) -> EventOps:
    """The op of each event of a plane; `hlo` holds the programs of the file."""
    op: I32 = plane.events.metadata.view(np.int32)  # metadata rows are far fewer than 2^31
    reader = _Reader(space, plane, hlo)
    shared = _of_metadata(space, plane)
    ops = [reader.described(row, facts) for row, facts in enumerate(shared)]
    stats = StatColumns(space, plane, plane.events.stats, (*_TEXTS, *_COSTS, _PROGRAM))
    events, code, own = _of_events(plane, stats)
    if len(events):
        op = op.copy()
        op[events] = code + len(ops)
        ops += [reader.described(row, _merged(shared[row], facts)) for row, facts in own]
    return EventOps(op, tuple(ops), {"flops": stats.ints("flops"), "bytes": stats.ints("bytes_accessed")})


def _of_metadata(space: XSpace, plane: Plane) -> list[_Facts]:
    """The facts of each metadata row, with the instruction's name where the row describes one."""
    meta = plane.event_metadata
    stats = StatColumns(space, plane, meta.stats, (*_TEXTS, *_DETAILS, *_COSTS, _PROGRAM))
    values: dict[int, dict[str, Any]] = {}
    for name in (*_TEXTS, *_DETAILS):
        owners, code, texts = stats.texts(name)
        for owner, at in zip(owners.tolist(), code.tolist(), strict=True):
            values.setdefault(owner, {})[name] = texts[at]
    for name in (*_COSTS, _PROGRAM):
        column = stats.ints(name)
        for owner, value in zip(column.event.tolist(), column.value.tolist(), strict=True):
            values.setdefault(owner, {})["program" if name == _PROGRAM else name] = value
    facts = [_Facts()] * len(meta)
    for row, known in values.items():
        if "program" in known:
            known["program"] %= 1 << 64
            name, shown = meta.names[row], meta.display_names[row]
            # The display name of an asynchronous op is that of its kind; the text begins with the instruction's own.
            known.setdefault("hlo_op", hlo_name(name) if name.startswith("%") else shown or name)
        facts[row] = _Facts(**known)
    return facts


def _of_events(plane: Plane, stats: StatColumns) -> tuple[I64, I64, list[tuple[int, _Facts]]]:
    """The events with facts of their own, a code for each, and the metadata row and facts of each code."""
    having = np.zeros(len(plane.events), np.bool_)
    for name in (*_TEXTS, _PROGRAM):
        having[stats.owners(name)] = True
    events = np.flatnonzero(having)
    if not len(events):
        return events, events, []
    columns = [plane.events.metadata[events].astype(np.int64)]
    values: list[Sequence[Any]] = []
    for name in _TEXTS:
        owners, text_code, texts = stats.texts(name)
        columns.append(_scattered(len(having), owners, text_code, events))
        values.append([*texts, ""])
    program = stats.ints(_PROGRAM)
    distinct, code = np.unique(program.value, return_inverse=True)
    columns.append(_scattered(len(having), program.event, code.reshape(-1), events))
    values.append([*(distinct.view(np.uint64).tolist()), None])
    codes, first = row_codes(*columns)
    own = []
    for at in first.tolist():
        row, *cells = (int(column[at]) for column in columns)
        hlo_op, module, tf_op, number = (texts[cell] for texts, cell in zip(values, cells, strict=True))
        own.append((row, _Facts(number, hlo_op.rpartition("::")[2], module, tf_op)))
    return events, codes, own


def _scattered(length: int, owners: I64, code: np.ndarray[Any, np.dtype[Any]], wanted: I64) -> I64:
    """The codes at the wanted events, the largest of all plus 1 where there is none."""
    absent = int(code.max(initial=-1)) + 1
    if len(owners) == len(wanted):
        return code.astype(np.int64)  # every wanted event has one
    dense = np.full(length, absent, np.int64)
    dense[owners] = code
    return dense[wanted]


def _merged(shared: _Facts, own: _Facts) -> _Facts:
    """What the event says, else what its metadata says."""
    return _Facts(
        program=shared.program if own.program is None else own.program,
        hlo_op=own.hlo_op or shared.hlo_op,
        hlo_module=own.hlo_module or shared.hlo_module,
        tf_op=own.tf_op or shared.tf_op,
        source=shared.source,
        hlo_category=shared.hlo_category,
        flops=shared.flops,
        bytes_accessed=shared.bytes_accessed,
    )


class _Reader:
    """Turns the facts of a plane's events into ops."""

    def __init__(self, space: XSpace, plane: Plane, hlo: HloOps) -> None:
        meta = plane.event_metadata
        self._hlo, self._on_cpu = hlo, is_host(plane.name)
        self._full, self._names = meta.names, shown_names(meta.names, meta.display_names)
        lines = lines_named(plane, MODULES, SPARSE_MODULES)
        on_line = (np.unique(plane.events.metadata[plane.lines.events_of(line)]).tolist() for line in lines)
        self._modules = {row for rows in on_line for row in rows}
        self._named: Mapping[int, str] = {
            int(match[1]): self._names[row]
            for row in self._modules
            if (match := _PROGRAM_OF_MODULE.fullmatch(self._names[row]))
        }

    def described(self, row: int, facts: _Facts) -> EventOp:
        """The op of events with this metadata row."""
        if row in self._modules:
            return EventOp(hlo_module=self._names[row])
        if facts == _NOTHING:
            return EventOp(framework_op=self._full[row]) if self._is_host_op(row) else _NO_OP
        module = self._module(facts)
        file, line = split_source(facts.source)
        described = EventOp(
            hlo_module=module,
            hlo_op=facts.hlo_op,
            framework_op="" if facts.tf_op == _PLACEHOLDER else facts.tf_op,
            source_file=file,
            source_line=line if file else None,
            category=facts.hlo_category,
            flops=None if facts.flops is None else float(facts.flops),
            bytes=None if facts.bytes_accessed is None else float(facts.bytes_accessed),
        )
        return described if facts.hlo_category or facts.program is None else self._completed(facts, described)

    def _is_host_op(self, row: int) -> bool:
        """Whether the name is that of an op of TensorFlow, `name:type`."""
        name = self._full[row]
        return self._on_cpu and ":" in name and parse_op(name).category == TENSORFLOW

    def _module(self, facts: _Facts) -> str:
        """The module with its program id, as in every tool."""
        if facts.program is None:
            return facts.hlo_module
        recorded = f"{facts.hlo_module}({facts.program})" if facts.hlo_module else ""
        return self._hlo.programs.names.get(facts.program) or recorded or self._named.get(facts.program, "")

    def _completed(self, facts: _Facts, described: EventOp) -> EventOp:
        """With what the program in the file knows about the instruction."""
        assert facts.program is not None
        instruction = self._hlo.find(facts.program, facts.hlo_op) if facts.hlo_op else None
        if instruction is None:
            return described
        cost = self._hlo.cost(facts.program, instruction, on_cpu=self._on_cpu)
        file, line, _ = self._hlo.source(facts.program, facts.hlo_op)
        return described._replace(
            framework_op=provenance(instruction) or described.framework_op,
            source_file=file,
            source_line=line if file else None,
            category=category(instruction),
            flops=cost.flops,
            bytes=cost.bytes,
        )


_NOTHING, _NO_OP = _Facts(), EventOp()
