"""The call stack of each op and buffer of a run, with functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.source import Frame, call_stack, written_stack
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.run.figures.op_rates import OpRates
from tpu_profile_plugin.run.figures.ops import OpKey
from tpu_profile_plugin.run.figures.programs import hlo_ops_without_events
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts

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
