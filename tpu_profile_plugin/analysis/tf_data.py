"""tf.data input pipelines of a host: iterator times, bottlenecks, recorded settings, and single runs."""

from __future__ import annotations

from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import host_plane, line_of
from tpu_profile_plugin.analysis.common.rows import members, row_codes, rows_of
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.timeline.tracks import HOST_PID
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, U8, Bools
from tpu_profile_plugin.columns.tables import Kind
from tpu_profile_plugin.units import PS_PER_US

COUNTS = ("parallelism", "buffer_size", "buffer_limit", "cycle_length", "batch_size", "cpu_budget")
TALLIES = ("passed", "filtered")
FLAGS = ("autotune", "deterministic")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an iterator at one call; None for settings that the call does not record.

    Attributes:
      parallelism: number of elements, or of inputs, that it works on at once.
      autotune: whether tf.data chooses the parallelism or the buffer; if False, the program fixed it.
      buffer_size: capacity of a shuffle buffer, in elements.
      buffer_limit: capacity of a prefetch buffer at that time, in elements.
      cycle_length: number of inputs that an interleave reads in turn.
      batch_size: elements per batch.
      deterministic: whether the elements keep their order.
      cpu_budget: number of CPUs that tf.data may use; recorded with the root.
      passed, filtered: elements that a filter has kept and dropped so far.
    """

    parallelism: int | None = None
    autotune: bool | None = None
    buffer_size: int | None = None
    buffer_limit: int | None = None
    cycle_length: int | None = None
    batch_size: int | None = None
    deterministic: bool | None = None
    cpu_budget: int | None = None
    passed: int | None = None
    filtered: int | None = None

    def known(self) -> dict[str, int | bool]:
        """The recorded settings by name."""
        values = ((name, getattr(self, name)) for name in (*FLAGS[:1], *COUNTS, *FLAGS[1:], *TALLIES))
        return {name: value for name, value in values if value is not None}


NONE = Settings()


@dataclass(frozen=True, slots=True)
class Stage:
    """An iterator on the way from a bottleneck to the program, in one run.

    Attributes:
      name, dataset: kind of the iterator, and name of its dataset in the program.
      settings: as recorded with its first call in the run.
      inputs: kinds of the iterators that it called, those of the longest duration first.
      calls, input_calls: number of its calls, and of its calls of inputs.
    """

    name: str
    dataset: str = ""
    settings: Settings = NONE
    inputs: tuple[str, ...] = ()
    calls: int = 0
    input_calls: int = 0


@dataclass(frozen=True, slots=True)
class BottleneckFacts:
    """Facts for the advice on a bottleneck; `consumers` are the stages after it, the root last."""

    own: Stage
    consumers: tuple[Stage, ...] = ()

    @property
    def cpu_budget(self) -> int | None:
        """Number of CPUs that tf.data may use; None if it is not recorded."""
        stages = (*self.consumers, self.own)
        return next((stage.settings.cpu_budget for stage in stages if stage.settings.cpu_budget is not None), None)


@dataclass(frozen=True, slots=True)
class Iterator:
    """One iterator; `name` is its kind, e.g. "ParallelMapV2", `dataset` its name in the program ("" if unknown)."""

    id: int
    parent: int
    name: str
    long_name: str
    dataset: str


@dataclass(frozen=True, slots=True)
class IteratorTimes:
    """Times of an iterator in one run, summed over its calls; `start_ps` is the begin of the first.

    `self_ps` is the duration minus the overlap with the iterators it called; it may be negative if several of them ran
    in parallel. `blocking`: the iterator is on the critical path.
    """

    iterator: Iterator
    start_ps: int
    duration_ps: int
    self_ps: int
    calls: int
    blocking: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a pipeline by the program.

    Attributes:
      begin_ps, duration_ps: of the call.
      iterators: ascending by id; the `left_out` shortest are omitted.
      bottleneck: index of the bottleneck in `iterators`; None if no iterator on the critical path has self time.
    """

    begin_ps: int
    duration_ps: int
    iterators: tuple[IteratorTimes, ...]
    left_out: int
    bottleneck: int | None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One input pipeline; `runs` are its broken down calls, longest first (rank 0, 1, ...), of `calls` in total.

    `facts` are those of the bottleneck of rank 0; None without one.
    """

    name: str
    is_device: bool
    root: Iterator
    calls: int
    slow_calls: int
    min_ps: int
    mean_ps: int
    max_ps: int
    runs: tuple[Run, ...]
    facts: BottleneckFacts | None = None


@dataclass(frozen=True, slots=True)
class TfData:
    """The pipelines of a host, host pipelines first, in file order; its size does not grow with the number of events.

    Attributes:
      host: host name in the profile, "" without one.
      left_out: number of pipelines beyond MAX_PIPELINES.
      cut_runs: number of runs with too many paths through the call graph to follow; occurs only in damaged profiles.
    """

    host: str = ""
    pipelines: tuple[Pipeline, ...] = ()
    left_out: int = 0
    cut_runs: int = 0

    @property
    def nbytes(self) -> int:
        """Estimated size for the cache: rows are objects of a few hundred bytes."""
        rows = sum(len(run.iterators) for pipeline in self.pipelines for run in pipeline.runs)
        return 1000 + 800 * len(self.pipelines) + 400 * rows


MAX_STAGES = 100
"""Maximum number of stages followed from a bottleneck to the program."""
_WANTED = frozenset((*COUNTS, *TALLIES, *FLAGS))


def bottleneck_facts(space: XSpace, plane: Plane, pipelines: Sequence[Pipeline]) -> list[BottleneckFacts | None]:
    """For each pipeline the facts about the bottleneck of its longest run; None without one."""
    chains = [_chain(pipeline.runs[0]) if pipeline.runs else [] for pipeline in pipelines]
    wanted = [times for chain in chains for times in chain]
    events = events_at(
        space,
        plane,
        [times.iterator.id for times in wanted],
        [times.iterator.long_name for times in wanted],
        [times.start_ps for times in wanted],
    )
    recorded = iter([NONE if event is None else settings_at(space, plane, event) for event in events])
    facts: list[BottleneckFacts | None] = []
    for pipeline, chain in zip(pipelines, chains, strict=True):
        stages = _stages(pipeline.runs[0], chain, recorded) if chain else []
        facts.append(BottleneckFacts(stages[0], tuple(stages[1:])) if stages else None)
    return facts


def _chain(run: Run) -> list[IteratorTimes]:
    """The bottleneck of a run and the iterators that consume its elements, up to the root."""
    if run.bottleneck is None:
        return []
    by_id = {times.iterator.id: times for times in run.iterators}
    chain: dict[int, IteratorTimes] = {}
    times: IteratorTimes | None = run.iterators[run.bottleneck]
    while times is not None and times.iterator.id not in chain and len(chain) < MAX_STAGES:
        chain[times.iterator.id] = times
        times = by_id.get(times.iterator.parent)
    return list(chain.values())


def _stages(run: Run, chain: Sequence[IteratorTimes], recorded: abc.Iterator[Settings]) -> list[Stage]:
    """The stages of a chain, with the settings recorded for them in the same order."""
    inputs: dict[int, list[IteratorTimes]] = {times.iterator.id: [] for times in chain}
    for candidate in run.iterators:
        if candidate.iterator.parent in inputs and candidate.iterator.parent != candidate.iterator.id:
            inputs[candidate.iterator.parent].append(candidate)
    stages = []
    for times in chain:
        longest_first = sorted(inputs[times.iterator.id], key=lambda times: -times.duration_ps)
        kinds = tuple(dict.fromkeys(called.iterator.name for called in longest_first))
        calls = sum(called.calls for called in longest_first)
        stages.append(Stage(times.iterator.name, times.iterator.dataset, next(recorded), kinds, times.calls, calls))
    return stages


def settings_at(space: XSpace, plane: Plane, event: int) -> Settings:
    """The settings recorded with one call of an iterator."""
    settings: dict[str, int | bool] = {}
    for name, kind, value in read.items(space, plane, plane.events.stats, event):
        if name not in _WANTED or name in settings:
            continue
        if name in FLAGS:  # as text; tf.data writes "unavailable" for flags that it could not look up
            if isinstance(value, str | int) and value in ("true", "false", 0, 1):
                settings[name] = value in ("true", 1)
        elif kind in (Kind.INT64, Kind.UINT64) and isinstance(value, int) and value >= (0 if name in TALLIES else 1):
            settings[name] = value
    return Settings(**settings)  # type: ignore[arg-type]


def events_at(
    space: XSpace, plane: Plane, ids: Sequence[int], names: Sequence[str], begins: Sequence[int]
) -> list[int | None]:
    """For each (iterator id, event name, begin in picoseconds) the first such event; None where there is none."""
    if not ids:
        return []
    wanted = set(names)
    rows = np.fromiter((name in wanted for name in plane.event_metadata.names), np.bool_, len(plane.event_metadata))
    candidates = np.flatnonzero(rows[plane.events.metadata])
    times = np.unique(np.asarray(begins, dtype=np.int64))
    begin = plane.events.begin_ps[candidates]
    index = np.minimum(np.searchsorted(times, begin), len(times) - 1)
    hits: I64 = candidates[times[index] == begin]
    id_of_event, _ = read.ints(space, plane, plane.events.stats, "id")
    # Equal rows of both get the same number; of equal events the first wins, as it is written last.
    number, _ = row_codes(
        np.concatenate([np.array(ids, dtype=np.uint64).view(np.int64), id_of_event[hits]]),
        np.concatenate([np.array(begins, dtype=np.int64), plane.events.begin_ps[hits]]),
    )
    first = np.full(len(number), -1, dtype=np.int64)
    first[number[len(ids) :][::-1]] = hits[::-1]
    return [event if event >= 0 else None for event in first[number[: len(ids)]].tolist()]


SLOW_CALL_PS = 50 * PS_PER_US
"""A call that takes longer than this is slow: the program waited; in a faster one the element was ready."""

MAX_PIPELINES = 2_000
"""Maximum number of pipelines; of more, those with the longest calls are kept."""
MAX_FOLLOWED = 1_000
"""Number of pipelines whose longest call is broken down by iterator regardless of the limit on rows."""
MAX_ITERATORS = 2_000
"""Maximum number of iterators of a run; of more, the longest are kept."""

_PREFIX = "Iterator::"
_ASYNC = ("Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch")
_ITERATOR, _ROOT, _PRODUCE = 1, 2, 4
_PRODUCE_CONSUME = {f"{name}Produce": _PRODUCE + 2 * k for k, name in enumerate(_ASYNC)} | {
    f"{name}Consume": _PRODUCE + 2 * k + 1 for k, name in enumerate(_ASYNC)
}
_DEVICE_SOURCES = ("Iterator::Prefetch::Generator", "Iterator::Root::Prefetch::Generator")
"""Source iterators of pipelines that only copy elements to one of several devices, in old and new TensorFlow."""


@dataclass(frozen=True, eq=False)
class DataCalls:
    """The iterator calls of a host, from which single runs are computed.

    Attributes:
      plane: the plane with the events.
      native: the call forest.
      run: root call of each run, by pipeline, longest first.
      start: int64[pipelines + 1], first run of each pipeline; pipelines in file order.
      root: per pipeline, its root iterator.
      is_device: per pipeline, whether it only copies elements to a device.
      begin_ps, duration_ps: of the runs.
    """

    plane: Plane
    native: _native.IteratorCalls
    run: np.ndarray[tuple[int], np.dtype[np.uint32]]
    start: I64
    root: I64
    is_device: Bools
    begin_ps: I64
    duration_ps: I64

    @property
    def nbytes(self) -> int:
        """Size in bytes, without the columns of the plane."""
        return self.native.nbytes + 24 * len(self.run)


def has_iterators(plane: Plane) -> bool:
    """True when the plane's event metadata has an iterator name; no event is read."""
    return any(name.startswith(_PREFIX) for name in plane.declared.event_metadata.names)


