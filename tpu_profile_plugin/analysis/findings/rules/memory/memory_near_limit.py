"""A device's memory is almost full.

Fires if the peak of an allocator, else of a program that ran, takes at least {MEMORY_SHARE:.0%} of the device's
memory.

Reduce what is live at the peak before an allocation fails: smaller batches, recomputation, 16 bits, sharding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.reasons import NO_LIMIT
from tpu_profile_plugin.analysis.devices.inventory import programs_of_devices
from tpu_profile_plugin.analysis.environment.device_names import device_of_allocator
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import work_of
from tpu_profile_plugin.analysis.findings.evidence.device.programs_run import (
    MOST_PROGRAMS,
    layout_of,
    programs_by_time,
)
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.rules.device.recomputation import recomputed
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.memory.allocations import device_memory
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan, programs_ran, unknown_memory
from tpu_profile_plugin.units import MIB

MEMORY_SHARE = 0.9
"""Share of a device's memory in use at the peak: fragmentation or a longer batch easily takes the rest."""

ADVICE = PARTS["memory near its limit"]
RECOMPUTES = PARTS["memory near its limit, recomputing"]


@dataclass(frozen=True, slots=True)
class Use:
    """Bytes in use at a peak and what there is; of an allocator, or of a program (`module`) by itself.

    `title`: the name for sentences; `ran`: the programs that ran, where no allocator was recorded.
    """

    name: str
    title: str
    used: int
    capacity: int
    module: bool = False
    advice: Advice = ADVICE
    ran: tuple[ProgramRan, ...] = ()

    @property
    def share(self) -> float:
        """Share of the capacity in use; 0 if that is unknown."""
        return self.used / self.capacity if self.capacity > 0 else 0.0


def gather(host: HostView) -> Use | None:
    """The fullest allocator of the host's devices, or without allocator events the program that needs most."""
    if host.summary.environment.hardware not in (Hardware.TPU, Hardware.GPU):
        return None
    allocators = list(_allocators(host))
    ran = () if allocators else programs_ran([programs_of_devices(host.space, host.devices, host.hlo.programs)])
    most = max(allocators or _programs(host), key=lambda one: one.share, default=Use("", "", 0, 0, True))
    if not most.name and not ran:
        return None
    full = most.share >= MEMORY_SHARE and bool(recomputed(work_of(host)))
    return replace(most, ran=ran, advice=RECOMPUTES if full else ADVICE)


def _allocators(host: HostView) -> Iterable[Use]:
    for name, rows in host.allocators.items():
        peak = len(rows.in_use) - 1 - int(rows.in_use[::-1].argmax())  # the last, as in the memory profile
        used = int(rows.in_use[peak])
        if rows.free.any() and used > 0:
            yield Use(
                name, device_of_allocator(host.space, name) or f"allocator {name}", used, used + int(rows.free[peak])
            )


def _programs(host: HostView) -> list[Use]:
    capacity = device_memory(host.space).bytes
    if not capacity:
        return []
    layouts = [(number, layout_of(host, number)) for number in programs_by_time(host, MOST_PROGRAMS)]
    names = host.hlo.programs.names
    return [
        Use(names[number], f"program {names[number]}", one.peak_bytes, capacity, True)
        for number, one in layouts
        if one is not None
    ]


def judge(run: RunView, parts: Sequence[Use | None]) -> Finding | Silence:
    """The verdict on the fullest allocator or program."""
    gathered = run.present(parts)
    known = [(use, host) for use, host in gathered if use.name]
    unknown = unknown_memory(programs_ran([use.ran for use, _ in gathered]))
    if unknown and not any(use.share >= MEMORY_SHARE for use, _ in known):
        return Silence(unknown, looked=False)
    if not known:
        return lacks(NO_LIMIT)
    most, host = max(known, key=lambda one: one[0].share)
    if most.share < MEMORY_SHARE:
        return Silence(f"The peak of {most.title} is {most.share:.1%} of the device's memory.")
    tool, query = ("memory_viewer", "module_name") if most.module else ("memory_profile", "memory_id")
    page = {"host": host, query: most.name}
    return Finding(
        f"Memory is {most.share:.0%} full at the peak of {most.title}, {most.used / MIB:,.0f} MiB",
        0,
        "no direct cost: memory",
        "medium" if most.module else "high",
        (
            Evidence("In use at the peak, of the capacity", 100 * most.share, "%", tool, page),
            Evidence("In use at the peak", most.used / MIB, "MiB", tool, page),
            Evidence("Capacity", most.capacity / MIB, "MiB", tool, page),
        ),
        most.advice,
        tuple(host for use, host in known if use.share >= MEMORY_SHARE),
    )


RULE = Rule("memory_near_limit", "Device memory almost full", judge, gather)
