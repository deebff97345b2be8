"""The longest times in which a device runs no op, and the host code under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import HostReader, MainThread
from tpu_profile_plugin.analysis.budget.idle import name_idle
from tpu_profile_plugin.analysis.common.rows import members
from tpu_profile_plugin.analysis.common.spans import Times, subtract
from tpu_profile_plugin.analysis.devices.model import Device, busy
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.columns.arrays import I64, Bools

MOST_GAPS = 50
"""Gaps that are kept of each device, the longest."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceGaps:
    """The longest gaps of one device, longest first; times on the axis of the file.

    Attributes:
      name, kind: of the device.
      plane: index of the plane that holds its events.
      begin_ps, end_ps: int64[n].
      first_step, last_step: int64[n], rows of `HostGaps.steps` that the gap overlaps; the first is greater than the
        last if less than half of the gap is in steps.
      in_steps_ps, steps_ps: int64[n], the part of the gap in these steps, and their length.
      call, event: the user's function that covers at least 80% of the gap, else the deepest event of the main thread
        that does; and that event. "" without one, and for gaps within a program.
      partial, partial_ps: for gaps without a call, the event of the main thread that covers most of it, and how much;
        "" if that is less than half.
      within: whether the gap lies between ops of one run of a program.
    """

    name: str
    kind: str
    plane: int
    begin_ps: I64
    end_ps: I64
    first_step: I64
    last_step: I64
    in_steps_ps: I64
    steps_ps: I64
    call: tuple[str, ...]
    event: tuple[str, ...]
    partial: tuple[str, ...]
    partial_ps: I64
    within: Bools


@dataclass(frozen=True, slots=True, eq=False)
class HostGaps:
    """The longest gaps of each device of one host.

    Attributes:
      devices: without devices that ran no op.
      since, until: begin and end of the time that is looked at: from the first step or op of any device to the last.
      steps: names of the steps.
      marked: whether the profile has steps.
      traced: whether Python functions were recorded.
    """

    devices: tuple[DeviceGaps, ...] = ()
    since: int = 0
    until: int = 0
    steps: tuple[str, ...] = field(default=(), repr=False)
    marked: bool = False
    traced: bool = False


def host_gaps(devices: Sequence[Device], steps: StepWindows | None, reader: HostReader) -> HostGaps:
    """The gaps of one host's devices, named by the main thread that the time budget names idle time with."""
    spans = [span for device in devices if (span := device.span()) is not None]
    if not spans or steps is None:
        return HostGaps()
    first, last = int(steps.begin_ps.min()), int(steps.end_ps.max())
    since, until = min(first, *(begin for begin, _ in spans)), max(last, *(end for _, end in spans))
    whole = np.array([since]), np.array([until])
    main = reader.main(first, last, steps.evidence)
    listed = [
        _device_gaps(device, _longest(subtract(whole, busy(device))), (steps.begin_ps[:, i], steps.end_ps[:, i]), main)
        for i, device in enumerate(devices)
        if device.span() is not None
    ]
    return HostGaps(tuple(listed), since, until, tuple(steps.labels), steps.source != "recording", main.traced)


def _longest(idle: Times) -> Times:
    length = idle[1] - idle[0]
    kept = np.sort(np.argsort(-length, kind="stable")[:MOST_GAPS])
    return idle[0][kept], idle[1][kept]


def _device_gaps(device: Device, gaps: Times, steps: Times, main: MainThread) -> DeviceGaps:
    begin, end = gaps
    within = _within_program(gaps, device)
    named = name_idle((begin[~within], end[~within]), main)
    row = np.searchsorted(begin, named.host[0])
    call, event = np.full(len(begin), -1), np.full(len(begin), -1)
    call[row], event[row] = named.name, named.inner
    unnamed = ~within & (call < 0)
    partial, partial_ps = np.zeros((2, len(begin)), np.int64)
    partial[unnamed], partial_ps[unnamed] = _most_covering((begin[unnamed], end[unnamed]), main)
    partial = np.where(2 * partial_ps >= end - begin, partial, -1)
    first = np.searchsorted(steps[1], begin, side="right")
    last = np.searchsorted(steps[0], end, side="left") - 1
    some = first <= last
    since, until = steps[0][np.where(some, first, 0)], steps[1][np.where(some, last, 0)]
    lengths = np.concatenate([[0], np.cumsum(steps[1] - steps[0])])
    steps_ps = np.where(some, lengths[last + 1] - lengths[first], 0)
    between = (until - since) - steps_ps
    in_steps = np.where(some, np.minimum(end, until) - np.maximum(begin, since) - between, 0)
    first = np.where(2 * in_steps >= end - begin, first, last + 1)
    order = np.argsort(begin - end, kind="stable")
    return DeviceGaps(
        name=device.name,
        kind=device.kind,
        plane=device.plane,
        begin_ps=begin[order],
        end_ps=end[order],
        first_step=first[order],
        last_step=last[order],
        in_steps_ps=in_steps[order],
        steps_ps=steps_ps[order],
        call=_texts(call[order], main),
        event=_texts(event[order], main),
        partial=_texts(partial[order], main),
        partial_ps=partial_ps[order],
        within=within[order],
    )


def _texts(names: I64, main: MainThread) -> tuple[str, ...]:
    return tuple(main.names[name] if name >= 0 else "" for name in names.tolist())


def _most_covering(gaps: Times, main: MainThread) -> tuple[I64, I64]:
    """Per gap the telling event of the main thread that covers most of it, and how much (0 without any)."""
    begin, end = gaps
    name, most = np.zeros((2, len(begin)), np.int64)
    columns = zip(main.levels.begin_ps, main.levels.end_ps, main.levels.name, strict=True)
    for since, until, names in reversed(list(columns)):
        first = np.searchsorted(until, begin, side="right")
        count = np.maximum(np.searchsorted(since, end, side="left") - first, 0)
        gap, event = members(first, count)
        covered = np.minimum(end[gap], until[event]) - np.maximum(begin[gap], since[event])
        covered = np.where(main.tells[names[event]], covered, 0)
        order = np.lexsort((covered, gap))
        best = order[np.cumsum(count)[count > 0] - 1]
        row = np.flatnonzero(count > 0)[covered[best] > most[count > 0]]
        best = best[covered[best] > most[count > 0]]
        name[row], most[row] = names[event[best]], covered[best]
    return name, most


def _within_program(gaps: Times, device: Device) -> Bools:
    """Which gaps lie in one run of a program; kernels of GPUs are launched one by one."""
    begin, end = gaps
    if device.programs is None or device.kind == "gpu" or not len(device.programs[0]):
        return np.zeros(len(begin), np.bool_)
    run = np.searchsorted(device.programs[0], begin, side="right") - 1
    inside: Bools = (run >= 0) & (device.programs[1][np.maximum(run, 0)] >= end)
    return inside