def data_calls(space: XSpace) -> DataCalls | None:
    """The tf.data iterator calls of a host; None without any."""
    plane = host_plane(space)
    if plane is None or not has_iterators(plane):
        return None
    stat_columns = StatColumns(space, plane, plane.events.stats, ("id", "parent_id", "element_id", "_a"))
    id_, parent, element = (stat_columns.ints(name) for name in ("id", "parent_id", "element_id"))
    native = _native.IteratorCalls(
        plane.lines.event_start,
        plane.events.begin_ps,
        plane.events.duration_ps,
        plane.events.metadata,
        _roles(plane.event_metadata.names),
        (id_.event, id_.value),
        (parent.event, parent.value),
        (element.event, element.value),
        stat_columns.flagged("_a", len(plane.events)),
    )
    return _sorted_runs(plane, native)


def _roles(names: Sequence[str]) -> U8:
    """Per row of the event metadata the role code of the name, for the native forest."""
    roles = np.zeros(len(names), dtype=np.uint8)
    for row, name in enumerate(names):
        if name.startswith(_PREFIX):
            roles[row] = _ROOT if name.count("::") == 1 else _ITERATOR
        else:
            roles[row] = _PRODUCE_CONSUME.get(name, 0)
    return roles


def _sorted_runs(plane: Plane, native: _native.IteratorCalls) -> DataCalls | None:
    call, iterator, begin, duration = native.roots()
    if len(call) == 0:
        return None
    # Iterators are numbered in file order, so sorting them preserves it.
    roots = np.unique(iterator)
    pipeline = np.searchsorted(roots, iterator)
    order = np.lexsort((-duration, pipeline))
    start = np.searchsorted(pipeline[order], np.arange(len(roots) + 1))
    return DataCalls(
        plane=plane,
        native=native,
        run=call[order],
        start=start.astype(np.int64),
        root=roots.astype(np.int64),
        is_device=_device_roots(plane, native)[roots],
        begin_ps=begin[order],
        duration_ps=duration[order],
    )


