"""Which step launched the work of a device, and when a device came to each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import Preprocessed, line_of
from tpu_profile_plugin.analysis.devices.launches import launch_begins
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, Work
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools

_EXCEPTIONS = 100
"""One run of so many may have the id of a launch that is not its own."""
_EARLIEST, _LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Steps that the host marks, in time order: int64[s] numbers, begins and ends, and names, "" without one."""

    number: I64
    names: tuple[str, ...]
    begin_ps: I64
    end_ps: I64

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True, slots=True, eq=False)
class OwnWork:
    """Per step, when a device ran what the step launched; int64[s] each.

    Attributes:
      first_ps: when its work on the device's main queue begins; the largest number without any.
      queued_ps: when the main queue has ended the work of all earlier steps; the smallest number without any.
      last_ps: when the last of its work ends, on any queue; the smallest number without any.
    """

    first_ps: I64
    queued_ps: I64
    last_ps: I64

    @property
    def some(self) -> Bools:
        """bool[s], the step launched work that the device ran."""
        launched: Bools = self.last_ps != _EARLIEST
        return launched


def own_work(space: XSpace, pre: Preprocessed | None, device: Device, marks: Marks) -> OwnWork | None:
    """The work of each step on a device; None if nothing tells which step launched what."""
    step = _step_of_runs(space, pre, device, marks)
    if step is None or not bool((step >= 0).any()):
        return None
    runs, count = device.runs, len(marks)
    line = _queue(space, device)
    own = _in_order(step, line, runs.begin_ps)
    last = np.full(count, _EARLIEST)
    np.maximum.at(last, step[own], runs.end_ps[own])
    main = own[_on_main_queue(device, line)[own]]
    first, ended = np.full(count, _LATEST), np.full(count, _EARLIEST)
    np.minimum.at(first, step[main], runs.begin_ps[main])
    np.maximum.at(ended, step[main], runs.end_ps[main])
    queued = np.append(_EARLIEST, np.maximum.accumulate(ended)[:-1])
    return OwnWork(first, queued, last)


def _step_of_runs(space: XSpace, pre: Preprocessed | None, device: Device, marks: Marks) -> I64 | None:
    """Per run of an op the row of the step that launched it, -1 if unknown.

    By its group, unless the launches of most runs say otherwise: a stray group of one event may be given to all.
    """
    grouped = _step_of_groups(pre, device, marks)
    if grouped is not None and device.kind != "gpu":
        return grouped
    launched = _step_of_launches(space, device, marks)
    if grouped is None or launched is None:
        return launched if grouped is None else grouped
    disagree = (launched >= 0) & (launched != grouped)
    return launched if 2 * int(disagree.sum()) > len(launched) else grouped


def _step_of_groups(pre: Preprocessed | None, device: Device, marks: Marks) -> I64 | None:
    group = pre.planes[device.plane].group_id if pre is not None else None
    if group is None:
        return None
    order = np.argsort(marks.number, kind="stable")
    wanted = group[device.runs.event]
    row = np.minimum(np.searchsorted(marks.number[order], wanted), len(marks) - 1)
    step = np.where(marks.number[order][row] == wanted, order[row], -1)
    return step if bool((step >= 0).any()) else None


def _step_of_launches(space: XSpace, device: Device, marks: Marks) -> I64 | None:
    step_of_start = _step_of_starts(space, device, marks)
    if step_of_start is None or device.kind == "gpu":
        return step_of_start  # the starts of a GPU are its runs
    start = np.searchsorted(device.starts, device.runs.begin_ps, side="right") - 1
    return np.where(start >= 0, step_of_start[np.maximum(start, 0)], -1)


def _step_of_starts(space: XSpace, device: Device, marks: Marks) -> I64 | None:
    """Per start of the device's work the row of the step during which it was launched, -1 before the first."""
    if not len(device.starts):
        return None
    if device.kind == "cpu":
        return _step_of_executions(device, marks)
    launched = launch_begins(space, device)
    if not bool((launched != NO_LAUNCH).any()):
        return None
    step = np.searchsorted(marks.begin_ps, launched, side="right") - 1
    return np.where(launched != NO_LAUNCH, step, -1)


def _step_of_executions(device: Device, marks: Marks) -> I64 | None:
    """The same for XLA's CPU backend, which runs programs in order and does not record when they were called.

    If all steps run as many programs, each runs the next ones; None if they do not, or one began before its step.
    """
    count, rest = divmod(len(device.starts), len(marks))
    if rest or not count:
        return None
    step = np.repeat(np.arange(len(marks)), count)
    return step if bool((device.starts >= marks.begin_ps[step]).all()) else None


def _queue(space: XSpace, device: Device) -> I64:
    """Per run the line that it is on; other devices than GPUs have a single queue."""
    if device.kind != "gpu":
        return np.zeros(len(device.runs), np.int64)
    plane = next(plane for plane in space.planes if plane.index == device.plane)
    return line_of(plane, device.runs.event)


def _in_order(step: I64, line: I64, begin_ps: I64) -> I64:
    """The runs with a step, without those between two others of their queue whose steps are both earlier or both later.

    A queue runs in order: the few that say otherwise have the id of another launch.
    """
    own = np.flatnonzero(step >= 0)
    own = own[np.lexsort((begin_ps[own], line[own]))]
    if len(own) < 3:
        return own
    of, queue = step[own], line[own]
    before, here, after = of[:-2], of[1:-1], of[2:]
    odd = (before <= after) & ((here < before) | (here > after)) & (queue[:-2] == queue[2:])
    if odd.sum() > max(1, len(own) // _EXCEPTIONS):
        return own
    return own[np.concatenate(([True], ~odd, [True]))]


def _on_main_queue(device: Device, line: I64) -> Bools:
    """Per run, whether it is on the queue that computes most."""
    if device.kind != "gpu":
        return np.ones(len(device.runs), np.bool_)
    computes = device.runs.work == Work.COMPUTE
    busy = (device.runs.end_ps - device.runs.begin_ps) * (computes if bool(computes.any()) else True)
    main: Bools = line == int(np.bincount(line, weights=busy).argmax())
    return main
