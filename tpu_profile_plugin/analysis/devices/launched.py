"""How many programs or eager ops a step consists of, and how long devices are idle between two of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.rows import no_rows
from tpu_profile_plugin.analysis.common.spans import contains, covered_within, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, busy
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

SHORT_GAP_PS = 2_000_000_000
"""Longer idle time between two runs (2 ms) has another cause than the next call, ..."""
GAP_SHARE = 0.05
"""... if it also exceeds this share of the step: a library may run much Python for each of its operations."""
_EAGER = "EagerLocalExecute: "
_FUNCTION = ("__inference_", "__forward_", "__backward_", "IteratorGetNext", "Optional", "_EagerConst")
MOST_POINTS, MOST_NAMED = 2_000, 3
SUMMARY = re.compile(r"Write\w*Summary")
"""Ops of TensorFlow that write a summary."""


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
      ops: names of the eager ops that are launched most often, at most three.
      summaries: how many of the eager ops per step write one.
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
    ops: tuple[str, ...] = ()
    summaries: float = 0.0


def launched(devices: Sequence[Device], plane: Plane | None, steps: StepWindows, used: Bools) -> Launched:
    """What a host's steps launch.

    Args:
      devices: of the host, at least one.
      plane: of its threads; None without one.
      steps: windows per device.
      used: bool[s, d], the device takes part in the step.
    """
    counted = [_programs(device) for device in devices]
    calls = _eager_calls(plane) if plane is not None else (no_rows(), no_rows())
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
    idle = [_idle(device, steps, i, used[:, i]) for i, device in enumerate(devices)]
    kinds, counts = np.unique(kind, return_counts=True)
    most_first = np.argsort(-counts, kind="stable").tolist() if eager and plane is not None else []
    names = [plane.event_metadata.names[kinds[row]].removeprefix(_EAGER) for row in most_first] if plane else []
    written = sum(int(counts[row]) for row, name in zip(most_first, names, strict=True) if SUMMARY.match(name))
    return Launched(
        eager,
        steps.source == "recording",
        len(launch_ps) / max(len(steps), 1),
        len(kinds),
        int(np.median(length)) if len(length) else 0,
        sum(short for short, _ in idle),
        sum(whole for _, whole in idle),
        (int(window[0][most]), int(window[1][most])),
        launch_ps[:: max(1, len(launch_ps) // MOST_POINTS)],
        tuple(names[:MOST_NAMED]),
        written / max(len(steps), 1),
    )


def _programs(device: Device) -> tuple[I64, I64]:
    """Begin and program of each run of a program; successive kernels of one program on a GPU are one run."""
    runs = device.runs
    if not len(runs) or not len(device.starts):
        return no_rows(), no_rows()
    begin, program = runs.begin_ps, np.array([op.program for op in device.ops], np.uint64).view(np.int64)[runs.op]
    if device.kind == "gpu":
        # Kernels outside of programs are no runs of one.
        begin, program = begin[program != 0], program[program != 0]
        first = np.append(True, program[1:] != program[:-1])[: len(program)]
        return begin[first], program[first]
    position = np.minimum(np.searchsorted(begin, device.starts), len(begin) - 1)
    return device.starts, program[position]


def _eager_calls(plane: Plane) -> tuple[I64, I64]:
    """Begin and kind of each call of an op of TensorFlow outside of functions."""
    names = plane.declared.event_metadata.names
    if not any(name.startswith(_EAGER) for name in names):
        return no_rows(), no_rows()
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
