"""Model names and peak rates of GPUs, from the capabilities in a profile.

The rates are theoretical peaks, not measurements. A fused multiply-add counts as two operations. Sources:

- Nvidia, vector units: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; for 10.0,
  XProf.
- Nvidia, tensor cores: whitepapers of V100, Turing, A100, GA102, AD102, H100 and Blackwell (dense, per SM and clock;
  fp32 is TF32).
- AMD: whitepapers of CDNA to CDNA 4 (dense matrix operations and LDS bytes per compute unit and clock).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_GFX = re.compile(r"gfx[0-9a-fA-F]{3,}")

# Compute capability -> operations per cycle and multiprocessor: (vector fp32, vector fp16, tensor fp32, tensor fp16).
_NVIDIA = {
    (2, 0): (64, 0, 0, 0),
    (3, 0): (384, 0, 0, 0),
    (5, 0): (256, 0, 0, 0),
    (6, 0): (128, 256, 0, 0),
    (6, 1): (256, 4, 0, 0),
    (7, 0): (128, 256, 0, 1024),
    (7, 5): (128, 256, 0, 1024),
    (8, 0): (128, 512, 1024, 2048),
    (8, 6): (256, 256, 256, 1024),
    (8, 9): (256, 256, 512, 1024),
    (9, 0): (256, 512, 2048, 4096),
    (10, 0): (296, 592, 4096, 8192),
}
# AMD architecture -> (operations per cycle, shared memory bytes per cycle) of a compute unit.
_AMD = {"gfx908": (1024, 128), "gfx90a": (1024, 128), "gfx942": (2048, 128), "gfx950": (4096, 256)}
_AMD_BY_CAPABILITY = {(9, 4): "gfx942", (9, 5): "gfx950"}
_NVIDIA_NAMES = {2: "Fermi", 3: "Kepler", 5: "Maxwell", 6: "Pascal", 9: "Hopper", 10: "Blackwell"}


@dataclass(frozen=True, slots=True)
class GpuCapabilities:
    """Capabilities from the stats of a GPU plane; 0 or "" where not recorded."""

    vendor: str = ""
    name: str = ""
    major: int = 0
    minor: int = 0
    cores: int = 0
    clock_khz: int = 0
    memory_bandwidth: int = 0
    """Bytes per second."""


def gfx_name(gpu: GpuCapabilities) -> str:
    """The architecture of an AMD GPU, e.g. gfx942; "" when unknown.

    A name with anything after the digits (`gfx942:sramecc+`) is ignored, as in XProf: the capability decides.
    """
    if _GFX.fullmatch(gpu.name):
        return gpu.name
    return _AMD_BY_CAPABILITY.get((gpu.major, gpu.minor), "")


def model_name(gpu: GpuCapabilities) -> str:
    """Display name of the device type; "" for an unknown vendor."""
    if gpu.vendor == "Nvidia":
        return _nvidia_name(gpu.major, gpu.minor)
    if gpu.vendor == "AMD":
        if gfx := gfx_name(gpu):
            return f"AMD GPU - {gfx}"
        return f"AMD GPU - gfx-{gpu.major}XX series" if gpu.major in (9, 10, 11) else "AMD GPU"
    return ""


def _nvidia_name(major: int, minor: int) -> str:
    name = _NVIDIA_NAMES.get(major, "")
    if major == 7:
        name = "Volta" if minor < 5 else "Turing"
    elif major == 8:
        name = "Ampere" if minor < 9 else "Ada Lovelace"
    return f"Nvidia GPU ({name})" if name else "Nvidia GPU"


def flops_per_cycle(gpu: GpuCapabilities) -> int:
    """Highest number of floating point operations of one core in one cycle, over all units and precisions."""
    if gpu.vendor == "AMD":
        return _AMD.get(gfx_name(gpu), (0, 0))[0]
    if gpu.vendor != "Nvidia":
        return 0
    below = [capability for capability in _NVIDIA if capability <= (gpu.major, gpu.minor)]
    return max(_NVIDIA[max(below, default=(2, 0))])


def shared_bytes_per_cycle(gpu: GpuCapabilities) -> int:
    """Bytes that one core can read from or write to shared memory in one cycle; 0 for unknown hardware."""
    if gpu.vendor == "AMD":
        return _AMD.get(gfx_name(gpu), (0, 0))[1]
    if gpu.vendor != "Nvidia":
        return 0
    return 64 if gpu.major <= 2 else 256
