"""The environment of a profile: hosts, devices, their peak rates, and whether the program is training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX, device_planes, is_tensor_core, is_tpu
from tpu_profile_plugin.analysis.environment.gpus import (
    GpuCapabilities,
    flops_per_cycle,
    model_name,
    shared_bytes_per_cycle,
)
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.protos import parse
from tpu_profile_plugin.units import GIB, GIGA, KILO, MEGA


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
