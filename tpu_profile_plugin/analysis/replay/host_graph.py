"""One host and its devices as nodes that depend on each other: threads and queues, cut where something waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.budget.host_time import HostReader, HostTime, MainThread
from tpu_profile_plugin.analysis.common.planes import host_plane, line_of, rows_named, spans_at
from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, join, no_time, subtract, times_of
from tpu_profile_plugin.analysis.devices.across_hosts import HostRuns, keep_runs, kept_rows
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns, recorded_collectives
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.devices.launches import KEYS, HostCalls, host_calls
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, OpSpans, Work, busy, ordered
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.replay.handoffs import NO_HANDOFFS, Handoffs, handoffs
from tpu_profile_plugin.analysis.replay.links import launch_points
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, U8, Bools
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.units import PS_PER_US

MAIN = 0
"""The chain of the main thread."""
_NEAR_PS = 10 * PS_PER_US
_MOST_QUEUES = 512
"""Of all devices of a host: eight with dozens of streams each."""
_MOST_COMPARED = 128
"""Queues of a device that may wait for each other: those with most pieces of work, if a recording has more."""
_NEAR_SHARE = 0.01
"""Work of one queue that begins so soon after another queue's, or in this share of the time that it had nothing else
to wait for, may have waited for it: that this is a coincidence is unlikely."""
_NEVER = int(np.iinfo(np.int64).min)
_LEAST_SILENT_PS = 10 * PS_PER_US
_MOST_AFTER, _MOST_AFTER_ALL = 0.2, 0.05
"""Most of a time without events that may follow the end of the work which the thread waited for: beside an event that
waits, and after all that was launched."""

_LONGER = 10
"""A launch that takes so many times as long as the shortest one may wait for room."""
_MOST_ENDS, _MOST_AFTER_ROOM = 2, 0.02
"""It does if no more pieces of work of a queue end meanwhile, and the last of them in this share of it before its end:
that this is a coincidence is unlikely."""


class Why(IntEnum):
    """What an edge stands for."""

    ORDER = 0
    """In a thread or queue."""
    LAUNCH = 1
    RESULT = 2
    """The main thread waits for a device."""
    MEETING = 3
    """Devices wait for each other in a collective."""
    HANDOFF = 4
    """A thread waits until another puts an item or takes one."""
    NEAR = 5
    """One queue begins when another ends, which nothing else explains: it may have waited for it."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A thread or queue: `device` is its number on the host, `line` the row of a thread's line; -1 for neither."""

    name: str
    device: int = -1
    line: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """Runs of ops on a chain: `device` and `op` say which, `launched` when the main thread launched each."""

    device: int
    spans: OpSpans
    launched: I64


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Begins and ends of steps by nodes, each int64 or bool[s, d, 2].

    A bound is `offset_ps` after the end of `node`, or its begin where `at_begin`; not before the end of `after`, unless
    that is -1.
    """

    node: I64
    offset_ps: I64
    at_begin: Bools
    after: I64


@dataclass(frozen=True, slots=True, eq=False)
class HostGraph:
    """Nodes and edges of one host.

    Attributes:
      devices: of the host; steps: their windows.
      chains: threads and queues; the first is the main thread.
      begin_ps, end_ps, chain: per node, none without length; those of one chain in order.
      waits: nodes that last until what they depend on is done.
      target, source, lag_ps, why: per edge.
      runs: of collectives; arrival, leave: per run the node that ends when the device takes part, and the node in which
        it waits, -1 without one.
      bounds: of steps.
      contents: what ran on chains; on the main thread if calls of the host run the ops.
      thread: events of the main thread, for names.
      main: row of the main thread's line in the host's plane, -1 without one; plane: this plane, decoded.
      linked: share of the devices' starts whose launch is known; impossible: edges that lead back in time.
    """

    devices: tuple[Device, ...]
    steps: StepWindows
    chains: tuple[Chain, ...]
    begin_ps: I64
    end_ps: I64
    chain: I64
    waits: Bools
    target: I64
    source: I64
    lag_ps: I64
    why: U8
    runs: HostRuns
    arrival: I64
    leave: I64
    bounds: Bounds
    contents: tuple[tuple[int, Content], ...]
    host: HostTime
    thread: MainThread
    plane: Plane | None
    main: int
    linked: float
    impossible: int

    @property
    def lines(self) -> dict[int, int]:
        """By chain of a thread the row of its line."""
        return {number: chain.line for number, chain in enumerate(self.chains) if chain.line >= 0}


@dataclass(slots=True)
class _Builder:
    """Collects chains, whose nodes are numbered as they are added."""

    chains: list[Chain] = field(default_factory=list)
    columns: list[tuple[I64, I64, I64]] = field(default_factory=list)
    edges: list[tuple[I64, I64, I64, I64]] = field(default_factory=list)
    first: list[int] = field(default_factory=lambda: [0])

    def chain(self, chain: Chain, begin: I64, end: I64) -> int:
        number = len(self.chains)
        self.chains.append(chain)
        self.columns.append((begin, end, np.full(len(begin), number)))
        self.first.append(self.first[-1] + len(begin))
        return number

    def edge(self, target: I64, source: I64, lag: I64, why: Why) -> None:
        known = (target >= 0) & (source >= 0)
        self.edges.append((target[known], source[known], lag[known], np.full(int(known.sum()), why)))

    def ending(self, chain: int, time: I64) -> I64:
        """The node of a chain that ends at each time; -1 without one."""
        end = self.columns[chain][1]
        index = np.minimum(np.searchsorted(end, time), max(len(end) - 1, 0))
        return np.where(end[index] == time, index + self.first[chain], -1) if len(end) else np.full(len(time), -1)

    def beginning(self, chain: int, time: I64) -> I64:
        """The node of a chain that begins at each time; -1 without one."""
        begin = self.columns[chain][0]
        index = np.minimum(np.searchsorted(begin, time), max(len(begin) - 1, 0))
        return np.where(begin[index] == time, index + self.first[chain], -1) if len(begin) else np.full(len(time), -1)

    def before(self, chain: int, time: I64) -> I64:
        """The last node of a chain that has ended at each time; -1 without one."""
        index = np.searchsorted(self.columns[chain][1], time, side="right") - 1
        return np.where(index >= 0, index + self.first[chain], -1)


@dataclass(frozen=True, slots=True, eq=False)
class _Queue:
    """One queue of a device: its runs, and pieces of work in order, each with when the main thread launched it.

    `talks` marks collectives; `inline` is when the main thread itself runs ops of the device.
    """

    device: int
    name: str
    content: OpSpans
    begin: I64
    end: I64
    launched: I64
    talks: Bools
    inline: Times = field(default_factory=no_time)


def host_graph(
    space: XSpace, devices: Sequence[Device], steps: StepWindows, programs: HloPrograms, reader: HostReader
) -> HostGraph:
    """The graph of one host, which has devices and steps; the host's plane is decoded."""
    plane = host_plane(space)
    host = reader.time
    main = -1
    if plane is not None and host.main is not None:
        space.decode([plane])
        lines = np.flatnonzero(plane.lines.id == host.main[0]).tolist()
        main = next((line for line in lines if plane.lines.name[line] == host.main[1]), -1)
    within = devices[0].name in RUNS_WITHIN_HOST_CALLS and main >= 0
    calls = HostCalls()
    if plane is not None and main >= 0 and not within:
        calls = host_calls(space, (KEYS.get(devices[0].kind, ""),), plane)
    recorded = recorded_collectives(devices, programs)
    thread = reader.main(int(steps.begin_ps.min()), int(steps.end_ps.max()), steps.evidence)
    queues = (
        [] if within else [q for i, d in enumerate(devices) for q in _queues(space, plane, i, d, calls, main, host)]
    )
    if len(queues) > _MOST_QUEUES:
        raise NoData(f"The recording has {len(queues):,} queues of devices; at most {_MOST_QUEUES} can be replayed.")
    return _graph(devices, steps, queues, recorded.runs, keep_runs(recorded, len(devices)), (host, plane, main), thread)


