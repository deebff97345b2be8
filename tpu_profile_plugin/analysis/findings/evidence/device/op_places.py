"""Where an op takes longest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tpu_profile_plugin.analysis.attribution import hlo_name
from tpu_profile_plugin.analysis.common.planes import OPS, device_planes, events_of_lines, is_tensor_core, lines_named
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

Place = tuple[int, int]
"""Begin and end in ps on the host's axis."""


def longest_run(host: HostView, program: int, name: str) -> Place | None:
    """Begin and end of the longest run of an op on any device; None if there is none."""
    on_tpu = host.summary.environment.hardware is Hardware.TPU
    runs = _on_tensor_cores(host.space, program, name) if on_tpu else _on_devices(host, program, name)
    longest = [
        (int(begin[at]), int(end[at])) for begin, end in runs if len(begin) for at in [int((end - begin).argmax())]
    ]
    return max(longest, key=lambda one: one[1] - one[0], default=None)


def _on_devices(host: HostView, program: int, name: str) -> Iterator[tuple[I64, I64]]:
    for device in host.devices:
        numbers = [i for i, op in enumerate(device.ops) if op.name == name and op.program == program]
        rows = np.flatnonzero(np.isin(device.runs.op, numbers))
        yield device.runs.begin_ps[rows], device.runs.end_ps[rows]


def _on_tensor_cores(space: XSpace, program: int, name: str) -> Iterator[tuple[I64, I64]]:
    """From the metadata of events, without the other work of a core, which costs much more to find out."""
    for plane in device_planes(space):
        if is_tensor_core(plane):
            rows = _metadata(space, plane, program, name)
            events = events_of_lines(plane, lines_named(plane, OPS))
            events = events[np.isin(plane.events.metadata[events], rows)]
            begin = plane.events.begin_ps[events]
            yield begin, begin + plane.events.duration_ps[events]


def _metadata(space: XSpace, plane: Plane, program: int, name: str) -> list[int]:
    meta = plane.event_metadata
    programs = read.ints(space, plane, meta.stats, "program_id")[0].view(np.uint64).tolist()
    rows = zip(meta.names, meta.display_names, programs, strict=True)
    return [i for i, (text, display, id_) in enumerate(rows) if id_ == program and name in (hlo_name(text), display)]
