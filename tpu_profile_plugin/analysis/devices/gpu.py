"""GPUs as devices: kernels and copies on their streams."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.planes import events_of_lines, recorded_lines
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.devices.kinds import gpu_work
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, Op, OpSpans, Work, ordered
from tpu_profile_plugin.analysis.devices.torch_collectives import torch_collectives
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I32, I64

_ORDINAL = re.compile(r"(\d+)\D*\Z")
_STREAM = "Stream"
_COPIES = (Work.COPY, Work.UPLOAD, Work.DOWNLOAD, Work.PEER_COPY)


def gpu_devices(space: XSpace, planes: Sequence[Plane]) -> list[Device]:
    """The GPUs that ran anything."""
    devices = (_device(space, plane, position) for position, plane in enumerate(planes))
    return [device for device in devices if len(device.runs)]


def stream_lines(plane: Plane) -> list[int]:
    """The lines of streams; all recorded lines if none is named as a stream."""
    lines = np.flatnonzero(recorded_lines(plane)).tolist()
    return [line for line in lines if plane.lines.name[line].startswith(_STREAM)] or lines


def _device(space: XSpace, plane: Plane, position: int) -> Device:
    number = _ORDINAL.search(plane.name)
    ordinal = int(number[1]) if number else position
    events = events_of_lines(plane, stream_lines(plane))
    begin = plane.events.begin_ps[events]
    order = np.argsort(begin, kind="stable")
    events, begin = events[order], begin[order]
    op, ops = _ops(space, plane, events)
    work = np.array([one.work for one in ops], np.uint8)
    runs = OpSpans(begin, begin + plane.events.duration_ps[events], op, work[op], events)
    key, known = read.ints(space, plane, plane.events.stats, "correlation_id")
    return Device(
        name=f"GPU {ordinal}",
        kind="gpu",
        ordinal=ordinal,
        plane=plane.index,
        ops=ops,
        runs=ordered(runs),
        starts=begin,
        launch_key=np.where(known, key, NO_LAUNCH)[events],
    )


def _ops(space: XSpace, plane: Plane, events: I64) -> tuple[I32, tuple[Op, ...]]:
    """The op of each event, and the distinct ops: by kernel, HLO op and program."""
    names, named = plane.event_metadata.names, named_ops(space, plane).by("program", "path")
    sent, sizes = torch_collectives(space, plane, events)
    columns = (plane.events.metadata[events].astype(np.int64), named.op[events].astype(np.int64), sent)
    op, first = row_codes(*columns)
    ops = []
    for row, code, size in zip(*(column[first].tolist() for column in columns), strict=True):
        hlo_op = named.at(code).hlo_op
        work, collective = gpu_work(names[row], hlo_op, sizes[size].launches if size >= 0 else "")
        name = names[row] if work in _COPIES else hlo_op or names[row]
        device_op = Op(name, named.at(code).program or 0, work, collective)
        ops.append(sizes[size].of(device_op) if size >= 0 and work == Work.COMMUNICATION else device_op)
    return op.astype(np.int32), tuple(ops)
