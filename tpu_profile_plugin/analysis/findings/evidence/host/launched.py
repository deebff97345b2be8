"""How many programs or eager ops a step consists of, and how long devices are idle between two of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.spans import contains, covered_within, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, busy
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

PROGRAMS_PER_STEP = 30
"""Program runs per step and device from which launching is the host's main work. Two layers trained without compilation
run about as many; compiled loops run fewer than ten."""
STEPS_OF_RECORDING = 10
"""Step count assumed when none are marked: people record about as many."""
EAGER_CALLS_PER_STEP = 50
"""Eager ops per step: compiled Keras loops make fewer than 20, each of tens of microseconds."""
DISTINCT_PROGRAMS = 8
"""Kinds of programs or eager ops in the steps: a loop that calls a few compiled functions has fewer."""
TINY_OP_PS = 20_000_000
"""Median op: a call costs the host about as long (20 us)."""
SYNCED_LAUNCHES = 1 / 3
"""Waits per launch from which the host cannot launch ahead, so that the waits are the cause: a value that Python
decides by is often computed by a launch of its own."""
WAITS_PER_STEP = 3
"""Fewer waits than these in a step may be at its end, where programs that lose nothing wait as well."""
MOSTLY_BUSY = 0.50
"""Devices that compute for more than half of the step are fed fast enough."""
SHORT_GAP_PS = 2_000_000_000
"""Longer idle time between two runs (2 ms) has another cause than the next call, ..."""
GAP_SHARE = 0.05
"""... if it also exceeds this share of the step: a library may run much Python for each of its operations."""

BUSY = ("device_compute", "exposed_communication", "peer_transfer", "exposed_copy", "input_copy", "output_copy")
BETWEEN_PROGRAMS = ("idle_launch", "idle_host", "idle_transfer", "idle_other")
_EAGER = "EagerLocalExecute: "
_FUNCTION = ("__inference_", "__forward_", "__backward_", "IteratorGetNext", "Optional", "_EagerConst")
MOST_POINTS = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Launched:
    """Launches within the steps of one host, of the device with most of them.

    Attributes:
      eager: they are eager ops of TensorFlow; else runs of programs.
      whole: the only step is the whole recording.
      per_step: number per step; distinct: kinds of them.
      median_ps: median duration of an op.
      short_ps: idle time between two runs of less than `longest_gap_ps`, idle_ps: all, summed over steps and
        devices.
      window: the step with most of them.
      at_ps: when some of them were launched or began.
    """

    eager: bool = False
    whole: bool = False
    per_step: float = 0.0
    distinct: int = 0
    median_ps: int = 0
    short_ps: int = 0
    idle_ps: int = 0
    window: tuple[int, int] = (0, 0)
    at_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))


def launched(host: HostView, steps: StepWindows) -> Launched:
    """What a host's steps launch."""
    devices = host.devices
    counted = [_programs(device) for device in devices]
    calls = _eager_calls(host.plane) if host.plane is not None else (np.zeros(0, np.int64),) * 2
    best, columns = max(enumerate(counted), key=lambda one: len(one[1][0]))
    eager = len(calls[0]) > len(columns[0])
    launch_ps, kind = calls if eager else columns
    window = steps.begin_ps[:, best], steps.end_ps[:, best]
    inside = contains(times_of(*window), launch_ps)
    launch_ps, kind = launch_ps[inside], kind[inside]
    runs = devices[best].runs
    within = contains(times_of(*window), runs.begin_ps)
    length = (runs.end_ps - runs.begin_ps)[within]
    number = np.sort(launch_ps)
    per = np.searchsorted(number, window[1]) - np.searchsorted(number, window[0])
    most = int(per.argmax()) if len(per) else 0
    idle = [_idle(device, steps, i, host.time.takes_part[:, i]) for i, device in enumerate(devices)]
    return Launched(
        eager,
        steps.source == "recording",
        len(launch_ps) / max(len(steps), 1),
        len(np.unique(kind)),
        int(np.median(length)) if len(length) else 0,
        sum(short for short, _ in idle),
        sum(whole for _, whole in idle),
        (int(window[0][most]), int(window[1][most])),
        launch_ps[:: max(1, len(launch_ps) // MOST_POINTS)],
    )


def synced(host: HostView, steps: StepWindows, waits: int) -> bool:
    """Whether the host waits for most of what it launches; `waits`: how often, in all steps."""
    return waits >= SYNCED_LAUNCHES * launched(host, steps).per_step * len(steps) > 0


def _programs(device: Device) -> tuple[I64, I64]:
    """Begin and program of each run of a program; successive kernels of one program on a GPU are one run."""
    runs = device.runs
    if not len(runs) or not len(device.starts):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    begin, program = runs.begin_ps, np.array([op.program for op in device.ops], np.uint64).view(np.int64)[runs.op]
    if device.kind == "gpu":
        # Kernels outside of programs are no runs of one.
        begin, program = begin[program != 0], program[program != 0]
        if not len(begin):
            return begin, program
        first = np.append(True, program[1:] != program[:-1])
        return begin[first], program[first]
    position = np.minimum(np.searchsorted(begin, device.starts), len(begin) - 1)
    return device.starts, program[position]


def _eager_calls(plane: Plane) -> tuple[I64, I64]:
    """Begin and kind of each call of an op of TensorFlow outside of functions."""
    names = plane.declared.event_metadata.names
    if not any(name.startswith(_EAGER) for name in names):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    names = plane.event_metadata.names
    wanted = np.array(
        [name.startswith(_EAGER) and not name.removeprefix(_EAGER).startswith(_FUNCTION) for name in names], np.bool_
    )
    rows = np.flatnonzero(wanted[plane.events.metadata])
    return plane.events.begin_ps[rows], plane.events.metadata[rows].astype(np.int64)


def longest_gap_ps(steps: StepWindows) -> int:
    """Idle time between two runs that the call of the next one may take, in steps like these."""
    return max(SHORT_GAP_PS, int(GAP_SHARE * float((steps.end_ps - steps.begin_ps).mean())))


def _idle(device: Device, steps: StepWindows, number: int, used: Bools) -> tuple[int, int]:
    """Idle time between two runs within the steps in which the device takes part: in short gaps, and in all."""
    window = steps.begin_ps[used, number], steps.end_ps[used, number]
    whole = np.array([steps.begin_ps[:, number].min()]), np.array([steps.end_ps[:, number].max()])
    begin, end = subtract(whole, busy(device))
    inside = times_of(*window)
    short = end - begin < longest_gap_ps(steps)
    short_ps = int(covered_within(begin[short], end[short], *inside).sum())
    return short_ps, int(covered_within(begin, end, *inside).sum())


def starved(host: HostView) -> bool:
    """Whether the time budget alone tells that devices are idle between programs for much of the time."""
    busy, between = (sum(map(host.time.part_ps, parts)) for parts in (BUSY, BETWEEN_PROGRAMS))
    return between >= LEAST_SHARE * host.time.step_ps > 0 and busy <= MOSTLY_BUSY * host.time.step_ps


def uncompiled(host: HostView) -> Launched | None:
    """What a host's steps launch if they are not compiled, as far as it alone tells; else None."""
    if not starved(host) or host.steps is None:
        return None
    launches = launched(host, host.steps)
    return launches if is_uncompiled(launches) else None


def is_uncompiled(launches: Launched) -> bool:
    """Whether a step consists of very many tiny programs or eager ops."""
    least = EAGER_CALLS_PER_STEP if launches.eager else PROGRAMS_PER_STEP
    if launches.whole:
        least *= STEPS_OF_RECORDING
    return launches.per_step >= least and launches.distinct >= DISTINCT_PROGRAMS and launches.median_ps < TINY_OP_PS
