"""HLO instructions as XLA writes them, without metadata and backend configuration."""

from __future__ import annotations

from collections.abc import Callable

from tpu_profile_plugin.analysis.hlo.instructions import Instruction, Instructions
from tpu_profile_plugin.analysis.hlo.shapes import laid_out, type_name
from tpu_profile_plugin.analysis.hlo.text.attributes import notes
from tpu_profile_plugin.analysis.hlo.text.literal import literal_text
from tpu_profile_plugin.analysis.hlo.text.opcode_attributes import attributes

_LONGEST = 1_000_000
"""Characters after which an instruction's text is cut."""


def instruction_text(
    one: Instruction, program: Instructions, computations: Callable[[int], str], limit: int = _LONGEST
) -> str:
    """`%name = shape opcode(operands), attributes`, as XLA prints it.

    Args:
      one: the instruction.
      program: the instructions of its program.
      computations: the name of a computation by its id.
      limit: longest text.
    """
    opcode, more = operation(one, program, lambda called: f"%{computations(called)}")
    inside = own_value(one)
    if inside is None:
        inside = ", ".join(_operand(program, i, at) for at, i in enumerate(one.operand_ids))
    more += notes(one, lambda id_: f"%{found.name if (found := program.find(id_)) else id_}")
    return ", ".join([f"%{one.name} = {laid_out(one.shape).text} {opcode}({inside})", *more])[:limit]


def operation(one: Instruction, program: Instructions, name_of: Callable[[int], str]) -> tuple[str, list[str]]:
    """Opcode and attributes of an instruction; `name_of` spells computations.

    An asynchronous instruction is spelled as the one that it runs: `slice-start`, for an `async-start` of a slice.
    """
    inner = wrapped(one, program)
    opcode = one.opcode if inner is None else f"{inner.opcode}{one.opcode.removeprefix('async')}"
    shown = one if inner is None else inner if one.opcode == "async-start" else None
    if one.opcode == "conditional" and _is_predicate(one, program):
        labelled = zip(_BRANCHES, one.called_computation_ids, strict=False)
        return opcode, [f"{label}={name_of(i)}" for label, i in labelled]
    return opcode, [] if shown is None else attributes(shown, name_of)


def own_value(one: Instruction) -> str | None:
    """What a constant or a parameter has in place of operands; None for other instructions."""
    if one.opcode == "constant":
        return literal_text(one.literal) if one.HasField("literal") else ""
    return str(one.parameter_number) if one.opcode == "parameter" else None


_BRANCHES = ("true_computation", "false_computation")
_LONGEST_CHAIN = 100
"""Starts, updates and the end of an asynchronous instruction."""


def _operand(program: Instructions, operand: int, at: int) -> str:
    index = f"/*index={at}*/" if at and at % 5 == 0 else ""
    found = program.find(operand)
    return f"{index}{laid_out(found.shape).text} %{found.name}" if found else f"{index}%{operand}"


def _is_predicate(one: Instruction, program: Instructions) -> bool:
    chosen = program.find(one.operand_ids[0]) if one.operand_ids else None
    return chosen is not None and type_name(chosen.shape.element_type) == "pred"


def wrapped(one: Instruction, program: Instructions) -> Instruction | None:
    """The instruction that an asynchronous one stands for: the only one that its computation has."""
    if one.opcode not in ("async-start", "async-update", "async-done"):
        return None
    start: Instruction | None = one
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
