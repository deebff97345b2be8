"""The memory of a device: from its allocator, from the device's report, or from the specification of its model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.planes import host_plane, is_tensor_core
from tpu_profile_plugin.analysis.environment.environment import Hardware, plane_int, plane_text
from tpu_profile_plugin.analysis.memory.allocations import ALLOCATION, DEALLOCATION, MemoryUse, memory_use
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.units import GIB

_GPU = "/device:GPU:"

# Model -> (HBM of a chip in GiB, devices of a chip). Source: Google Cloud's pages on the TPU versions.
_TPU_CHIPS = {
    "v2": (16, 2), "v3": (32, 2), "v4 lite": (8, 1), "v4": (32, 2), "v5 lite": (16, 1), "v5": (95, 2),
    "v6 lite": (32, 1), "7x": (192, 2),
}  # fmt: skip
_ALIASES = {
    "v4i": "v4 lite", "v5e": "v5 lite", "v5litepod": "v5 lite", "v5p": "v5", "v6e": "v6 lite", "v7": "7x", "v7x": "7x",
}  # fmt: skip
ALLOCATORS = "device_allocators"
"""Cache key of the result of `device_allocators`."""
_MEGACORE = ("v4", "v5")
"""Models whose two cores are one device, unless the profile says otherwise."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The devices of a host, and the main memory of one of them.

    Attributes:
      hardware: kind of device.
      model: e.g. "TPU v6 Lite"; "" if unknown.
      bytes: its memory; 0 if unknown, and for CPUs, whose programs share the host's memory.
      source: "allocator": size of the smallest allocator of a device; "device": size reported by the device; "model":
        specification of the product, of which the runtime reserves a part; "" if unknown.
    """

    hardware: Hardware
    model: str = ""
    bytes: int = 0
    source: str = ""


def device_memory(space: XSpace) -> DeviceMemory:
    """The memory of a host's devices; reads allocator events and the devices' properties only."""
    gpus = [plane.declared for plane in space.planes if plane.name.startswith(_GPU)]
    cores = [plane.declared for plane in space.planes if is_tensor_core(plane)]
    if not gpus and not cores:
        return DeviceMemory(Hardware.CPU_ONLY)
    hardware = Hardware.GPU if gpus else Hardware.TPU
    device = (gpus or cores)[0]
    model = plane_text(space, device, "gpu_device_name" if gpus else "device_type_string")
    if managed := _managed(space):
        return DeviceMemory(hardware, model, managed, "allocator")
    if reported := plane_int(space, device, "memory_size"):
        return DeviceMemory(hardware, model, reported, "device")
    size = 0 if gpus else _of_model(space, device, model)
    return DeviceMemory(hardware, model, size, "model" if size else "")


def _managed(space: XSpace) -> int:
    """Stack, heap and free memory of the smallest allocator of a device; 0 without one."""
    sizes = [int((rows.in_use + rows.free).max()) for rows in device_allocators(space).values() if rows.free.any()]
    return max(0, min(sizes, default=0))


def device_allocators(space: XSpace) -> dict[str, MemoryUse]:
    """The bytes that the allocators of a host's devices have in use and free, by the allocator's name."""
    plane = host_plane(space)
    if plane is None or ALLOCATION not in plane.declared.event_metadata.names:
        return {}
    (host,) = space.filtered(EventFilter(plane, event=(ALLOCATION, DEALLOCATION).__contains__))
    # TPU runtimes name an allocator by its device's number, those of GPUs by kind and number, such as GPU_0_bfc.
    gpus = any(plane.name.startswith(_GPU) for plane in space.planes)
    of_device = re.compile(r"\d+|GPU_\d+.*" if gpus else r"\d+", re.IGNORECASE)
    return {name: rows for name, rows in memory_use(space, host).items() if of_device.fullmatch(name)}


def _of_model(space: XSpace, device: Plane, model: str) -> int:
    """HBM of a TPU by its name, such as "TPU v6 Lite" or "TPU v5p"; 0 for unknown ones."""
    name = model.lower().removeprefix("tpu").strip()
    name = _ALIASES.get(name, name)
    if name not in _TPU_CHIPS:
        return 0
    gib, devices = _TPU_CHIPS[name]
    joined, known = read.ints(space, device, device.stats, "has_megacore")
    if name in _MEGACORE and (joined[0] or not known[0]):
        devices = 1
    return gib * GIB // devices
