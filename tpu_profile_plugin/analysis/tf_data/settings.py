"""Settings of tf.data iterators as recorded with their calls: parallelism, buffers, batch size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tpu_profile_plugin.analysis.tf_data import model
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.columns.tables import Kind

MAX_STAGES = 100
"""Maximum number of stages followed from a bottleneck to the program."""
_WANTED = frozenset((*model.COUNTS, *model.TALLIES, *model.FLAGS))


def bottleneck_facts(
    space: XSpace, plane: Plane, pipelines: Sequence[model.Pipeline]
) -> list[model.BottleneckFacts | None]:
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
    recorded = iter([model.NONE if event is None else settings_at(space, plane, event) for event in events])
    facts: list[model.BottleneckFacts | None] = []
    for pipeline, chain in zip(pipelines, chains, strict=True):
        stages = _stages(pipeline.runs[0], chain, recorded) if chain else []
        facts.append(model.BottleneckFacts(stages[0], tuple(stages[1:])) if stages else None)
    return facts


def _chain(run: model.Run) -> list[model.IteratorTimes]:
    """The bottleneck of a run and the iterators that consume its elements, up to the root."""
    if run.bottleneck is None:
        return []
    by_id = {times.iterator.id: times for times in run.iterators}
    chain: dict[int, model.IteratorTimes] = {}
    times: model.IteratorTimes | None = run.iterators[run.bottleneck]
    while times is not None and times.iterator.id not in chain and len(chain) < MAX_STAGES:
        chain[times.iterator.id] = times
        times = by_id.get(times.iterator.parent)
    return list(chain.values())


def _stages(
    run: model.Run, chain: Sequence[model.IteratorTimes], recorded: Iterator[model.Settings]
) -> list[model.Stage]:
    """The stages of a chain, with the settings recorded for them in the same order."""
    inputs: dict[int, list[model.IteratorTimes]] = {times.iterator.id: [] for times in chain}
    for candidate in run.iterators:
        if candidate.iterator.parent in inputs and candidate.iterator.parent != candidate.iterator.id:
            inputs[candidate.iterator.parent].append(candidate)
    stages = []
    for times in chain:
        longest_first = sorted(inputs[times.iterator.id], key=lambda one: -one.duration_ps)
        kinds = tuple(dict.fromkeys(one.iterator.name for one in longest_first))
        calls = sum(one.calls for one in longest_first)
        stages.append(
            model.Stage(times.iterator.name, times.iterator.dataset, next(recorded), kinds, times.calls, calls)
        )
    return stages


def settings_at(space: XSpace, plane: Plane, event: int) -> model.Settings:
    """The settings recorded with one call of an iterator."""
    settings: dict[str, int | bool] = {}
    for name, kind, value in read.items(space, plane, plane.events.stats, event):
        if name not in _WANTED or name in settings:
            continue
        parsed = _flag(value) if name in model.FLAGS else _count(kind, value, 0 if name in model.TALLIES else 1)
        if parsed is not None:
            settings[name] = parsed
    return model.Settings(**settings)  # type: ignore[arg-type]


def _flag(value: read.Value) -> bool | None:
    """Flags are recorded as text; tf.data writes "unavailable" for what it could not look up."""
    return {"true": True, "false": False, 1: True, 0: False}.get(value) if isinstance(value, str | int) else None


def _count(kind: Kind, value: read.Value, least: int) -> int | None:
    return value if kind in (Kind.INT64, Kind.UINT64) and isinstance(value, int) and value >= least else None


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
    requested = np.column_stack([np.array(ids, dtype=np.uint64).view(np.int64), np.array(begins, dtype=np.int64)])
    recorded = np.column_stack([id_of_event[hits], plane.events.begin_ps[hits]])
    # Equal rows of both get the same number; of equal events the first wins, as it is written last.
    _, number = np.unique(np.concatenate([requested, recorded]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    first = np.full(len(number), -1, dtype=np.int64)
    first[number[len(ids) :][::-1]] = hits[::-1]
    return [event if event >= 0 else None for event in first[number[: len(ids)]].tolist()]