def _queues(
    space: XSpace, plane: Plane | None, number: int, device: Device, calls: HostCalls, main: int, host: HostTime
) -> list[_Queue]:
    starts = np.full(len(device.starts), NO_LAUNCH)
    if plane is not None and main >= 0:
        starts = launch_points(plane, device, calls, main, host.launch)
    runs = device.runs
    if device.kind == "gpu":
        line = line_of(space.planes[device.plane], runs.event)
        rows = [np.flatnonzero(line == one) for one in np.unique(line).tolist()]
        return [_stream(number, f"{device.name} queue {i}", runs.where(row), starts[row]) for i, row in enumerate(rows)]
    begin, end = busy(device)
    launched = np.full(len(begin), NO_LAUNCH)
    if len(device.starts):
        everything = [(spans.begin_ps, spans.end_ps) for spans in (runs, device.control)]
        began, ended = (np.concatenate(column) for column in zip(*everything, strict=True))
        piece = np.searchsorted(device.starts, began, side="right") - 1
        last = np.full(len(device.starts), _NEVER)
        np.maximum.at(last, piece[piece >= 0], ended[piece >= 0])
        last = np.minimum(last, np.append(device.starts[1:], np.iinfo(np.int64).max))
        some = last > device.starts
        early = times_of(began[piece < 0], np.minimum(ended[piece < 0], device.starts[0]))
        begin = np.concatenate([early[0], device.starts[some]])
        end = np.concatenate([early[1], last[some]])
        launched = np.concatenate([np.full(len(early[0]), NO_LAUNCH), starts[some]])
    inline = no_time()
    if device.kind == "cpu" and plane is not None and main >= 0:
        inline = times_of(runs.begin_ps, runs.end_ps, line_of(plane, runs.event) == main)
        launched = np.where(np.isin(begin, inline[0]), begin, launched)
    return [_Queue(number, device.name, runs, begin, end, launched, np.zeros(len(begin), np.bool_), inline)]


