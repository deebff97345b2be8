"""Compute and memory rates of ops relative to device peaks, and the resource that bounds each op (roofline)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.ops.op_tables import CMEM, HBM, READ, VMEM, WRITE
from tpu_profile_plugin.columns.arrays import F64, Bools
from tpu_profile_plugin.units import GIB, GIGA, KILO, PS_PER_NS


class Resource(str, Enum):
    """Resource that can bound an op; the value is the text in tables."""

    UNKNOWN = "Unknown"
    COMPUTE = "Compute"
    HBM = "HBM"
    CMEM_READ = "CMEM Read"
    CMEM_WRITE = "CMEM Write"
    VMEM_READ = "VMEM Read"
    VMEM_WRITE = "VMEM Write"
    SHARED = "Shm/L1"


MEMORIES: tuple[tuple[Resource, tuple[tuple[int, int], ...], int], ...] = (
    (Resource.HBM, ((HBM, READ), (HBM, WRITE)), 0),
    (Resource.CMEM_READ, ((CMEM, READ),), 3),
    (Resource.CMEM_WRITE, ((CMEM, WRITE),), 4),
    (Resource.VMEM_READ, ((VMEM, READ),), 5),
    (Resource.VMEM_WRITE, ((VMEM, WRITE),), 6),
)
"""Per memory: resource, its (space, direction) pairs in the traffic array, index of its peak in `Peaks.bandwidths`."""
_GPU_PEAK = {Resource.HBM: 0, Resource.VMEM_WRITE: 2}


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of some ops: float64[n] each, bandwidths in GiB/s by memory.

    Attributes:
      flops, model_flops: GFLOP/s.
      bandwidth: of all bytes accessed; memory: per memory of `MEMORIES`.
      intensity: FLOPs per byte of all bytes accessed; memory_intensity: per byte of each memory.
      compute_share: share of peak compute, 0 to 1; memory_share: of the peak of each memory with a known peak.
      bound: the resource with the greatest share; bound_intensity: the intensity for that resource.
    """

    flops: F64
    model_flops: F64
    bandwidth: F64
    memory: dict[Resource, F64]
    intensity: F64
    memory_intensity: dict[Resource, F64]
    compute_share: F64
    memory_share: dict[Resource, F64]
    bound: tuple[Resource, ...]
    bound_intensity: F64

    @property
    def best_memory_share(self) -> F64:
        best = np.zeros(len(self.flops))
        for share in self.memory_share.values():
            best = np.maximum(best, share)
        return best

    @property
    def efficiency(self) -> F64:
        """Share of the rate that the roofline allows: the greater of compute and memory share."""
        return np.maximum(self.compute_share, self.best_memory_share)

    @property
    def optimal_flops(self) -> F64:
        """GFLOP/s that the roofline allows at this intensity."""
        return divide(self.flops, self.efficiency)


def divide(a: F64, b: F64) -> F64:
    """a / b; 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=np.abs(b) >= 1e-300)


def peak_gib(peaks: Peaks, resource: Resource, hardware: Hardware) -> float:
    """Peak bandwidth of a memory in GiB/s; 0 if it is unknown or the hardware has no such memory."""
    if hardware is Hardware.GPU:
        position = _GPU_PEAK.get(resource)
    else:
        position = next((index for memory, _, index in MEMORIES if memory is resource), None)
    if position is None or position >= len(peaks.bandwidths):
        return 0.0
    return peaks.bandwidths[position] / (GIB / GIGA)


def rates(
    time_ps: F64,
    flops: F64,
    model_flops: F64,
    accessed: F64,
    traffic: F64,
    peaks: Peaks,
    hardware: Hardware,
    has_traffic: Bools | None = None,
) -> Rates:
    """Rates of ops from their time, FLOPs, bytes accessed and traffic per memory and direction (float64[n, 4, 2]).

    For ops without traffic per memory all accessed bytes count as HBM; `has_traffic` distinguishes them from ops with a
    recorded traffic of 0.
    """
    ns = time_ps / PS_PER_NS
    bytes_of = {name: sum_traffic(traffic, where) for name, where, _ in MEMORIES}
    unknown = traffic.sum(axis=(1, 2)) == 0 if has_traffic is None else ~has_traffic
    bytes_of[Resource.HBM] = np.where(unknown, accessed, bytes_of[Resource.HBM])
    memory = {name: divide(count, ns) * GIGA / GIB for name, count in bytes_of.items()}
    flop_rate = divide(flops, ns)
    intensity = divide(flops, accessed)
    memory_intensity = {name: divide(flops, count) for name, count in bytes_of.items()}
    with np.errstate(over="ignore"):  # a peak comes from the file and may be anything
        compute_share = flop_rate / (peaks.tera_flops * KILO) if peaks.tera_flops else np.zeros(len(ns))
    share = {}
    for name, bandwidth in memory.items():
        peak = peak_gib(peaks, name, hardware)
        if peak > 0:
            share[name] = bandwidth / peak
    bound_share, bound_by_intensity = dict(share), dict(memory_intensity)
    if hardware is Hardware.GPU and Resource.VMEM_WRITE in bound_share:
        # The traffic of shared memory is unknown: all HBM traffic may have gone through it.
        del bound_share[Resource.VMEM_WRITE]
        bound_share[Resource.SHARED] = memory[Resource.HBM] / peak_gib(peaks, Resource.VMEM_WRITE, hardware)
        bound_by_intensity[Resource.SHARED] = memory_intensity[Resource.HBM]
    bound, bound_intensity = _bound(compute_share, bound_share, intensity, bound_by_intensity)
    return Rates(
        flops=flop_rate,
        model_flops=divide(model_flops, ns),
        bandwidth=divide(accessed, ns) * GIGA / GIB,
        memory=memory,
        intensity=intensity,
        memory_intensity=memory_intensity,
        compute_share=compute_share,
        memory_share=share,
        bound=bound,
        bound_intensity=bound_intensity,
    )


def sum_traffic(traffic: F64, where: tuple[tuple[int, int], ...]) -> F64:
    """Bytes summed over the given (memory, direction) pairs."""
    total: F64 = np.zeros(len(traffic))
    for space, direction in where:
        total = total + traffic[:, space, direction]
    return total


def _bound(
    compute: F64, shares: dict[Resource, F64], intensity: F64, memory_intensity: dict[Resource, F64]
) -> tuple[tuple[Resource, ...], F64]:
    """The resource with the greatest share; ties go to the first of compute, HBM, other memories."""
    names = [Resource.UNKNOWN, Resource.COMPUTE, *shares]
    columns = [np.zeros(len(compute)), compute, *shares.values()]
    # argmax returns the first of equal values.
    best = np.argmax(np.stack(columns, axis=1), axis=1) if len(compute) else np.zeros(0, np.int64)
    intensities = np.stack([np.zeros(len(compute)), intensity, *(memory_intensity[name] for name in shares)], axis=1)
    return tuple(names[i] for i in best.tolist()), intensities[np.arange(len(best)), best]
