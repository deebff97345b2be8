"""HLO instructions by program and name, with the details that op tools show; decoded on demand."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.cost import Cost, CostModel, CpuCostModel, Properties
from tpu_profile_plugin.analysis.hlo.instructions import (
    Dimension,
    Instruction,
    Instructions,
    category,
    convolution_layout,
)
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import Program, has_whole_stack, hlo_programs, source_of
from tpu_profile_plugin.analysis.hlo.text import instruction_text
from tpu_profile_plugin.columns import XSpace

_DEEPEST = 3
_MOST_INSIDE = 2000
"""Fusions do not nest in real programs; these limits bound the cost of a damaged program."""
_NOT_SHOWN = frozenset(("parameter", "tuple"))


@dataclass(frozen=True, slots=True)
class Fused:
    """An instruction inside a fusion; `inner` are its own instructions if it is a fusion itself."""

    name: str
    category: str
    provenance: str
    expression: str
    flops: float
    inner: tuple[Fused, ...] = ()


class _Module:
    """One decoded program with values derived from it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.instructions = Instructions(program)
        self._finished_costs: dict[type[CostModel], dict[int, Properties]] = {CostModel: {}, CpuCostModel: {}}
        ids = program.columns["computation_id"].tolist()
        self._names = dict(zip(ids, program.computation_names, strict=True))

    def cost(self, instruction: Instruction, on_cpu: bool) -> Cost:
        model = CpuCostModel if on_cpu else CostModel
        return model(self.instructions, self._finished_costs[model]).cost(instruction)

    def text(self, instruction: Instruction) -> str:
        return instruction_text(instruction, self.instructions, lambda i: self._names.get(i, str(i)))

    def inside(
        self, instruction: Instruction, *, with_cost: bool, on_cpu: bool, depth: int = _DEEPEST
    ) -> tuple[Fused, ...]:
        """The instructions inside a fusion."""
        computation = self.instructions.called(instruction)
        if computation is None or not depth:
            return ()
        return tuple(
            Fused(
                name=inner.name,
                category=category(inner),
                provenance=f"{inner.metadata.op_name}:{inner.metadata.op_type}",
                expression=self.text(inner),
                flops=self.cost(inner, on_cpu).flops if with_cost else 0.0,
                inner=self.inside(inner, with_cost=with_cost, on_cpu=on_cpu, depth=depth - 1),
            )
            for inner in computation.instructions[:_MOST_INSIDE]
            if inner.opcode not in _NOT_SHOWN
        )


class HloOps:
    """The HLO programs of one profile."""

    def __init__(self, space: XSpace) -> None:
        self.programs = hlo_programs(space)
        self._modules: dict[int, _Module | None] = {}
        self._rows: dict[int, ProgramRows | None] = {}

    def _module(self, program_id: int) -> _Module | None:
        if program_id not in self._modules:
            program = self.programs.program(program_id)
            self._modules[program_id] = None if program is None else _Module(program)
        return self._modules[program_id]

    def rows(self, program_id: int) -> ProgramRows | None:
        """A program by rows; None when the profile does not have it."""
        if program_id not in self._rows:
            program = self.programs.program(program_id)
            self._rows[program_id] = None if program is None else ProgramRows(program)
        return self._rows[program_id]

    def located(self, program_id: int, name: str) -> tuple[ProgramRows, int] | None:
        """The program of an instruction by rows, and its row; None when the profile does not have it."""
        rows = self.rows(program_id)
        row = None if rows is None else rows.row(name)
        return None if rows is None or row is None else (rows, row)

    def find(self, program_id: int, name: str) -> Instruction | None:
        """An instruction; None when the profile does not have it."""
        module = self._module(program_id)
        return None if module is None else module.instructions.named(name)

    def cost(self, program_id: int, instruction: Instruction, *, on_cpu: bool = False) -> Cost:
        """Cost of one execution of the program's instruction on a GPU or a CPU."""
        module = self._module(program_id)
        return Cost() if module is None else module.cost(instruction, on_cpu)

    def text(self, program_id: int, instruction: Instruction) -> str:
        """The program's instruction in full."""
        module = self._module(program_id)
        return "" if module is None else module.text(instruction)

    def source(self, program_id: int, name: str) -> tuple[str, int, str]:
        """File, line and stack (one `file:line:column` a line, innermost first); line -1 when there is none."""
        module = self._module(program_id)
        row = None if module is None else module.program.row_of.get(name)
        if module is None or row is None:
            return "", -1, ""
        deepest = len(module.program.frames) if has_whole_stack(module.program, row) else 0
        source = source_of(module.program, row, deepest)
        if source is None:
            return "", -1, ""
        return source.file, source.line, "".join(f"{place}\n" for place in source.stack)

    def fused(self, program_id: int, name: str, *, with_cost: bool = False, on_cpu: bool = False) -> tuple[Fused, ...]:
        """The instructions inside a fusion in the order of the program; nothing for other instructions."""
        module, instruction = self._module(program_id), self.find(program_id, name)
        if module is None or instruction is None:
            return ()
        return module.inside(instruction, with_cost=with_cost, on_cpu=on_cpu)

    def layout(self, program_id: int, name: str) -> tuple[Dimension, ...]:
        """The layout of a convolution's result; empty for other instructions."""
        module, instruction = self._module(program_id), self.find(program_id, name)
        if module is None or instruction is None:
            return ()
        inner = module.instructions.called(instruction)
        return convolution_layout(instruction, inner.instructions if inner else ())
