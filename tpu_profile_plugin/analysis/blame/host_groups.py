"""The functions of the host with most of a step: the most specific name that holds most of a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN, HostBlame
from tpu_profile_plugin.analysis.blame.op_groups import OpNamer, largest_ops
from tpu_profile_plugin.analysis.blame.stacks import (
    NOWHERE,
    callers,
    depths,
    inclusive,
    launched_at,
    with_callees,
)
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity, is_unnamed, passes_on
from tpu_profile_plugin.analysis.budget.purpose import Purpose, purpose
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.hlo.programs import Frame
from tpu_profile_plugin.analysis.ops.op_nature import Nature, base_name, by_name
from tpu_profile_plugin.analysis.replay.binding_path import WAITING
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

NEARLY_ALL = 0.9
"""A name that holds so much of another's time stands for it: it is the more specific one."""
MOST = 0.5
"""More than half of a group is "most of it"."""
MOST_CALLERS = 100
"""A call that calls itself is looked for in so many callers."""
LEAST_CALL = 0.001
"""Calls with less of a group's time are not looked at."""
_LIBRARY_CALLS = ("fft", "custom-call")
"""Ops that are told by themselves, as products are."""
MOST_HELPERS = 2
LEAST_MODEL = 0.05
"""Least share of products and transforms in what compiled programs compute for a function to be beside a model."""
LEAST_GROUP = 0.02
"""Smaller parts of the steps are no group of their own."""
_PARTS_OF_MODELS = re.compile(
    r"(?:norm|(?:\A|[._])(?:softmax|gelu|[re]lu|silu|swish|tanh|activation|dropout|attention|attend|rope|rotary))\Z",
    re.IGNORECASE,
)
"""Functions of any model, whose ops tell more."""


@dataclass(frozen=True, slots=True, eq=False)
class HostGroup:
    """Time in which devices wait while the host runs one function.

    Attributes:
      name: a function of the program, `$file.py:line function`, else the event that tells most.
      inner: what it calls for most of that time, "" if that is its own code.
      ps: summed over steps and devices; by_part: int64[c + 1], the last is what lies between steps.
      inner_ps: the part of it in `inner`; calls: all that it calls for most of that time.
      rows: int64, those of the `HostBlame`.
      eager: the ops that it launches one by one take longer; input: most of it is waiting for input.
      growth: the share of its time by which each step takes it longer.
    """

    name: str
    inner: str
    ps: int
    by_part: I64
    rows: I64
    inner_ps: int = 0
    calls: tuple[str, ...] = ()
    eager: bool = False
    input: bool = False
    growth: float = 0.0

    def launched_ps(self, blame: HostBlame) -> int:
        """The time of ops that the calls of its rows launch one by one, directly or not."""
        nodes = np.unique(blame.node[self.rows])
        launched = (blame.op >= 0) & (blame.node >= 0)
        if not launched.any() or not (nodes >= 0).any():
            return 0
        inside = with_callees(blame.stacks.parent, nodes[nodes >= 0])
        return int(blame.ps[launched][inside[blame.node[launched]]].sum())


@dataclass(frozen=True, slots=True, eq=False)
class FunctionGroup:
    """A function of the program with the ops that it launches one by one.

    Attributes:
      name, ps, by_part, growth: as of `HostGroup`, ops included; unless it evaluates, without matrix products.
      ops: the kinds of these with most time; ops_ps: time of these.
      model_ps: of all its ops, those of a model: of its layers, backward pass and optimizer; all of them if nothing
        tells which of the recorded ones are a model's.
      traced: the ops are those of compiled programs; evaluates: it is an evaluation, or makes a library do one.
    """

    name: str
    ps: int
    by_part: I64
    ops: tuple[str, ...]
    ops_ps: int
    model_ps: int
    growth: float = 0.0
    traced: bool = False
    evaluates: bool = False


