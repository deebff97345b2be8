"""Time of the host threads that run Python, by call stack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.reasons import NO_PYTHON
from tpu_profile_plugin.analysis.timeline.stacks import Stacks, thread_stacks
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.host_facts import frameworks_of
from tpu_profile_plugin.run.hosts import RunHosts

_FRAME = "$"
"""Names of Python frames begin with it."""


@dataclass(frozen=True, slots=True, eq=False)
class HostStacks:
    """Stacks of the threads with Python frames, of each host by name; threads are the outermost frames."""

    hosts: tuple[tuple[str, Stacks], ...]


@per_host()
def host_python_stacks(host: HostProfile) -> Stacks:
    """The stacks of one host; none without Python frames."""
    space = host.lazy
    plane = host_plane(space)
    if plane is None:
        return Stacks()
    space.decode([plane])
    frames = np.array([name.startswith(_FRAME) for name in plane.event_metadata.names], np.bool_)
    if not frames.any():
        return Stacks()
    starts = plane.lines.event_start.astype(np.int64)
    before = np.concatenate(([0], np.cumsum(frames[plane.events.metadata])))
    lines = before[starts[1:]] > before[starts[:-1]]
    return thread_stacks(plane, lines, plane.lines.name) if lines.any() else Stacks()


def run_python_stacks(run: RunHosts) -> HostStacks:
    """The stacks of the chosen hosts. Raises NoData without Python frames."""
    each = run.map_hosts(host_python_stacks)
    # Only now it is known which hosts can be read.
    hosts = tuple((host.name, stacks) for host, stacks in zip(run.readable, each, strict=True) if len(stacks))
    if not hosts:
        raise NO_PYTHON.error(frameworks_of(run))
    return HostStacks(hosts)
