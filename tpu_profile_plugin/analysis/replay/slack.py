"""Slack: how much longer an event may take before the step does, as far as the recording tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.host_time import HostTime
from tpu_profile_plugin.analysis.common.planes import line_of
from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.common.spans import covered_within, join, times_of
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device
from tpu_profile_plugin.analysis.replay.binding_path import On, Path
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64

Bound = Literal["exactly", "at most", "at least", "unknown"]


@dataclass(frozen=True, slots=True)
class Slack:
    """How much longer an event may take.

    Attributes:
      bound: what `ps` is of the slack; nothing if it is unknown.
      ps: in picoseconds, 0 if it is unknown.
      why: what limits it, or why it is unknown, in one sentence.
      path_ps: how much of the event is on the binding path.
    """

    bound: Bound
    ps: int
    why: str
    path_ps: int = 0


def unknown(why: str) -> Slack:
    return Slack("unknown", 0, why)


NO_STEP = unknown("The event is in no step.")
OTHER_LINE = unknown("The recording does not tell what waits for events of this row.")
_ON_PATH = "It is on the binding path: if it takes longer, so does the step."


def slack_of_op(device: Device, plane: Plane, path: Path, event: int) -> Slack:
    """The slack of an op.

    Args:
      device: the device that ran it.
      plane: of the device.
      path: of the device, in the steps that the op overlaps.
      event: row of the op in the plane.
    """
    if not len(path):
        return NO_STEP
    mine = np.flatnonzero(device.runs.event == event)
    if not len(mine):
        return OTHER_LINE
    end = int(device.runs.end_ps[mine].max())
    own = rows_of(path, (path.on == On.OP) & (path.event == event))
    on_path = int((own.end_ps - own.begin_ps).sum())
    if len(own) and int(own.end_ps[-1]) >= end:
        return Slack("exactly", 0, _ON_PATH, on_path)
    if device.kind not in ("gpu", "tpu"):
        why = "Another op ends later, and the recording does not tell what waits for the ops of a pool of threads."
        return Slack("unknown", 0, why, on_path)
    line = line_of(plane, device.runs.event)
    queue = device.runs.where(line == line[mine[0]])
    later = rows_of(path, (path.on == On.OP) & (path.event_begin_ps >= end))
    later = rows_of(later, np.isin(later.event, queue.event))
    if not len(later):
        return Slack("unknown", 0, "No later op of its queue is on the binding path of this step.", on_path)
    until = int(later.event_begin_ps[0])
    busy = covered_within(*times_of(queue.begin_ps, queue.end_ps), np.array([end]), np.array([until]))
    why = f"Its queue is idle for so long until {later.names[int(later.name[0])]}, which is on the binding path. "
    ahead = until - end - int(busy[0])
    if not ahead:
        return Slack("exactly", 0, f"{later.names[int(later.name[0])]} on the same queue begins when it ends.", on_path)
    return Slack("at most", ahead, f"{why}Waits between queues are not recorded.", on_path)


def slack_of_call(device: Device, host: HostTime, path: Path, span: tuple[int, int]) -> Slack:
    """The slack of a call of the main thread, which does one thing after another.

    If it takes longer, all that the thread does later is later, until the thread waits for something else.

    Args:
      device: whose path it is.
      host: what the host does.
      path: in the steps that the call overlaps.
      span: begin and end of the call.
    """
    if not len(path):
        return NO_STEP
    begin, end = span
    calls = rows_of(path, path.on == On.CALL)
    during = np.minimum(calls.end_ps, end) - np.maximum(calls.begin_ps, begin)
    own = rows_of(calls, during > 0)
    on_path = int(during[during > 0].sum())
    if len(own):
        if bool((own.part == part.IDLE_OTHER).all()):
            return unknown("The device is idle meanwhile, and nothing tells why.")
        return Slack("exactly", 0, _ON_PATH, on_path)
    waits = join(host.transfer, host.input, host.handover)
    if int(covered_within(*waits, np.array([begin]), np.array([end]))[0]):
        return unknown("The main thread waits in it for something else, which decides how long it takes.")
    place = int(np.searchsorted(waits[0], end))
    last = int(path.end_ps[-1])
    wait = int(waits[0][place]) if place < len(waits[0]) else last
    bound = calls.begin_ps[(calls.begin_ps >= end) & (calls.begin_ps <= wait) & (calls.part != part.IDLE_OTHER)]
    if len(bound):
        return Slack("exactly", 0, "The main thread goes on without a wait until the device waits for it.")
    started, launched = _launches(device, host, path)
    after = (launched >= end) & (launched <= wait)
    if bool(after.any()):
        ahead = int((started - launched)[after].min())
        return Slack(
            "at most", max(ahead, 0), "What the main thread launches after it begins so long after its launch."
        )
    if wait >= last:
        return unknown("In this step the main thread launches nothing after it, and does not wait.")
    idle = calls.begin_ps[(calls.begin_ps >= wait) & (calls.begin_ps < waits[1][place])]
    until = int(idle[0]) if len(idle) else int(waits[1][place])
    why = "The main thread launches nothing after it before it waits, at first for so long while the device works."
    return Slack("at least", until - wait, why)


def _launches(device: Device, host: HostTime, path: Path) -> tuple[I64, I64]:
    """Begins of work that is on the path, and of the calls that launched it."""
    launched = host.calls.times(device.launch_key)[0]
    known = launched != NO_LAUNCH
    if device.kind == "gpu":
        known &= np.isin(device.starts, path.event_begin_ps[path.on == On.OP])
    else:  # programs run one after another, and all of one are on the path
        known &= (device.starts >= path.begin_ps[0]) & (device.starts < path.end_ps[-1])
    return device.starts[known], launched[known]