def _stream(number: int, name: str, runs: OpSpans, launched: I64) -> _Queue:
    """A stream of a GPU: each run is a piece; what overlaps with the one before is cut."""
    before = np.maximum.accumulate(np.append(_NEVER, runs.end_ps[:-1])) if len(runs) else runs.end_ps
    begin = np.maximum(runs.begin_ps, before)
    some = runs.end_ps > begin
    talks = runs.work[some] == Work.COMMUNICATION
    return _Queue(number, name, runs, begin[some], runs.end_ps[some], launched[some], talks)


def _graph(
    devices: Sequence[Device],
    steps: StepWindows,
    queues: list[_Queue],
    collectives: CollectiveRuns,
    kept: HostRuns,
    of_host: tuple[HostTime, Plane | None, int],
    thread: MainThread,
) -> HostGraph:
    host, plane, main = of_host
    within = not queues
    rows = np.flatnonzero(kept_rows(collectives, len(devices)))
    queue_of_run = _queue_of_runs(devices, queues, collectives, rows)
    waits_since = np.full(len(rows), -1)
    for number in range(max(len(queues), 1)):
        mine = np.flatnonzero(queue_of_run == number)
        content = queues[number].content if queues else ordered(devices[0].runs)
        waits_since[mine] = _exposed_since(content, collectives.begin_ps[rows[mine]], collectives.end_ps[rows[mine]])
    meets = [collectives.begin_ps[rows] + 1, waits_since, collectives.end_ps[rows]]
    bounds = np.unique(np.concatenate([steps.begin_ps.reshape(-1), steps.end_ps.reshape(-1)]))
    build = _Builder()
    # Steps that devices mark, or that no thread is known for, are cut there, others on the main thread.
    on_device = main < 0 or devices[0].kind == "tpu"
    cuts = bounds if on_device else bounds[:0]
    pieces = [_cut(q, [cuts, *(m[queue_of_run == i] for m in meets)]) for i, q in enumerate(queues)]
    bounds = np.setdiff1d(bounds, np.concatenate([cuts, *(side for q in queues for side in (q.begin, q.end))]))
    given = handoffs(plane) if plane is not None and main >= 0 else NO_HANDOFFS
    points = [bounds, *(meets if within else []), *_points(given, main)]
    waits = _main(build, queues, host, plane, main, points)
    of_threads = _threads(build, plane, given, main) if plane is not None else bounds[:0]
    numbers = []
    for queue, (begin, end) in zip(queues, pieces, strict=True):
        numbers.append(build.chain(Chain(queue.name, queue.device), begin, end))
    linked = _connect(build, queues, pieces, numbers)
    chain_of_run = np.array([*numbers, MAIN], np.int64)[queue_of_run] if queues else np.zeros(len(rows), np.int64)
    arrival, leave = np.full(len(rows), -1), np.full(len(rows), -1)
    for chain in np.unique(chain_of_run).tolist():
        mine = np.flatnonzero(chain_of_run == chain)
        arrival[mine] = build.ending(chain, meets[0][mine])
        leave[mine] = np.where(waits_since[mine] < meets[2][mine], build.ending(chain, meets[2][mine]), -1)
    of_waits = _results(build, queues, numbers, waits)
    begin, end, chain = (np.concatenate(column) for column in zip(*build.columns, strict=True))
    edges = [np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*build.edges, strict=True)]
    possible = edges[2] >= 0
    wait = np.zeros(len(begin), np.bool_)
    wait[np.concatenate([of_waits, of_threads])] = True
    contents = tuple((n, Content(q.device, q.content, _launched(q))) for n, q in zip(numbers, queues, strict=True))
    if within:
        contents = tuple(
            (MAIN, Content(i, ordered(d.runs), np.full(len(d.runs), NO_LAUNCH))) for i, d in enumerate(devices)
        )
    return HostGraph(
        tuple(devices), steps, tuple(build.chains), begin, end, chain, wait,
        *(edges[0][possible], edges[1][possible], edges[2][possible], edges[3][possible].astype(np.uint8)),
        kept, arrival, leave, _bounds(build, devices, steps), contents, host, thread, plane, main,
        1.0 if within else linked, int((~possible).sum()),
    )  # fmt: skip


