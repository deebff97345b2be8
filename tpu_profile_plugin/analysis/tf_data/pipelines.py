"""tf.data input pipelines of one host: time waiting for each, and its bottleneck iterator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.tf_data.model import Iterator, IteratorTimes, Pipeline, Run, TfData
from tpu_profile_plugin.analysis.tf_data.settings import bottleneck_facts
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, U8, Bools
from tpu_profile_plugin.units import PS_PER_US

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
    plane = next((plane for plane in space.planes if plane.name == HOST_THREADS), None)
    if plane is None or not has_iterators(plane):
        return None
    stat_columns = StatColumns(space, plane, plane.events.stats, ("id", "parent_id", "element_id", "_a"))
    skip = None
    marked = stat_columns.owners("_a")
    if len(marked):
        skip = np.zeros(len(plane.events), dtype=np.bool_)
        skip[marked[stat_columns.signed("_a").value != 0]] = True
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
        skip,
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
    pipelines = [replace(pipeline, facts=found) for pipeline, found in zip(pipelines, facts, strict=True)]
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
    position = np.repeat(np.arange(len(chosen)), sizes)
    rank = np.arange(len(position)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.lexsort((position, rank))
    pipeline = chosen[position[order]]
    return calls.start[pipeline] + rank[order], pipeline


def _pipeline(calls: DataCalls, number: int, name: str, root: Iterator, runs: tuple[Run, ...]) -> Pipeline:
    duration = calls.duration_ps[int(calls.start[number]) : int(calls.start[number + 1])]
    # Summed in two halves: the sum of durations in a damaged profile may overflow 64 bits.
    total = (int((duration >> 32).sum()) << 32) + int((duration & 0xFFFFFFFF).sum())
    return Pipeline(
        name=name,
        is_device=bool(calls.is_device[number]),
        root=root,
        calls=len(duration),
        slow_calls=int(np.count_nonzero(duration > SLOW_CALL_PS)),
        min_ps=int(duration[-1]),
        mean_ps=total // len(duration),
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
        broken_down.append(
            Run(
                int(calls.begin_ps[run]),
                int(calls.duration_ps[run]),
                run_iterators,
                omitted,
                _bottleneck(run_iterators),
            )
        )
    return RunBreakdown(tuple(broken_down), len(cut))


def _bottleneck(iterators: Sequence[IteratorTimes]) -> int | None:
    """Index of the iterator on the critical path with most self time; None if none has any."""
    best, longest = None, 0
    for index, times in enumerate(iterators):
        if times.blocking and times.self_ps > longest:
            best, longest = index, times.self_ps
    return best


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