def _with_ops(blame: HostBlame, group: HostGroup, *, evaluates: bool = False) -> FunctionGroup:
    mine = group.rows[blame.op[group.rows] >= 0]
    launched = np.flatnonzero(blame.op >= 0)
    models = launched[_of_model(blame, launched)]
    model_ps = int(blame.ps[np.intersect1d(mine, models) if len(models) else mine].sum())
    needed = mine[:0] if evaluates else mine[_products(blame)[blame.op[mine]]]
    times, rest = Counter[str](), np.setdiff1d(group.rows, needed)
    for op, ps in zip(*(one[np.setdiff1d(mine, needed)].tolist() for one in (blame.op, blame.ps)), strict=True):
        times[blame.ops[op].type or base_name(blame.ops[op].name)] += ps
    kinds, growth = tuple(kind for kind, _ in times.most_common(3)), blame.growth(group.rows)
    known = int(blame.ps[rest].sum()), blame.by_part(rest), kinds, times.total(), model_ps, growth
    return FunctionGroup(group.name, *known, evaluates=evaluates)


def _products(blame: HostBlame) -> Bools:
    """Per op, whether it is a matrix product."""
    return np.array([by_name(op.name, op.type)[0] is Nature.MATRIX for op in blame.ops], np.bool_)


def _of_model(blame: HostBlame, rows: I64) -> Bools:
    """Which rows of ops are those of a model: in its layers, named after them, or matrix products anywhere."""
    layers = np.array([_LAYERS.search(name) is not None for name in blame.stacks.names], np.bool_)
    parent, name = blame.stacks.parent, blame.stacks.name
    inside = with_callees(parent, np.flatnonzero(layers[name]))
    named = np.array([_OF_MODEL.search(op.name) is not None for op in blame.ops], np.bool_) | _products(blame)
    found: Bools = named[blame.op[rows]] | np.append(inside, False)[blame.node[rows]]
    return found


def host_groups(blame: HostBlame, most: int = 3) -> list[HostGroup]:
    """The largest groups of waiting time, disjoint, most time first."""
    rows = (blame.op < 0) & np.isin(blame.part % BETWEEN, WAITING)
    return _Functions(blame, rows).groups(most) if rows.any() else []


def function_groups(blame: HostBlame, most: int = 3) -> list[FunctionGroup]:
    """The same of all time that functions of the program spend, in waits and in ops that they launch one by one.

    None where programs are compiled: then lines of the ops tell more.
    """
    launched = (blame.op >= 0) & (blame.node >= 0)
    if not launched.any():
        return []
    rows = launched | ((blame.op < 0) & np.isin(blame.part % BETWEEN, WAITING))
    own = {blame.stacks.names[name] for name in blame.stacks.name[blame.stacks.own].tolist()}
    groups = {group.name: group for group in _Functions(blame, rows).groups(most) if group.name in own}
    evaluation = {group.name: group for group in _evaluation(blame, rows)}
    return [
        _with_ops(blame, group, evaluates=name in evaluation or purpose(name) is Purpose.EVALUATION)
        for name, group in (groups | evaluation).items()
    ]


def _evaluation(blame: HostBlame, rows: Bools) -> list[HostGroup]:
    """All that is done to run a model for an evaluation, unless it is nearly all that is done."""
    stacks = blame.stacks
    evaluates = np.array([purpose(name) is Purpose.EVALUATION for name in stacks.names], np.bool_)[stacks.name]
    mine = np.flatnonzero(rows & np.append(with_callees(stacks.parent, np.flatnonzero(evaluates)), False)[blame.node])
    ps, runs_model = int(blame.ps[mine].sum()), _products(blame)[blame.op[mine][blame.op[mine] >= 0]].any()
    if not runs_model or ps >= NEARLY_ALL * blame.ps.sum():
        return []
    node = int(np.flatnonzero(evaluates)[0])
    name = f"${own}" if (own := launched_at(stacks, node)) else stacks.names[stacks.name[node]]
    return [HostGroup(name, "", ps, blame.by_part(mine), mine)]