def _queue_of_runs(devices: Sequence[Device], queues: Sequence[_Queue], runs: CollectiveRuns, rows: I64) -> I64:
    """The queue that each of these runs of collectives is on."""
    found = np.zeros(len(rows), np.int64)
    for number in range(len(devices)):
        mine = [i for i, queue in enumerate(queues) if queue.device == number]
        on_device = np.flatnonzero(runs.device[rows] == number)
        if not mine or not len(on_device):
            continue
        found[on_device] = mine[0]
        source = runs.source[rows[on_device]]
        for i in mine[1:]:  # streams of a GPU
            event = devices[number].runs.event[np.maximum(source, 0)]
            found[on_device[np.isin(event, queues[i].content.event)]] = i
    return found


def _exposed_since(content: OpSpans, begin: I64, end: I64) -> I64:
    """From when a queue does nothing but wait until each collective ends; its end if it works until then."""
    others = np.sort(content.end_ps[content.work != Work.COMMUNICATION])
    last = np.searchsorted(others, end, side="right") - 1
    since = np.maximum(np.where(last >= 0, others[np.maximum(last, 0)] if len(others) else begin, begin), begin + 1)
    order = np.argsort(end, kind="stable")
    before = np.append(_NEVER, np.maximum.accumulate(end[order])[:-1]) if len(end) else end
    since[order] = np.maximum(since[order], before)  # of several that wait at once the one that ends first
    return np.minimum(since, end)


