"""The graph of a run and its replay: hosts joined by the collectives that they take part in, steps, binding paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.devices.across_hosts import clock_offsets, match_hosts
from tpu_profile_plugin.analysis.replay.host_graph import HostGraph, Why
from tpu_profile_plugin.columns.arrays import F64, I64, U8, U32, Bools


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Collectives that several devices took part in.

    Attributes:
      names: of collectives; name: int64[j], of each.
      node: int64[j], the node of each: from when the last device takes part to the end of the transfer.
      instance, device, arrival, leave: int64[k] per device that takes part: index of the collective, number of the
        device in the run, the node that ends when it takes part, and the node in which it waits, -1 without one.
    """

    names: tuple[str, ...]
    name: I64
    node: I64
    instance: I64
    device: I64
    arrival: I64
    leave: I64


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """A replay: `end` and `binding` edge (-1 for none) per node, `duration` as replayed; steps as `step_times`."""

    end: I64
    binding: I64
    duration: I64
    begins: I64
    ends: I64


@dataclass(frozen=True, eq=False)
class Graph:
    """The dependencies of a run.

    Attributes:
      hosts: with devices; budget: of the run, whose steps are replayed.
      new: per host, the number of each of its nodes here, where sources come before what depends on them.
      begin_ps, end_ps, delay_ps, duration_ps: per node as recorded, on the first host's clock; a node begins `delay_ps`
        after the latest of its edges.
      host, chain: per node; of a collective -1.
      shift_ps: per host, what was added to its times.
      start, source, lag_ps, why: edges, those of one node in a row from `start`.
      meetings: collectives of several devices.
    """

    hosts: tuple[HostGraph, ...]
    budget: RunBudget
    new: tuple[I64, ...]
    begin_ps: I64
    end_ps: I64
    delay_ps: I64
    duration_ps: I64
    host: I64
    chain: I64
    shift_ps: tuple[int, ...]
    start: I64
    source: U32
    lag_ps: I64
    why: U8
    meetings: Meetings

    def __len__(self) -> int:
        return len(self.end_ps)

    @cached_property
    def first_device(self) -> list[int]:
        """The number in the run of each host's first device."""
        return [0, *np.cumsum([len(host.devices) for host in self.hosts]).tolist()]

    @cached_property
    def recorded(self) -> Replayed:
        """The replay without edits."""
        return self.replay(self.duration_ps)

    def replay(self, duration_ps: I64, lag_ps: I64 | None = None, cut: Bools | None = None) -> Replayed:
        """Replays with other durations of nodes and lags of edges, and without edges that `cut` marks."""
        lag = self.lag_ps if lag_ps is None else lag_ps
        end, binding = _native.replay((self.start, self.source, lag), self.delay_ps, duration_ps, cut)
        times = [
            self._bounds(i, end, duration_ps, rows) for i, rows in zip(range(len(self.hosts)), self.rows, strict=True)
        ]
        begins, ends = (np.concatenate([time[:, :, side] for time in times], axis=1) for side in (0, 1))
        return Replayed(end, binding, duration_ps, begins, np.maximum(ends, begins))

    @cached_property
    def rows(self) -> list[I64]:
        """Per host, which of its steps are those of the run."""
        return [np.asarray(rows) for rows in self.budget.rows]

    def _bounds(self, host: int, end: I64, duration: I64, rows: I64) -> I64:
        """int64[s, d, 2]: begins and ends of a host's steps."""
        bounds, new = self.hosts[host].bounds, self.new[host]
        node, after = bounds.node[rows], bounds.after[rows]
        at = new[np.maximum(node, 0)]
        time = end[at] + bounds.offset_ps[rows] - np.where(bounds.at_begin[rows], duration[at], 0)
        return np.where(after >= 0, np.maximum(time, end[new[np.maximum(after, 0)]]), time)

    def of_steps_ps(self, found: Replayed) -> F64:
        """float64[s]: each step, or the time until the next if the budget counts that, averaged over devices."""
        length = (found.ends - found.begins).astype(np.float64)
        if self.even:
            length[:] = (found.ends[-1] - found.begins[0]) / len(length)
        elif self.budget.between_step_ps and len(length) > 1:
            length[:-1] = found.begins[1:] - found.begins[:-1]
        takes = self.budget.takes_part
        mean: F64 = np.where(takes, length, 0).sum(axis=1) / np.maximum(takes.sum(axis=1), 1)
        return mean

    def mean_ps(self, found: Replayed) -> float:
        """The average step, with the time until the next if the budget counts that."""
        takes, budget = self.budget.takes_part, self.budget
        if not budget.cells:
            return 0.0
        whole, steps = found.ends[-1] - found.begins[0], (found.ends - found.begins)
        if self.even:
            return float(whole[takes.any(axis=0)].mean()) / len(steps)
        mean = float(np.where(takes, steps, 0).sum()) / budget.cells
        if budget.between_step_ps:
            mean += float((whole - steps.sum(axis=0))[takes.any(axis=0)].sum()) / max(budget.gaps, 1)
        return mean

    @cached_property
    def target(self) -> I64:
        """The node that each edge leads to."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def even(self) -> bool:
        """Whether the whole time is divided evenly, so that only its begin and end are times of the program."""
        return "dispatch" in self.budget.sources

    def last_node(self, found: Replayed) -> int:
        """The node with which the last step ends on the device that is the last to end it."""
        device = int(np.where(self.budget.takes_part[-1], found.ends[-1], np.iinfo(np.int64).min).argmax())
        host = int(np.searchsorted(self.first_device, device, side="right")) - 1
        bounds = self.hosts[host].bounds
        cell = (self.rows[host][-1], device - self.first_device[host], 1)
        nodes = [int(self.new[host][node]) for node in (bounds.node[cell], bounds.after[cell]) if node >= 0]
        return max(nodes, key=lambda node: int(found.end[node]))

    def path(self, found: Replayed) -> I64:
        """The nodes that determine when the last step ends, in order."""
        nodes = _native.binding_path(self.source, found.binding, self.last_node(found))
        return nodes[::-1]


def graph_of(hosts: Sequence[HostGraph], budget: RunBudget) -> Graph:
    """The graph of a run from those of its hosts with devices, in the order of `budget.hosts`."""
    sizes = [len(host.end_ps) for host in hosts]
    first = np.cumsum([0, *sizes])
    runs = [host.runs for host in hosts]
    offsets = clock_offsets(runs) if len(hosts) > 1 else (None,)
    shift = [0 if offset is None else offset.offset_ps for offset in offsets]
    joined = match_hosts(runs, offsets).runs
    begin, end = (
        np.concatenate([getattr(host, name) + moved for host, moved in zip(hosts, shift, strict=True)])
        for name in ("begin_ps", "end_ps")
    )
    waits = np.concatenate([host.waits for host in hosts])
    kept = [i for i in range(len(hosts)) if not i or offsets[i] is not None]
    arrival, leave = (
        np.concatenate([np.where(node >= 0, node + first[i], -1) for i in kept for node in (getattr(hosts[i], name),)])
        for name in ("arrival", "leave")
    )
    members = np.flatnonzero((joined.instance >= 0) & (arrival[joined.source] >= 0))
    instance, device, key = (column[members] for column in (joined.instance, joined.device, joined.key))
    arrival, leave = arrival[joined.source[members]], leave[joined.source[members]]
    meetings, columns, edges = _meet((instance, device, key), (arrival, leave), end, joined.end_ps[members])
    waits[meetings.leave[meetings.leave >= 0]] = True
    for moved, host in enumerate(hosts):
        edges.append((host.target + first[moved], host.source + first[moved], host.lag_ps, host.why.astype(np.int64)))
    begin, end = np.concatenate([begin, columns[0]]), np.concatenate([end, columns[1]])
    waits = np.append(waits, np.zeros(len(columns[0]), np.bool_))
    of_host = np.concatenate([np.repeat(np.arange(len(hosts)), sizes), np.full(len(columns[0]), -1)])
    chain = np.concatenate([*(one.chain for one in hosts), np.full(len(columns[0]), -1)])
    # Of equal ends, collectives come after what arrives and before what waits for them.
    order = np.lexsort((np.where(waits, 2, chain < 0), end))
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    target, source, lag, why = (np.concatenate(column) for column in zip(*edges, strict=True))
    target, source = new[target], new[source]
    begin, end, waits = begin[order], end[order], waits[order]
    ready = np.where(waits, end, begin)
    by = np.flatnonzero((source < target) & (end[source] + lag <= ready[target]))
    by = by[np.argsort(target[by], kind="stable")]
    target, source, lag = target[by], source[by], lag[by]
    start = np.searchsorted(target, np.arange(len(end) + 1))
    latest = np.zeros(len(end), np.int64)
    some = start[1:] > start[:-1]
    if some.any():
        latest[some] = np.maximum.reduceat(end[source] + lag, start[:-1][some])
    return Graph(
        tuple(hosts),
        budget,
        new=tuple(new[since:until] for since, until in pairwise(first.tolist())),
        begin_ps=begin,
        end_ps=end,
        delay_ps=ready - latest,
        duration_ps=np.where(waits, 0, end - begin),
        host=of_host[order],
        chain=chain[order],
        shift_ps=tuple(shift),
        start=start.astype(np.int64),
        source=source.astype(np.uint32),
        lag_ps=lag,
        why=why[by].astype(np.uint8),
        meetings=Meetings(
            tuple(one.name for one in joined.keys),
            meetings.name,
            new[meetings.node],
            meetings.instance,
            meetings.device,
            new[meetings.arrival],
            np.where(meetings.leave >= 0, new[np.maximum(meetings.leave, 0)], -1),
        ),
    )


def _meet(
    runs: tuple[I64, I64, I64], nodes: tuple[I64, I64], end: I64, ends: I64
) -> tuple[Meetings, tuple[I64, I64], list[tuple[I64, I64, I64, I64]]]:
    """The collectives in which no device is done before the last takes part: their nodes, and edges to and from them.

    `runs` are instance, device and key of each, `nodes` the arrivals and leaves, `end` is of all nodes, `ends` when
    each device is done.
    """
    (instance, device, key), (arrival, leave) = runs, nodes
    code, first = row_codes(instance) if len(instance) else (instance, instance)
    last = np.full(len(first), np.iinfo(np.int64).min)
    done = np.full(len(first), np.iinfo(np.int64).max)
    np.maximum.at(last, code, end[arrival])
    np.minimum.at(done, code, ends)
    several = np.bincount(code, minlength=len(first)) > 1
    good = several & (done > last)
    number = np.cumsum(good) - 1
    members = np.flatnonzero(good[code]) if len(code) else code
    code = number[code[members]] if len(members) else members
    arrival, leave = arrival[members], leave[members]
    node = len(end) + np.arange(int(good.sum()))
    edges = [(node[code], arrival, np.zeros(len(code), np.int64), np.full(len(code), Why.MEETING))]
    away = leave >= 0
    after = end[np.maximum(leave, 0)] - done[good][code] if len(code) else code
    edges.append((leave[away], node[code][away], after[away], np.full(int(away.sum()), Why.MEETING)))
    meetings = Meetings((), key[first[good]], node, code, device[members], arrival, leave)
    return meetings, (last[good], done[good]), edges
