"""The allocations that a host recorded."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.memory.allocations import (
    ALLOCATION,
    DEALLOCATION,
    Allocations,
    allocations,
    may_have_allocations,
)
from tpu_profile_plugin.analysis.summary.host_summary import has_root
from tpu_profile_plugin.columns import EventFilter, Plane
from tpu_profile_plugin.run.figures.summary import groups_of
from tpu_profile_plugin.run.host import HostProfile


def host_allocations(
    host: HostProfile, others: Sequence[EventFilter] = (), *, since_recording: bool
) -> tuple[Allocations | None, list[Plane]]:
    """The memory events of the host, None without any; and other planes, reduced by filters in the same pass."""
    space = host.lazy
    plane = host_plane(space)
    if plane is None or not may_have_allocations(plane):
        return None, space.filtered(*others)
    if any(has_root(other) for other in space.planes):
        # Groups are indexed by event, so the plane cannot be filtered.
        groups = groups_of(host).planes[plane.index].group_id
        return allocations(space, plane, groups, since_recording=since_recording), space.filtered(*others)
    filtered, *reduced = space.filtered(EventFilter(plane, event=(ALLOCATION, DEALLOCATION).__contains__), *others)
    return allocations(space, filtered, since_recording=since_recording), reduced