def _cut(queue: _Queue, points: Sequence[I64]) -> Times:
    return split((queue.begin, queue.end), np.concatenate([*points, queue.inline[1]]))


def split(times: Times, points: I64) -> Times:
    """The disjoint spans in parts that end at the points inside of them."""
    points = np.sort(points)  # numpy.unique hashes, which takes longer
    points = points[np.append(True, points[1:] != points[:-1])] if len(points) else points
    owner = np.searchsorted(times[0], points, side="right") - 1
    inside = np.zeros(len(points), np.bool_)
    some = owner >= 0
    inside[some] = (points[some] > times[0][owner[some]]) & (points[some] < times[1][owner[some]])
    points = points[inside]
    return np.sort(np.concatenate([times[0], points])), np.sort(np.concatenate([times[1], points]))


def _main(
    build: _Builder, queues: Sequence[_Queue], host: HostTime, plane: Plane | None, main: int, points: Sequence[I64]
) -> Times:
    """Adds the main thread, cut at `points`, as one chain, empty if unknown; returns when it may wait for results."""
    if plane is None or main < 0:
        build.chain(Chain(""), *no_time())
        return no_time()
    launched = [queue.launched[queue.launched != NO_LAUNCH] for queue in queues]
    on_thread = join(*(queue.inline for queue in queues))
    begin, end, beside = _silent(plane, main)
    free = covered_within(*join(on_thread, host.transfer), begin, end) == 0
    free &= _awaited(queues, begin, end, beside)
    silent = begin[free], end[free]
    full = _full(queues, host.launch)
    # Ends of waits that touch are lost in a union.
    ends = np.concatenate([host.transfer[1], *silent, *full, *points, *launched])
    waits = split(join(subtract(host.transfer, on_thread), silent, full), ends)
    waits = np.sort(np.append(waits[0], on_thread[0])), np.sort(np.append(waits[1], on_thread[1]))
    cuts = np.unique(np.concatenate([*points, *launched, *waits]))
    # What comes before the first point is a node of its own.
    cuts = np.append(cuts[:1] - 1, cuts)
    build.chain(Chain(plane.lines.name[main], line=main), cuts[:-1], cuts[1:])
    return waits


def _awaited(queues: Sequence[_Queue], begin: I64, end: I64, beside: Bools) -> Bools:
    """Whether a silent main thread waits for devices: they end their work shortly before it goes on."""
    last, all_ = np.full(len(begin), _NEVER), np.full(len(begin), _NEVER)
    for queue in queues:
        if len(queue.end):
            ends = np.append(queue.end, _NEVER)
            last = np.maximum(last, ends[np.searchsorted(queue.end, end, side="right") - 1])
            launched = np.searchsorted(np.maximum.accumulate(queue.launched), begin, side="right")
            all_ = np.maximum(all_, ends[launched - 1])
    ended = np.where(beside, last, all_)
    most = np.where(beside, _MOST_AFTER, _MOST_AFTER_ALL) * (end - begin)
    soon: Bools = (ended > begin) & (ended <= end) & (end - np.maximum(ended, begin) <= most)
    return soon


def _full(queues: Sequence[_Queue], launches: Times) -> Times:
    """Calls that launch work only when a device has room for it: they end right after some of its work does."""
    begin, end = launches
    length = end - begin
    if not len(length):
        return launches
    last, most = np.full(len(begin), _NEVER), np.zeros(len(begin), np.int64)
    for queue in queues:
        ended = np.searchsorted(queue.end, end, side="right")
        last = np.maximum(last, np.append(queue.end, _NEVER)[ended - 1])
        most = np.maximum(most, ended - np.searchsorted(queue.end, begin, side="right"))
    long = length >= max(_LONGER * int(length.min()), _LEAST_SILENT_PS)
    few = (most >= 1) & (most <= _MOST_ENDS)
    return times_of(begin, end, long & few & (end - last <= _MOST_AFTER_ROOM * length))


