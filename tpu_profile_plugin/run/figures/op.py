"""One op of a run by its name, with its HLO text, its call stack and the instructions fused into it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.attribution import OpKey, hlo_name
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.hlo.graph import Links, around
from tpu_profile_plugin.analysis.hlo.graph import find as find_node
from tpu_profile_plugin.analysis.hlo.ops import Fused
from tpu_profile_plugin.analysis.hlo.programs import Frame, Program, call_stack, source_of, written_stack
from tpu_profile_plugin.analysis.hlo.text import HloText
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.analysis.ops.torch_groups import OpGroups, combine_op_groups, op_groups
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs, op_inputs, records_inputs
from tpu_profile_plugin.errors import BadRequest, NoData, NotFound
from tpu_profile_plugin.run.figures.ops import OpRates, run_op_details, run_op_rates
from tpu_profile_plugin.run.figures.programs import chosen_program, hlo_ops_without_events, is_program_id, program_with
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts

MOST_CHOICES = 10
_NAMED = 3
_NUMBER = ".0123456789"
_IN_ID = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, eq=False)
class Op:
    """One op.

    Attributes:
      ops: all ops, with the figures of this one at `at`.
      at: its position.
      shown_name: its name on the pages of HLO ops.
      program_id: 0 if unknown.
      expression: the HLO instruction in full; the name if that is unknown.
      stack: calls that lead to its source line, `file:line:column`, innermost first.
      source_of: the op that has this source line, if it has none of its own.
      fused: the instructions inside a fusion, most FLOPs first, else in the order of the program.
    """

    ops: OpRates
    at: int
    shown_name: str
    program_id: int = 0
    expression: str = ""
    stack: tuple[str, ...] = ()
    source_of: str = ""
    fused: tuple[Fused, ...] = ()


def run_op(run: RunHosts, name: str) -> Op:
    """The op with an id of `OpRates`, or with a name that only one program has.

    Raises NoData without ops, NotFound for an unknown name and BadRequest for one of several programs, both with
    `argument` and `choices`.
    """
    ops = run_op_rates(run)
    at = find_op(ops, name)
    summary = ops.summary
    if summary is None:
        return Op(ops, at, ops.name[at])
    records, row = summary.records, int(ops.rows[at])
    text, module = records.text[row], records.table.module[row]
    key = (module, records.table.name[row])
    with_cost = summary.hardware is not Hardware.TPU
    details = run_op_details(run, [key], with_cost=with_cost, on_cpu=summary.hardware is Hardware.CPU_ONLY)
    fused = details[key][1] if key in details else ()
    return Op(
        ops,
        at,
        hlo_name(records.expression(row)),
        module,
        records.expression(row),
        tuple(filter(None, map(str.strip, text.source_stack.splitlines()))),
        text.source_of,
        tuple(sorted(fused, key=lambda one: -one.flops)),
    )


def find_op(ops: OpRates, name: str) -> int:
    """The position of an op by `name@program`, or by a name that only one program has; see `run_op`.

    A program is given as `module(program id)`, by its id, or by the name of its module.
    """
    named, program = name.strip().removeprefix("%"), ""
    found = ops.rows_of_name.get(named, [])
    if not found and "@" in named:
        named, _, program = named.rpartition("@")
        found = [at for at in ops.rows_of_name.get(named, []) if program in _called(ops, at)]
    if not found:
        choices = similar(ops, named)
        message = f"The run has no op {name[:200]!r}; there are {', '.join(choices[:_NAMED])}."
        raise NotFound(message, code="op_not_found", argument="name", choices=choices)
    if len(found) > 1:
        choices = [ops.id[at] for at in found[:MOST_CHOICES]]
        message = f"{len(found)} programs have an op {named[:200]!r}: ask for one with its program."
        raise BadRequest(message, argument="name", choices=choices)
    return found[0]


def _called(ops: OpRates, at: int) -> tuple[str, ...]:
    """The ways to name the program of an op."""
    program: str = ops.program[at]
    number = ops.id[at].rpartition("@")[2]
    if not program:
        return (number,)
    return program, _IN_ID.sub("", program), program.rpartition("(")[2].removesuffix(")")


def similar(ops: OpRates, name: str) -> list[str]:
    """Ids of ops with a name like this one: but for the number, having it, or a few letters apart; else the first."""
    stem = name.rstrip(_NUMBER).lower()
    names = list(ops.rows_of_name)
    near = [one for one in names if stem and (one.rstrip(_NUMBER).lower() == stem or name.lower() in one.lower())]
    if not near:
        by_stem = {one.rstrip(_NUMBER): one for one in reversed(names)}
        close = difflib.get_close_matches(stem[:100], list(by_stem)[:2000], MOST_CHOICES, 0.5)
        near = [by_stem[one] for one in close] or names
    return [ops.id[at] for one in near[:MOST_CHOICES] for at in ops.rows_of_name[one]][:MOST_CHOICES]


# Operands and calls of PyTorch's ops, and the ops in groups, over hosts.


@per_host()
def host_op_inputs(host: HostProfile) -> dict[str, OpInputs]:
    """By op name; empty for recordings of other programs. What devices ran comes first: it has stacks."""
    space = host.lazy
    threads = host_plane(space)
    if threads is None or not records_inputs(threads):
        return {}
    return op_inputs(space, (*device_planes(space), threads))


def run_op_inputs(run: RunHosts) -> dict[str, OpInputs]:
    """By op name, from the first host that recorded the op."""
    return run.merged(
        host_op_inputs, lambda parts: {name: one for part in reversed(parts) for name, one in part.items()}
    )


@per_host()
def host_op_groups(host: HostProfile) -> OpGroups:
    """By kind and operands; empty for recordings of other programs."""
    space = host.lazy
    threads = host_plane(space)
    if threads is None or not records_inputs(threads):
        return OpGroups()
    planes = device_planes(space)
    space.decode((*planes, threads))
    return op_groups(space, planes, threads)


def run_op_groups(run: RunHosts) -> OpGroups:
    """The groups of all hosts together."""
    return run.merged(host_op_groups, combine_op_groups)


# The call stack of each op and buffer of a run, with functions.

Stack = tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class OpStacks:
    """Stacks of the ops, innermost call first; empty for an op without location."""

    stacks: tuple[Stack, ...]

    @property
    def lines(self) -> tuple[Frame, ...]:
        """The line of each op."""
        return tuple(stack[0] if stack else NO_LOCATION for stack in self.stacks)


@per_host()
def host_op_stacks(host: HostProfile, wanted: tuple[OpKey, ...]) -> dict[OpKey, Stack]:
    """The stacks of the wanted ops that the host's programs have."""
    programs = hlo_ops_without_events(host).programs
    decoded = {number: programs.program(number) for number, _ in wanted}
    found: dict[OpKey, Stack] = {}
    for number, name in wanted:
        program = decoded[number]
        row = None if program is None else program.row_of.get(name)
        if program is not None and row is not None:
            found[number, name] = call_stack(program, row)
    return found


