"""The ops with most of a step: those of one kind together, and the line or function that most of them come from."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.blame.eager_ops import groups_of_rows
from tpu_profile_plugin.analysis.blame.host_blame import HostBlame
from tpu_profile_plugin.analysis.blame.origin import LEAST_PLACE, Chain, of_program, of_stack, path, scopes, shared
from tpu_profile_plugin.analysis.blame.stacks import launched_at
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.analysis.hlo.instructions import category
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.products import few_rows, products_of
from tpu_profile_plugin.analysis.ops.op_nature import RECURRENT, Nature, by_name, by_program
from tpu_profile_plugin.columns.arrays import F64, I64

LEAST_OP, MOST_OPS = 0.0005, 2_000
"""Smaller ops, and more of them, are in no group."""
LIBRARY = "custom-call"
LOOPED_OPS = 20
"""So many ops of a group are looked at for a loop around them."""
MOST_OF_IT = 0.5
"""Least share of a group's time for a place to be that of the group."""
_IS_BACKWARD = re.compile(r"(?<=\w)Backward\d*\Z")


@dataclass(frozen=True, slots=True, eq=False)
class OpGroup:
    """Time of ops of one kind.

    Attributes:
      name: what they do: an opcode that decides, or the op of a framework.
      nature: what that amounts to.
      place: `file:line`, or a function, that most of it comes from, "" if unknown.
      places: without one, those with at least a tenth of it, and their shares; at most three.
      path: the functions that nearly all of it is in, outermost first.
      framework: the framework op of the largest; "" if unknown.
      ops: name, program id and time of the three with most time; count: of all, or of the calls of a library.
      ps: summed over steps and devices; by_part: int64[c + 1], the last is what lies between steps.
      kinds: of the ops, most time first.
      runs: of all of them per step, without what a recurrent layer's backward pass consists of; 0 if unknown.
      growth: the share of their time by which each step takes them longer.
      loops: lines of the loops that the largest op in a loop is in, the outermost first.
      few: rows, columns or terms of the matrix products that most of it is in, if these are few; else 0.
    """

    name: str
    nature: Nature
    place: str
    framework: str
    ops: tuple[tuple[str, int, int], ...]
    count: int
    ps: int
    by_part: I64
    kinds: tuple[str, ...]
    runs: float = 0.0
    places: tuple[tuple[str, float], ...] = ()
    growth: float = 0.0
    loops: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    few: int = 0


def largest_ops(blame: HostBlame) -> tuple[I64, I64]:
    """The ops of the blame with most time, most first, and the time of each op."""
    rows = blame.op >= 0
    of_op = np.zeros(len(blame.ops), np.int64)
    np.add.at(of_op, blame.op[rows], blame.ps[rows])
    large = np.argsort(-of_op, kind="stable")[:MOST_OPS]
    return large[of_op[large] > LEAST_OP * int(blame.ps.sum())], of_op


def op_groups(blame: HostBlame, names: OpNamer, runs: F64 | None = None, most: int = 5) -> list[OpGroup]:
    """The kinds of ops with most time, most first; `runs`: of each op of the blame, per step."""
    rows = np.flatnonzero(blame.op >= 0)
    if not len(rows):
        return []
    large, of_op = largest_ops(blame)
    kinds = _kinds([(blame.ops[number], int(of_op[number])) for number in large.tolist()], names)
    numbers: dict[tuple[Nature, str], int] = {}
    group_of_op = np.full(len(blame.ops), -1, np.int64)
    group_of_op[large] = [numbers.setdefault(kind, len(numbers)) for kind in kinds]
    group = group_of_op[blame.op[rows]]
    rows, group = rows[group >= 0], group[group >= 0]
    row_of_op = np.zeros(len(blame.ops), np.int64)
    row_of_op[large] = np.arange(len(large))
    ops = [blame.ops[number] for number in large.tolist()]
    node, ps = blame.node[rows], blame.ps[rows]
    each = np.zeros(len(blame.ops)) if runs is None else runs
    often = each[large].tolist()
    for nature, name, mine in groups_of_rows(row_of_op[blame.op[rows]], node, ps, kinds, ops, blame.stacks, often):
        group[mine] = numbers.setdefault((nature, name), len(numbers))
    sums = np.asarray(sums_by(group, ps, len(numbers)), np.int64)
    known = list(numbers)
    ranked = np.argsort(-sums, kind="stable")[:most].tolist()
    return [_op_group(blame, rows[group == i], names, known[i], each) for i in ranked if sums[i]]


def _kinds(ops: list[tuple[Op, int]], names: OpNamer) -> list[tuple[Nature, str]]:
    """The kind of each op, with its time, most first: calls of libraries at one line are of that of the framework op of
    the largest, with what copies their operands and results there, if the calls take most of the line.
    """
    kinds, at = [names.kind(op) for op, _ in ops], [names.place(op) or op.name for op, _ in ops]
    calls = [i for i, kind in enumerate(kinds) if kind == (Nature.OTHER, LIBRARY)]
    for place in {at[i] for i in calls}:
        here = [i for i, one in enumerate(at) if one == place and kinds[i][0] is not Nature.NOT_COUNTED]
        called = [i for i in calls if at[i] == place]
        most = sum(ops[i][1] for i in called) > MOST_OF_IT * sum(ops[i][1] for i in here)
        for i in here if most else called:
            kinds[i] = Nature.OTHER, named(names.framework(ops[called[0]][0])) or LIBRARY
    return kinds