def _device_roots(plane: Plane, native: _native.IteratorCalls) -> Bools:
    """Per iterator whether it is the root of a pipeline that only copies elements to a device."""
    ids, parents, first = native.iterators()
    names = plane.event_metadata.names
    rows = plane.events.metadata[first]
    plain, nested = (np.array([name == source for name in names], np.bool_)[rows] for source in _DEVICE_SOURCES)
    prefetch = np.isin(ids, parents[nested])
    is_root: Bools = np.isin(ids, parents[plain]) | np.isin(ids, parents[prefetch])
    return is_root


def summarize_tf_data(space: XSpace, calls: DataCalls | None, rows: int) -> TfData:
    """The pipelines of a host; runs are broken down in order of rank until there are `rows` iterators in total."""
    host = space.hostnames[0] if space.hostnames else ""
    if calls is None:
        return TfData(host)
    longest = calls.duration_ps[calls.start[:-1]]
    chosen = np.argsort(-longest, kind="stable")[:MAX_PIPELINES]
    selected_runs, pipeline = _by_rank(calls, chosen)
    broken_down = runs_of(space, calls, selected_runs, min(len(chosen), MAX_FOLLOWED), rows)
    runs: dict[int, list[Run]] = {}
    for number, run in zip(pipeline.tolist(), broken_down.runs, strict=False):
        runs.setdefault(number, []).append(run)
    names = pipeline_names(calls)
    ordered = sorted(chosen.tolist(), key=lambda number: (bool(calls.is_device[number]), number))
    iterators = _iterators(space, calls, calls.root[ordered])
    pipelines = [
        _pipeline(calls, number, names[number], iterators[int(calls.root[number])], tuple(runs.get(number, ())))
        for number in ordered
    ]
    facts = bottleneck_facts(space, calls.plane, pipelines)
    pipelines = [replace(pipeline, facts=of_it) for pipeline, of_it in zip(pipelines, facts, strict=True)]
    return TfData(host, tuple(pipelines), len(longest) - len(ordered), broken_down.cut)


