"""The longest gaps of a run's devices: when each runs no op, and the host call under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.gaps import HostGaps, host_gaps
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.run.figures.devices import device_steps, host_devices, reader_of
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table, flags, numbers, texts

COLUMNS = (
    texts("host", "Host", "Host of the device."),
    texts("device", "Device", "The device."),
    numbers("rank", "Rank", "", "1 for the longest gap of the device."),
    numbers("begin_ps", "Begin", "ps", "On the time axis of the host."),
    numbers("duration_ps", "Length", "ps", "Time in which the device runs no op."),
    numbers("percent", "Share of the recording", "%", "Share of the time from the first step or op to the last."),
    texts("steps", "Steps", "The steps that hold at least half of the gap; empty without any."),
    numbers("steps_percent", "Share of the steps", "%", "Share of these steps that the gap takes."),
    texts(
        "call",
        "Host call",
        "The user's function that covers at least 80% of the gap, else the deepest event of the main thread that does.",
    ),
    texts("event", "Deepest event", "The deepest event of the main thread that covers at least 80% of the gap."),
    texts(
        "partial_call",
        "Longest host call",
        "Without a host call, the event of the main thread that covers half or more.",
    ),
    numbers("partial_percent", "Share of the longest host call", "%", "Share of the gap that this event covers."),
    flags("within_program", "Within a program", "The gap lies between ops of one run of a program."),
)


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """The longest gaps of each device, the longest of all first.

    Attributes:
      host: int64[n], position of the host among the readable ones; host_name: its name.
      device: name of the device; rank: int64[n], 1 for its longest gap.
      plane: int64[n], index of the device's plane in the profile of its host.
      begin_ps, duration_ps: int64[n], on the axis of the host.
      recording_ps: int64[n], time from the first step or op of the host to the last.
      steps: the steps that hold at least half of the gap, "FIRST" or "FIRST to LAST"; "" without any.
      in_steps_ps, steps_ps: int64[n], the part of the gap in these steps, and their length.
      call, event: the host call under the gap, and the deepest event; "" if no event covers 80% of it.
      partial, partial_ps: without a call, the event that covers at least half, and how much; "" without one.
      traced: bool[n], Python functions were recorded on the host.
      within: bool[n], the gap lies between ops of one run of a program.
    """

    host: I64
    host_name: tuple[str, ...]
    device: tuple[str, ...]
    rank: I64
    plane: I64
    begin_ps: I64
    duration_ps: I64
    recording_ps: I64
    steps: tuple[str, ...]
    in_steps_ps: I64
    steps_ps: I64
    call: tuple[str, ...]
    event: tuple[str, ...]
    partial: tuple[str, ...]
    partial_ps: I64
    traced: Bools
    within: Bools

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def table(self) -> Table:
        """One row per gap."""
        with np.errstate(divide="ignore", invalid="ignore"):
            in_steps = np.where([bool(name) for name in self.steps], 100 * self.in_steps_ps / self.steps_ps, np.nan)
            percent = 100 * self.duration_ps / self.recording_ps
            partial = np.where([bool(name) for name in self.partial], 100 * self.partial_ps / self.duration_ps, np.nan)
        return Table(
            COLUMNS,
            (
                *(self.host_name, self.device, self.rank, self.begin_ps, self.duration_ps, percent),
                *(self.steps, in_steps, self.call, self.event, self.partial, partial, self.within),
            ),
            name="gaps",
        )


@per_host()
def gaps(host: HostProfile) -> HostGaps:
    """The gaps of one host's devices."""
    return host_gaps(host_devices(host), device_steps(host), reader_of(host))


def run_gaps(run: RunHosts) -> Gaps:
    """The gaps of the chosen hosts. Raises NoData without devices."""
    hosts = run.map_hosts(gaps)
    parts = [(i, host, device) for i, host in enumerate(hosts) for device in host.devices]
    if not parts:
        raise NO_DEVICES.error()
    sizes = [len(device.begin_ps) for _, _, device in parts]
    names = [host.name for host in run.readable]

    def joined(member: str) -> I64:
        return np.concatenate([getattr(device, member) for _, _, device in parts])

    duration = joined("end_ps") - joined("begin_ps")
    order = np.argsort(-duration, kind="stable")
    place = np.repeat(np.arange(len(parts)), sizes)[order]
    of_row = [parts[row] for row in place.tolist()]
    pairs = zip(of_row, joined("first_step")[order].tolist(), joined("last_step")[order].tolist(), strict=True)

    def names_in(member: str) -> tuple[str, ...]:
        given = [name.removeprefix("$") for _, _, device in parts for name in getattr(device, member)]
        return tuple(given[row] for row in order.tolist())

    return Gaps(
        host=np.array([i for i, _, _ in of_row], np.int64),
        host_name=tuple(names[i] for i, _, _ in of_row),
        device=tuple(device.name for _, _, device in of_row),
        rank=np.concatenate([np.arange(size) + 1 for size in sizes])[order],
        plane=np.array([device.plane for _, _, device in of_row], np.int64),
        begin_ps=joined("begin_ps")[order],
        duration_ps=duration[order],
        recording_ps=np.array([host.until - host.since for _, host, _ in of_row], np.int64),
        steps=tuple(_step_text(host, first, last) for (_, host, _), first, last in pairs),
        in_steps_ps=joined("in_steps_ps")[order],
        steps_ps=joined("steps_ps")[order],
        call=names_in("call"),
        event=names_in("event"),
        partial=names_in("partial"),
        partial_ps=joined("partial_ps")[order],
        traced=np.array([host.traced for _, host, _ in of_row], np.bool_),
        within=joined("within")[order].astype(np.bool_),
    )


def _step_text(host: HostGaps, first: int, last: int) -> str:
    if not host.marked or first > last:
        return ""
    return host.steps[first] if first == last else f"{host.steps[first]} to {host.steps[last]}"
