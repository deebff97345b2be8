"""Places in the timeline that evidence links to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.devices.model import Device

_ROOM = 1.0
"""What is shown before and after a place, relative to its length."""


def window(begin_ps: int, end_ps: int) -> str:
    """The window of the timeline around a place: "from,to" in ps."""
    room = round(_ROOM * (end_ps - begin_ps))
    return f"{max(0, begin_ps - room)},{end_ps + room}"


def longest_run(devices: Sequence[Device], program: int, name: str) -> tuple[int, int] | None:
    """Begin and end of the longest run of an op on any device; None if there is none."""
    best: tuple[int, int] | None = None
    for device in devices:
        numbers = [i for i, op in enumerate(device.ops) if op.name == name and op.program == program]
        rows = np.flatnonzero(np.isin(device.runs.op, numbers))
        if not len(rows):
            continue
        begin, end = device.runs.begin_ps[rows], device.runs.end_ps[rows]
        at = int((end - begin).argmax())
        if best is None or int(end[at] - begin[at]) > best[1] - best[0]:
            best = int(begin[at]), int(end[at])
    return best
