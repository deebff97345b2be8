"""The devices of a host, of whatever kind they are."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.planes import MODULES, SPARSE_STEPS, STEPS, device_planes, host_plane, is_tpu
from tpu_profile_plugin.analysis.devices import cpu_tf, cpu_torch
from tpu_profile_plugin.analysis.devices.cpu import cpu_devices
from tpu_profile_plugin.analysis.devices.gpu import gpu_devices
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.devices.tpu import tpu_devices
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import XSpace

RUNS_WITHIN_HOST_CALLS = frozenset((cpu_tf.NAME, cpu_torch.NAME))
"""Names of devices whose ops have run when the host's call of them returns."""


def devices_of(space: XSpace, programs: HloPrograms) -> tuple[Device, ...]:
    """The TensorCores or GPUs of a profile; else devices of the CPU backend, else the CPU for TensorFlow or PyTorch.

    Args:
      space: the profile; only the planes of devices are decoded if there are any.
      programs: its HLO programs, which tell what the CPU backend's ops are.
    """
    planes = device_planes(space)
    if planes and is_tpu(planes[0]):
        # Of stats only run ids are read, but groups of events, which steps are made of, need all.
        space.decode_with_some_stats(planes, lines=(MODULES,), unless=(STEPS, SPARSE_STEPS))
        return tuple(tpu_devices(space, planes))
    space.decode(planes)
    if planes:
        return tuple(gpu_devices(space, planes))
    host = host_plane(space)
    if host is None:
        return ()
    return tuple(
        cpu_devices(space, host, programs)
        or cpu_tf.tensorflow_devices(space, host)
        or cpu_torch.pytorch_devices(space, host)
    )
