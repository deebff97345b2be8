"""What is sent to devices in each step: how long it takes, what of it shows, and how large it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.op_names import MEMCPY_H2D, memcpy_kind
from tpu_profile_plugin.analysis.common.planes import on_recorded_line
from tpu_profile_plugin.analysis.common.spans import covered_within, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.hlo.shapes import byte_size, is_tuple, type_name
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64

UPLOAD_SHARE = 0.10
"""Uploads, as a share of the step: below it, hiding them gains less than a tenth."""

_INFEED = re.compile(r"[Ii]nfeed")
_SIZE = re.compile(r"(?:^|\s)size:(\d+)")


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that a program takes: its name in the program's source, its type and shape, and its size in bytes.

    `others` is the size of all other arguments together.
    """

    name: str
    shape: str
    size: int
    others: int


@dataclass(frozen=True, slots=True, eq=False)
class Uploads:
    """Uploads of one host, by step.

    Attributes:
      lost_ps: time in which a device shows an upload: nothing that it computes hides it; summed over steps and devices.
      ps: int64[s], the same per step, averaged over the devices that take part.
      count: int64[s], how many begin in each step: copies of GPUs, else events `name`, else 1 for steps with some.
      size: float64[s], bytes as recorded by GPUs; empty if they are unknown.
      name: the event in which most of the time passes; function: of the program's code around it, "" if unknown.
      argument: the largest argument of the program that takes most of the time; None if unknown.
      arguments: how many arrays that program takes.
      window: the step with the longest.
    """

    lost_ps: int
    ps: I64
    count: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    size: F64 = field(default_factory=lambda: np.zeros(0))
    name: str = ""
    function: str = ""
    argument: Argument | None = None
    arguments: int = 0
    window: tuple[int, int] = (0, 0)


def uploads(host: HostView) -> Uploads | None:
    """The uploads of a host; None if the budget alone tells that they take less than `UPLOAD_SHARE` of the steps."""
    steps, time = host.steps, host.time
    if steps is None or time.share("input") < UPLOAD_SHARE:
        return None
    shown = [_shown(host, device, steps, i) for i, device in enumerate(host.devices)]
    count = time.takes_part.sum(axis=1)
    sums = np.where(time.takes_part, np.column_stack([one[0] for one in shown]), 0).sum(axis=1)
    ps, lost_ps = sums // count, int(sums.sum())
    size = np.where(time.takes_part, np.column_stack([one[1] for one in shown]), 0).sum(axis=1) / count
    copies = np.where(time.takes_part, np.column_stack([one[2] for one in shown]), 0).max(axis=1)
    if lost_ps < UPLOAD_SHARE * time.base_ps * time.cells:
        return Uploads(lost_ps, ps)
    name, begin = _longest(host, steps)
    worst = int(ps.argmax())
    argument, arguments = _argument(host)
    return Uploads(
        lost_ps,
        ps,
        copies if copies.any() else _counts(begin, steps) if len(begin) else (ps > 0).astype(np.int64),
        size if float(size.sum()) > 0 else np.zeros(0),
        name,
        calls_of(host).calling(begin),
        argument,
        arguments,
        (int(steps.begin_ps[worst].min()), int(steps.end_ps[worst].max())),
    )


def _shown(host: HostView, device: Device, steps: StepWindows, number: int) -> tuple[I64, F64, I64]:
    """Per step the time of uploads that no computation of the device hides; bytes and number of its own copies."""
    begin, end, _ = _host_events(host)
    copies, size = _copies(host.space, device)
    runs = device.runs.where(copies)
    sent_at = times_of(np.append(begin, runs.begin_ps), np.append(end, runs.end_ps))
    times = subtract(sent_at, device.compute())
    window = steps.begin_ps[:, number], steps.end_ps[:, number]
    step = np.searchsorted(window[0], runs.begin_ps, side="right") - 1
    inside = step >= 0
    inside[inside] = runs.begin_ps[inside] < window[1][step[inside]]
    sent = np.bincount(step[inside], weights=size[inside], minlength=len(steps)).astype(np.float64)
    return covered_within(*times, *window), sent, np.bincount(step[inside], minlength=len(steps))