def helper_groups(blame: HostBlame) -> list[FunctionGroup]:
    """The ops of PyTorch that single functions of the program launch, none of them a matrix product."""
    kinds = [by_name(op.name, op.type) for op in blame.ops]
    eager = np.array([kind.startswith("aten::") and "compiled" not in kind for _, kind in kinds], np.bool_)
    rows = np.flatnonzero((blame.op >= 0) & (blame.node >= 0))
    rows = rows[eager[blame.op[rows]]] if len(rows) else rows
    if not len(rows) or not blame.stacks.own.any():
        return []
    node, which = np.unique(blame.node[rows], return_inverse=True)
    names, of_node = np.unique([launched_at(blame.stacks, one) for one in node.tolist()], return_inverse=True)
    name, ps = of_node.reshape(-1)[which.reshape(-1)], blame.ps[rows]
    matrix = np.array([nature is Nature.MATRIX for nature, _ in kinds], np.bool_)[blame.op[rows]]
    sums = np.asarray(sums_by(name, ps, len(names)), np.int64)
    sums[np.unique(name[matrix])] = 0
    of_rank = np.argsort(-sums, kind="stable")[:MOST_HELPERS].tolist()
    groups = [(str(names[i]), rows[name == i]) for i in of_rank if sums[i] and names[i]]
    found = [HostGroup(name, "", int(blame.ps[mine].sum()), blame.by_part(mine), mine) for name, mine in groups]
    return [replace(_with_ops(blame, group), model_ps=0) for group in found]


def traced_groups(blame: HostBlame, names: OpNamer) -> list[FunctionGroup]:
    """The function with most time in ops of compiled programs, hardly any of them products or calls of libraries; of
    such functions that call each other for nearly all of their time the innermost. None where no model is beside it.
    """
    large, of_op = largest_ops(blame)
    chains = {op: [frame for frame in names.chain(blame.ops[op]) if frame[0]] for op in large.tolist()}
    kinds = {op: names.kind(blame.ops[op]) for op in chains}
    products = {op for op, (nature, kind) in kinds.items() if nature is Nature.MATRIX or kind in _LIBRARY_CALLS}
    inside, product_ps, lines = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[Frame]()
    for op, chain in chains.items():
        for frame in {frame[:2]: frame for frame in chain}.values():
            lines[frame] += int(of_op[op])
            inside[frame[:2]] += int(of_op[op])
            product_ps[frame[:2]] += int(of_op[op]) if op in products else 0
    whole = int(of_op.sum())
    if of_op[list(products)].sum() < LEAST_MODEL * whole:
        return []
    known = {
        one: ps
        for one, ps in inside.items()
        if product_ps[one] <= (1 - NEARLY_ALL) * ps < ps < NEARLY_ALL * whole and not _PARTS_OF_MODELS.search(one[1])
    }
    least = max(NEARLY_ALL * max(known.values(), default=0), 1)
    ways = (frame[:2] for chain in chains.values() for frame in reversed(chain))
    found = next((one for one in ways if known.get(one, 0) >= least), None)
    if found is None:
        return []
    times, mine = Counter[str](), [op for op, chain in chains.items() if any(frame[:2] == found for frame in chain)]
    for op in mine:
        times[kinds[op][1]] += int(of_op[op])
    rows = np.flatnonzero(np.isin(blame.op, mine))
    file, function, line = max((frame for frame in lines if frame[:2] == found), key=lines.__getitem__)
    name = f"${file.rpartition('/')[2]}:{line} {function.replace('.<locals>', '')}"
    most = tuple(kind for kind, _ in times.most_common(3))
    return [FunctionGroup(name, inside[found], blame.by_part(rows), most, inside[found], 0, blame.growth(rows), True)]


def largest_group(blame: HostBlame, parts: Collection[int]) -> HostGroup | None:
    """The largest group of the time in some parts of the budget; None if there is none."""
    rows = (blame.op < 0) & np.isin(blame.part % BETWEEN, list(parts))
    return next(iter(_Functions(blame, rows).groups(1)), None) if rows.any() else None


