"""What is known about a run without decoding its events: enough to say which tools have something to show."""

from __future__ import annotations

from dataclasses import dataclass


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
      modules: (module name, program id) of the HLO modules in `/host:metadata`, each once, sorted.
      device_types: e.g. "TPU v6 Lite", or "TPU", "GPU" when the profile does not say more; sorted.
      counter_values: whether a TPU plane declares the stat `counter_value`.
      megascale: whether a host plane declares an event named `MegaScale:...`.
    """

    hosts: tuple[str, ...] = ()
    planes: tuple[PlaneFact, ...] = ()
    modules: tuple[tuple[str, int], ...] = ()
    device_types: tuple[str, ...] = ()
    counter_values: bool = False
    megascale: bool = False

    def has_plane(self, prefix: str) -> bool:
        """Whether some host has a plane whose name starts with `prefix`, e.g. "/device:GPU:"."""
        return any(plane.name.startswith(prefix) for plane in self.planes)

    def module_names(self) -> tuple[str, ...]:
        """The modules as `name(program id)`, sorted; the id is shown unsigned."""
        return tuple(sorted({module_label(name, program_id) for name, program_id in self.modules}))


def module_label(name: str, program_id: int) -> str:
    """`name(program id)`, the id as an unsigned 64-bit number."""
    label = f"({program_id & 0xFFFF_FFFF_FFFF_FFFF})"
    return name if name.endswith(label) else name + label
