"""PyTorch on the CPU as a device: its outermost ops on every thread; each call returns when the op has run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, parse_op
from tpu_profile_plugin.analysis.common.planes import line_of, recorded_lines, spans_at
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work, ordered
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis, fits_one_axis
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

NAME = "CPU (PyTorch)"
_NEXT = ("enumerate(DataLoader)", "DataLoader:")
"""Begins of the ranges in which the program waits for its next batch, or makes it."""


def runs_pytorch(plane: Plane) -> bool:
    """Whether the plane declares ops of PyTorch."""
    return any(parse_op(name).category == PYTORCH for name in plane.declared.event_metadata.names)


def pytorch_devices(plane: Plane) -> list[Device]:
    """The host's CPU as one device, if PyTorch ran ops on it; else none.

    Its runs are the ops that no other op encloses on their thread. Those that a DataLoader runs in the program's own
    process are part of it: the range of the next batch is `Work.INPUT`.
    """
    if not runs_pytorch(plane) or not fits_one_axis(plane):
        return []
    ops, op_of_row = _ops(plane.event_metadata.names)
    metadata = plane.events.metadata
    events = np.flatnonzero(
        (op_of_row >= 0)[metadata] & recorded_lines(plane)[line_of(plane, np.arange(len(metadata)))]
    )
    events = events[_outermost(ThreadAxis(plane).begin(events), plane.events.duration_ps[events])]
    op = op_of_row[metadata[events]]
    work = np.array([one.work for one in ops], np.uint8)[op]
    spans = ordered(OpSpans(*spans_at(plane, events), op.astype(np.int32), work, events))
    return [Device(NAME, "cpu", 0, plane.index, ops, spans)] if len(spans) else []


def _ops(names: Sequence[str]) -> tuple[tuple[Op, ...], I64]:
    """The ops and waits that events are named after, and per row of the event metadata its op, -1 for other events."""
    ops: list[Op] = []
    row = np.full(len(names), -1, np.int64)
    for index, name in enumerate(names):
        parsed = parse_op(name)
        if name.startswith(_NEXT):
            op = Op(name, 0, Work.INPUT)
        elif parsed.category == PYTORCH:
            op = Op(parsed.name, 0, Work.COMPUTE)
        else:
            continue
        row[index] = len(ops)
        ops.append(op)
    return tuple(ops), row


def _outermost(begin: I64, duration: I64) -> Bools:
    """Which events begin after all that began before have ended."""
    order = np.lexsort((-duration, begin))
    reached = np.maximum.accumulate((begin + duration)[order])
    first = np.append(True, begin[order][1:] >= reached[:-1]) if len(order) else np.zeros(0, np.bool_)
    outermost = np.zeros(len(begin), np.bool_)
    outermost[order[first]] = True
    return outermost
