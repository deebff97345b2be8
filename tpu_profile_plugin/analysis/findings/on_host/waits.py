"""What the host fetches while its devices have no input: the event by name, and the longest such time in a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import IDLE_INPUT
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.planes import recorded_lines
from tpu_profile_plugin.analysis.common.spans import covered_within, times_of
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.findings.on_host.pipelines import Slowest, slowest_stage
from tpu_profile_plugin.analysis.findings.periods import share_of_all
from tpu_profile_plugin.analysis.findings.thresholds import INPUT_SHARE
from tpu_profile_plugin.columns.arrays import I64

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.devices.windows import StepWindows
    from tpu_profile_plugin.analysis.findings.host_view import HostView
    from tpu_profile_plugin.columns import Plane

_PIPELINE_THREADS = "tf_data_iterator_resource", "tf_data_private_threadpool"


@dataclass(frozen=True, slots=True)
class InputWait:
    """Waiting for input on one host.

    Attributes:
      seen: the profile can show it: an event of an input pipeline, a wait for one or an upload was recorded.
      lost_ps: idle time in steps and between them, summed over both and devices.
      name: the event in which most of it passes, "" if unknown; ps: its time within the steps, averaged over devices.
      window: the step that waits longest, first begin and last end over the devices; until the next step begins if
        most of the wait is between steps.
      slowest: of the pipeline of tf.data, None without one.
    """

    seen: bool
    lost_ps: int = 0
    name: str = ""
    ps: int = 0
    window: tuple[int, int] = (0, 0)
    slowest: Slowest | None = None


def input_wait(host: HostView) -> InputWait:
    """What a host waits for; events are only read if devices wait for input for `INPUT_SHARE` of the steps."""
    steps, time = host.steps, host.budget.time_ps
    inside = int(time[:, :, IDLE_INPUT].sum()) if steps is not None else 0
    between = int(host.budget.between_time_ps[:, IDLE_INPUT].sum()) if steps is not None else 0
    lost = inside + between
    if steps is None or share_of_all(host.budget, IDLE_INPUT) < INPUT_SHARE > inside / max(int(time.sum()), 1):
        return InputWait(host.summary.input_events or lost > 0, lost)
    worst = int(time[:, :, IDLE_INPUT].sum(axis=1).argmax())
    if between > inside:
        steps = replace(steps, end_ps=np.maximum(steps.end_ps, np.roll(steps.begin_ps, -1, axis=0)))
        worst = int((steps.end_ps - steps.begin_ps).max(axis=1).argmax())
    name, ps = _longest(host, steps)
    window = int(steps.begin_ps[worst].min()), int(steps.end_ps[worst].max())
    return InputWait(True, lost, name, ps, window, slowest_stage(host))


def _longest(host: HostView, steps: StepWindows) -> tuple[str, int]:
    """The op of devices, or the event of the host, with most time in the steps among those that wait for input."""
    sums: dict[str, int] = {}
    for number, device in enumerate(host.devices):
        for op in np.unique(device.runs.op[device.runs.work == Work.INPUT]).tolist():
            own = device.runs.where(device.runs.op == op)
            ps = _within(own.begin_ps, own.end_ps, steps, number)
            sums[device.ops[op].name] = sums.get(device.ops[op].name, 0) + ps
    most = max(((name, ps // len(host.devices)) for name, ps in sums.items()), key=lambda one: one[1], default=("", 0))
    if most[0] and host.devices[0].kind != "cpu":
        return most
    plane = host.plane
    return most if plane is None else max(most, _event(plane, steps, host.reader.time.main), key=lambda one: one[1])


def _event(plane: Plane, steps: StepWindows, main: tuple[int, str] | None) -> tuple[str, int]:
    """Waits on the main thread and uploads on any, as in the time budget: a thread that prefetches holds nothing up."""
    names = plane.event_metadata.names
    kind = np.array([activity(name) for name in names], np.uint8)[plane.events.metadata]
    lines = list(zip(plane.lines.id.tolist(), plane.lines.name, strict=True))
    on_main = np.array([line == main for line in lines], np.bool_)
    pipeline = np.array([name.startswith(_PIPELINE_THREADS) for _, name in lines], np.bool_)
    rows = np.flatnonzero((kind == Activity.INPUT) | (kind == Activity.UPLOAD))
    line = np.searchsorted(plane.lines.event_start, rows, side="right") - 1
    rows = rows[(recorded_lines(plane) & ~pipeline)[line] & (on_main[line] | (kind[rows] == Activity.UPLOAD))]
    most: tuple[str, int] = ("", 0)
    for name in np.unique(plane.events.metadata[rows]).tolist():
        own = rows[plane.events.metadata[rows] == name]
        begin = plane.events.begin_ps[own]
        ps = _within(begin, begin + plane.events.duration_ps[own], steps, 0)
        most = max(most, (names[name], ps), key=lambda one: one[1])
    return most


def _within(begin: I64, end: I64, steps: StepWindows, device: int) -> int:
    return int(covered_within(*times_of(begin, end), steps.begin_ps[:, device], steps.end_ps[:, device]).sum())
