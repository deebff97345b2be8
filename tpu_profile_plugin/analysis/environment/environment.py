"""The environment of a profile: hosts, devices, their peak rates, and whether the program is training."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX, device_planes, is_tensor_core, is_tpu
from tpu_profile_plugin.analysis.common.rows import file_rows
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.protos import parse
from tpu_profile_plugin.units import GIB, GIGA, KILO, MEGA

# Model names and peak rates of GPUs: by capability (`gpu_models.txt`), and by data sheet (`gpu_boards.txt`).

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
    table = file_rows(__file__, "gpu_models.txt")
    return {(int(row[1]), int(row[2])): max(map(int, row[3:])) for row in table if row[0] == "Nvidia"}


@cache
def _amd() -> dict[str, tuple[int, int]]:
    """Operations and bytes of shared memory per cycle and compute unit by architecture."""
    return {row[1]: (int(row[2]), int(row[3])) for row in file_rows(__file__, "gpu_models.txt") if row[0] == "AMD"}


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
    for name, memory, *rates in file_rows(__file__, "gpu_boards.txt"):
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


def core_details(space: XSpace, plane: Plane) -> Any | None:
    """The plane's CoreDetails; None if absent or unreadable. Absent numbers are 0, as the format defines."""
    row = plane.stat_metadata.row("core_details")
    if row is None:
        return None
    stat = int(plane.stats.find(row)[0])
    if stat < 0 or plane.stats.kind[stat] != Kind.BYTES:
        return None
    return parse("tensorflow.profiler.CoreDetails", space.blob(int(plane.stats.value[stat])))


def chip_of(space: XSpace, plane: Plane) -> int | None:
    """The chip on this host that the core belongs to; None if not recorded."""
    details = core_details(space, plane)
    return None if details is None else int(details.local_chip_id)


class Hardware(str, Enum):
    """Kind of device; determines the layout of the step tables."""

    CPU_ONLY = "CPU_ONLY"
    GPU = "GPU"
    TPU = "TPU"
    UNKNOWN = "UNKNOWN_HARDWARE"


@dataclass(frozen=True, slots=True)
class Environment:
    """Hosts and devices of one or more profiles.

    Attributes:
      hostnames: distinct names, sorted.
      tasks: number of profiles.
      device_type: display name, e.g. "TPU v6 Lite"; "CPU" without a device.
      hardware: the kind of device.
      device_cores: number of TensorCores or GPUs.
      is_training: the program computes gradients.
      start_ns, duration_ns: Unix time and length of the recording; 0 when unknown.
    """

    hostnames: tuple[str, ...] = ()
    tasks: int = 0
    device_type: str = ""
    hardware: Hardware = Hardware.UNKNOWN
    device_cores: int = 0
    is_training: bool = False
    start_ns: int = 0
    duration_ns: int = 0


@dataclass(frozen=True, slots=True)
class Peaks:
    """Peak rates of one device core.

    Attributes:
      tera_flops: floating point operations per second, in 1e12.
      bandwidths: GB/s (1e9 bytes) of HBM, on-chip memory read and write, CMEM read and write, VMEM read and write;
        GPUs have the first three. Empty when unknown.
    """

    tera_flops: float = 0.0
    bandwidths: tuple[float, ...] = ()

    @property
    def hbm(self) -> float:
        """Peak HBM bandwidth in GB/s, 0 when unknown."""
        return self.bandwidths[0] if self.bandwidths else 0.0

    @property
    def gflops_per_s(self) -> float | None:
        """Peak of floating point operations in 1e9 per second, None when unknown."""
        return self.tera_flops * KILO or None

    @property
    def hbm_gib_per_s(self) -> float | None:
        """Peak HBM bandwidth in GiB/s, None when unknown."""
        return self.hbm * GIGA / GIB or None


_COMPUTE, _BANDWIDTH = "peak_teraflops_per_second", "peak_{}_bw_gigabytes_per_second"
_TPU_BANDWIDTHS = ("hbm", "sram_rd", "sram_wr", "cmem_rd", "cmem_wr", "vmem_rd", "vmem_wr")


def plane_double(space: XSpace, plane: Plane, name: str) -> float:
    """Value of a plane stat as a finite double, from any numeric type; 0 when absent."""
    value = float(read.doubles(space, plane, plane.stats, name)[0][0])
    if value != 0:
        return value if np.isfinite(value) else 0.0
    return float(plane_int(space, plane, name))


def plane_int(space: XSpace, plane: Plane, name: str) -> int:
    """Value of an integer plane stat; 0 when absent."""
    return int(read.ints(space, plane, plane.stats, name)[0][0])


def plane_text(space: XSpace, plane: Plane, name: str) -> str:
    """Value of a text plane stat; "" when absent."""
    codes, texts = read.strings(space, plane, plane.stats, name)
    return texts[int(codes[0])] if codes[0] >= 0 else ""


