"""HLO instructions as XLA writes them, without metadata and backend configuration."""

from __future__ import annotations

from collections.abc import Callable

from tpu_profile_plugin.analysis.hlo.instructions import Instruction, Instructions
from tpu_profile_plugin.analysis.hlo.shapes import laid_out, type_name
from tpu_profile_plugin.analysis.hlo.text.attributes import notes
from tpu_profile_plugin.analysis.hlo.text.literal import literal_text
from tpu_profile_plugin.analysis.hlo.text.opcode_attributes import attributes

_LONGEST = 1_000_000
"""Maximum length of an instruction's text, in characters."""


def instruction_text(
    instruction: Instruction, program: Instructions, computations: Callable[[int], str], limit: int = _LONGEST
) -> str:
    """`%name = shape opcode(operands), attributes`, as XLA prints it.

    Args:
      instruction: the instruction.
      program: the instructions of its program.
      computations: the name of a computation by its id.
      limit: longest text.
    """
    opcode, more = operation(instruction, program, lambda called: f"%{computations(called)}")
    inside = own_value(instruction)
    if inside is None:
        inside = ", ".join(_operand(program, i, at) for at, i in enumerate(instruction.operand_ids))
    more += notes(instruction, lambda id_: f"%{earlier.name if (earlier := program.find(id_)) else id_}")
    return ", ".join([f"%{instruction.name} = {laid_out(instruction.shape).text} {opcode}({inside})", *more])[:limit]


def operation(instruction: Instruction, program: Instructions, name_of: Callable[[int], str]) -> tuple[str, list[str]]:
    """Opcode and attributes of an instruction; `name_of` spells computations.

    An asynchronous instruction is named after the instruction that it runs: `slice-start`, not `async-start`.
    """
    inner = wrapped(instruction, program)
    opcode = instruction.opcode if inner is None else f"{inner.opcode}{instruction.opcode.removeprefix('async')}"
    shown = instruction if inner is None else inner if instruction.opcode == "async-start" else None
    if instruction.opcode == "conditional" and _is_predicate(instruction, program):
        labelled = zip(_BRANCHES, instruction.called_computation_ids, strict=False)
        return opcode, [f"{label}={name_of(i)}" for label, i in labelled]
    return opcode, [] if shown is None else attributes(shown, name_of)


def own_value(instruction: Instruction) -> str | None:
    """The text of a constant or a parameter instead of operands; None for other instructions."""
    if instruction.opcode == "constant":
        return literal_text(instruction.literal) if instruction.HasField("literal") else ""
    return str(instruction.parameter_number) if instruction.opcode == "parameter" else None


_BRANCHES = ("true_computation", "false_computation")
_LONGEST_CHAIN = 100
"""Starts, updates and the end of an asynchronous instruction."""


def _operand(program: Instructions, operand: int, position: int) -> str:
    index = f"/*index={position}*/" if position and position % 5 == 0 else ""
    instruction = program.find(operand)
    return f"{index}{laid_out(instruction.shape).text} %{instruction.name}" if instruction else f"{index}%{operand}"


def _is_predicate(instruction: Instruction, program: Instructions) -> bool:
    chosen = program.find(instruction.operand_ids[0]) if instruction.operand_ids else None
    return chosen is not None and type_name(chosen.shape.element_type) == "pred"


def wrapped(instruction: Instruction, program: Instructions) -> Instruction | None:
    """The instruction that an asynchronous instruction runs: the only one in its computation."""
    if instruction.opcode not in ("async-start", "async-update", "async-done"):
        return None
    start: Instruction | None = instruction
    for _ in range(_LONGEST_CHAIN):
        if start is None or start.opcode == "async-start":
            break
        start = program.find(start.operand_ids[0]) if start.operand_ids else None
    if start is None or not start.called_computation_ids:
        return None
    inner = program.computation(start.called_computation_ids[0])
    if inner is None or inner.root is None:
        return None
    parameters = [i.id for i in inner.instructions if i.opcode == "parameter"]
    single = len(inner.instructions) == len(parameters) + 1 and list(inner.root.operand_ids) == parameters
    return inner.root if single else None
