"""Model names and peak rates of GPUs: by capability (`gpu_models.txt`), and by data sheet (`gpu_boards.txt`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tpu_profile_plugin.analysis.common.data_files import rows
from tpu_profile_plugin.units import GIGA

_GFX = re.compile(r"gfx[0-9a-fA-F]{3,}")
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


@cache
def _nvidia() -> dict[tuple[int, int], int]:
    """Operations per cycle and multiprocessor by compute capability: the highest over all units and precisions."""
    table = rows(__file__, "gpu_models.txt")
    return {(int(row[1]), int(row[2])): max(map(int, row[3:])) for row in table if row[0] == "Nvidia"}


@cache
def _amd() -> dict[str, tuple[int, int]]:
    """Operations and bytes of shared memory per cycle and compute unit by architecture."""
    return {row[1]: (int(row[2]), int(row[3])) for row in rows(__file__, "gpu_models.txt") if row[0] == "AMD"}


def flops_per_cycle(gpu: GpuCapabilities) -> int:
    """Highest number of floating point operations of one core in one cycle, over all units and precisions."""
    if gpu.vendor == "AMD":
        return _amd().get(gfx_name(gpu), (0, 0))[0]
    if gpu.vendor != "Nvidia":
        return 0
    below = [capability for capability in _nvidia() if capability <= (gpu.major, gpu.minor)]
    return _nvidia()[max(below, default=(2, 0))]


def shared_bytes_per_cycle(gpu: GpuCapabilities) -> int:
    """Bytes that one core can read from or write to shared memory in one cycle; 0 for unknown hardware."""
    if gpu.vendor == "AMD":
        return _amd().get(gfx_name(gpu), (0, 0))[1]
    if gpu.vendor != "Nvidia":
        return 0
    return 64 if gpu.major <= 2 else 256


DTYPES = ("fp64", "fp32", "tf32", "fp16", "fp8", "fp4", "int8")
"""Data types with rates of their own; bf16 has that of fp16."""


@cache
def _boards() -> tuple[tuple[tuple[str, ...], int, dict[str, float]], ...]:
    boards = []
    for name, memory, *rates in rows(__file__, "gpu_boards.txt"):
        by_dtype = {kind: float(rate) for kind, rate in zip(DTYPES, rates, strict=False) if rate != "-"}
        boards.append((tuple(name.lower().split("+")), int(memory), by_dtype))
    return tuple(boards)


def peaks_by_dtype(name: str, memory_bytes: int) -> dict[str, float]:
    """TFLOP/s of dense matrix products by data type; empty for a board that is not known.

    Args:
      name: of the device, as its driver says it.
      memory_bytes: of the device, 0 if unknown.
    """
    lower = name.lower()
    for parts, least, by_dtype in _boards():
        if memory_bytes // GIGA >= least and all(part in lower for part in parts):
            return by_dtype
    return {}
