"""What the main thread of a host did: its tree of calls, what each is for, and whose function it is in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import NO_OP, HostBlame
from tpu_profile_plugin.analysis.blame.host_groups import MOST, NEARLY_ALL, largest_group
from tpu_profile_plugin.analysis.blame.stacks import AFTER, NOWHERE, Stacks, depths, inclusive, stacks_of, with_callers
from tpu_profile_plugin.analysis.budget.categories import IDLE_HOST
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.budget.other_threads import OtherThreads
from tpu_profile_plugin.analysis.budget.purpose import RUNTIME, Purpose, purposes
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.common.spans import Times, contains, times_of
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.columns.arrays import I64, U8, Bools

_ENTERS = (Activity.COMPILE, Activity.TRANSFER, Activity.UPLOAD, Activity.LAUNCH)


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The main thread's calls; arrays of m + 1 are by node of the tree, the last entry stands for `NOWHERE`.

    Attributes:
      main, stacks: the thread, and its calls.
      purpose: what the outermost call around each node that tells it is for; tells: that call's node.
      function: the program's innermost function around each node, itself included; outermost: its outermost; `NOWHERE`
        without one.
      runtime: the call, or what it calls, enters the runtime.
    """

    main: MainThread
    stacks: Stacks
    purpose: U8
    tells: I64
    function: I64
    outermost: I64
    runtime: Bools

    def name(self, node: int) -> str:
        """The name of a node, "" of `NOWHERE`."""
        return self.stacks.names[int(self.stacks.name[node])] if node >= 0 else ""

    def most(self, nodes: I64, ps: I64) -> tuple[str, int]:
        """The name that most of some time is in, and how much that is; `NOWHERE` has none."""
        known = nodes >= 0
        if not known.any():
            return "", 0
        sums = sums_by(self.stacks.name[nodes[known]], ps[known], len(self.stacks.names))
        return self.stacks.names[int(sums.argmax())], int(sums.max())

    def marked(self, nodes: I64) -> Bools:
        """bool[m + 1]: these nodes."""
        marks = np.zeros(len(self.function), np.bool_)
        marks[nodes[nodes >= 0]] = True
        return marks

    def inclusive(self, nodes: I64, ps: I64) -> I64:
        """int64[m + 1]: of time at some nodes, what each has with all that it calls."""
        own = np.zeros(len(self.function), np.int64)
        np.add.at(own, nodes, ps)
        return np.append(inclusive(self.stacks.parent, own[:-1]), own[-1])

    def parent(self, nodes: I64) -> I64:
        """The callers of some nodes."""
        return np.append(self.stacks.parent, NOWHERE)[nodes]

    def times(self, nodes: Bools) -> Times:
        """When the innermost call was one of these nodes, bool[m + 1]."""
        keep = nodes[self.stacks.node]
        return times_of(self.stacks.begin_ps, self.stacks.end_ps, keep) if len(keep) else times_of(*_EMPTY)

    def per_step(self, name: str, steps: Times) -> float:
        """How often a function or event begins per step."""
        if name not in self.main.names or not len(steps[0]):
            return 0.0
        row, levels = self.main.names.index(name), self.main.levels
        begins = [begin[of == row] for begin, of in zip(levels.begin_ps, levels.name, strict=True)]
        return sum(int(contains(steps, begin).sum()) for begin in begins) / len(steps[0])

    def calling(self, points: I64) -> str:
        """The program's innermost function around nearly all of some points in time, else the outermost around half."""
        nodes = self.stacks.at(points) if len(points) else points
        inside = self.inclusive(*np.unique(nodes, return_counts=True))[:-1]
        around = np.flatnonzero((inside >= NEARLY_ALL * max(len(points), 1)) & self.stacks.own)
        if len(around):
            return self.name(int(around[-1]))  # callers come before what they call
        name, count = self.most(self.outermost[nodes], np.ones(len(nodes), np.int64))
        return name if 2 * count >= len(points) else ""


_EMPTY = np.zeros(0, np.int64), np.zeros(0, np.int64)


def main_thread_of(host: HostView) -> MainThread:
    """The main thread of a host with steps, of its devices or its own."""
    steps = host.shown.steps
    assert steps is not None
    return host.reader.main(int(steps.begin_ps.min()), int(steps.end_ps.max()), steps.evidence)


@once
def other_threads(host: HostView) -> OtherThreads:
    """The Python functions beside those of the main thread."""
    assert host.plane is not None
    return OtherThreads.of(host.space, host.plane, host.reader.time.main)


@once
def calls_of(host: HostView) -> Calls:
    """The calls of a host with steps."""
    main = main_thread_of(host)
    known = host.blame.stacks
    return tree_of(main, known if len(known.node) else stacks_of(main), {one.name for one in host.summary.functions})