def _points(given: Handoffs, line: int) -> list[I64]:
    """When a thread is cut because it waits for another, or another for it."""
    waits = given.line == line
    return [given.begin_ps[waits], given.end_ps[waits], given.source_ps[given.source == line]]


def _threads(build: _Builder, plane: Plane, given: Handoffs, main: int) -> I64:
    """Adds other threads that hand something over, and edges; returns the nodes of the waits."""
    chain_of = {main: MAIN}
    for line in given.lines:
        if line != main:
            begin, end = spans_at(plane, slice(*plane.lines.event_start[line : line + 2].tolist()))
            since, until = int(begin.min()), int(end.max())
            points = np.unique(np.concatenate([[since, until], *_points(given, line)]).clip(since, until))
            chain = Chain(plane.lines.name[line] or "thread", line=line)
            number = chain_of[line] = build.chain(chain, points[:-1], points[1:])
            nodes = np.arange(len(points) - 1) + build.first[number]
            build.edge(nodes[1:], nodes[:-1], np.zeros(len(nodes[1:]), np.int64), Why.ORDER)
    target, source = np.full(len(given.line), -1), np.full(len(given.line), -1)
    waits = given.end_ps > given.begin_ps
    for line, number in chain_of.items():
        mine = given.line == line
        target[mine & waits] = build.ending(number, given.end_ps[mine & waits])
        target[mine & ~waits] = build.beginning(number, given.end_ps[mine & ~waits])
        source[given.source == line] = build.ending(number, given.source_ps[given.source == line])
    build.edge(target, source, np.where(waits, given.end_ps - given.source_ps, 0), Why.HANDOFF)
    return target[waits & (target >= 0) & (source >= 0)]


def _silent(plane: Plane, main: int) -> tuple[I64, I64, Bools]:
    """When no event of the main thread begins or ends, and none lasts just that long: begins, ends.

    The last column says whether an event that waits for results ends then, or begins after it: the CPU backend of JAX
    records begin and end of some waits as events of their own.
    """
    rows = plane.lines.events_of(main)
    begin, end = spans_at(plane, slice(rows.start, rows.stop))
    transfers = rows_named(plane, lambda name: activity(name) == Activity.TRANSFER)
    waits = transfers[plane.events.metadata[rows.start : rows.stop]]
    points = np.sort(np.concatenate([begin, end]))
    long = np.flatnonzero(np.diff(points) >= _LEAST_SILENT_PS)
    since, until = points[long], points[long + 1]
    # The shortest event that begins when the time does: one without others in it ends with it.
    order = np.lexsort((end, begin))
    first = order[np.minimum(np.searchsorted(begin[order], since), max(len(order) - 1, 0))] if len(order) else order
    keep = (begin[first] != since) | (end[first] != until)
    since, until = since[keep], until[keep]
    return since, until, among(since, np.sort(end[waits])) | among(until, np.sort(begin[waits]))


