"""XProf's memory profile: the JSON of its protobuf message, per allocator a timeline and a breakdown of the peak."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tpu_profile_plugin.analysis.memory.allocations import (
    INVALID,
    Allocations,
    MemoryPeak,
    SpecialAllocation,
    TextColumn,
)
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.memory.memory_profile import TOOL as OURS
from tpu_profile_plugin.tools.memory.memory_profile import Recorded, recorded_allocations
from tpu_profile_plugin.tools.payload import Raw
from tpu_profile_plugin.tools.query import Query

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
    """Per allocator a timeline and a breakdown of the peak; and the runs of modules. Times count from each line."""
    recorded = recorded_allocations(run, since_recording=False, modules=True)
    parts = (f"{_text(name)}:{_allocator(peak)}" for name, peak in recorded.peaks.items())
    body = (
        f'{{"memoryProfilePerAllocator":{{{",".join(parts)}}},"numHosts":1,"memoryIds":{json.dumps(list(recorded.peaks))},'
        f'"version":1,"hloModules":[{",".join(_modules(recorded))}]}}'
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


def _modules(recorded: Recorded) -> Iterator[str]:
    """The module runs, numbered consecutively over all cores."""
    columns = (
        [_text(name or "") for name in recorded.module_names],
        recorded.module_begin_ps.tolist(),
        recorded.module_end_ps.tolist(),
        range(len(recorded.module_names)),
        [_text((plane or "").removeprefix("/device:")) for plane in recorded.module_planes],
    )
    if len(recorded.module_names):
        yield _filled(_MODULE, columns)


TOOL = replace(OURS, build=build, params=())
