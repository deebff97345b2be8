"""Kernel utilization: the units of a TPU in percent of their peaks, per line of counters.

`{"devices": [{"device_id", "device_type", "kernels": [{"kernel_name", "duration_us", "mxu_utilization",
"mxu_is_anomaly", "mxu_cycles_breakdown", "other_metrics"}]}], "status": "SUCCESS"}` as XProf; `host` of a device and
`sample` of a kernel are ours. XProf answers one host, this tool all.
"""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.counters.kernels import DeviceKernels, Kernel, KernelChoice, kernels
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.counters import lacks_counters, tpu_planes
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_NO_DEVICE = -1


@per_host()
def host_kernels(host: HostProfile, asked: KernelChoice) -> tuple[DeviceKernels, ...]:
    """The kernels of one host."""
    return tuple(kernels(host.lazy, tpu_planes(host), asked))


def build(run: Run, query: Query) -> Json:
    """The object described above."""
    device = query.integer("device_id")
    asked = KernelChoice(
        query.text("kernel") or query.text("kernel_name"),
        device if device >= 0 else None,
        query.number("duration_us"),
        query.flag("force_duration"),
    )
    of_hosts = run.map_hosts(host_kernels.given(asked))
    devices = [
        _device(host.name, device) for host, devices in zip(run.readable, of_hosts, strict=True) for device in devices
    ]
    return Json({"devices": devices, "status": "SUCCESS"})


def _device(host: str, device: DeviceKernels) -> dict[str, Any]:
    return {
        "device_id": device.device,
        "device_type": device.device_type,
        "host": host,
        "kernels": [_kernel(kernel) for kernel in device.kernels],
    }


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "duration_us": kernel.duration_us,
        "kernel_name": kernel.name,
        "mxu_cycles_breakdown": kernel.precisions,
        "mxu_is_anomaly": kernel.mxu > 100,
        "mxu_utilization": kernel.mxu,
        "other_metrics": kernel.others,
        "sample": kernel.line,
    }


TOOL = Tool(
    id="kernel_utilization",
    title="Kernel Utilization",
    group="Ops",
    summary="Utilization of the units of a TPU in each kernel, in percent of their peaks.",
    build=build,
    params=(
        Param("kernel", "string", "", "Part of the kernel names to show; all by default."),
        Param("kernel_name", "string", "", "Alias of `kernel`."),
        Param("duration_us", "float", 0.0, "Duration of the kernels in µs; 0: as recorded.", minimum=0.0),
        Param(
            "force_duration",
            "bool",
            False,
            "Let the duration replace counted cycles, too, instead of missing cycles only.",
        ),
        Param("device_id", "int", _NO_DEVICE, "The device to show; all by default."),
    ),
    lacks=lacks_counters,
    extras=("host", "sample"),
)