def run_op_stacks(run: RunHosts, ops: OpRates) -> OpStacks:
    """The stacks of ops, of the closest op for those without a location of their own."""
    summary = ops.summary
    if summary is None:
        return OpStacks(((),) * len(ops))
    records = summary.records
    rows = ops.rows.tolist()
    keys = [(records.table.module[row], records.text[row].source_of or records.table.name[row]) for row in rows]
    known = _found(run, keys)
    return OpStacks(tuple(_stack_of(ops, row, known.get(key, ())) for row, key in zip(rows, keys, strict=True)))


def _found(run: RunHosts, keys: Sequence[OpKey]) -> dict[OpKey, Stack]:
    """From the first host that has the program of an op."""
    found: dict[OpKey, Stack] = {}
    for i, host in enumerate(run.readable):
        missing = tuple(key for key in dict.fromkeys(keys) if key not in found)
        if not missing:
            break
        found |= host_op_stacks(host, missing)
        if i:
            host.forget_metadata()
    return found


def _stack_of(ops: OpRates, row: int, known: Stack) -> Stack:
    """The stack whose innermost call is the op's source line, as all pages show it."""
    assert ops.summary is not None
    text = ops.summary.records.text[row]
    if not text.has_source:
        return ()
    line = (text.source_file, text.source_line)
    written = written_stack(text.source_stack)
    for stack in (known, written):
        at = next((i for i, frame in enumerate(stack) if (frame[0], frame[2]) == line), None)
        if at is not None:
            return stack[at:]
    return ((line[0], "", line[1]), *written)


# The HLO text around an instruction: operands, users and what is inside, as the graph viewer draws them.

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
