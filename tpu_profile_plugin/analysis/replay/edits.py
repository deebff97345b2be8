"""What is taken away or scaled before a replay: the names of places, and how much shorter each node becomes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import parse_op
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.reasons import NO_LAUNCHES
from tpu_profile_plugin.analysis.common.spans import Times, contains, covered_within, join, no_time, times_of
from tpu_profile_plugin.analysis.devices.collectives import key_of
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Op, Work
from tpu_profile_plugin.analysis.replay.equal_ranks import equal_ranks
from tpu_profile_plugin.analysis.replay.graph import Graph, Replayed
from tpu_profile_plugin.analysis.replay.host_graph import MAIN, HostGraph, Why
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.errors import NotFound

_FRAME = re.compile(r"\$(?P<place>(?:.*/)?(?P<file>[^ :/]+):(?P<line>\d+)) (?P<function>.+)\Z", re.DOTALL)
_NUMBER = re.compile(r"(?:\.\d{1,20}){1,16}\Z")
_NEAR_NAMES = 5
_MOST_SHARES = 64
"""If runs keep more different shares of their time, as of equal ranks, shares are told to 1% of the time."""

OpNames = Callable[[Op], Iterable[str]]
"""The names by which an op is found: its own, its kind, its program's, its source line."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What changes; several parts add up.

    Attributes:
      scale: (place, factor): the time of a place times a factor, 0 to leave it out. A place is a Python function
        `file.py:line name`, its line or its name, another event of the host, an op, a kind of op, a program `module`
        or `module(id)`, or a line of source. What a place of the host launches is scaled as well.
      hide_collectives: collectives take no time beyond waits for devices.
      ranks_equal: what devices do is spread evenly over them: each op takes the mean of all devices.
      input_free: waits for input, and copies to devices, take no time.
    """

    scale: tuple[tuple[str, float], ...] = ()
    hide_collectives: bool = False
    ranks_equal: bool = False
    input_free: bool = False


def names_of_event(name: str) -> tuple[str, ...]:
    """The names by which a host event is found."""
    match = _FRAME.match(name)
    if match is None:
        kind = parse_op(name).type
        return (name, kind, kind.rpartition("/")[2]) if kind else (name,)
    file, line, function = match["file"], match["line"], match["function"]
    return (name, name[1:], match["place"], function, f"{file}:{line}", f"{file}:{line} {function}")


def kind_of(op: Op) -> str:
    """What an op is called without its number, and without the modules of PyTorch around it."""
    return kind_of_name(op.name)


def kind_of_name(name: str) -> str:
    """The same of its name."""
    last = name if "(" in name or "<" in name else name.rpartition("/")[2]
    return _NUMBER.sub("", name if last.isdigit() else last)


def names_of_op(op: Op, program: str = "", opcode: str = "", source: str = "") -> tuple[str, ...]:
    """The names by which an op is found; `program` is `module(id)`, `source` is `path:line`."""
    names = [op.name, op.collective, opcode, kind_of(op), program, program.partition("(")[0], source]
    return tuple(name for name in (*names, source.rpartition("/")[2]) if name)


@dataclass(frozen=True, slots=True, eq=False)
class Shorter:
    """How a graph changes.

    Attributes:
      least, most: float64 per node, the share of its time that stays; the same array if there is no interval.
      lag_ps: of edges; cut: edges that do not count.
      threads: per host and thread's chain what is taken from it; runs: per host and content what each run keeps.
    """

    least: F64
    most: F64
    lag_ps: I64
    cut: Bools | None
    threads: tuple[Mapping[int, Rate], ...]
    runs: tuple[tuple[F64, ...], ...]

    def replay(self, graph: Graph) -> tuple[Replayed, Replayed]:
        """With the least and the most that stays."""
        share = [self.least] if self.least is self.most else [self.least, self.most]
        found = [
            graph.replay(np.rint(graph.duration_ps * kept).astype(np.int64), self.lag_ps, self.cut) for kept in share
        ]
        return found[0], found[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Rate:
    """The share of time that is taken away, constant from each point of time to the next; 0 before and after."""

    points: I64
    rate: F64

    def within(self, begin: I64, end: I64) -> F64:
        """The time that is taken away in each span."""
        if not len(self.points):
            return np.zeros(len(begin))
        first = self.points[0]
        gone = np.append(0.0, np.cumsum(self.rate[:-1] * np.diff(self.points)))
        points = (self.points - first).astype(np.float64)
        taken: F64 = np.interp((end - first).astype(np.float64), points, gone) - np.interp(
            (begin - first).astype(np.float64), points, gone
        )
        return taken

    def kept(self, begin: I64, end: I64) -> F64:
        """The share of each span that stays."""
        share: F64 = 1 - self.within(begin, end) / np.maximum(end - begin, 1)
        return share

    def at(self, points: I64) -> F64:
        index = np.searchsorted(self.points, points, side="right") - 1
        return np.where(index >= 0, np.append(self.rate, 0.0)[index], 0.0)


def both(first: Rate, second: Rate) -> Rate:
    """What is left of what the first leaves."""
    if not len(first.points) or not len(second.points):
        return first if len(first.points) else second
    points = np.union1d(first.points, second.points)
    return Rate(points, 1 - (1 - first.at(points)) * (1 - second.at(points)))


NOTHING = Rate(np.zeros(0, np.int64), np.zeros(0))


def _rate_of(times: Times, factor: float) -> Rate:
    """Of disjoint spans."""
    points = np.stack(times, axis=1).reshape(-1)
    return Rate(points, np.tile([1 - factor, 0.0], len(times[0])))


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Begins and ends of runs in order of time: the run, and whether it begins; how many run after each point."""

    points: I64
    run: I64
    change: I64
    active: I64

    @classmethod
    def of(cls, begin: I64, end: I64) -> Sweep:
        points, count = np.concatenate([begin, end]), len(begin)
        order = np.argsort(points, kind="stable")
        change = np.where(order < count, 1, -1)
        return cls(points[order], order % max(count, 1), change, np.cumsum(change))

    def rate(self, kept: F64) -> Rate:
        """What is taken away if each run keeps a share of its time, and those that run at once do not share cores."""
        changed = kept != 1
        gone = np.cumsum(np.where(changed[self.run], self.change, 0))
        inside = gone > 0
        near = np.flatnonzero(inside | np.append(False, inside[:-1]))  # the rest keeps all of its time
        run, change, active = self.run[near], self.change[near], self.active[near]
        points = self.points[near]
        if not bool((active[:-1] > 1)[np.diff(points) > 0].any()):
            # Where one run is active, the sum over those that are is its number.
            only = np.clip(np.cumsum(self.change * self.run)[near], 0, len(kept) - 1)
            return Rate(points, np.where(inside[near], 1 - kept[only], 0.0))
        most = np.where((active > gone[near]) | ~inside[near], 1.0, 0.0)
        kept = kept[run]
        shares = np.unique(kept[kept != 1])
        if len(shares) > _MOST_SHARES:
            kept = np.where(kept != 1, np.round(kept, 2), 1.0)
            shares = np.unique(kept[kept != 1])
        for share in shares.tolist():
            some = np.cumsum(np.where(kept == share, change, 0)) > 0
            most = np.where(some, np.maximum(most, share), most)
        return Rate(points, 1 - most)

    def shared(self, kept: F64) -> Rate:
        """What is taken away if those that run at once share one core."""
        left = np.cumsum(self.change * kept[self.run])
        return Rate(self.points, np.where(self.active > 0, 1 - left / np.maximum(self.active, 1), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The names of a host's events and ops, to find what an edit names; `op_names` per device and op."""

    graph: HostGraph
    op_names: tuple[tuple[tuple[str, ...], ...], ...]
    sweeps: Mapping[int, Sweep]
    shared: Sweep | None
    rows: Mapping[str, set[int]]
    ops: Mapping[str, list[tuple[int, int]]]

    @classmethod
    def of(cls, graph: HostGraph, op_names: OpNames) -> Places:
        names = tuple(tuple(tuple(op_names(op)) for op in device.ops) for device in graph.devices)
        ops: dict[str, list[tuple[int, int]]] = {}
        for device, of_device in enumerate(names):
            ran = np.unique(np.concatenate([c.spans.op for _, c in graph.contents if c.device == device]))
            for op in ran.tolist():
                for name in dict.fromkeys(of_device[op]):
                    ops.setdefault(name, []).append((device, op))
        rows: dict[str, set[int]] = {}
        plane = graph.plane
        for line in graph.lines.values() if plane is not None else ():
            assert plane is not None
            for row in np.unique(plane.events.metadata[plane.lines.events_of(line)]).tolist():
                for name in names_of_event(plane.event_metadata.names[row]):
                    rows.setdefault(name, set()).add(row)
        spans = [content.spans for _, content in graph.contents]
        sweeps = {chain: Sweep.of(c.spans.begin_ps, c.spans.end_ps) for chain, c in graph.contents}
        on_cpu = graph.devices[0].kind == "cpu"
        shared = Sweep.of(*(np.concatenate([getattr(s, name) for s in spans]) for name in ("begin_ps", "end_ps")))
        return cls(graph, names, sweeps, shared if on_cpu else None, rows, ops)

    def knows(self, place: str) -> bool:
        return place in self.rows or place in self.ops

    def spans(self, place: str, line: int) -> Times:
        """When events of a place are under way on a thread."""
        plane, rows = self.graph.plane, self.rows.get(place)
        if plane is None or not rows:
            return no_time()
        events = plane.lines.events_of(line)
        chosen = np.flatnonzero(np.isin(plane.events.metadata[events], list(rows))) + events.start
        return times_of(*spans_at(plane, chosen))


def shorter(graph: Graph, places: Sequence[Places], edit: Edit) -> Shorter:
    """How the nodes change.

    Raises NotFound, with names that are near, if a place names nothing; NoData if the host's time would change and
    nothing links it to the devices.
    """
    for place, near in unknown(places, edit).items():
        hint = f" Near: {', '.join(near)}." if near else ""
        raise NotFound(
            f"Nothing in the recording is called {place[:80]!r}.{hint}", code="place_not_found", argument="without",
            choices=near,
        )  # fmt: skip
    of_host = edit.input_free or any(not any(place in one.ops for one in places) for place, _ in edit.scale)
    if of_host and not any(host.linked for host in graph.hosts):
        raise NO_LAUNCHES.error()
    most, cut = np.ones(len(graph)), np.zeros(len(graph.source), np.bool_)
    least = np.ones(len(graph)) if any(one.shared is not None for one in places) else most
    lag = graph.lag_ps
    equal = equal_ranks(graph) if edit.ranks_equal else None
    if equal is not None:
        most *= equal.nodes
        least = least * equal.nodes if least is not most else most
    parts = []
    for number, one in enumerate(places):
        shares = [_shares(one, content.device, edit)[content.spans.op] for _, content in one.graph.contents]
        if equal is not None:
            shares = [share * of_rank for share, of_rank in zip(shares, equal.runs[number], strict=True)]
        parts.append(_edit_host(graph, number, one, edit, shares, (least, most), cut))
    node, kept = graph.meetings.node, _kept_meetings(graph, places, edit)
    most[node] *= kept
    if least is not most:
        least[node] *= kept
    if edit.hide_collectives:
        lag = np.where(graph.why == Why.MEETING, 0, lag)
    elif bool((kept == 0).any()):  # collectives that do not happen wait for no device
        cut |= np.isin(graph.source, node[kept == 0])
    threads, runs = zip(*parts, strict=True)
    return Shorter(least, most, lag, cut if bool(cut.any()) else None, threads, runs)


def _kept_meetings(graph: Graph, places: Sequence[Places], edit: Edit) -> F64:
    """The share of its transfer that each collective keeps."""
    kept = np.ones(len(graph.meetings.names))
    rows = {name: row for row, name in enumerate(graph.meetings.names)}
    for one in places:
        for number, device in enumerate(one.graph.devices):
            for op, share in zip(device.ops, _shares(one, number, edit).tolist(), strict=True):
                if op.collective and share != 1 and (row := rows.get(key_of(op).name)) is not None:
                    kept[row] = share
    return kept[graph.meetings.name]


def _edit_host(
    graph: Graph, number: int, places: Places, edit: Edit, shares: list[F64], kept: tuple[F64, F64], cut: Bools
) -> tuple[Mapping[int, Rate], tuple[F64, ...]]:
    """Shortens the nodes of a host; returns what is taken from its threads and what its runs keep.

    `shares` are what runs keep by their ops.
    """
    host = places.graph
    spans = {
        chain: [(places.spans(place, line), factor) for place, factor in edit.scale]
        for chain, line in host.lines.items()
    }
    if edit.input_free and MAIN in spans:
        spans[MAIN].append((join(host.host.input, host.host.upload), 0.0))
    threads = {chain: reduce(both, (_rate_of(*one) for one in of_chain), NOTHING) for chain, of_chain in spans.items()}
    for share, (_, content) in zip(shares, host.contents, strict=True):
        for times, factor in spans.get(MAIN, ()):
            share[(content.launched != NO_LAUNCH) & contains(times, content.launched)] *= factor
    together = np.concatenate(shares) if shares else np.zeros(0)
    low = places.shared.shared(together) if places.shared is not None and bool((together != 1).any()) else None
    for chain in range(len(host.chains)):
        rows = host.chain == chain
        nodes, begin, end = graph.new[number][rows], host.begin_ps[rows], host.end_ps[rows]
        of_chain = [share for share, (on, _) in zip(shares, host.contents, strict=True) if on == chain]
        rate = threads.get(chain, NOTHING)
        if of_chain and bool((of_chain[0] != 1).any()):
            rate = both(rate, places.sweeps[chain].rate(of_chain[0]))
        if len(rate.points):
            kept[1][nodes] *= rate.kept(begin, end)
            if kept[0] is not kept[1]:
                kept[0][nodes] *= rate.kept(begin, end)
        if low is not None and of_chain:
            kept[0][nodes] = np.minimum(kept[0][nodes], low.kept(begin, end))
        gone = join(*(times for times, factor in spans.get(chain, ()) if not factor))
        if len(gone[0]):
            waits = host.waits[rows] & (covered_within(*gone, begin, end) == end - begin)
            cut |= np.isin(graph.target, nodes[waits]) & ((graph.why == Why.RESULT) | (graph.why == Why.HANDOFF))
            # What is not launched is not waited for.
            if chain == MAIN:
                launches = np.flatnonzero((graph.why == Why.LAUNCH) & (graph.host[graph.target] == number))
                cut[launches] |= contains(gone, graph.end_ps[graph.source[launches]] - graph.shift_ps[number])
    return threads, tuple(shares)


def _shares(places: Places, device: int, edit: Edit) -> F64:
    """The share of its time that each op of a device keeps."""
    ops = places.graph.devices[device].ops
    kept = np.ones(len(ops))
    for place, factor in edit.scale:
        rows = [op for number, op in places.ops.get(place, ()) if number == device]
        kept[rows] *= factor
    work = np.array([op.work for op in ops], np.uint8)
    if edit.hide_collectives:
        kept[work == Work.COMMUNICATION] = 0
    if edit.input_free:
        kept[(work == Work.INPUT) | (work == Work.UPLOAD)] = 0
    return kept


def unknown(places: Sequence[Places], edit: Edit) -> dict[str, list[str]]:
    """The places of an edit that nothing in the recording is called, each with names that are near."""
    missing = [place for place, _ in edit.scale if not any(one.knows(place) for one in places)]
    return {place: _near_names(place, places) for place in missing}


def _near_names(place: str, places: Sequence[Places]) -> list[str]:
    known = dict.fromkeys(name for one in places for name in (*one.ops, *one.rows))
    within = sorted((name for name in known if place.casefold() in name.casefold()), key=lambda name: (len(name), name))
    near = difflib.get_close_matches(place, list(known)[:20_000], _NEAR_NAMES, 0.5)
    return list(dict.fromkeys([*within[:_NEAR_NAMES], *near]))[:_NEAR_NAMES]