def pipeline_names(calls: DataCalls) -> list[str]:
    """Names of the pipelines: `Host:0`, `Host:1`, ..., `Device:0`, ..., numbered in file order."""
    devices = np.cumsum(calls.is_device)
    hosts = np.arange(1, len(devices) + 1) - devices
    numbers = np.where(calls.is_device, devices, hosts) - 1
    return [f"{'Device' if d else 'Host'}:{n}" for d, n in zip(calls.is_device.tolist(), numbers.tolist(), strict=True)]


def _by_rank(calls: DataCalls, chosen: I64) -> tuple[I64, I64]:
    """Runs of the chosen pipelines, and the pipeline of each: all of rank 0 in the given order, then rank 1, ..."""
    sizes = np.diff(calls.start)[chosen]
    position, rank = members(np.zeros(len(chosen), np.int64), sizes)
    order = np.lexsort((position, rank))
    pipeline = chosen[position[order]]
    return calls.start[pipeline] + rank[order], pipeline


def _pipeline(calls: DataCalls, number: int, name: str, root: Iterator, runs: tuple[Run, ...]) -> Pipeline:
    duration = calls.duration_ps[int(calls.start[number]) : int(calls.start[number + 1])]
    return Pipeline(
        name=name,
        is_device=bool(calls.is_device[number]),
        root=root,
        calls=len(duration),
        slow_calls=int(np.count_nonzero(duration > SLOW_CALL_PS)),
        min_ps=int(duration[-1]),
        mean_ps=exact_sum(duration) // len(duration),
        max_ps=int(duration[0]),
        runs=runs,
    )