def _connect(build: _Builder, queues: Sequence[_Queue], pieces: Sequence[Times], numbers: Sequence[int]) -> float:
    """Edges of order, of launches and between queues; returns the share of launches that are known."""
    main_begin, main_end = build.columns[MAIN][:2]
    nodes = np.arange(len(main_begin))
    build.edge(nodes[1:], nodes[:-1], main_begin[1:] - main_end[:-1], Why.ORDER)
    before = [np.append(_NEVER, queue.end[:-1]) for queue in queues]
    near = [np.zeros(len(queue.begin), np.bool_) for queue in queues]
    for device in {queue.device for queue in queues}:
        busiest = sorted((i for i, one in enumerate(queues) if one.device == device), key=lambda i: -len(queues[i].end))
        some = [(numbers[i], queues[i]) for i in busiest[:_MOST_COMPARED]]
        for i in busiest[:_MOST_COMPARED]:
            near[i] = _near(build, some, (numbers[i], queues[i]), before[i])
    known = [queue.launched != NO_LAUNCH for queue in queues]
    for device in {queue.device for queue in queues}:
        mine = [i for i, queue in enumerate(queues) if queue.device == device]
        # What nothing else explains tells how soon a launch, or the end of the work before, is followed by the next.
        alone = [known[i] & ~near[i] & (queues[i].launched > before[i]) for i in mine]
        queued = [known[i] & ~near[i] & (queues[i].launched <= before[i]) & (before[i] != _NEVER) for i in mine]
        delays = np.concatenate(
            [(queues[i].begin - queues[i].launched)[rows] for i, rows in zip(mine, alone, strict=True)]
        )
        gaps = np.concatenate([(queues[i].begin - before[i])[rows] for i, rows in zip(mine, queued, strict=True)])
        usual_gap = int(np.median(gaps)) if len(gaps) else 0
        for i in mine:
            queue, (begin, end) = queues[i], pieces[i]
            nodes = np.arange(len(begin)) + build.first[numbers[i]]
            lag = begin[1:] - end[:-1]
            first = np.searchsorted(begin, queue.begin)  # the node that each piece begins with
            rows = np.flatnonzero(known[i] & (first > 0))
            lag[first[rows] - 1] = np.minimum(lag[first[rows] - 1], usual_gap)
            build.edge(nodes[1:], nodes[:-1], lag, Why.ORDER)
            rows = np.flatnonzero(known[i])
            if len(rows):
                delay = (queue.begin - queue.launched)[rows]
                usual_delay = int(np.median(delays)) if len(delays) else int(delay.min())
                source = build.ending(MAIN, queue.launched[rows])
                build.edge(nodes[first[rows]], source, np.minimum(delay, usual_delay), Why.LAUNCH)
    starts = sum(map(len, known))
    return sum(int(some.sum()) for some in known) / starts if starts else 0.0


def _near(build: _Builder, others: Sequence[tuple[int, _Queue]], of: tuple[int, _Queue], before: I64) -> Bools:
    """Edges to a queue from others of its device; returns the pieces that begin when one of another queue has ended.

    A collective waits for what was launched before it on other queues. Anything else that begins when work of another
    queue ends, and not when the launch or the work before does, may have waited for it.
    """
    at, queue = of
    explained = np.zeros(len(queue.begin), np.bool_)
    ready = np.maximum(before, queue.launched)
    free = np.where(ready > _NEVER, queue.begin - np.maximum(ready, int(queue.begin.min(initial=0))), 0)
    for number, other in others:
        if other is queue or not len(other.end):
            continue
        last = np.searchsorted(other.end, queue.begin, side="right") - 1
        earlier = np.searchsorted(np.maximum.accumulate(other.launched), queue.launched, side="right") - 1
        last = np.where(queue.talks, np.minimum(last, earlier), last)
        ended = np.where(last >= 0, other.end[np.maximum(last, 0)], _NEVER)
        near = (ended > ready) & (queue.begin - ended <= np.maximum(_NEAR_PS, _NEAR_SHARE * free))
        explained |= near
        rows = np.flatnonzero(near | (queue.talks & (last >= 0) & (queue.launched != NO_LAUNCH)))
        lag = np.where(near, queue.begin - ended, 0)[rows]
        build.edge(
            build.beginning(at, queue.begin[rows]), build.ending(number, ended[rows]), lag, Why.NEAR
        )  # fmt: skip
    return explained


