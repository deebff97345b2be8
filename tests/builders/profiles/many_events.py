"""A profile of any number of events, written as bytes at once: nested ops of devices and threads, for benchmarks.

PYTHONPATH=tests python -m builders.profiles.many_events FILE.xplane.pb EVENTS
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from builders.damage.wire import varint
from builders.messages import XSpace
from tpu_profile_plugin.protos import tag

LINES = 8
NAMES = 100
_PS_PER_EVENT = 1_000_000
_EVENT_BYTES = 19


def many_events(count: int) -> bytes:
    """About `count` events on `LINES` lines of one device: steps of a hundred ops, each op in a group of ten."""
    own = count // LINES
    event = np.arange(own, dtype=np.int64)
    # Of 111 events one is a step, ten are groups, the rest are ops.
    place = event % 111
    is_step, is_group = place == 0, (place % 11 == 1) & (place > 0)
    begin = event * _PS_PER_EVENT
    op = 600_000 + 3_000 * (event % 97)
    duration = np.where(is_step, 110 * _PS_PER_EVENT, np.where(is_group, 10 * _PS_PER_EVENT, op))
    name = np.where(is_step, 1, np.where(is_group, 2, 3 + event * 7 % (NAMES - 2)))
    events = _events(begin, duration, name)
    space = XSpace()
    plane = space.planes.add(id=1, name="/device:TPU:0")
    for number in range(1, NAMES + 1):
        plane.event_metadata[number].id = number
        plane.event_metadata[number].name = f"fusion.{number}"
    message = bytes(plane.SerializeToString())
    for number in range(LINES):
        line = plane.lines.add(id=1 + number, name=f"line {number}")
        message += _field(_tag("XPlane", "lines"), line.SerializeToString() + events)
    return _field(_tag("XSpace", "planes"), message)


def _events(begin: NDArray[np.int64], duration: NDArray[np.int64], name: NDArray[np.int64]) -> bytes:
    """Events as fields of a line, all with the same number of bytes: padded varints of fixed width."""
    out = np.zeros((len(begin), _EVENT_BYTES), np.uint8)
    out[:, 0], out[:, 1] = _tag("XLine", "events"), _EVENT_BYTES - 2
    out[:, 2], out[:, 3] = _tag("XEvent", "metadata_id"), name
    out[:, 4], out[:, 12] = _tag("XEvent", "offset_ps"), _tag("XEvent", "duration_ps")
    for first, width, values in ((5, 7, begin), (13, 6, duration)):
        for i in range(width):
            more = 0x80 if i < width - 1 else 0
            out[:, first + i] = (values >> (7 * i)) & 0x7F | more
    return out.tobytes()


def _tag(message: str, field: str) -> int:
    return tag(f"tensorflow.profiler.{message}", field)


def _field(one: int, data: bytes) -> bytes:
    return varint(one) + varint(len(data)) + data


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(many_events(int(sys.argv[2])))
