"""What a plane is, told from its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import Plane

HOST_THREADS = "/host:CPU"
HOST_METADATA = "/host:metadata"
TPU_PREFIX, GPU_PREFIX = "/device:TPU:", "/device:GPU:"
CUSTOM_PREFIXES = ("/device:CUSTOM:", "/custom:")

_HOST_PREFIXES = (
    HOST_THREADS,
    "Host CPUs",
    "/host:tfstreamz",
    HOST_METADATA,
    "Syscalls",
    "/host:python-tracer",
    "/host:CUPTI",
    "/host:__ScopeRangeCallStack__",
)
_DEVICE_PREFIXES = ("/device", "#Chip", *CUSTOM_PREFIXES)
_TENSOR_CORE = re.compile(r"/device:TPU:([0-9]*)\Z")
_SPARSE_CORE = re.compile(r"/device:TPU:[0-9]+ SparseCore(?: [a-zA-Z]+)? ([0-9]+)\Z")

GROUPING_LINES = {False: ("Steps", "XLA Modules"), True: ("Sparse Core Steps", "Sparse Core Modules")}
"""Lines that say how a core's time is cut, best first; by whether it is a SparseCore."""


def is_host(name: str) -> bool:
    """Planes of the host itself: threads, metadata, metrics, tracers."""
    return name.startswith(_HOST_PREFIXES)


def is_device(name: str) -> bool:
    """Planes of accelerators and of what is attached to them."""
    return not is_host(name) and name.startswith(_DEVICE_PREFIXES)


def tensor_core(name: str) -> int | None:
    """Ordinal of a TensorCore plane (0 when it has no number), None for any other plane."""
    match = _TENSOR_CORE.match(name)
    return int(match[1] or 0) if match else None


def is_sparse_core(name: str) -> bool:
    """Planes of SparseCores."""
    return _SPARSE_CORE.match(name) is not None


def grouping_line(plane: Plane) -> int | None:
    """The line whose events cut a TPU core's time into steps or module runs; None when there is none with events."""
    sparse = is_sparse_core(plane.name)
    if not sparse and tensor_core(plane.name) is None:
        return None
    start = plane.lines.event_start
    for wanted in GROUPING_LINES[sparse]:
        for line, name in enumerate(plane.lines.name):
            if name == wanted and start[line + 1] > start[line]:
                return line
    return None


def is_step_line(name: str) -> bool:
    """Lines with one event per step, as profilers of TPUs write them."""
    return name in ("Steps", "Sparse Core Steps")