def _results(build: _Builder, queues: Sequence[_Queue], numbers: Sequence[int], waits: Times) -> I64:
    """Edges from work of devices to the waits of the main thread that end after it; returns these waits' nodes."""
    ends, sources = [], []
    for number, queue in zip(numbers, queues, strict=True):
        # Ends of pieces, and ends of what ran on the main thread itself.
        end = np.unique(np.concatenate([queue.end, queue.inline[1]]))
        if len(end):
            piece = np.minimum(np.searchsorted(queue.end, end), len(queue.end) - 1)
            launched = np.maximum.accumulate(queue.launched[piece])
            count = np.searchsorted(launched, waits[1], side="left")
            last = np.minimum(count, np.searchsorted(end, waits[1], side="right")) - 1
            ends.append(np.where(last >= 0, end[np.maximum(last, 0)], _NEVER))
            sources.append(build.ending(number, ends[-1]))
    if not ends:
        return np.zeros(0, np.int64)
    best = np.max(ends, axis=0)
    rows = np.flatnonzero(best > waits[0])
    target, after = build.ending(MAIN, waits[1][rows]), (waits[1] - best)[rows]
    for ended, source in zip(ends, sources, strict=True):
        # The last work tells how long the wait goes on after it; it may be for all queues.
        build.edge(target, source[rows], np.where(ended[rows] == best[rows], after, 0), Why.RESULT)
    return target[target >= 0]


def _launched(queue: _Queue) -> I64:
    """When the main thread launched each run of a queue; `NO_LAUNCH` if unknown."""
    piece = np.searchsorted(queue.begin, queue.content.begin_ps, side="right") - 1
    return np.where(piece >= 0, np.append(queue.launched, NO_LAUNCH)[piece], NO_LAUNCH)


def _bounds(build: _Builder, devices: Sequence[Device], steps: StepWindows) -> Bounds:
    """By the nodes that end or begin there: of the device where steps are marked on it, else of the main thread."""
    shape = (len(steps), len(devices), 2)
    time = np.stack([steps.begin_ps, steps.end_ps], axis=2)
    node, after = np.full(shape, -1), np.full(shape, -1)
    at_begin, offset = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    has_main = len(build.columns[MAIN][0]) > 0
    for number, device in enumerate(devices):
        mine = [i for i, chain in enumerate(build.chains) if chain.device == number]
        when, last = time[:, number].reshape(-1), np.full(2 * len(steps), -1)
        chosen, begins, ended = last.copy(), np.zeros(len(last), np.bool_), np.full(len(last), _NEVER)
        for chain in mine:
            found = build.before(chain, when)
            end = (
                build.columns[chain][1][np.maximum(found - build.first[chain], 0)]
                if len(build.columns[chain][1])
                else ended
            )
            later = (found >= 0) & (end > ended)
            last[later], ended[later] = found[later], end[later]
        on_device = steps.source in ("device", "recording") or not has_main
        if on_device:
            chosen = np.where(ended == when, last, -1)
            for chain in mine:
                first = build.beginning(chain, when)
                begins |= (chosen < 0) & (first >= 0)
                chosen = np.where(chosen < 0, first, chosen)
        if has_main and not (on_device and device.kind == "tpu"):
            begins &= chosen >= 0
            chosen, rest = np.where(chosen < 0, build.ending(MAIN, when), chosen), chosen < 0
            after[:, number] = np.where(rest, last, -1).reshape(-1, 2)
        rest = (chosen < 0) & (last >= 0)
        offset[:, number] = np.where(rest, when - ended, 0).reshape(-1, 2)
        chosen = np.where(rest, last, chosen)
        works = next((chain for chain in mine if len(build.columns[chain][0])), None)
        if works is not None and bool((chosen < 0).any()):  # before all work of the device
            first_node, first_begin = build.first[works], int(build.columns[works][0][0])
            offset[:, number] += np.where(chosen < 0, when - first_begin, 0).reshape(-1, 2)
            begins |= chosen < 0
            chosen = np.where(chosen < 0, first_node, chosen)
        node[:, number], at_begin[:, number] = chosen.reshape(-1, 2), begins.reshape(-1, 2)
    return Bounds(node, offset, at_begin, after)