class _Functions:
    """The tree of the program's own functions that the host runs while devices wait."""

    def __init__(self, blame: HostBlame, rows: Bools) -> None:
        self.blame, self.stacks = blame, blame.stacks
        self.whole = int(blame.ps.sum())
        self.launches = _launching_share(blame) >= MOST
        own = self.stacks.own
        self.own = own if own.any() else np.ones(len(own), np.bool_)
        self.left = np.where(rows, blame.ps, 0)

    def groups(self, most: int) -> list[HostGroup]:
        found: list[HostGroup] = []
        while len(found) < most:
            group = self._largest()
            if group is None:
                break
            found.append(group)
        return sorted(found, key=lambda one: -one.ps)

    def _largest(self) -> HostGroup | None:
        """The largest group of what is left, which it takes away; None if too little is left."""
        own_ps = np.zeros(len(self.stacks.parent), np.int64)
        known = self.left.astype(np.bool_) & (self.blame.node >= 0)
        np.add.at(own_ps, self.blame.node[known], self.left[known])
        total = inclusive(self.stacks.parent, own_ps)
        least = LEAST_GROUP * self.whole
        at = np.flatnonzero(self.stacks.parent == NOWHERE)
        chosen = np.zeros(0, np.int64)
        while True:
            below = self._callees(at, total) if len(chosen) else self._outermost(at)
            ranked = sorted(((int(total[nodes].sum()), nodes) for nodes in below.values()), key=lambda one: -one[0])
            here = int(total[chosen].sum()) if len(chosen) else 0
            rest = here - sum(ps for ps, _ in ranked)
            if not ranked or ranked[0][0] < least:
                break
            splits = len(chosen) > 0 and ranked[0][0] < NEARLY_ALL * here
            # A function that runs the step is no cause: either its own code is, or one that it calls.
            if splits and (not self.launches[chosen].any() or rest >= ranked[0][0]):
                break
            chosen = at = ranked[0][1]
        if not len(chosen):
            return self._outside(least)
        inside = with_callees(self.stacks.parent, chosen)
        if self.launches[chosen].any():
            for nodes in self._callees(chosen, total).values():
                inside[with_callees(self.stacks.parent, nodes)] = False
        return self._take(chosen, inside, own_ps, least)

    def _take(self, chosen: I64, inside: Bools, own_ps: I64, least: float) -> HostGroup | None:
        rows = np.flatnonzero(self.left.astype(np.bool_) & (self.blame.node >= 0))
        rows = rows[inside[self.blame.node[rows]]]
        ps = int(self.left[rows].sum())
        by_part = self.blame.by_part(rows)
        inner, inner_ps, calls = self._inner(chosen, np.where(inside, own_ps, 0), ps)
        self.left[rows] = 0
        if ps < least:
            return None
        name = self.stacks.names[int(self.stacks.name[chosen[0]])]
        return HostGroup(name, inner, ps, by_part, rows, inner_ps, calls=calls)

    def _outside(self, least: float) -> HostGroup | None:
        """What is left outside of the program's functions: the largest call, else what is outside of any."""
        rows = np.flatnonzero(self.left)
        if not self.own.all() and self.left[rows[self.blame.node[rows] >= 0]].sum() >= least:
            self.own = np.ones(len(self.own), np.bool_)
            return self._largest()
        ps = int(self.left[rows].sum())
        by_part = self.blame.by_part(rows)
        self.left[rows] = 0
        return HostGroup("", "", ps, by_part, rows) if ps >= least else None

    def _inner(self, chosen: I64, ps: I64, whole: int) -> tuple[str, int, tuple[str, ...]]:
        """What the chosen functions call for most of a time: the deepest name that has it, its part, and all names."""
        parent, name = self.stacks.parent, self.stacks.name
        total = inclusive(parent, ps)
        below = with_callees(parent, chosen) & (total > LEAST_CALL * whole)
        below[chosen] = False
        nodes = np.flatnonzero(below)
        if not len(nodes):
            return "", 0, ()
        again = np.zeros(len(parent), np.bool_)  # a function that calls itself counts once
        for node in nodes.tolist():
            again[node] = name[node] in {name[one] for one in callers(parent, node)[:MOST_CALLERS]}
        names, which = np.unique(name[nodes], return_inverse=True)
        sums, depth = np.zeros(len(names), np.int64), np.zeros(len(names))
        weight = np.where(again[nodes], 0, total[nodes])
        np.add.at(sums, which.reshape(-1), weight)
        np.add.at(depth, which.reshape(-1), weight * depths(parent)[nodes].astype(np.float64))
        tells = np.array(
            [
                not (launches_only(one) or passes_on(one) or is_unnamed(one))
                for one in map(self.stacks.names.__getitem__, names.tolist())
            ],
            np.bool_,
        )
        most = np.flatnonzero((sums > MOST * whole) & tells)
        calls = tuple(self.stacks.names[one] for one in names[sums > MOST * whole].tolist())
        if not len(most):
            return "", 0, calls
        best = most[int((depth[most] / sums[most]).argmax())]
        return self.stacks.names[int(names[best])], int(sums[best]), calls

    def _outermost(self, at: I64) -> dict[int, I64]:
        return self._named(self._next_own(at))

    def _callees(self, at: I64, total: I64) -> dict[int, I64]:
        """The own functions that nodes call, directly or through libraries, by name."""
        children = np.flatnonzero(np.isin(self.stacks.parent, at) & (total > 0))
        return self._named(self._next_own(children))

    def _next_own(self, at: I64) -> I64:
        """Of nodes and what they call, the first own function on each way."""
        found: list[I64] = []
        while len(at):
            mine = self.own[at]
            found.append(at[mine])
            at = np.flatnonzero(np.isin(self.stacks.parent, at[~mine]))
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _named(self, nodes: I64) -> dict[int, I64]:
        names = self.stacks.name[nodes]
        return {int(name): nodes[names == name] for name in np.unique(names).tolist()}


