"""The GPU kernels of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_GPU, NO_KERNELS
from tpu_profile_plugin.analysis.ops.gpu_kernels import KernelRow, combine_kernel_rows, kernel_rows
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.units import PS_PER_NS

GPU = "/device:GPU:"


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """GPU kernels, one entry per kernel and launch configuration, most time first.

    Attributes:
      name, op: names of the kernel and of the op that launched it ("" if unknown).
      runs: int64[n], launches.
      total_ps, min_ps, max_ps: int64[n], in all runs, the shortest and the longest run; whole nanoseconds.
      rows: the same with launch configurations.
    """

    name: tuple[str, ...]
    op: tuple[str, ...]
    runs: I64
    total_ps: I64
    min_ps: I64
    max_ps: I64
    rows: tuple[KernelRow, ...]


@per_host()
def host_kernels(host: HostProfile) -> list[KernelRow]:
    """The kernels of one host."""
    space = host.lazy
    planes = [plane for plane in space.planes if plane.name.startswith(GPU)]
    space.decode(planes)
    return kernel_rows(space, planes, hlo_ops(host)) if planes else []


def run_kernels(run: RunHosts) -> Kernels:
    """The kernels of the chosen hosts. Raises NoData without any."""
    rows = tuple(combine_kernel_rows(run.map_hosts(host_kernels)))
    if not rows:
        gpus = any(plane.name.startswith(GPU) for host in run.readable for plane in host.lazy.planes)
        raise (NO_KERNELS if gpus else NO_GPU).error()
    numbers = np.array([(row.runs, row.total_ns, row.min_ns, row.max_ns) for row in rows], np.int64)
    return Kernels(
        name=tuple(row.kernel.name for row in rows),
        op=tuple(row.kernel.op for row in rows),
        runs=numbers[:, 0],
        total_ps=numbers[:, 1] * PS_PER_NS,
        min_ps=numbers[:, 2] * PS_PER_NS,
        max_ps=numbers[:, 3] * PS_PER_NS,
        rows=rows,
    )
