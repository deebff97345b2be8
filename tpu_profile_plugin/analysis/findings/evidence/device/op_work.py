"""What the time of a host's ops goes into, and the ops that take most of it with their instructions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.ops.op_nature import Nature, by_category, by_program
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, computes

MOST_TIME = 0.95
"""Share of the ops' time from the most costly op on whose instructions are read; the rest changes no verdict."""
MOST_OPS = 10_000
"""At most so many, which takes less than half a second; a program with more ops of equal cost is judged by these."""


@dataclass(frozen=True, slots=True)
class ReadOp:
    """One of the most costly ops: its row of the op table, what it does, and its self time over all runs."""

    index: int
    nature: Nature
    does: str
    self_ps: int

    @property
    def place(self) -> str:
        """`file:line`; "" if unknown."""
        return ""


@dataclass(frozen=True, slots=True)
class ProgramOp(ReadOp):
    """One whose program is known: row `at` of it."""

    rows: ProgramRows
    at: int

    @property
    def place(self) -> str:
        """Of the instruction, or of what is closest to it."""
        return self.rows.place(self.at)


@dataclass(frozen=True)
class OpWork:
    """The ops of one host.

    Attributes:
      table: all ops.
      counted_ps: self time without ops that consist of others, communication and waits; of `read` alone if there are
        more ops than are read, so that shares of it are not diluted.
      read: the ops that most of it goes to, the most costly first.
    """

    table: OpTable
    counted_ps: int
    read: tuple[ReadOp, ...]

    @cached_property
    def in_programs(self) -> list[ProgramOp]:
        """Those that were read whose program is known."""
        return [one for one in self.read if isinstance(one, ProgramOp)]

    def of(self, nature: Nature) -> list[ReadOp]:
        """The ops of a kind, the most costly first."""
        return [one for one in self.read if one.nature is nature]


def time_ps(ops: Sequence[ReadOp]) -> int:
    """Self time of some ops."""
    return sum(one.self_ps for one in ops)


def shares(times: Iterable[tuple[str, int]]) -> list[tuple[str, float]]:
    """What time goes to, with its share, most first."""
    sums: dict[str, int] = {}
    for what, ps in times:
        sums[what] = sums.get(what, 0) + ps
    total = max(sum(sums.values()), 1)
    return sorted(((what, ps / total) for what, ps in sums.items()), key=lambda one: -one[1])


def in_words(parts: Iterable[tuple[str, float]]) -> str:
    """Shares as `gather 83%, copy 17%`."""
    return ", ".join(f"{what} {share:.0%}" for what, share in parts)


@once
def work_of(host: HostView) -> OpWork:
    """What the time of a host's ops goes into; the ops that take most of it are read."""
    table = host.ops
    counted = [row for row in table.by_self_time() if computes(table.category[row])]
    total = int(table.self_ps[counted].sum()) if counted else 0
    read: list[ReadOp] = []
    done = missed = 0
    for row in counted[:MOST_OPS]:
        if done + missed >= MOST_TIME * total:
            break
        op = _read(host, table, row)
        if op.nature is Nature.NOT_COUNTED:
            missed += op.self_ps
            continue
        read.append(op)
        done += op.self_ps
    whole = done + missed >= MOST_TIME * total
    return OpWork(table, total - missed if whole else done, tuple(read))


def _read(host: HostView, table: OpTable, row: int) -> ReadOp:
    found, category = host.hlo.located(table.module[row], table.name[row]), table.category[row]
    if found is None:
        return ReadOp(row, *by_category(category), int(table.self_ps[row]))
    return ProgramOp(row, *by_program(*found, category), int(table.self_ps[row]), *found)


@dataclass(frozen=True, slots=True)
class Roof:
    """Time that an op's work takes at the device's peak rates, in ps."""

    compute_ps: float
    memory_ps: float


def roof(host: HostView, op: ReadOp, flops: float) -> Roof | None:
    """The roofline of all runs of an op, which does `flops` in one run; None if its cost or a peak is unknown."""
    peaks, table = host.summary.peaks, work_of(host).table
    if not peaks.tera_flops or not peaks.hbm or not flops:
        return None
    runs = int(table.occurrences[op.index])
    return Roof(flops * runs / peaks.tera_flops, float(table.bytes[op.index]) / peaks.hbm * 1e3)