@dataclass(frozen=True, slots=True)
class RunBreakdown:
    """Runs broken down by iterator; `cut` of them only in part."""

    runs: tuple[Run, ...]
    cut: int


def runs_of(space: XSpace, calls: DataCalls, runs: I64, least: int, rows: int) -> RunBreakdown:
    """Breaks down runs (indices into `calls.run`): at least `least` of them, more until they have `rows` iterators."""
    sums = calls.native.sum(calls.run[runs], least, rows, MAX_ITERATORS)
    start, iterator, begin, duration, self_ps, count, blocking, left_out, cut = sums
    iterators = _iterators(space, calls, iterator.astype(np.int64))
    columns = zip(
        (iterators[i] for i in iterator.tolist()),
        begin.tolist(),
        duration.tolist(),
        self_ps.tolist(),
        count.tolist(),
        blocking.tolist(),
        strict=True,
    )
    times = [IteratorTimes(*row) for row in columns]
    broken_down = []
    edges = start.tolist()
    for run, first, last, omitted in zip(runs.tolist(), edges[:-1], edges[1:], left_out.tolist(), strict=False):
        run_iterators = tuple(times[first:last])
        # On the critical path, the iterator with most self time.
        blocking_ones = (i for i, row in enumerate(run_iterators) if row.blocking and row.self_ps > 0)
        bottleneck = max(blocking_ones, key=lambda i: run_iterators[i].self_ps, default=None)
        span = int(calls.begin_ps[run]), int(calls.duration_ps[run])
        broken_down.append(Run(*span, run_iterators, omitted, bottleneck))
    return RunBreakdown(tuple(broken_down), len(cut))


def _iterators(space: XSpace, calls: DataCalls, requested: I64) -> dict[int, Iterator]:
    """The iterators with the given numbers."""
    plane = calls.plane
    numbers = np.unique(requested)
    ids, parents, first = calls.native.iterators()
    events = first[numbers]
    rows = plane.events.metadata[events].tolist()
    names = plane.event_metadata.names
    datasets = [read.text_of(space, plane, plane.events.stats, event, "name") for event in events.tolist()]
    columns = zip(numbers.tolist(), ids[numbers].tolist(), parents[numbers].tolist(), rows, datasets, strict=True)
    return {
        number: Iterator(id_, parent, names[row].rpartition("::")[2], names[row], dataset)
        for number, id_, parent, row, dataset in columns
    }


