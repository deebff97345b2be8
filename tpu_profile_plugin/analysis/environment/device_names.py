"""What devices are called: one name for the device of a plane, in tables, sentences and headings of timelines."""

from __future__ import annotations

import re
from collections import Counter

from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX, TPU_PREFIX, is_sparse_core, tensor_core
from tpu_profile_plugin.analysis.environment.environment import core_details
from tpu_profile_plugin.columns import Plane, XSpace

_NUMBER = re.compile(r"(\d+)\D*\Z")


def names_of_planes(space: XSpace) -> dict[int, str]:
    """The names of TPU cores and GPUs by index of the plane, distinct where the names of planes are.

    A core is called by its chip of the slice and its place on it if the profile tells them of all cores, else by the
    number of its plane, as GPUs are. Decodes no events.
    """
    planes = [plane for plane in space.planes if plane.name.startswith((TPU_PREFIX, GPU_PREFIX))]
    on_chips = {plane.index: _on_chip(space, plane) for plane in planes if plane.name.startswith(TPU_PREFIX)}
    known = all(on_chips.values()) and len(set(on_chips.values())) == len(on_chips)
    named = {plane.index: (on_chips.get(plane.index) if known else "") or _by_number(plane) for plane in planes}
    uses = Counter(named.values())
    return {plane.index: named[plane.index] if uses[named[plane.index]] == 1 else plane.name for plane in planes}


def plane_title(space: XSpace, name: str) -> str:
    """The name of the device whose plane has this name, of other planes their own."""
    devices = names_of_planes(space)
    return next((devices.get(plane.index, name) for plane in space.planes if plane.name == name), name)


def device_of_allocator(space: XSpace, allocator: str) -> str:
    """The name of the TPU core whose memory this is; "" of allocators that have a name of their own."""
    plane = f"{TPU_PREFIX}{allocator}"
    return plane_title(space, plane) if any(one.name == plane for one in space.planes) else ""


def plane_number(plane: Plane) -> int | None:
    """The number in the name of a plane; None without."""
    number = _NUMBER.search(plane.name)
    return int(number[1]) if number else None


def _on_chip(space: XSpace, plane: Plane) -> str:
    details = core_details(space, plane.declared)
    if details is None:
        return ""
    core = f"SparseCore {plane_number(plane) or 0}" if is_sparse_core(plane) else f"TPU core {details.core_num}"
    return f"Chip {details.global_chip_id}, {core}"


def _by_number(plane: Plane) -> str:
    if plane.name.startswith(GPU_PREFIX):
        number = plane_number(plane)
        return plane.name if number is None else f"GPU {number}"
    number = tensor_core(plane.name)
    if number is not None:
        return f"TPU {number}"
    return plane.name.removeprefix("/device:").replace("TPU:", "TPU ", 1).replace(" SparseCore", ", SparseCore", 1)
