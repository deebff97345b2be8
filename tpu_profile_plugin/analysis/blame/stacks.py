"""What the main thread did: a tree of calls by name, and when which of them was the innermost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.budget.host_names import is_unnamed
from tpu_profile_plugin.analysis.budget.host_time import MOST_LEVELS, MainThread
from tpu_profile_plugin.analysis.common.rows import no_rows, row_codes, sums_by
from tpu_profile_plugin.analysis.common.spans import Times, cut, subtract
from tpu_profile_plugin.columns.arrays import I64, Bools

_ENDS, _OP = re.compile("Delete|Destroy|Free|Release"), re.compile(r"Execute: (?!Identity)\w")
NOWHERE = -1
"""The node of time in no call, and of what no call launched."""


@dataclass(frozen=True, slots=True, eq=False)
class Stacks:
    """The calls of one thread; times in picoseconds on the host's axis.

    Attributes:
      begin_ps, end_ps, node: int64[n], disjoint ascending spans and the innermost call in each, a node of the tree.
      parent: int64[m], the calling node, `NOWHERE` for outermost calls; callers come before what they call.
      name: int64[m], index into `names`.
      names: of calls.
      user: bool per name, a frame of the program's own code.
      after: int64[n], the node that stands for time in no call after each span; `NOWHERE` where functions tell more.
    """

    begin_ps: I64 = field(default_factory=no_rows)
    end_ps: I64 = field(default_factory=no_rows)
    node: I64 = field(default_factory=no_rows)
    parent: I64 = field(default_factory=no_rows)
    name: I64 = field(default_factory=no_rows)
    names: tuple[str, ...] = ()
    user: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    after: I64 = field(default_factory=no_rows)

    @property
    def own(self) -> Bools:
        """Per node, whether it is a function of the program with a name of its own."""
        named = self.user & np.array([not is_unnamed(name) for name in self.names], np.bool_)
        own: Bools = named[self.name]
        return own

    def at(self, points: I64) -> I64:
        """The innermost call at each point in time, `NOWHERE` outside of calls."""
        row = np.searchsorted(self.begin_ps, points, side="right") - 1
        inside = (row >= 0) & (points < np.append(self.end_ps, 0)[row])
        found: I64 = np.where(inside, np.append(self.node, NOWHERE)[row], NOWHERE)
        return found

    def innermost_ps(self, since: int, until: int) -> I64:
        """Per node how long it is the innermost call between two moments."""
        total = np.zeros(len(self.parent), np.int64)
        next_ps = np.append(self.begin_ps[1:], until)[: len(self.end_ps)]
        for begin, end, node in ((self.begin_ps, self.end_ps, self.node), (self.end_ps, next_ps, self.after)):
            ps = np.minimum(end, until) - np.maximum(begin, since)
            rows = np.flatnonzero((ps > 0) & (node >= 0))
            np.add.at(total, node[rows], ps[rows])
        return total

    def within(self, times: Times, group: I64 | None = None) -> tuple[I64, I64, I64]:
        """The nodes in a set of time, how long each is the innermost, and in which group; `NOWHERE` for the rest of it.

        Args:
          times: the set.
          group: of each span of the set, a small number; one group by default.

        Returns:
          Node, group and time of each distinct pair of node and group.
        """
        of = np.zeros(len(times[0]), np.int64) if group is None else group
        times = np.ascontiguousarray(times[0]), np.ascontiguousarray(times[1])
        row, at, ps = _native.overlaps((self.begin_ps, self.end_ps), times)
        begin, end = cut(subtract(times, (self.begin_ps, self.end_ps)), times[0])
        between = np.append(self.after, NOWHERE)[np.searchsorted(self.end_ps, begin, side="right") - 1]
        span = np.searchsorted(times[0], begin, side="right") - 1
        node, of = np.concatenate([self.node[row], between]), np.concatenate([of[at], of[span]])
        code, first = row_codes(node, of)
        sums = np.asarray(sums_by(code, np.concatenate([ps, end - begin]), len(first)), np.int64)
        return node[first], of[first], sums


AFTER = "after "
"""Begin of the name of time in no call, which goes on with the name of the call before it."""


def stacks_of(main: MainThread) -> Stacks:
    """The stacks of the main thread."""
    levels = main.levels
    if not levels.begin_ps:
        return Stacks(names=main.names, user=main.user)
    first, last, which = (np.concatenate(part) for part in (levels.begin_ps, levels.end_ps, levels.name))
    begin, end, node, parent, name = _native.thread_stacks(first, last, which, MOST_LEVELS)
    if main.traced:
        return Stacks(begin, end, node, parent, name, main.names, main.user, np.full(len(node), NOWHERE))
    # Without functions the last call before a gap is all that tells where the program is.
    before, which = np.unique(name, return_inverse=True)
    names = (*main.names, *(AFTER + main.names[row] for row in before.tolist()))
    telling = _telling(main.names, parent, name)
    last = np.maximum.accumulate(np.where(telling[node], np.arange(len(node)), -1))
    return Stacks(
        begin,
        end,
        node,
        np.append(parent, np.full(len(before), NOWHERE)),
        np.append(name, len(main.names) + np.arange(len(before))),
        names,
        np.append(main.user, np.zeros(len(before), np.bool_)),
        np.where(last >= 0, len(parent) + which.reshape(-1)[node[last]], NOWHERE),
    )


def _telling(names: tuple[str, ...], parent: I64, name: I64) -> Bools:
    """Per node, whether it tells where the program is: ops by name, else outermost calls that do not clean up."""
    ops, ends = (np.array([what.search(one) is not None for one in names], np.bool_)[name] for what in (_OP, _ENDS))
    telling: Bools = ops if ops.any() else (parent == NOWHERE) & ~ends
    return telling


def depths(parent: I64) -> I64:
    """How many calls are around each node."""
    depth, above = np.zeros(len(parent), np.int64), parent
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parent[above], NOWHERE)
    return depth


def inclusive(parent: I64, ps: I64) -> I64:
    """Per node its own time and that of all that it calls."""
    total: I64 = ps.copy()
    depth = depths(parent)
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.add.at(total, parent[nodes], total[nodes])
    return total


def with_callers(parent: I64, marked: Bools) -> Bools:
    """The marked nodes and those that call them."""
    return inclusive(parent, marked.astype(np.int64)) > 0


def closest(parent: I64, marked: Bools) -> I64:
    """Per node the innermost marked one of itself and its callers, `NOWHERE` without one."""
    found = np.where(marked, np.arange(len(parent)), NOWHERE)
    depth = depths(parent)
    for level in range(1, int(depth.max(initial=0)) + 1):
        at = np.flatnonzero((depth == level) & ~marked)
        found[at] = found[parent[at]]
    return found


def with_callees(parent: I64, nodes: I64) -> Bools:
    """Some nodes and all that they call."""
    marked = np.zeros(len(parent), np.bool_)
    marked[nodes] = True
    inside: Bools = closest(parent, marked) >= 0
    return inside


def callers(parent: I64, node: int) -> list[int]:
    """The calls around a node, the innermost first, without itself."""
    found: list[int] = []
    while (node := int(parent[node])) >= 0:
        found.append(node)
    return found


def launched_at(stacks: Stacks, node: int) -> str:
    """The program's own function that launched something, one with a name if there is one; "" if unknown."""
    unnamed = ""
    while node >= 0:
        name = stacks.names[int(stacks.name[node])]
        if stacks.user[stacks.name[node]] and not is_unnamed(name):
            return name.removeprefix("$")
        if stacks.user[stacks.name[node]]:
            unnamed = unnamed or name.removeprefix("$")
        node = int(stacks.parent[node])
    return unnamed
