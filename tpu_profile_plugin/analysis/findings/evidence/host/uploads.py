"""What is sent to devices in each step: how long it takes, what of it shows, and how large it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.op_names import MEMCPY_H2D, memcpy_kind
from tpu_profile_plugin.analysis.common.planes import on_recorded_line
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.hlo.shapes import byte_size, is_tuple, type_name
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64

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
    """Uploads of one host that no computation of a device hides.

    Attributes:
      by_part: in waits for input, by part of the time budget, int64[c + 1], summed over steps and devices.
      ps: int64[s], how long they take in each step, averaged over the devices that take part.
      count: int64[s], how many begin in each step: copies of GPUs, else events `name`, else 1 for steps with some.
      size: float64[s], bytes as recorded by GPUs; 0 where they are unknown.
      name, begin_ps: the host's event in which most of the time passes, "" if unknown, and its begins, ascending.
      window: the step with the longest.
    """

    by_part: I64
    ps: I64
    count: I64
    size: F64
    name: str
    begin_ps: I64
    window: tuple[int, int]


def uploads(host: HostView, steps: StepWindows) -> Uploads:
    """The uploads of a host with devices, without those into an infeed, for which a device waits as input."""
    begin, end, name = _host_events(host)
    spans: list[Times] = []
    columns: list[tuple[I64, F64, I64]] = []
    for i, device in enumerate(host.devices):
        window = steps.begin_ps[:, i], steps.end_ps[:, i]
        copies, size = _copies(host.space, device)
        runs = device.runs.where(copies)
        sent = times_of(np.append(begin, runs.begin_ps), np.append(end, runs.end_ps))
        spans.append(subtract(sent, device.compute()))
        step = np.searchsorted(window[0], runs.begin_ps, side="right") - 1
        inside = (step >= 0) & (runs.begin_ps < window[1][np.maximum(step, 0)])
        step, bytes_ = step[inside], np.asarray(sums_by(step[inside], size[inside], len(steps)), np.float64)
        columns.append((covered_within(*spans[-1], *window), bytes_, np.bincount(step, minlength=len(steps))))
    used = host.time.takes_part
    ps, size, copied = (np.where(used, np.column_stack(column), 0) for column in zip(*columns, strict=True))
    devices = used.sum(axis=1)
    each, most = ps.sum(axis=1) // devices, int(ps.sum(axis=1).argmax())
    # The event with most time in the steps, not counting frames of Python.
    names = host.plane.event_metadata.names if host.plane is not None else ()
    event = np.array([not one.startswith("$") for one in names], np.bool_)[name]
    in_steps = covered_within(*times_of(steps.begin_ps[:, 0], steps.end_ps[:, 0]), begin, end)
    sums = sums_by(name[event], in_steps[event], len(names))
    longest = int(sums.argmax()) if sums.any() else -1
    begins = np.sort(begin[name == longest])
    return Uploads(
        host.by_part(spans, members("input")),
        each,
        copied.max(axis=1) if copied.any() else _counts(begins, steps) if len(begins) else (each > 0).astype(np.int64),
        size.sum(axis=1) / devices,
        names[longest] if longest >= 0 else "",
        begins,
        (int(steps.begin_ps[most].min()), int(steps.end_ps[most].max())),
    )


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
    """Begin, end and name of the host's uploads."""
    plane = host.plane
    none = np.zeros(0, np.int64)
    if plane is None or not any(map(_is_upload, plane.declared.event_metadata.names)):
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


def largest_argument(host: HostView) -> tuple[Argument | None, int]:
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
