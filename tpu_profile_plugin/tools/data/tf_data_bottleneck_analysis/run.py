"""One run of a tf.data pipeline in detail: its iterators, and their calls by thread."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.tf_data import (
    DataCalls,
    IteratorTimes,
    RunDetail,
    Settings,
    pipeline_names,
    run_detail,
)
from tpu_profile_plugin.errors import BadRequest, ProfileError
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.hosts import calls_of
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query

_BOX_COLUMNS = ("iterator", "track", "begin_ps", "duration_ps", "blocking", "count")


def build(run: Run, query: Query) -> Json:
    """The run given by `pipeline` and `rank`, on the first chosen host that has the pipeline."""
    name, rank = query.text("pipeline"), query.integer("rank")
    host, calls, number = _find(run.profiles, name)
    first, last = int(calls.start[number]), int(calls.start[number + 1])
    if rank >= last - first:
        raise BadRequest(
            f"Pipeline {name} was called {last - first} times; ranks go from 0 to {last - first - 1}.",
            parameter="rank",
            value=rank,
        )
    detail = run_detail(host.lazy, calls, first + rank, query.integer("resolution"))
    kind = "device" if calls.is_device[number] else "host"
    identity: dict[str, Any] = {"host": host.name, "pipeline": name, "kind": kind, "rank": rank, "ranks": last - first}
    return Json(identity | _detail(detail, query.integer("resolution")))


def problems(cut_runs: int) -> list[str]:
    """Problems of the profile, as sentences."""
    if not cut_runs:
        return []
    return [
        f"{cut_runs} {'run reaches' if cut_runs == 1 else 'runs reach'} the same iterator calls in very many ways and "
        "could not be followed to the end; their durations and calls are too low. The profile is damaged."
    ]


def _find(hosts: tuple[HostProfile, ...], name: str) -> tuple[HostProfile, DataCalls, int]:
    known: list[str] = []
    for host in hosts:
        try:
            calls = calls_of(host)
        except ProfileError:
            if len(hosts) == 1:
                raise
            continue
        if calls is None:
            continue
        names = pipeline_names(calls)
        if name in names:
            return host, calls, names.index(name)
        known += [other for other in names[:100] if other not in known]
    raise BadRequest(
        f"There is no pipeline {name[:80]!r} on {'this host' if len(hosts) == 1 else 'these hosts'}.",
        parameter="pipeline",
        value=name[:80],
        pipelines=known[:100],
    )


def _detail(detail: RunDetail, resolution: int) -> dict[str, Any]:
    run, (begin, end) = detail.run, detail.window_ps
    bottleneck = None if run.bottleneck is None else run.iterators[run.bottleneck].iterator.id
    return {
        "begin_ps": run.begin_ps,
        "duration_ps": run.duration_ps,
        "window_ps": [begin, end],
        "bottleneck": "" if bottleneck is None else str(bottleneck),
        "iterators": [
            _iterator(times, settings, index == run.bottleneck)
            for index, (times, settings) in enumerate(zip(run.iterators, detail.settings, strict=True))
        ],
        "iterators_left_out": run.left_out,
        "tracks": [{"pid": track.pid, "tid": track.tid, "name": track.name} for track in detail.tracks],
        "boxes": {name: getattr(detail.boxes, name).astype(int).tolist() for name in _BOX_COLUMNS},
        "executions": detail.executions,
        "resolution": max(1, min(resolution, -(-(end - begin) // detail.unit_ps))),
        "truncated": detail.truncated,
        "problems": problems(int(detail.cut)),
    }


def _iterator(times: IteratorTimes, settings: Settings, is_bottleneck: bool) -> dict[str, Any]:
    iterator = times.iterator
    return {
        "id": str(iterator.id),
        "parent": str(iterator.parent) if iterator.parent else "",
        "iterator": iterator.name,
        "long_name": iterator.long_name,
        "name": iterator.dataset,
        **{name: getattr(times, name) for name in ("start_ps", "duration_ps", "self_ps", "calls")},
        "type": 2 if is_bottleneck else int(times.blocking),
        "settings": settings.known(),
    }