MAX_BOXES = 20_000
_LAST = (1 << 63) - 1
_MAX_UNIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Track:
    """A thread, with its process and thread id in the timeline."""

    pid: int
    tid: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Calls to draw; short calls of an iterator on one track within one unit of time are merged to one box.

    Columns of one length, by iterator, then begin: `iterator` is an index into the run's iterators, `track` into its
    tracks; times are on the axis of the timeline; `blocking`: on the critical path; `count`: number of calls.
    """

    iterator: I64
    track: I64
    begin_ps: I64
    duration_ps: I64
    blocking: Bools
    count: I64

    def __len__(self) -> int:
        return len(self.iterator)


@dataclass(frozen=True, slots=True, eq=False)
class RunDetail:
    """A run and its calls; `unit_ps` is the unit used for merging, `truncated`: the shortest boxes are left out.

    `settings`: per iterator of the run, as recorded with its first call.
    """

    run: Run
    settings: tuple[Settings, ...]
    tracks: tuple[Track, ...]
    boxes: Boxes
    window_ps: tuple[int, int]
    executions: int
    unit_ps: int
    truncated: bool
    cut: bool


def run_detail(space: XSpace, calls: DataCalls, run: int, resolution: int) -> RunDetail:
    """The run at index `run` of `calls.run`; boxes are merged for a time axis of at most `resolution` units."""
    breakdown = runs_of(space, calls, np.array([run], dtype=np.int64), 1, 0)
    event, iterator, blocking, cut = calls.native.calls(int(calls.run[run]))
    index, in_run = _iterator_indices(calls, breakdown.runs[0], iterator.astype(np.int64))
    event, index, blocking = event[in_run], index[in_run], blocking[in_run]
    settings = _settings(space, calls.plane, event.astype(np.int64), index, len(breakdown.runs[0].iterators))
    tracks, track = _tracks(calls, event.astype(np.int64))
    plane = calls.plane
    begin = plane.events.begin_ps[event]
    # Clipped so that ends fit 64 bits in damaged files.
    duration = np.clip(plane.events.duration_ps[event], 0, _LAST - np.maximum(begin, 0))
    calls_as_boxes = Boxes(index, track, begin, duration, blocking, np.ones(len(event), dtype=np.int64))
    calls_as_boxes = rows_of(calls_as_boxes, np.lexsort((begin, blocking, track, index)))
    window = int(begin.min()), int((begin + duration).max())
    boxes, unit = _bounded(calls_as_boxes, -(-(window[1] - window[0]) // resolution))
    truncated = len(boxes) > MAX_BOXES
    if truncated:
        boxes = rows_of(boxes, np.argsort(-boxes.duration_ps, kind="stable")[:MAX_BOXES])
    boxes = rows_of(boxes, np.lexsort((boxes.begin_ps, boxes.iterator)))
    return RunDetail(breakdown.runs[0], settings, tracks, boxes, window, len(calls_as_boxes), unit, truncated, cut)


def _iterator_indices(calls: DataCalls, run: Run, iterator: I64) -> tuple[I64, Bools]:
    """Index of each iterator number among the run's iterators, and a mask of those that are among them."""
    ids = calls.native.iterators()[0][iterator]
    run_ids = np.array([times.iterator.id for times in run.iterators], np.uint64)
    index = np.minimum(np.searchsorted(run_ids, ids), len(run_ids) - 1)
    return index, run_ids[index] == ids


def _settings(space: XSpace, plane: Plane, event: I64, index: I64, count: int) -> tuple[Settings, ...]:
    """The settings of each of `count` iterators, recorded with the first of its calls: `event` and its `index`."""
    order = np.lexsort((event, plane.events.begin_ps[event], index))
    called, first = np.unique(index[order], return_index=True)
    settings = [NONE] * count
    for iterator, call in zip(called.tolist(), event[order][first].tolist(), strict=True):
        settings[iterator] = settings_at(space, plane, call)
    return tuple(settings)


def _tracks(calls: DataCalls, event: I64) -> tuple[tuple[Track, ...], I64]:
    lines = calls.plane.lines
    lines_used, track = np.unique(line_of(calls.plane, event), return_inverse=True)
    tracks = tuple(
        Track(
            HOST_PID,
            int(lines.display_id[line] or lines.id[line]) & 0xFFFFFFFF,
            lines.display_name[line] or lines.name[line],
        )
        for line in lines_used.tolist()
    )
    return tracks, track.astype(np.int64)


def _bounded(boxes_in: Boxes, unit: int) -> tuple[Boxes, int]:
    """Merges with increasing units until there are at most MAX_BOXES boxes or none is shorter than the unit."""
    longest = int(boxes_in.duration_ps.max())
    while True:
        unit = min(max(unit, 1), _MAX_UNIT)
        boxes = _merged(boxes_in, unit)
        if len(boxes) <= MAX_BOXES or unit > longest or unit == _MAX_UNIT:
            return boxes, unit
        unit *= 2


def _merged(boxes: Boxes, unit: int) -> Boxes:
    """Merges boxes shorter than a unit that begin in the same unit and share iterator, track and `blocking`."""
    short = boxes.duration_ps < unit
    same = short[1:] & short[:-1]
    for column in (boxes.iterator, boxes.track, boxes.blocking, boxes.begin_ps // unit):
        same &= column[1:] == column[:-1]
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    end = np.maximum.reduceat(boxes.begin_ps + boxes.duration_ps, first)
    merged = rows_of(boxes, first)
    return replace(merged, duration_ps=end - merged.begin_ps, count=np.diff(np.append(first, len(boxes))))
