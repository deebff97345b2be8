"""Which plane and line of a profile plays which role, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis import plane_roles
from tpu_profile_plugin.analysis.derived import is_derived
from tpu_profile_plugin.analysis.plane_roles import GPU_PREFIX, HOST_THREADS, TPU_PREFIX

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import Plane, XSpace

STEPS, SPARSE_STEPS = "Steps", "Sparse Core Steps"
MODULES, SPARSE_MODULES = "XLA Modules", "Sparse Core Modules"
OPS, SPARSE_OPS = "XLA Ops", "Sparse Core Ops"


def host_plane(space: XSpace) -> Plane | None:
    """The plane of the host's threads; the first when a file has several."""
    return next((plane for plane in space.planes if plane.name == HOST_THREADS), None)


def device_planes(space: XSpace) -> tuple[Plane, ...]:
    """The TPU planes of a profile, or when there are none its GPU planes, in file order."""
    for prefix in (TPU_PREFIX, GPU_PREFIX):
        if planes := tuple(plane for plane in space.planes if plane.name.startswith(prefix)):
            return planes
    return ()


def is_tpu(plane: Plane) -> bool:
    """A TensorCore or SparseCore plane."""
    return plane.name.startswith(TPU_PREFIX)


def is_tensor_core(plane: Plane) -> bool:
    """A TensorCore plane of a TPU."""
    return plane_roles.tensor_core(plane.name) is not None


def is_sparse_core(plane: Plane) -> bool:
    """A SparseCore plane of a TPU."""
    return plane_roles.is_sparse_core(plane.name)


def is_derived_line(line_id: int) -> bool:
    """True for the ids of lines that analysis adds to a profile; such lines repeat what others hold."""
    return is_derived(line_id)


def lines_named(plane: Plane, *names: str) -> list[int]:
    """Indices of the lines with one of the names, in file order."""
    return [i for i, name in enumerate(plane.lines.name) if name in names]


def event_range(plane: Plane, line: int) -> slice:
    """The events of a line."""
    start = plane.lines.event_start
    return slice(int(start[line]), int(start[line + 1]))
