"""Facts about a run read without decoding its events; they determine which tools are available."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import DEVICE_PLANES_MISSING, Reason
from tpu_profile_plugin.analysis.summary.framework import in_order
from tpu_profile_plugin.errors import Problem

NOT_RECORDED = "not recorded"
"""The type of devices of which there is no plane, though the host ran programs on them."""


@dataclass(frozen=True, slots=True)
class PlaneFact:
    """One plane of one host's profile: its name, number of lines and size in bytes."""

    host: str
    name: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The planes and HLO modules of a run, over all its readable hosts.

    Attributes:
      hosts: names of the hosts whose files were read.
      planes: all planes, host after host in file-name order.
      modules: (`name(program id)`, program id) of the HLO modules in `/host:metadata`, each once, sorted.
      program_bytes: (name, size of the largest module of that name) of the HLO modules, sorted.
      device_types: e.g. "TPU v6 Lite", or "TPU" or "GPU" if the model is not recorded; "CPU" without devices, "not
        recorded" if the host ran programs on others; sorted.
      counter_values: whether a TPU plane declares the stat `counter_value`.
      megascale: whether the host plane declares an event named `MegaScale:...`.
      requests: whether the host plane declares an event that begins a request or a batch of a model server.
      tf_data: whether the host plane declares an iterator of tf.data.
      tf_executor: whether the host plane declares that TensorFlow executed graphs or ops on the host.
      pytorch: whether the host plane declares ops of PyTorch, as its own profiler records them.
      frameworks: that wrote the profile, as far as names tell, the most important first.
      torch_collectives: whether the host plane declares collectives of PyTorch that processors run.
      not_recorded: options of PyTorch's profiler that were off, each with what it gives.
      torch_memory: whether the host plane has allocations, as PyTorch's profiler records them.
      losses: what was left out of a host's file, or is damaged in it; empty for a run.
    """

    hosts: tuple[str, ...] = ()
    planes: tuple[PlaneFact, ...] = ()
    modules: tuple[tuple[str, int], ...] = ()
    program_bytes: tuple[tuple[str, int], ...] = ()
    device_types: tuple[str, ...] = ()
    counter_values: bool = False
    megascale: bool = False
    requests: bool = False
    tf_data: bool = False
    tf_executor: bool = False
    pytorch: bool = False
    frameworks: tuple[str, ...] = ()
    torch_collectives: bool = False
    not_recorded: tuple[Reason, ...] = ()
    torch_memory: bool = False
    losses: tuple[Problem, ...] = ()

    def has_plane(self, prefix: str) -> bool:
        """True if a host has a plane whose name starts with `prefix`, e.g. "/device:GPU:"."""
        return any(plane.name.startswith(prefix) for plane in self.planes)

    def module_names(self) -> tuple[str, ...]:
        """The modules as `name(program id)`, sorted."""
        return tuple(name for name, _ in self.modules)


def largest_programs(programs: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """The largest size of each name, sorted by name."""
    return tuple(dict(sorted(programs)).items())


def combine_facts(hosts: Sequence[RunFacts]) -> RunFacts:
    """The facts of a run from those of its hosts."""
    kinds = {kind for host in hosts for kind in host.device_types}
    if not kinds and any(plane.name == "/host:CPU" for host in hosts for plane in host.planes):
        missing = any(loss.code == DEVICE_PLANES_MISSING.code for host in hosts for loss in host.losses)
        kinds = {NOT_RECORDED if missing else "CPU"}
    return RunFacts(
        hosts=tuple(name for host in hosts for name in host.hosts),
        planes=tuple(plane for host in hosts for plane in host.planes),
        modules=tuple(sorted({module for host in hosts for module in host.modules})),
        program_bytes=largest_programs(program for host in hosts for program in host.program_bytes),
        device_types=tuple(sorted(kinds)),
        counter_values=any(host.counter_values for host in hosts),
        megascale=any(host.megascale for host in hosts),
        requests=any(host.requests for host in hosts),
        tf_data=any(host.tf_data for host in hosts),
        tf_executor=any(host.tf_executor for host in hosts),
        pytorch=any(host.pytorch for host in hosts),
        torch_collectives=any(host.torch_collectives for host in hosts),
        torch_memory=any(host.torch_memory for host in hosts),
        frameworks=in_order({name for host in hosts for name in host.frameworks}),
        not_recorded=tuple(dict.fromkeys(option for host in hosts for option in host.not_recorded)),
    )