_LAYERS = re.compile(
    r"torch/(?:nn/modules/\S{1,200} (?:_(?:wrapped_)?call_impl|forward)\Z"
    r"|optim/|_tensor\.py:\d+ backward|autograd/|_dynamo/)"
)
"""Functions of PyTorch inside of which the model, its backward pass and the optimizer run: not those that make it."""
_OF_MODEL = re.compile(r"/|Backward\d*\Z|^Optimizer\.")
"""Ops of layers, whose names begin with those of the modules around them, of the backward pass and the optimizer."""


def _inside(parent: I64, marked: Bools) -> Bools:
    """The nodes that a marked one calls, directly or not."""
    inside = with_callees(parent, np.flatnonzero(marked))
    above = with_callees(parent, np.flatnonzero(inside & np.append(inside, False)[parent]))
    return above


def _launches(name: str) -> bool:
    return activity(name) is Activity.LAUNCH


def _launching_share(blame: HostBlame) -> F64:
    """Per call, the share of the time of launching, and of the ops that calls launch one by one, within it."""
    parent = blame.stacks.parent
    by_name = np.array([_launches(name) for name in blame.stacks.names], np.bool_)
    launching = np.where(by_name[blame.stacks.name], inclusive(parent, blame.thread_ps), 0)
    launching[_inside(parent, launching > 0)] = 0
    launched = np.flatnonzero((blame.op >= 0) & (blame.node >= 0))
    np.add.at(launching, blame.node[launched], blame.ps[launched])
    share: F64 = inclusive(parent, launching) / max(int(launching.sum()), 1)
    return share


_STEP = re.compile(r"(?:one|multi)_step_on_(?:data|iterator)|(?:train|test|predict)_function\Z|(?:\w+: )?__inference_")
"""Functions of TensorFlow and Keras that run a step."""


def launches_only(name: str) -> bool:
    """Whether a call is one of a runtime that launches work, or all of a step, without telling which."""
    return (_launches(name) and ": " not in name and "(" not in name) or _STEP.match(name) is not None
