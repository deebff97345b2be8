"""The HLO text around an instruction: operands, users and what is inside, as the graph viewer draws them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.graph import Links, around
from tpu_profile_plugin.analysis.hlo.graph import find as find_node
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.source import source_of
from tpu_profile_plugin.analysis.hlo.text import HloText
from tpu_profile_plugin.errors import NoData, NotFound
from tpu_profile_plugin.run.figures.op import find_op, similar
from tpu_profile_plugin.run.figures.op_rates import OpRates, run_op_rates
from tpu_profile_plugin.run.figures.programs import chosen_program, is_program_id, program_with
from tpu_profile_plugin.run.hosts import RunHosts

_MOST_CHOICES = 10
MOST_INSIDE = 200
"""Listed instructions inside a fusion."""
_INDEX = re.compile(r"\{[\d,]*\}(@|$)")
"""Which part of a tuple a buffer is of: buffers of memory have it after the instruction."""
_CONFIG = ", backend_config="
"""What is left out of the text of neighbours: long, and of interest to the compiler."""


@dataclass(frozen=True, slots=True)
class HloLine:
    """An instruction: how it is related to the one asked for, HLO text, framework op and source line.

    `role`: asked, operand, user, inside (of the asked fusion or call), near.
    """

    name: str
    role: str
    text: str
    framework_op: str
    source: str


@dataclass(frozen=True, slots=True)
class HloAround:
    """The neighbourhood of an instruction.

    Attributes:
      program: `module(program id)`; program_id: its id.
      name, computation: the instruction and where it is.
      lines: the instruction, then others by distance, in the order of the program.
      users: number of users of its result; operands: number of its operands.
      ran: the op that ran with this name in this program; None if none did.
      ops: all ops that ran; None without any.
    """

    program: str
    program_id: int
    name: str
    computation: str
    lines: tuple[HloLine, ...]
    operands: int
    users: int
    ran: int | None
    ops: OpRates | None


def run_hlo(run: RunHosts, op: str, hops: int) -> HloAround:
    """The instructions within so many hops of one.

    `op` is an id of `OpRates`, a name of an op that only one program ran, or of any instruction, in the first program
    that has it. Raises NoData without programs, NotFound and BadRequest with `argument` and `choices`.
    """
    ops = _ops(run)
    program, name = _program(run, ops, _INDEX.sub(r"\1", op.strip().removeprefix("%")))
    row, _ = find_node(program, name)
    if row is None:
        raise _unknown(op, program, name)
    links: Links = run.once(("hlo links", program.module.name), lambda: Links(program))
    marked = around(links, row, hops)
    operands, users = set(links.operands(row)), set(links.users(row))
    home = links.rows_of(links.home(row))
    spelled = HloText(program, full=False, metadata=False)

    def line(at: int, role: str) -> HloLine:
        source = source_of(program, at, 1)
        place = "" if source is None else f"{source.file}:{source.line}"
        text = spelled.instruction(at) if at == row else spelled.instruction(at).partition(_CONFIG)[0]
        return HloLine(program.names[at], role, text, program.op_names[at], place)

    near = sorted((one for one in marked.marks if one in home), key=lambda one: (one != row, marked.distance[one], one))
    lines = [line(one, _role(one, row, operands, users)) for one in near]
    inside = [one for called in links.called(row) for one in links.rows_of(called)][:MOST_INSIDE]
    lines[1:1] = [line(one, "inside") for one in inside]
    ran = None
    if ops is not None:
        of_name = ops.rows_of_name.get(program.names[row], [])
        ran = next((at for at in of_name if program.module.name == ops.program[at]), None)
    computation = program.computation_names[links.home(row)]
    return HloAround(
        program.module.name,
        program.program_id,
        program.names[row],
        computation,
        tuple(lines),
        len(operands),
        len(users),
        ran,
        ops,
    )


def _role(row: int, asked: int, operands: set[int], users: set[int]) -> str:
    if row == asked:
        return "asked"
    return "operand" if row in operands else "user" if row in users else "near"


def _ops(run: RunHosts) -> OpRates | None:
    try:
        return run_op_rates(run)
    except NoData:
        return None


def _program(run: RunHosts, ops: OpRates | None, op: str) -> tuple[Program, str]:
    """The program and the name of the instruction in it."""
    name, _, called = op.rpartition("@") if "@" in op else (op, "", "")
    if not called and ops is not None and ops.rows_of_name.get(name):
        at = find_op(ops, name)
        if ops.program[at]:
            return chosen_program(run, ops.program[at])[1], name
    try:
        if is_program_id(called):
            return chosen_program(run, program_id=called)[1], name
        if called.endswith(")"):
            return chosen_program(run, called)[1], name
        chosen_program(run)  # raises NoData without any
        return program_with(run, name, called), name
    except NotFound as error:
        modules = [f"{name}@{module}" for module in error.details.get("modules", ())]
        choices = modules[:_MOST_CHOICES] if ops is None else similar(ops, name)
        raise NotFound(error.message, code=error.code, argument="op", choices=choices) from None


def _unknown(op: str, program: Program, name: str) -> NotFound:
    stem = name.rstrip(".0123456789").lower()
    choices = [one for one in program.names if stem and stem in one.lower()][:10]
    message = f"{program.module.name} has no instruction {op[:200]!r}."
    choices = [f"{one}@{program.module.name}" for one in choices]
    return NotFound(message, code="op_not_found", argument="op", choices=choices)