def _copies(space: XSpace, device: Device) -> tuple[I64, F64]:
    """The runs that copy from the host to the device, and their bytes."""
    wanted = np.array(
        [one.work in (Work.UPLOAD, Work.COPY) and memcpy_kind(one.name, short=True) == MEMCPY_H2D for one in device.ops]
    )
    rows = np.flatnonzero(wanted[device.runs.op]) if wanted.any() else np.zeros(0, np.int64)
    if not len(rows):
        return rows, np.zeros(0)
    plane = next(plane for plane in space.planes if plane.index == device.plane)
    code, texts = read.strings(space, plane, plane.events.stats, "memcpy_details")
    sizes = [float(match[1]) if (match := _SIZE.search(text)) else 0.0 for text in texts]
    details = code[device.runs.event[rows]]
    return rows, np.where(details >= 0, np.array([*sizes, 0.0])[details], 0.0)


def _host_events(host: HostView) -> tuple[I64, I64, I64]:
    """Begin, end and name of the host's uploads, without those into an infeed, for which a device waits as input."""
    plane = host.plane
    none = np.zeros(0, np.int64)
    if plane is None:
        return none, none, none
    declared = plane.declared.event_metadata.names
    if not any(_is_upload(name) for name in declared):
        return none, none, none
    wanted = np.array([_is_upload(name) for name in plane.event_metadata.names], np.bool_)
    rows = np.flatnonzero(wanted[plane.events.metadata] & on_recorded_line(plane))
    begin = plane.events.begin_ps[rows]
    return begin, begin + plane.events.duration_ps[rows], plane.events.metadata[rows].astype(np.int64)


def _is_upload(name: str) -> bool:
    return activity(name) == Activity.UPLOAD and not _INFEED.search(name)


def _counts(begin: I64, steps: StepWindows) -> I64:
    """How many events begin in each step; dispatch steps do not show when one does, so that each has its part."""
    if steps.source == "dispatch":
        return np.diff(len(begin) * np.arange(len(steps) + 1) // len(steps))
    since, until = np.searchsorted(begin, steps.begin_ps[:, 0]), np.searchsorted(begin, steps.end_ps[:, 0])
    return (until - since).astype(np.int64)


def _longest(host: HostView, steps: StepWindows) -> tuple[str, I64]:
    """The event of the host with most time in the steps, not counting frames of Python, and its begins, ascending."""
    begin, end, name = _host_events(host)
    none = np.zeros(0, np.int64)
    most: tuple[str, I64, int] = ("", none, 0)
    names = host.plane.event_metadata.names if len(name) and host.plane is not None else ()
    for kind in np.unique(name).tolist():
        same = name == kind
        ps = int(covered_within(*times_of(begin[same], end[same]), steps.begin_ps[:, 0], steps.end_ps[:, 0]).sum())
        if ps > most[2] and not names[kind].startswith("$"):
            most = (names[kind], np.sort(begin[same]), ps)
    return most[:2]


def _argument(host: HostView) -> tuple[Argument | None, int]:
    """The largest argument of the program with most time on the first device, and how many there are."""
    device = host.devices[0]
    time = np.zeros(len(device.ops), np.int64)
    np.add.at(time, device.runs.op, device.runs.end_ps - device.runs.begin_ps)
    sums: dict[int, int] = {}
    for op, ps in zip(device.ops, time.tolist(), strict=True):
        sums[op.program] = sums.get(op.program, 0) + ps
    known = [number for number in sums if host.hlo.programs.program(number) is not None]
    program = host.hlo.programs.program(max(known, key=lambda one: sums[one])) if known else None
    if program is None:
        return None, 0
    start, entry = [*program.columns["computation_start"].tolist(), len(program)], program.entry
    rows = range(start[entry], start[entry + 1]) if entry is not None else range(0)
    parameters = [program.instruction(row) for row in rows if program.opcodes[row] == "parameter"]
    arrays = [one for one in parameters if not is_tuple(one.shape)]
    if not arrays:
        return None, 0
    most = max(arrays, key=lambda one: byte_size(one.shape))
    dimensions = ",".join(map(str, most.shape.dimensions))
    size = byte_size(most.shape)
    others = sum(byte_size(one.shape) for one in arrays) - size
    shape = f"{type_name(most.shape.element_type)}[{dimensions}]"
    return Argument(most.metadata.op_name, shape, size, others), len(arrays)