def named(framework: str) -> str:
    """The name of a framework op, without its scopes and type."""
    return framework.rpartition("/")[2].partition(":")[0]


def _op_group(blame: HostBlame, rows: I64, names: OpNamer, kind: tuple[Nature, str], runs: F64) -> OpGroup:
    numbers, which = np.unique(blame.op[rows], return_inverse=True)
    of_op = np.asarray(sums_by(which.reshape(-1), blame.ps[rows], len(numbers)), np.int64)
    ops = [(blame.ops[int(numbers[i])], int(of_op[i])) for i in np.argsort(-of_op, kind="stable").tolist()]
    inner, few = Counter[str](), Counter[int]()
    for op, op_ps in ops:
        inner[names.kind(op)[1]] += op_ps
        few[names.few_rows(op) if kind[0] is Nature.MATRIX else 0] += op_ps
    kinds = tuple(name for name, _ in inner.most_common())
    ps = int(of_op.sum())
    told = tuple((op.name, op.program, op_ps) for op, op_ps in ops[:3])
    count = sum(names.kind(op)[1] == LIBRARY for op, _ in ops) or len(ops)
    place, places, within = _places(blame, rows, names)
    forward = [row for row in numbers.tolist() if RECURRENT.search(blame.ops[row].name) is None]
    by_part, each = blame.by_part(rows), float(runs[forward].sum())
    return OpGroup(
        *(kind[1], kind[0], place, names.framework(ops[0][0]), told, count, ps, by_part, kinds, each, places),
        growth=blame.growth(rows),
        loops=next(filter(None, (names.loops(op) for op, _ in ops[:LOOPED_OPS])), ()),
        path=within,
        few=0 if 2 * few.pop(0, 0) > ps else few.most_common(1)[0][0],
    )


def _places(blame: HostBlame, rows: I64, names: OpNamer) -> tuple[str, tuple[tuple[str, float], ...], tuple[str, ...]]:
    """The line or function that most of some rows come from, "" without one, the functions that share their time, and
    those that nearly all of it is in.

    Without such functions, the lines. The backward pass has no place of its own, but that of the same ops.
    """
    forward = np.array([_IS_BACKWARD.search(blame.ops[op].name) is None for op in blame.op[rows].tolist()], np.bool_)
    told = rows[forward] if forward.any() else rows
    lines, chains = Counter[str](), Counter[Chain]()
    for op, node, ps in zip(*(column[told].tolist() for column in (blame.op, blame.node, blame.ps)), strict=True):
        lines[names.place(blame.ops[op]) or launched_at(blame.stacks, node)] += ps
        chains[of_stack(blame.stacks, node) + names.chain(blame.ops[op])] += ps
    whole = max(sum(lines.values()), 1)
    ranked = [(place, ps / whole) for place, ps in lines.most_common(3)]
    place = ranked[0][0] if ranked[0][1] > MOST_OF_IT else ""
    rest = [] if place else [one for one in ranked if one[0] and one[1] >= LEAST_PLACE]
    within = tuple(function.rpartition(".<locals>.")[2] for _, function, _ in path(list(chains.items())))
    return place, tuple(shared(list(chains.items())) or rest), within


class OpNamer:
    """What ops do and where they come from, by their programs."""

    def __init__(self, hlo: HloOps) -> None:
        self._hlo = hlo
        self._places: dict[Op, str] = {}
        self._chains: dict[Op, Chain] = {}

    def kind(self, op: Op) -> tuple[Nature, str]:
        """The nature of an op and the opcode that decides."""
        if op.collective:
            return Nature.NOT_COUNTED, op.collective
        found = self._hlo.located(op.program, op.name)
        if found is None:
            return by_name(op.name, op.type)
        return by_program(*found, category(found[0].instruction(found[1])))

    def place(self, op: Op) -> str:
        """`file:line`, "" if the program does not tell."""
        if op not in self._places:
            found = self._hlo.located(op.program, op.name)
            self._places[op] = "" if found is None else found[0].place(found[1])
        return self._places[op]

    def chain(self, op: Op) -> Chain:
        """The functions or named scopes of the program around an op; empty if unknown."""
        if op not in self._chains:
            found = self._hlo.located(op.program, op.name)
            self._chains[op] = scopes(op.name) if found is None else of_program(*found)
        return self._chains[op]

    def loops(self, op: Op) -> tuple[str, ...]:
        """Places of the loops that it runs in, the outermost first, each once."""
        found = self._hlo.located(op.program, op.name)
        return () if found is None else tuple(dict.fromkeys(found[0].place(row) for row in found[0].loops(found[1])))

    def few_rows(self, op: Op) -> int:
        """As `hlo.products` has it, 0 without a program."""
        found = self._hlo.located(op.program, op.name)
        return 0 if found is None else few_rows(products_of(*found))

    def framework(self, op: Op) -> str:
        """The framework op, "" if unknown."""
        found = self._hlo.located(op.program, op.name)
        return "" if found is None else found[0].op_name(found[1])
