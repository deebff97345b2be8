"""Memory profile: memory use of a host's allocators over time, and the allocations live at the peak."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from tpu_profile_plugin.analysis.common.planes import events_of_lines, offsets_in_line
from tpu_profile_plugin.analysis.common.reasons import NO_ALLOCATIONS_IN_PYTORCH, Reason
from tpu_profile_plugin.analysis.memory.allocations import (
    INVALID,
    Allocations,
    MemoryPeak,
    SpecialAllocation,
    TextColumn,
    memory_peak,
)
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.allocations import host_allocations
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

MAX_ALLOCATORS = 4096
"""Upper limit for damaged profiles; real hosts have far fewer allocators, and each gets a timeline of its own."""

_TPU = "/device:TPU:"
_MODULES = "XLA Modules"
_STATS = (
    '{"stackReservedBytes":"%d","heapAllocatedBytes":"%d","freeMemoryBytes":"%d","fragmentation":%r,'
    '"peakBytesInUse":"%d"}'
)
_ACTIVITY = (
    '{"memoryActivity":%s,"requestedBytes":"%d","allocationBytes":"%d","address":"%d","tfOpName":%s,"stepId":"%d",'
    '"regionType":%s,"dataType":%s,"tensorShape":%s}'
)
_SNAPSHOT = '{"timeOffsetPs":"%d","aggregationStats":' + _STATS + ',"activityMetadata":' + _ACTIVITY + "}"
_SUMMARY = (
    '{"peakBytesUsageLifetime":"%d","peakStats":' + _STATS + ',"peakStatsTimePs":"%d","memoryCapacity":"%d"}'
)  # fmt: skip
_ACTIVE = '{"snapshotIndex":"%d","specialIndex":"%d","numOccurrences":"%d"}'
_MODULE = '{"name":%s,"startTimePs":"%d","endTimePs":"%d","id":"%d","planeName":%s}'


def build(run: Run, query: Query) -> Raw:
    """JSON as in XProf: per allocator a timeline and a breakdown of the peak; and the runs of modules."""
    if len(run.profiles) > 1:
        raise BadRequest(
            "The memory profile shows one host at a time: select one with 'host'.",
            parameter="host",
            hosts=[host.name for host in run.profiles],
        )
    host = run.profiles[0]
    since_recording = query.flag("extended")
    runs = [EventFilter(plane, lines=(_MODULES,)) for plane in host.lazy.planes if plane.name.startswith(_TPU)]
    recorded, cores = host_allocations(host, runs, since_recording=since_recording)
    count = len(np.unique(recorded.memory.code)) if recorded else 0
    if count > MAX_ALLOCATORS:
        raise NoData(f"Host {host.name!r} names {count} allocators; at most {MAX_ALLOCATORS} can be shown.")
    per_memory = {name: memory_peak(rows) for name, rows in (recorded.by_memory() if recorded else {}).items()}
    parts = (f"{_text(name)}:{_allocator(peak)}" for name, peak in per_memory.items())
    modules = _modules(host.lazy, cores, since_recording=since_recording)
    body = (
        f'{{"memoryProfilePerAllocator":{{{",".join(parts)}}},"numHosts":1,"memoryIds":{json.dumps(list(per_memory))},'
        f'"version":1,"hloModules":[{",".join(modules)}]}}'
    )
    return Raw(body.encode("utf-8", "replace"))


def _allocator(profile: MemoryPeak) -> str:
    rows, peak = profile.rows, profile.peak
    lines = [row for row in profile.active if row >= 0]
    number = {row: i for i, row in enumerate(lines)}
    active = (
        _ACTIVE % (number.get(row, row), -1 if row >= 0 else -1 - row, count)
        for row, count in zip(profile.active, profile.count, strict=True)
    )
    summary = _SUMMARY % (profile.lifetime_peak, *((0,) * 7 if peak is None else _peak_facts(rows, peak)))
    return (
        f'{{"memoryProfileSnapshots":[{_snapshots(rows.take(lines))}],"profileSummary":{summary},'
        f'"activeAllocations":[{",".join(active)}],'
        f'"specialAllocations":[{",".join(_special(entry, profile.step) for entry in profile.special)}],'
        f'"sampledTimelineSnapshots":[{_snapshots(rows.take(profile.timeline))}]}}'
    )


def _peak_facts(rows: Allocations, peak: int) -> tuple[float, ...]:
    in_use, free = int(rows.in_use[peak]), int(rows.free[peak])
    stats = (int(rows.stack[peak]), int(rows.heap[peak]), free, float(rows.fragmentation[peak]), in_use)
    return (*stats, int(rows.time_ps[peak]), in_use + free)


def _snapshots(rows: Allocations) -> str:
    kinds = ['"ALLOCATION"' if allocates else '"DEALLOCATION"' for allocates in rows.allocates.tolist()]
    numbers = (rows.time_ps, rows.stack, rows.heap, rows.free, rows.fragmentation, rows.peak)
    sizes = (rows.requested, rows.allocated, rows.address.view("uint64"))
    columns = (
        *(column.tolist() for column in numbers),
        kinds,
        *(column.tolist() for column in sizes),
        _texts(rows.op),
        rows.step.tolist(),
        *(_texts(column) for column in (rows.region, rows.data_type, rows.shape)),
    )
    return _filled(_SNAPSHOT, columns)


def _filled(template: str, columns: Sequence[Sequence[object]]) -> str:
    """Formats the template once per row, joined by commas; one formatting step for all rows, for speed."""
    count = len(columns[0])
    return ",".join([template] * count) % tuple(chain.from_iterable(zip(*columns, strict=True)))


def _texts(column: TextColumn) -> Sequence[str]:
    encoded: dict[int, str] = {}
    codes = column.code.tolist()
    for code in set(codes):
        encoded[code] = _text(column.texts[code])
    return [encoded[code] for code in codes]


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _special(special: SpecialAllocation, step: int) -> str:
    size, name, region = special.bytes, _text(special.name), _text(special.region)
    return _ACTIVITY % ('"ALLOCATION"', size, size, 0, name, step, region, f'"{INVALID}"', '"unknown"')


def _modules(space: XSpace, planes: Iterable[Plane], *, since_recording: bool) -> Iterator[str]:
    """The module runs of each core, numbered consecutively over all cores; times as those of allocations."""
    count = 0
    for plane in planes:
        if not plane.name.startswith(_TPU):
            continue
        core = _text(plane.name.removeprefix("/device:"))
        for line, title in enumerate(plane.lines.name):
            if title != _MODULES:
                continue
            events = plane.lines.events_of(line)
            row = plane.events.metadata[events]
            encoded = {i: _text(plane.event_metadata.names[i]) for i in np.unique(row).tolist()}
            runs = events_of_lines(plane, [line])
            begin = plane.events.begin_ps[runs] if since_recording else offsets_in_line(space, plane, runs)
            end = begin + plane.events.duration_ps[events]
            names = [encoded[i] for i in row.tolist()]
            numbers = range(count, count + len(names))
            if names:
                yield _filled(_MODULE, (names, begin.tolist(), end.tolist(), numbers, [core] * len(names)))
            count += len(names)


def _lacks(facts: RunFacts) -> Reason | None:
    """Of other profilers, the declared events do not tell."""
    return NO_ALLOCATIONS_IN_PYTORCH if facts.pytorch and not facts.torch_memory else None


TOOL = Tool(
    id="memory_profile",
    title="Memory Profile",
    group="Memory",
    summary="Memory in use of each allocator over time, and the allocations at the peak.",
    build=build,
    lacks=_lacks,
    hosts=HostChoice.ONE,
    params=(
        Param(
            "extended", "bool", False, "Times count from the start of the recording instead of the start of each line."
        ),
    ),
)
