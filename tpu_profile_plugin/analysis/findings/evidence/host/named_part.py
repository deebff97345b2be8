"""What most of some time of the main thread is: the call that tells what it is for, else the program's function."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import NO_OP
from tpu_profile_plugin.analysis.blame.host_groups import MOST, largest_group
from tpu_profile_plugin.analysis.blame.stacks import AFTER
from tpu_profile_plugin.analysis.budget.categories import IDLE_HOST
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls, calls_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64, Bools


@dataclass(frozen=True, slots=True, eq=False)
class NamedPart:
    """What most of some time is.

    Attributes:
      purpose: what it is for.
      name: the call that tells the purpose, else the function behind most of it; "" if nothing is known of the code.
      place: the program's function that made the call, "" if unknown, or if `name` is the program's own.
      inner: the deepest call that most of it is in.
      nodes: bool[m + 1], the calls that it is in; ps: their time.
    """

    purpose: Purpose
    name: str
    place: str
    inner: str
    nodes: Bools
    ps: int


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
    blame, count = host.blame, int(inside.sum())
    if blame.stacks is not calls.stacks:  # devices are hardly idle: what the thread launches was not asked for
        blame = replace(blame, stacks=calls.stacks, thread_ps=np.zeros(len(calls.stacks.parent), np.int64))
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
    return NamedPart(Purpose.UNKNOWN, group.name, "", group.inner or group.name, nodes, group.ps)


def _of_purpose(calls: Calls, told: Purpose, node: I64, ps: I64) -> NamedPart:
    rows = np.flatnonzero(calls.purpose[node] == told)
    tells = calls.tells[node[rows]]
    name, _ = calls.most(tells, ps[rows])
    named = rows[np.array([calls.name(one) == name for one in tells.tolist()], np.bool_)]
    place, _ = calls.most(calls.function[calls.parent(calls.tells[node[named]])], ps[named])
    inner, _ = calls.most(node[named], ps[named])
    around = place or calls.main.around
    whole = int(ps[rows].sum())
    return NamedPart(told, name, "" if around == name else around, inner, calls.marked(node[rows]), whole)
