"""Shared by the tools about devices: display names, and availability."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.devices.model import RunDevice
from tpu_profile_plugin.run.facts import NO_DEVICES, RunFacts


def device_names(devices: Sequence[RunDevice], hosts: Sequence[str], *, several: bool) -> list[str]:
    """The devices for display, with the names of their hosts if there are several."""
    return [f"{hosts[one.host]}: {one.name}" if several else one.name for one in devices]


def devices_available(facts: RunFacts) -> str | None:
    """None if the profile may have devices, else the reason why it has none."""
    if facts.tf_executor or facts.pytorch or communication_available(facts) is None:
        return None
    return NO_DEVICES


def communication_available(facts: RunFacts) -> str | None:
    """None if the profile may have devices that communicate, else the reason; of ops on the CPU, PyTorch's may."""
    devices = facts.has_plane("/device:TPU:") or facts.has_plane("/device:GPU:") or facts.modules
    if devices or facts.torch_collectives:
        return None
    return "The profile has neither a TPU nor a GPU nor a program of XLA's CPU backend, nor collectives of PyTorch."
