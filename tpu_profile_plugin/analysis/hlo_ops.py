"""HLO instructions by program and name, and what op tools show of them; only what is asked for is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.hlo import Program, hlo_programs
from tpu_profile_plugin.analysis.hlo_category import category
from tpu_profile_plugin.analysis.hlo_cost import Cost, CostModel
from tpu_profile_plugin.analysis.hlo_text import instruction_text
from tpu_profile_plugin.analysis.hlo_wire import Computation, Instruction, fields, numbers, parse_instruction
from tpu_profile_plugin.analysis.hlo_wire import Program as WireProgram
from tpu_profile_plugin.analysis.layout import Dimension, convolution_layout

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import XSpace

_NOT_SHOWN = frozenset(("parameter", "tuple"))


@dataclass(frozen=True, slots=True)
class Fused:
    """An instruction inside a fusion; `inner` are those inside it, when it is a fusion itself."""

    name: str
    category: str
    provenance: str
    expression: str
    flops: float
    inner: tuple[Fused, ...] = ()


class _Instructions(Mapping[int, Instruction]):
    """Instructions of a computation by id, each parsed when it is looked at."""

    def __init__(self, program: Program, rows: range) -> None:
        self._program = program
        self._row_of = dict(zip(program.columns["id"][rows.start : rows.stop].tolist(), rows, strict=True))
        self._parsed: dict[int, Instruction] = {}

    def __getitem__(self, key: int) -> Instruction:
        if key not in self._parsed:
            self._parsed[key] = parse_instruction(self._program.message(self._row_of[key]))
        return self._parsed[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, key: object) -> bool:
        return key in self._row_of


class LazyComputation(Computation):
    """A computation whose instructions are parsed one by one, as they are asked for."""

    def __init__(self, program: Program, index: int) -> None:
        start = program.columns["computation_start"]
        super().__init__(
            int(program.columns["computation_id"][index]), int(program.columns["computation_root"][index]), []
        )
        # Set in the instance, these stand in for the properties that parse everything.
        self.__dict__["by_id"] = _Instructions(program, range(int(start[index]), int(start[index + 1])))

    @cached_property
    def instructions(self) -> list[Instruction]:
        """In the order of the program."""
        return list(self.by_id.values())


class HloOps:
    """The HLO programs of one profile."""

    def __init__(self, space: XSpace) -> None:
        self.programs = hlo_programs(space)
        self._models: dict[int, tuple[WireProgram, CostModel]] = {}
        self._names: dict[int, dict[int, str]] = {}
        self._stacks: dict[int, dict[int, str]] = {}

    def find(self, program_id: int, name: str) -> tuple[Computation, Instruction] | None:
        """An instruction and the computation that it is in; None when the profile does not have it."""
        program = self.programs.program(program_id)
        row = program.row_of.get(name) if program is not None else None
        if program is None or row is None:
            return None
        index = int(np.searchsorted(program.columns["computation_start"], row, side="right")) - 1
        computation = self._wire(program)[0].computations[int(program.columns["computation_id"][index])]
        return computation, computation.by_id[int(program.columns["id"][row])]

    def cost(self, program_id: int, computation: Computation, one: Instruction) -> Cost:
        """What one execution costs on a GPU."""
        program = self.programs.program(program_id)
        return self._wire(program)[1].cost(computation, one) if program is not None else Cost()

    def text(self, program_id: int, computation: Computation, one: Instruction) -> str:
        """The instruction in full."""
        if program_id not in self._names:
            program = self.programs.program(program_id)
            self._names[program_id] = _computation_names(program) if program is not None else {}
        names = self._names[program_id]
        return instruction_text(one, computation.by_id, lambda i: names.get(i, str(i)))

    def source(self, program_id: int, name: str) -> tuple[str, int, str]:
        """File, line and stack (one `file:line:column` a line, innermost first); line -1 when there is none."""
        program = self.programs.program(program_id)
        row = program.row_of.get(name) if program is not None else None
        if program is None or row is None or not program.source_files[row]:
            return "", -1, ""
        frame = int(program.columns["stack_frame"][row])
        return program.source_files[row], int(program.columns["source_line"][row]), self._stack(program, frame)

    def fused(self, program_id: int, name: str, *, with_cost: bool = False) -> tuple[Fused, ...]:
        """The instructions inside a fusion in the order of the program; nothing for other instructions."""
        found = self.find(program_id, name)
        program = self.programs.program(program_id)
        if found is None or program is None:
            return ()
        return self._inside(program, found[1], with_cost)

    def layout(self, program_id: int, name: str) -> tuple[Dimension, ...]:
        """How the result of a convolution lies in memory; nothing for other instructions."""
        found, program = self.find(program_id, name), self.programs.program(program_id)
        if found is None or program is None or found[1].opcode not in ("convolution", "fusion"):
            return ()
        one = found[1]
        inner = self._wire(program)[0].computations.get(one.called[0]) if one.called else None
        return convolution_layout(one, inner)

    def _inside(self, program: Program, one: Instruction, with_cost: bool) -> tuple[Fused, ...]:
        wire, model = self._wire(program)
        computation = wire.computations.get(one.called[0]) if one.opcode == "fusion" and one.called else None
        if computation is None:
            return ()
        return tuple(
            Fused(
                name=inner.name,
                category=category(inner),
                provenance=f"{inner.op_name}:{inner.op_type}",
                expression=self.text(program.program_id, computation, inner),
                flops=model.cost(computation, inner).flops if with_cost else 0.0,
                inner=self._inside(program, inner, with_cost),
            )
            for inner in computation.instructions
            if inner.opcode not in _NOT_SHOWN
        )

    def _wire(self, program: Program) -> tuple[WireProgram, CostModel]:
        if program.program_id not in self._models:
            ids = program.columns["computation_id"].tolist()
            wire = WireProgram(
                {i: LazyComputation(program, at) for at, i in enumerate(ids)}, program.columns["entry_id"]
            )
            self._models[program.program_id] = (wire, CostModel(wire))
        return self._models[program.program_id]

    def _stack(self, program: Program, frame: int) -> str:
        if program.program_id not in self._stacks:
            self._stacks[program.program_id] = _stacks(self.programs.blob(program.program_id))
        return self._stacks[program.program_id].get(frame, "")


def _computation_names(program: Program) -> dict[int, str]:
    return dict(zip(program.columns["computation_id"].tolist(), program.computation_names, strict=True))


def _stacks(proto: bytes) -> dict[int, str]:
    """Stack text per frame number of a serialized HloProto."""
    files: list[str] = []
    places: list[list[int]] = []
    frames: list[list[int]] = []
    for number, module in fields(proto):
        for inner, index in fields(module) if number == 1 and isinstance(module, bytes) else ():
            for kind, entry in fields(index) if inner == 17 and isinstance(index, bytes) else ():
                if kind == 1 and isinstance(entry, bytes):
                    files.append(entry.decode("utf-8", "replace"))
                elif kind in (3, 4) and isinstance(entry, bytes):
                    values = {n: numbers(v)[0] for n, v in fields(entry) if isinstance(v, int)}
                    (places if kind == 3 else frames).append([values.get(n, 0) for n in (1, 2, 3, 4)])
    texts: dict[int, str] = {}
    for number in range(1, len(frames) + 1):
        lines, at = [], number
        # A frame's parent comes before it; the bound keeps a broken index from turning in circles.
        for _ in range(len(frames)):
            if not 1 <= at <= len(frames):
                break
            place, parent = frames[at - 1][:2]
            if 1 <= place <= len(places):
                file, _, line, column = places[place - 1]
                name = files[file - 1] if 1 <= file <= len(files) else ""
                lines.append(f"{name}:{line}:{column}\n")
            at = parent
        texts[number] = "".join(lines)
    return texts