def tree_of(main: MainThread, stacks: Stacks, functions: Collection[str] = ()) -> Calls:
    """The calls of a thread; `functions` are names of tf.functions, calls of which launch their ops."""
    count, parent = len(stacks.parent), stacks.parent
    rows, of_node = np.unique(stacks.name, return_inverse=True)
    names = [stacks.names[row] for row in rows.tolist()]
    what = purposes(["" if name.startswith(AFTER) else name for name in names])
    what[[name in functions for name in names]] = Purpose.LAUNCH
    enters = np.array(
        [(activity(name) in _ENTERS or name in functions) and not name.startswith(AFTER) for name in names], np.bool_
    )
    own = stacks.user[rows] & ~np.array([name.endswith(">") for name in names], np.bool_)
    what, own = what[of_node.reshape(-1)], own[of_node.reshape(-1)]
    runtime = np.append(with_callers(parent, enters[of_node.reshape(-1)]), np.False_)
    purpose = np.zeros(count + 1, np.uint8)
    tells, function, outermost = (np.full(count + 1, NOWHERE) for _ in range(3))
    depth = depths(parent)
    for level in range(int(depth.max(initial=-1)) + 1):
        nodes = np.flatnonzero(depth == level)
        around, mine = parent[nodes], what[nodes]
        better = (mine != Purpose.UNKNOWN) & _tells_more(mine, purpose[around])
        purpose[nodes] = np.where(better, mine, purpose[around])
        tells[nodes] = np.where(better, nodes, tells[around])
        function[nodes] = np.where(own[nodes], nodes, function[around])
        outermost[nodes] = np.where(own[nodes] & (outermost[around] < 0), nodes, outermost[around])
    return Calls(main, stacks, purpose, tells, function, outermost, runtime)


def _tells_more(inner: U8, outer: U8) -> Bools:
    """Whether a call with a known purpose within another tells what the program does."""
    runtime, weak = tuple(RUNTIME), (*RUNTIME, Purpose.EVALUATION)
    collects = (inner == Purpose.COLLECTION) & (outer != Purpose.COLLECTION)
    within = (outer == Purpose.EVALUATION) & ~np.isin(inner, (*weak, Purpose.INPUT))
    more: Bools = collects | within | (outer == Purpose.UNKNOWN) | (np.isin(outer, runtime) & ~np.isin(inner, runtime))
    return more


@dataclass(frozen=True, slots=True, eq=False)
class NamedPart:
    """What most of some time is.

    Attributes:
      purpose: what it is for.
      name: the call that tells the purpose, else the function behind most of it; "" if nothing is known of the code.
      place: the program's function that made the call, "" if unknown, or if `name` is the program's own.
      inner: the deepest call with most of it; inner_ps: the part of it in that call.
      nodes: bool[m + 1], the calls that it is in; ps: their time.
    """

    purpose: Purpose
    name: str
    place: str
    inner: str
    nodes: Bools
    ps: int
    inner_ps: int = 0


def blame_of_calls(host: HostView) -> HostBlame:
    """The blame of a host by nodes of `calls_of`: where devices are hardly idle, it did not read the main thread."""
    blame, stacks = host.blame, calls_of(host).stacks
    if blame.stacks is stacks:
        return blame
    return replace(blame, stacks=stacks, thread_ps=np.zeros(len(stacks.parent), np.int64))


def named_part(host: HostView, node: I64, ps: I64, silent: Collection[Purpose], least: float = MOST) -> NamedPart:
    """The function of the program that most of some time is in, unless more of it has one purpose.

    Args:
      host: the host.
      node, ps: the calls of its main thread, and the time in each.
      silent: purposes that tell less than the name of a function.
      least: share of the function's time from which a purpose in it tells.
    """
    calls = calls_of(host)
    after = np.array([name.startswith(AFTER) for name in calls.stacks.names], np.bool_)
    inside = node >= 0
    inside[inside] = ~after[calls.stacks.name[node[inside]]]
    blame, count = blame_of_calls(host), int(inside.sum())
    part, op = np.full(count, IDLE_HOST), np.full(count, NO_OP)
    blame = replace(blame, part=part, op=op, node=node[inside], ps=ps[inside])
    group = largest_group(blame, (IDLE_HOST,))
    sums = sums_by(calls.purpose[node], ps, len(Purpose))
    sums[list(silent)] = 0
    outside = int(ps[~inside].sum())
    if group is None or outside > max(group.ps, int(sums.max())):
        return NamedPart(Purpose.UNKNOWN, "", "", "", calls.marked(node[:0]), outside)
    of_group = sums_by(calls.purpose[blame.node[group.rows]], blame.ps[group.rows], len(sums))
    of_group[list(silent)] = 0
    told = of_group if of_group.max() > least * group.ps else sums
    if told.max() > (least * group.ps if told is of_group else group.ps):
        return _of_purpose(calls, Purpose(int(told.argmax())), node, ps)
    nodes = calls.marked(blame.node[group.rows])
    return NamedPart(
        Purpose.UNKNOWN, group.name, "", group.inner or group.name, nodes, group.ps, group.inner_ps or group.ps
    )


def _of_purpose(calls: Calls, told: Purpose, node: I64, ps: I64) -> NamedPart:
    rows = np.flatnonzero(calls.purpose[node] == told)
    tells = calls.tells[node[rows]]
    name, _ = calls.most(tells, ps[rows])
    named = rows[np.array([calls.name(one) == name for one in tells.tolist()], np.bool_)]
    place, _ = calls.most(calls.function[calls.parent(calls.tells[node[named]])], ps[named])
    inner, inner_ps = calls.most(node[named], ps[named])
    around = place or calls.main.around
    whole = int(ps[rows].sum())
    return NamedPart(told, name, "" if around == name else around, inner, calls.marked(node[rows]), whole, inner_ps)
