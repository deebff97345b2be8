"""Steps of CPUs and GPUs: time per event class within each step; of overlapping events the highest class counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX, Preprocessed, host_plane
from tpu_profile_plugin.analysis.common.rows import joined, rows_of
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.steps.markers import NO_SPANS, HostEvents, Spans, gpu_markers, gpu_spans, host_events
from tpu_profile_plugin.analysis.steps.table import CLASSES, EventClass, StepTable
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns.arrays import I64

_RANK = np.full(256, 255, np.uint8)
"""By number of an `EventClass` its index in CLASSES, which is ascending; no other number is one of a span."""
_RANK[list(CLASSES)] = range(len(CLASSES))

CORE = 1
"""Id of the single core that all events of a host are assigned to."""


def cpu_steps(space: XSpace, pre: Preprocessed, mapper: Mapper = map) -> tuple[StepTable, StepTable | None]:
    """Steps of a host without devices, from the step markers on its threads.

    The first table counts instants until the next end of their class, as XProf does; the second counts only
    what lasts, and is None if it does not differ. `mapper` works on both.
    """
    plane = host_plane(space)
    if plane is None:
        return StepTable(), None
    host = host_events(space, plane, pre.planes[plane.index])
    times = step_times(None, host.markers)
    make = partial(assemble, host.spans, times, host.names, with_device=False)
    if bool((host.spans.end_ps > host.spans.begin_ps).all()):
        return make(), None
    steps, without = both(mapper, make, partial(make, instants=False))
    one, other = (table.times.stacked(CLASSES) for table in (steps, without))
    same = np.array_equal(steps.number, without.number) and np.array_equal(one, other)
    return steps, None if same else without


def gpu_steps(space: XSpace, pre: Preprocessed, *, merge_host: bool = False, short_memcpy: bool = False) -> StepTable:
    """Steps of a host with GPUs, from the groups that have events on a device.

    Args:
      space: the profile.
      pre: its groups and derived lines.
      merge_host: include the host's markers and events of these groups, so that all nine categories are populated, and
        infer the steps of a file saved with groups but without a step line; XProf does neither.
      short_memcpy: also recognise copies spelled MemcpyH2D.
    """
    device, typed = _on_devices(space, pre, infer=merge_host, short_memcpy=short_memcpy)
    cpu_plane = host_plane(space)
    if not merge_host or cpu_plane is None:
        return assemble(typed, step_times(device, None), {}, with_device=True)
    host = host_events(space, cpu_plane, pre.planes[cpu_plane.index], with_device=True)
    groups, names = np.unique(device.group), host.names
    times = step_times(device, _of_groups(host.markers, groups))
    typed = _together([typed, _of_groups(host.spans, groups)])
    del host  # as large as what is made of it
    return assemble(typed, times, names, with_device=True, instants=False)


def _on_devices(space: XSpace, pre: Preprocessed, *, infer: bool, short_memcpy: bool) -> tuple[Spans, Spans]:
    """Markers and classified spans of all GPUs, of the groups that have both."""
    markers, spans = [], []
    for plane in space.planes:
        if plane.name.startswith(GPU_PREFIX):
            extras = pre.planes[plane.index]
            marker = gpu_markers(plane, extras, infer=infer)
            span = gpu_spans(space, plane, extras, short_memcpy=short_memcpy)
            both = np.intersect1d(marker.group, span.group)
            markers.append(_of_groups(marker, both))
            spans.append(_of_groups(span, both))
    return _together(markers), _together(spans)


def _of_groups(spans: Spans, groups: I64) -> Spans:
    kept = np.isin(spans.group, groups)
    return spans if bool(kept.all()) else rows_of(spans, kept)


def _together(parts: Sequence[Spans]) -> Spans:
    filled = [part for part in parts if len(part)]
    return filled[0] if len(filled) == 1 else joined([NO_SPANS, *filled])


def longest(markers: Spans) -> dict[int, tuple[int, int]]:
    """Begin and end of the longest marker of each group, the first among equals."""
    best: dict[int, tuple[int, int]] = {}
    columns = (markers.group.tolist(), markers.begin_ps.tolist(), markers.end_ps.tolist())
    for group, begin, end in zip(*columns, strict=True):
        if group not in best or end - begin > best[group][1] - best[group][0]:
            best[group] = (begin, end)
    return best


def step_times(device: Spans | None, host: Spans | None) -> dict[int, tuple[int, int]]:
    """Span of each group: its longest device marker, or its longest host marker if that encloses it or is alone."""
    times = longest(device) if device is not None else {}
    for group, (begin, end) in (longest(host) if host is not None else {}).items():
        on_device = times.get(group)
        if on_device is None or (begin <= on_device[0] and on_device[1] <= end):
            times[group] = (begin, end)
    return {group: span for group, span in sorted(times.items()) if span[1] > span[0]}


def assemble(
    spans: Spans, times: dict[int, tuple[int, int]], names: dict[int, str], *, with_device: bool, instants: bool = True
) -> StepTable:
    """Clips the spans of each group to its step; keeps steps with compute on the device, or on the host without one.

    As in XProf, compute counts if it is anywhere in the group, and instants count until the next end of their
    class; without `instants` they do not count.
    """
    groups, window = np.array(list(times), np.int64), np.array(list(times.values()), np.int64).reshape(len(times), 2)
    total, within, flags = _native.priority_times(
        spans.group,
        spans.begin_ps,
        spans.end_ps,
        _RANK[spans.kind],
        groups,
        np.ascontiguousarray(window[:, 0]),
        np.ascontiguousarray(window[:, 1]),
        len(CLASSES),
        instants,
    )
    shape = len(groups), len(CLASSES)
    total_times, times_in_step, present = total.reshape(shape), within.reshape(shape), flags.reshape(shape)
    half, full, on_host = map(
        CLASSES.index, (EventClass.DEVICE_COMPUTE_16, EventClass.DEVICE_COMPUTE_32, EventClass.HOST_COMPUTE)
    )
    computes = present[:, half] | present[:, full] if with_device else present[:, on_host]
    rows = np.flatnonzero(computes)
    return StepTable(
        number=groups[rows],
        names=tuple([names.get(group, "") for group in groups[rows].tolist()]),
        cores=(CORE,) if len(rows) else (),
        begin_ps=window[rows, :1],
        duration_ps=window[rows, 1:] - window[rows, :1],
        times=PartTimes.of(CLASSES, times_in_step[rows].T[:, :, None]),
        category_ps=np.zeros((len(rows), 0), np.int64),
        compute_16_ps=int(total_times[:, half].sum()),
        compute_32_ps=int(total_times[:, full].sum()),
    )


def host_input_ps(host: HostEvents) -> dict[int, int]:
    """Per group, the time of events waiting for input or transferring it to devices; overlaps count twice."""
    keep = np.isin(host.spans.kind, (EventClass.HOST_WAIT_INPUT, EventClass.HOST_TO_DEVICE))
    groups, where = np.unique(host.spans.group[keep], return_inverse=True)
    sums = np.zeros(len(groups), np.int64)
    np.add.at(sums, where, (host.spans.end_ps - host.spans.begin_ps)[keep])
    return dict(zip(groups.tolist(), sums.tolist(), strict=True))
