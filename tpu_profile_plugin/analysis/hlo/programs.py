"""HLO programs of a profile: found at once, decoded on first use, joined by program id and instruction name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, in_gradient, parse_op
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.columns import HloModule, XSpace, hlo_modules
from tpu_profile_plugin.columns.tables import NO_TEXT
from tpu_profile_plugin.protos import read


@dataclass(frozen=True, eq=False)
class Program:
    """One HLO program; instruction rows run through all computations in the order of the program.

    `columns` holds, per instruction: id, source_line, stack_frame, operand_start/operand and called_start/called (ids
    of operands and of called computations), message and shape (text values of the whole instruction and of its shape);
    per computation: computation_id, computation_root, computation_is_fusion, computation_start; per stack frame:
    frame_line, frame_column, frame_parent. Texts are properties. `problem` says why a program that does not decode is
    empty, and at which byte of the file.
    """

    space: XSpace
    module: HloModule
    columns: Mapping[str, Any]
    problem: tuple[str, int] | None = None

    @property
    def program_id(self) -> int:
        """Its id, unsigned."""
        return self.module.program_id

    def __len__(self) -> int:
        return len(self.columns["id"])

    def _texts(self, column: str) -> list[str]:
        return self.space.texts(self.columns[column])

    @cached_property
    def names(self) -> list[str]:
        """Name of each instruction."""
        return self._texts("name")

    @cached_property
    def opcodes(self) -> list[str]:
        """Opcode of each instruction."""
        return self._texts("opcode")

    @cached_property
    def op_names(self) -> list[str]:
        """Framework op of each instruction, "" if unknown."""
        return self._texts("op_name")

    @cached_property
    def op_types(self) -> list[str]:
        """The framework's type of that op."""
        return self._texts("op_type")

    @cached_property
    def source_files(self) -> list[str]:
        """Source file of that op."""
        return self._texts("source_file")

    @cached_property
    def computation_names(self) -> list[str]:
        """Name of each computation."""
        return self._texts("computation_name")

    @cached_property
    def frames(self) -> list[tuple[str, str, int]]:
        """(file, function, line) of each stack frame; instructions refer to them by number from 1."""
        lines: list[int] = self.columns["frame_line"].tolist()
        return list(zip(self._texts("frame_file"), self._texts("frame_function"), lines, strict=True))

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Row of the first instruction of each name."""
        return {name: row for row, name in reversed(list(enumerate(self.names)))}

    @cached_property
    def row_of_id(self) -> Mapping[int, int]:
        """Row of the first instruction with each id."""
        return {id_: row for row, id_ in reversed(list(enumerate(self.columns["id"].tolist())))}

    @cached_property
    def computation_of_id(self) -> Mapping[int, int]:
        """Row of the first computation with each id."""
        return {id_: row for row, id_ in reversed(list(enumerate(self.columns["computation_id"].tolist())))}

    def rows_in(self, computation: int) -> range:
        """Rows of the instructions of a computation."""
        start = self.columns["computation_start"]
        return range(int(start[computation]), int(start[computation + 1]))

    @cached_property
    def entry(self) -> int | None:
        """Row of the entry computation."""
        rows = np.flatnonzero(self.columns["computation_id"] == self.columns["entry_id"])
        return int(rows[0]) if len(rows) else None

    def message(self, row: int) -> bytes:
        """The serialized HloInstructionProto of a row."""
        return self.space.blob(int(self.columns["message"][row]))

    def shape(self, row: int) -> bytes:
        """The serialized ShapeProto of a row."""
        return self.space.blob(int(self.columns["shape"][row]))

    def instruction(self, row: int) -> Any:
        """The HloInstructionProto of a row; only the sound fields if it is damaged."""
        return read("xla.HloInstructionProto", self.message(row))

    def provenance(self, name: str) -> str | None:
        """`op name:op type` of an instruction, as op statistics spell it; None when there is no such instruction."""
        row = self.row_of.get(name)
        return None if row is None else f"{self.op_names[row]}:{self.op_types[row]}"

    def source(self, name: str) -> str:
        """`file:line` of an instruction, without directories; "" when it is not known."""
        row = self.row_of.get(name)
        if row is None or not self.source_files[row]:
            return ""
        return f"{self.source_files[row].rpartition('/')[2]}:{int(self.columns['source_line'][row])}"


@dataclass(frozen=True, eq=False)
class HloPrograms:
    """All HLO programs of a profile by program id; `names` are `module(program_id)`, as in every tool."""

    space: XSpace
    modules: Mapping[int, HloModule]
    _decoded: dict[int, Program] = field(default_factory=dict, repr=False)

    @cached_property
    def names(self) -> Mapping[int, str]:
        """Display name of each program."""
        return {program_id: module.name for program_id, module in self.modules.items()}

    @cached_property
    def _id_of(self) -> Mapping[str, int]:
        return {name: program_id for program_id, name in reversed(list(self.names.items()))}

    def id_of(self, name: str) -> int | None:
        """The program id of the first program with exactly this display name."""
        return self._id_of.get(name)

    def size(self, program_id: int) -> int:
        """Bytes of the HloProto of a program of `modules`."""
        begin = self.modules[program_id].proto
        value = 0
        for place, byte in enumerate(self.space.data[begin : begin + 10].tolist()):  # a varint
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                break
        return value

    def blob(self, program_id: int) -> bytes:
        """The serialized HloProto of a program of `modules`."""
        return self.space.blob(self.modules[program_id].proto)

    def program(self, program_id: int) -> Program | None:
        """The decoded program, None if the profile lacks it; a program that does not decode is empty."""
        program_id %= 1 << 64
        module = self.modules.get(program_id)
        if module is None:
            return None
        if program_id not in self._decoded:
            problem = None
            try:
                columns = _native.hlo_program(self.space.data, module.proto)
            except _native.DecodeError as error:
                columns, problem = _native.hlo_program(np.zeros(1, dtype=np.uint8), 0), error.args
            self._decoded[program_id] = Program(self.space, module, columns, problem)
        return self._decoded[program_id]


def source_paths(programs: HloPrograms) -> set[str]:
    """Paths of all files that instructions of the programs come from, with those of the calls around them."""
    paths: set[str] = set()
    for program in filter(None, map(programs.program, programs.modules)):
        texts = np.unique(np.concatenate([program.columns["source_file"], program.columns["frame_file"]]))
        paths.update(program.space.texts(texts))
    return paths


def hlo_programs(space: XSpace) -> HloPrograms:
    """The HLO programs of the metadata planes; nothing is decoded yet."""
    return HloPrograms(space, {module.program_id: module for module in hlo_modules(space)})


def is_training(space: XSpace) -> bool:
    """True if an HLO module of the profile, or PyTorch on the host, has an op made by automatic differentiation."""
    if (host := host_plane(space)) is not None:
        ops = (parse_op(name) for name in host.declared.event_metadata.names if "Backward" in name)
        if any(op.category == PYTORCH and in_gradient(op.name, op.type) for op in ops):
            return True
    programs = hlo_programs(space)
    for program_id in programs.modules:
        # The bytes are searched first: most modules can be ruled out without being decoded.
        proto = programs.blob(program_id)
        program = programs.program(program_id) if b"transpose(" in proto or b"gradient" in proto else None
        if program and any(in_gradient(*op) for op in set(zip(program.op_names, program.op_types, strict=True))):
            return True
    return False


# Source line and call stack of an HLO instruction in the user's program.

DEEPEST_STACK = 256
"""Default limit on the number of calls, more than a person reads."""

Frame = tuple[str, str, int]
"""A call: file, function ("" if unknown), line."""
_AT_END, _BEFORE_FUNCTION = re.compile(r":(\d{1,9})(?::\d{1,9})?\Z"), re.compile(r":(\d{1,9})(?::\d{1,9})? \(")


@dataclass(frozen=True, slots=True)
class Source:
    """A file and line, and the call stack: `file:line:column`, innermost first."""

    file: str
    line: int
    stack: tuple[str, ...]


def source_of(program: Program, row: int, deepest: int = DEEPEST_STACK) -> Source | None:
    """Source of the instruction in a row, with at most `deepest` calls; None if the compiler did not keep it.

    An instruction without a file takes the file of the innermost call.
    """
    file, line = program.source_files[row], int(program.columns["source_line"][row])
    columns = program.columns["frame_column"]
    stack: list[str] = []
    for frame, (frame_file, _, frame_line) in _recorded(program, row, deepest):
        if not file and not stack:
            file, line = frame_file, frame_line
        stack.append(f"{frame_file}:{frame_line}:{int(columns[frame])}")
    return Source(file, line, tuple(stack)) if file else None


def call_stack(program: Program, row: int, deepest: int = DEEPEST_STACK) -> tuple[Frame, ...]:
    """The calls that lead to an instruction, innermost first, at most `deepest`; empty if the compiler kept none.

    An instruction with a line but without a stack has a stack of this line. The innermost call has the instruction's
    own file and line, and the function of the call there.
    """
    stack = tuple(frame for _, frame in _recorded(program, row, deepest))
    file, line = program.source_files[row], int(program.columns["source_line"][row])
    if not file or (stack and (stack[0][0], stack[0][2]) == (file, line)):
        return stack
    innermost = next((i for i, frame in enumerate(stack) if (frame[0], frame[2]) == (file, line)), None)
    return stack[innermost:] if innermost is not None else ((file, "", line), *stack)


def _recorded(program: Program, row: int, deepest: int) -> Iterator[tuple[int, Frame]]:
    """The instruction's stack frames by index, innermost first."""
    frame, frames, parents = int(program.columns["stack_frame"][row]), program.frames, program.columns["frame_parent"]
    seen: set[int] = set()
    while 0 < frame <= len(frames) and frame not in seen and len(seen) < deepest:
        seen.add(frame)  # a ring of frames ends where it began
        file, _, line = frames[frame - 1]
        if not file and not line:
            break
        yield frame - 1, frames[frame - 1]
        frame = int(parents[frame - 1])


def has_whole_stack(program: Program, row: int) -> bool:
    """Whether the instruction's stack is complete: the outermost call is known, and every call has file and function.

    XLA drops incomplete stacks when it loads a program.
    """
    frame, seen = int(program.columns["stack_frame"][row]), set[int]()
    files, functions = program.columns["frame_file"], program.columns["frame_function"]
    while frame:
        if not 0 < frame <= len(files) or frame in seen or NO_TEXT in (files[frame - 1], functions[frame - 1]):
            return False
        seen.add(frame)
        frame = int(program.columns["frame_parent"][frame - 1])
    return True


def written_stack(text: str) -> tuple[Frame, ...]:
    """The calls of a stack that was recorded as text, innermost first.

    Each is a line `file:line:column`, or of PyTorch `file:line (function)`.
    """
    return tuple(filter(None, map(_written, text.splitlines()[:DEEPEST_STACK])))


def _written(line: str) -> Frame | None:
    text = line.strip()
    # Looked for after the first letter of the file.
    found = (_BEFORE_FUNCTION if text.endswith(")") else _AT_END).search(text, 1)
    return (text[: found.start()], text[found.end() : -1], int(found[1])) if found else None
