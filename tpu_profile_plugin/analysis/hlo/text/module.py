"""HLO programs as text, as XLA prints them and parses them; made from the proto, computation by computation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from tpu_profile_plugin.analysis.hlo.instructions import Instructions
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.shapes import LaidOut, marked_list, read_shape
from tpu_profile_plugin.analysis.hlo.text.attributes import origins
from tpu_profile_plugin.analysis.hlo.text.header import frame_tables, header_line, module_header, sequences
from tpu_profile_plugin.analysis.hlo.text.instruction import operation, own_value, wrapped

# The order in which XLA prints computations: callees before callers.


def call_order(program: Program) -> Sequence[int]:
    """Rows of the computations, depth first in the order of the instructions that call them.

    Each uncalled computation starts a tree, in program order. Computations that only call one another in a ring follow;
    no compiler makes such rings.
    """
    columns = program.columns
    ids = columns["computation_id"].tolist()
    row_of = {id_: row for row, id_ in reversed(list(enumerate(ids)))}
    called_start, start = columns["called_start"].tolist(), columns["computation_start"].tolist()
    called = [row_of.get(id_, -1) for id_ in columns["called"].tolist()]
    calls = [
        [row for row in dict.fromkeys(called[called_start[begin] : called_start[end]]) if row >= 0]
        for begin, end in pairwise(start)
    ]
    inner = {row for rows in calls for row in rows}
    order: dict[int, None] = {}
    for root in (*(row for row in range(len(ids)) if row not in inner), *range(len(ids))):
        _add(root, calls, order)
    return list(order)


def _add(root: int, calls: Sequence[Sequence[int]], order: dict[int, None]) -> None:
    """Adds a computation after its callees; iterative, because chains of calls may be long."""
    seen = set(order)
    if root in seen:
        return
    seen.add(root)
    stack = [(root, iter(calls[root]))]
    while stack:
        row, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            stack.pop()
            order[row] = None
        else:
            seen.add(following)
            stack.append((following, iter(calls[following])))


_LOCAL = (1 << 32) - 1
"""Mask of an instruction's own id: its upper half, or the schedule's, may hold the id of the computation."""


class HloText:
    """Spells one program.

    The long form (`full`) has names with `%`, signatures of computations, operand numbers and control predecessors;
    both have backend configurations. `metadata` adds where instructions come from, with the tables of stack frames.
    """

    def __init__(self, program: Program, full: bool, metadata: bool) -> None:
        self._program, self._full, self._metadata = program, full, metadata
        self._instructions = Instructions(program)
        ids, names = program.columns["id"].tolist(), program.names
        self._name_of = dict(zip(ids, names, strict=True))
        computations = program.columns["computation_id"].tolist()
        self._computation_of = dict(zip(computations, program.computation_names, strict=True))
        self._shapes: dict[bytes, LaidOut] = {}
        self._bare_shapes: dict[bytes, str] = {}

    @cached_property
    def _header(self) -> Any:
        return module_header(self._program)

    @cached_property
    def _sequences(self) -> Mapping[int, Sequence[int]]:
        return sequences(self._header)

    def module(self) -> Iterator[str]:
        """The whole program: called computations before their callers, the entry computation marked."""
        yield header_line(self._header.name or self._program.module.name.rpartition("(")[0], self._header)
        if self._metadata and self._header.stack_frame_index.stack_frames:
            yield "\n"
            yield from frame_tables(self._header)
        yield "\n\n"
        for index in call_order(self._program):
            if not self._is_inline(index):
                yield f"{self.computation(index)}\n\n"

    def computation(self, index: int) -> str:
        """One computation, by its row."""
        program = self._program
        name = self._marked(program.computation_names[index])
        entry = "ENTRY " if index == program.entry else ""
        signature = f" {self._signature(index)}" if self._full else ""
        return "\n".join([f"{entry}{name}{signature} {{", *self._lines(index), "}"])

    def _is_inline(self, index: int) -> bool:
        """Whether a computation only wraps the instruction of an asynchronous one, whose text shows it inline."""
        id_ = int(self._program.columns["computation_id"][index])
        return id_ in self._inline

    @cached_property
    def _inline(self) -> frozenset[int]:
        rows = (row for row, opcode in enumerate(self._program.opcodes) if opcode == "async-start")
        starts = (self._program.instruction(row) for row in rows)
        return frozenset(
            one.called_computation_ids[0] for one in starts if wrapped(one, self._instructions) is not None
        )

    def _rows(self, index: int) -> range:
        start = self._program.columns["computation_start"]
        return range(int(start[index]), int(start[index + 1]))

    def in_order(self, index: int) -> Sequence[int]:
        """Rows in order of execution if the program has a schedule, else in program order."""
        rows = self._rows(index)
        sequence = self._sequences.get(int(self._program.columns["computation_id"][index]))
        if not sequence:
            return rows
        ids = self._program.columns["id"][rows.start : rows.stop].tolist()
        place = {id_ & _LOCAL: row for row, id_ in zip(reversed(rows), reversed(ids), strict=True)}
        scheduled = [place[id_ & _LOCAL] for id_ in dict.fromkeys(sequence) if id_ & _LOCAL in place]
        known = frozenset(scheduled)
        return [*scheduled, *(row for row in rows if row not in known)]

    def _lines(self, index: int) -> Iterator[str]:
        root = int(self._program.columns["computation_root"][index])
        ids = self._program.columns["id"]
        for row in self.in_order(index):
            yield ("  ROOT " if int(ids[row]) == root else "  ") + self.instruction(row)

    def _marked(self, name: str) -> str:
        return f"%{name}" if self._full else name

    def _named(self, id_: int) -> str:
        return self._marked(self._name_of.get(id_, f"unknown.{id_}"))

    def _called(self, id_: int) -> str:
        return self._marked(self._computation_of.get(id_, f"unknown.{id_}"))

    def shape(self, row: int) -> LaidOut:
        """The shape of an instruction; equal ones are read once."""
        data = self._program.space.blob(int(self._program.columns["shape"][row]))
        if data not in self._shapes:
            self._shapes[data] = read_shape(data)
        return self._shapes[data]

    def instruction(self, row: int) -> str:
        """One instruction: `name = shape opcode(operands), attributes`."""
        program, instruction = self._program, self._program.instruction(row)
        opcode, more = operation(instruction, self._instructions, self._called)
        if instruction.comparison_type:  # as the compiler of this program spells it; newer ones spell the order alone
            more = [f"type={instruction.comparison_type}" if each == "order=TOTAL" else each for each in more]
        inside = own_value(instruction)
        if inside is None:
            names = [self._named(id_) for id_ in instruction.operand_ids]
            inside = marked_list(names) if self._full else ", ".join(names)
        more += origins(instruction, self._named, order=self._full, metadata=self._metadata)
        head = f"{self._marked(program.names[row])} = {self.shape(row).text} {opcode}({inside})"
        return ", ".join([head, *more])

    def _signature(self, index: int) -> str:
        rows = self._rows(index)
        opcodes, names = self._program.opcodes, self._program.names
        parameters = [row for row in rows if opcodes[row] == "parameter"]
        parameters.sort(key=lambda row: self._program.instruction(row).parameter_number)
        listed = ", ".join(f"{names[row]}: {self._bare(row)}" for row in parameters)
        root = int(self._program.columns["computation_root"][index])
        ids = self._program.columns["id"]
        result = next((self._bare(row) for row in rows if int(ids[row]) == root), "()")
        return f"({listed}) -> {result}"

    def _bare(self, row: int) -> str:
        data = self._program.space.blob(int(self._program.columns["shape"][row]))
        if data not in self._bare_shapes:
            self._bare_shapes[data] = read_shape(data, layout=False).text
        return self._bare_shapes[data]