def gpu_capabilities(space: XSpace, plane: Plane) -> GpuCapabilities:
    """Device capabilities from the stats of a GPU plane."""
    return GpuCapabilities(
        vendor=plane_text(space, plane, "device_vendor"),
        name=plane_text(space, plane, "gpu_device_name"),
        major=plane_int(space, plane, "compute_cap_major"),
        minor=plane_int(space, plane, "compute_cap_minor"),
        cores=plane_int(space, plane, "core_count"),
        clock_khz=plane_int(space, plane, "clock_rate"),
        memory_bandwidth=plane_int(space, plane, "memory_bandwidth"),
    )


def environment(space: XSpace, is_training: bool) -> Environment:
    """The environment of one profile."""
    hardware, device, cores = _device(space)
    start, stop = task_times(space)
    return Environment(
        hostnames=(hostname(space),),
        tasks=1,
        device_type=device,
        hardware=hardware,
        device_cores=cores,
        is_training=is_training,
        start_ns=start,
        duration_ns=max(0, stop - start),
    )


def hostname(space: XSpace) -> str:
    """The host name in the profile, "localhost" without one."""
    return space.hostnames[0] if space.hostnames else "localhost"


def _device(space: XSpace) -> tuple[Hardware, str, int]:
    """Kind, display name and number of devices; GPUs come first here if a profile has both."""
    if gpus := [plane for plane in space.planes if plane.name.startswith(GPU_PREFIX)]:
        return Hardware.GPU, model_name(gpu_capabilities(space, gpus[0])) or "GPU", len(gpus)
    if cores := [plane for plane in space.planes if is_tensor_core(plane)]:
        return Hardware.TPU, plane_text(space, cores[0], "device_type_string"), len(cores)
    return Hardware.CPU_ONLY, "CPU", 0


def task_times(space: XSpace) -> tuple[int, int]:
    """Unix times in ns at which the recording began and ended; 0 where unknown."""
    task = next((plane for plane in space.planes if plane.name == "Task Environment"), None)
    names = ("profile_start_time", "profile_stop_time")
    start, stop = (0 if task is None else plane_int(space, task, name) for name in names)
    return start, stop


def peaks(space: XSpace) -> Peaks:
    """Peak rates of the first device; empty without devices."""
    planes = device_planes(space)
    if not planes:
        return Peaks()
    plane = planes[0]
    if not is_tpu(plane):
        return _gpu_peaks(space, plane)
    bandwidths = (plane_double(space, plane, _BANDWIDTH.format(name)) for name in _TPU_BANDWIDTHS)
    return Peaks(plane_double(space, plane, _COMPUTE), tuple(bandwidths))


def _gpu_peaks(space: XSpace, plane: Plane) -> Peaks:
    """Peak rates from the capabilities; positive doubles recorded for compute and shared memory win."""

    def recorded(name: str) -> float:
        value = float(read.doubles(space, plane, plane.stats, name)[0][0])
        return value if 0 < value < np.inf else 0.0

    gpu = gpu_capabilities(space, plane)
    gigahertz = gpu.clock_khz / MEGA
    shared = gpu.cores * shared_bytes_per_cycle(gpu) * gigahertz
    compute = recorded(_COMPUTE) or gpu.cores * flops_per_cycle(gpu) * gigahertz / KILO
    on_chip = (recorded(_BANDWIDTH.format(name)) or shared for name in ("sram_rd", "sram_wr"))
    return Peaks(compute, (gpu.memory_bandwidth / GIGA, *on_chip))


_PRECEDENCE = (Hardware.UNKNOWN, Hardware.CPU_ONLY, Hardware.GPU, Hardware.TPU)


def combine_environments(parts: Sequence[Environment]) -> Environment:
    """Combines environments: union of host names, sums of tasks and cores; the type is that of the last accelerator."""
    if len(parts) == 1:
        return parts[0]
    device_type = ""
    for part in parts:
        if part.device_type != "CPU" or not device_type:
            device_type = part.device_type
    return Environment(
        hostnames=tuple(sorted({name for part in parts for name in part.hostnames})),
        tasks=sum(part.tasks for part in parts),
        device_type=device_type,
        hardware=max((part.hardware for part in parts), key=_PRECEDENCE.index, default=Hardware.UNKNOWN),
        device_cores=sum(part.device_cores for part in parts),
        is_training=parts[-1].is_training if parts else False,
        start_ns=min((part.start_ns for part in parts if part.start_ns), default=0),
        duration_ns=max((part.duration_ns for part in parts), default=0),
    )


def combine_peaks(parts: Sequence[Peaks]) -> Peaks:
    """Combines peak rates: the last known compute rate, the first known bandwidths."""
    flops = [part.tera_flops for part in parts if part.tera_flops]
    bandwidths = [part.bandwidths for part in parts if part.bandwidths]
    return Peaks(flops[-1] if flops else 0.0, bandwidths[0] if bandwidths else ())


def utilization(space: XSpace, host: Plane | None) -> tuple[float, float]:
    """(matrix unit, HBM) utilization in percent as the host plane records it as a double; 0 if it does not."""
    if host is None:
        return 0.0, 0.0
    host = host.declared
    names = ("matrix_unit_utilization_percent", "hbm_utilization_percent")
    matrix, hbm = (float(read.doubles(space, host, host.stats, name)[0][0]) for name in names)
    return matrix, hbm
