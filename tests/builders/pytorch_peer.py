"""Figures of a trace of PyTorch by the definitions of HolisticTraceAnalysis, for comparisons with it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.spans import intersect, times_of, total
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.launches import most_at_once
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns.arrays import Bools
from tpu_profile_plugin.columns.space import XSpace
from tpu_profile_plugin.columns.stats import ints
from tpu_profile_plugin.formats import unpack


@dataclass(frozen=True)
class Figures:
    """Of one device.

    Attributes:
      parts_us: span, idle, computing and other time.
      overlap_percent: the part of communication that overlaps with computation; NaN without communication.
      kernels: time in us by name, of kernels, copies and fills.
      queues: by stream the most launches that wait for the begin of their work; those of graphs are left out.
    """

    parts_us: tuple[float, float, float, float]
    overlap_percent: float
    kernels: dict[str, float]
    queues: dict[str, int]


def figures(trace: Path) -> Figures:
    """The figures of the work whose launch was recorded, before the last step."""
    space = columns.load(unpack(trace.read_bytes()).space)
    (device,) = devices_of(space, hlo_programs(space))
    kept = _kept(space, device)
    runs = device.runs.where(kept)
    compute, talk = (runs.times(work) for work in (Work.COMPUTE, Work.COMMUNICATION))
    span = int(runs.end_ps.max() - runs.begin_ps.min())
    busy, computing = total(times_of(runs.begin_ps, runs.end_ps)), total(compute)
    parts = (span / 1e6, (span - busy) / 1e6, computing / 1e6, (busy - computing) / 1e6)
    overlap = 100 * total(intersect(compute, talk)) / total(talk) if total(talk) else float("nan")
    return Figures(parts, overlap, *_by_kernel_and_stream(space, device, kept))


def _kept(space: XSpace, device: Device) -> Bools:
    """Runs whose launch was recorded, before the last step; all if there are no two steps."""
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    _, is_step = ints(space, host, host.events.stats, "step_num")
    if is_step.sum() < 2:
        return np.ones(len(device.runs), np.bool_)
    cause, launches = ints(space, host, host.events.stats, "correlation_id")
    before = host.events.begin_ps < host.events.begin_ps[is_step].max()
    return np.isin(device.launch_key, cause[launches & before])


def _by_kernel_and_stream(space: XSpace, device: Device, kept: Bools) -> tuple[dict[str, float], dict[str, int]]:
    plane = space.planes[device.plane]
    keys, known = ints(space, plane, plane.events.stats, "correlation_id")
    chosen = known & np.isin(keys, device.launch_key[kept])
    kernels: dict[str, float] = defaultdict(float)
    for row, length in zip(
        plane.events.metadata[chosen].tolist(), plane.events.duration_ps[chosen].tolist(), strict=True
    ):
        kernels[plane.event_metadata.names[row]] += length / 1e6
    called = _calls(space)
    queues = {}
    for line, stream in enumerate(plane.lines.id.tolist()):
        events = np.arange(len(plane.events))[plane.lines.events_of(line)]
        events = events[chosen[events]]
        events = events[np.isin(keys[events], list(called))]
        begins = plane.events.begin_ps[events]
        calls = np.array([called[key] for key in keys[events].tolist()], np.int64)
        if len(begins):
            queues[str(stream)] = most_at_once(calls, begins)
    return dict(kernels), queues


def _calls(space: XSpace) -> dict[int, int]:
    """Begin of each call by correlation id, but of those that launch graphs."""
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    cause, launches = ints(space, host, host.events.stats, "correlation_id")
    is_graph = np.array(["GraphLaunch" in name for name in host.event_metadata.names], np.bool_)
    rows = np.flatnonzero(launches & ~is_graph[host.events.metadata])
    return dict(zip(cause[rows].tolist(), host.events.begin_ps[rows].tolist(), strict=True))
