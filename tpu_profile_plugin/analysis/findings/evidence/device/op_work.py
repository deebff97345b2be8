"""What the time of a host's ops goes into, and the ops that take most of it with their instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.blame.op_nature import Nature, by_category, by_program, is_counted
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.ops.op_tables import OpTable

MOST_TIME = 0.95
"""Share of the ops' time from the most costly op on whose instructions are read; the rest changes no verdict."""
MOST_OPS = 10_000
"""At most so many, which takes less than half a second; a program with more ops of equal cost is judged by these."""


@dataclass(frozen=True, slots=True)
class NamedOp:
    """An op as findings name it; picklable.

    Attributes:
      name, program: of the HLO instruction and, `module(id)`, of its program; program "" if unknown.
      program_id: its id; 0 if unknown.
      does: the opcode that decides what it does, such as `gather`; of ops without a program the category.
      self_ps, runs: over all runs on all cores; percent: of the observed time of all cores, as HLO statistics have it.
      framework: name of the framework op; "" if unknown.
      place: `file:line`; "" if unknown.
    """

    name: str
    program: str
    program_id: int
    does: str
    self_ps: int
    runs: int
    percent: float
    framework: str
    place: str

    @property
    def label(self) -> str:
        """The op with its place in the user's program."""
        return f"{self.name} ({self.place})" if self.place else self.name


@dataclass(frozen=True, slots=True)
class ReadOp:
    """One of the most costly ops; `at` is its row in `rows`, None without a program. `index`: row of the op table."""

    index: int
    nature: Nature
    does: str
    rows: ProgramRows | None
    at: int | None


@dataclass(frozen=True, slots=True)
class OpWork:
    """The ops of one host.

    Attributes:
      table: all ops.
      counted_ps: self time without ops that consist of others, communication and waits; of `read` alone if there are
        more ops than are read, so that shares of it are not diluted.
      read: the ops that most of it goes to, the most costly first.
    """

    table: OpTable
    hlo: HloOps
    counted_ps: int
    read: tuple[ReadOp, ...]

    def time_ps(self, ops: Sequence[ReadOp]) -> int:
        """Self time of some ops."""
        return int(sum(int(self.table.self_ps[one.index]) for one in ops))

    def of(self, nature: Nature) -> list[ReadOp]:
        """The ops of a kind, the most costly first."""
        return [one for one in self.read if one.nature is nature]

    def kinds(self, ops: Sequence[ReadOp]) -> list[tuple[str, int]]:
        """What the ops do with their self time, most first."""
        times: dict[str, int] = {}
        for op in ops:
            times[op.does] = times.get(op.does, 0) + int(self.table.self_ps[op.index])
        return sorted(times.items(), key=lambda item: -item[1])

    def named(self, op: ReadOp) -> NamedOp:
        """An op as findings name it."""
        table, row = self.table, op.index
        framework, place = table.provenance[row].partition(":")[0], ""
        if op.rows is not None and op.at is not None:
            place = op.rows.place(op.at)
            framework = framework or op.rows.op_name(op.at)
        return named_op(table, self.hlo, row, op.does, framework, place)


def named_op(table: OpTable, hlo: HloOps, row: int, does: str, framework: str, place: str) -> NamedOp:
    """A row of an op table as findings name it."""
    return NamedOp(
        table.name[row],
        hlo.programs.names.get(table.module[row], ""),
        table.module[row],
        does,
        int(table.self_ps[row]),
        int(table.occurrences[row]),
        100.0 * int(table.self_ps[row]) / table.total_ps if table.total_ps else 0.0,
        framework,
        place,
    )


def work_of(host: HostView) -> OpWork:
    """What the time of a host's ops goes into; the ops that take most of it are read."""
    return host.once(_work)


def _work(host: HostView) -> OpWork:
    table, hlo = host.ops, host.hlo
    counted = [row for row in table.by_self_time() if is_counted(table.category[row])]
    total = int(table.self_ps[counted].sum()) if counted else 0
    known: dict[int, ProgramRows | None] = {}
    read: list[ReadOp] = []
    done = missed = 0
    for row in counted[:MOST_OPS]:
        if done + missed >= MOST_TIME * total:
            break
        op = _read(table, hlo, known, row)
        if op.nature is Nature.NOT_COUNTED:
            missed += int(table.self_ps[row])
            continue
        read.append(op)
        done += int(table.self_ps[row])
    whole = done + missed >= MOST_TIME * total
    return OpWork(table, hlo, total - missed if whole else done, tuple(read))


def _read(table: OpTable, hlo: HloOps, known: dict[int, ProgramRows | None], row: int) -> ReadOp:
    program_id = table.module[row]
    if program_id not in known:
        program = hlo.programs.program(program_id)
        known[program_id] = ProgramRows(program) if program is not None else None
    rows = known[program_id]
    position = None if rows is None else rows.row(table.name[row])
    if rows is None or position is None:
        return ReadOp(row, *by_category(table.category[row]), None, None)
    return ReadOp(row, *by_program(rows, position, table.category[row]), rows, position)
