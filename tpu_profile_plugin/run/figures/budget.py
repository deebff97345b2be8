"""The time budget of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import HostBudget, SpentTime, budget_of, spent_time
from tpu_profile_plugin.analysis.budget.gaps import HostGaps, host_gaps
from tpu_profile_plugin.analysis.budget.host_time import HostReader, Keep
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget, merge_budgets
from tpu_profile_plugin.analysis.common.reasons import DEVICE_PLANES_MISSING, NO_DEVICES
from tpu_profile_plugin.analysis.communication.host_collectives import HostCommunication, host_communication
from tpu_profile_plugin.analysis.communication.run_collectives import RunCommunication, merge_communication
from tpu_profile_plugin.analysis.devices.collectives import match_collectives, transfer_of
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE, Device
from tpu_profile_plugin.analysis.devices.windows import StepWindows, step_windows, whole_recording, without_start_up
from tpu_profile_plugin.analysis.steps.inferred import InferredSteps, infer_steps
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.run.catalogue.steps import GAPS
from tpu_profile_plugin.run.facts import host_facts
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_if_any
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table

# The devices of a host and their steps, and a reader of what the host did.


@derived()
def host_devices(host: HostProfile) -> tuple[Device, ...]:
    """The devices of one host."""
    return devices_of(host.lazy, hlo_ops(host).programs)


@derived(alone=True)
def device_steps(host: HostProfile) -> StepWindows | None:
    """When each device was in which step; None without devices."""
    devices = host_devices(host)
    infer = partial(inferred_steps, host)
    steps = step_windows(host.lazy, groups_if_any(host), devices, infer) if devices else None
    if steps is None:
        return None
    return without_start_up(
        steps,
        devices,
        lambda: match_collectives(devices, lambda op: transfer_of(op, hlo_ops(host).programs)),
        lambda: reader_of(host).events,
    )


@derived(alone=True)
def inferred_steps(host: HostProfile) -> InferredSteps | None:
    """The steps of one host that what it ran tells, without the device time in them."""
    return infer_steps(host.lazy, busy=False)


def keeper_of(host: HostProfile) -> Keep:
    """Caches what is read of a host with its columns."""
    return lambda key, make: host.once(key, make, alone=True)


def reader_of(host: HostProfile) -> HostReader:
    """Reads what the host did; the parts are cached with the host's columns."""
    return HostReader(host.lazy, keeper_of(host), lambda: hlo_ops(host).programs)


@derived(alone=True)
def host_spent(host: HostProfile) -> SpentTime | None:
    """How the devices of one host spend their steps, span by span; None without devices."""
    return spent_time(host_devices(host), device_steps(host), hlo_ops(host).programs, reader_of(host))


@per_host()
def budget(host: HostProfile) -> HostBudget:
    """The budget of one host."""
    return budget_of(host.lazy, host_devices(host), host_spent(host))


@derived(alone=True)
def alone_spent(host: HostProfile) -> SpentTime | None:
    """The same of a host of which no device was recorded: what it does counts as if a device waited for it."""
    steps = step_windows(host.lazy, groups_if_any(host), (HOST_ALONE,))
    return spent_time((HOST_ALONE,), steps, hlo_ops(host).programs, reader_of(host))


@per_host()
def host_alone(host: HostProfile) -> HostBudget:
    """The budget of a host of which no device was recorded."""
    return budget_of(host.lazy, (HOST_ALONE,), alone_spent(host))


@derived(alone=True)
def whole_spent(host: HostProfile) -> SpentTime | None:
    """How the devices of one host spend the recording as one step, span by span; None without devices."""
    devices = host_devices(host)
    return spent_time(devices, whole_recording(devices), hlo_ops(host).programs, reader_of(host))


@per_host()
def whole_budget(host: HostProfile) -> HostBudget:
    """The budget of one host with the recording as one step, for steps that leave out what devices do."""
    return budget_of(host.lazy, host_devices(host), whole_spent(host))


def run_budget(run: RunHosts) -> RunBudget:
    """The budget of the chosen hosts; empty without devices."""
    return run.merged(budget, merge_budgets)


def run_decomposition(run: RunHosts) -> RunBudget:
    """The budget of the chosen hosts as pages show it: of the hosts alone if they used no device.

    Empty if they did, and no device was recorded.
    """
    of_devices = run_budget(run)
    return of_devices if of_devices.devices or lacks_planes(run) else run.merged(host_alone, merge_budgets)


def lacks_planes(run: RunHosts) -> Problem | None:
    """Why the hosts alone tell nothing of the time: they ran programs on devices that were not recorded."""
    losses = (loss for facts in run.map_hosts(host_facts) for loss in facts.losses)
    return next((loss for loss in losses if loss.code == DEVICE_PLANES_MISSING.code), None)


# Communication of a run: its collectives, late devices, and launches.


@per_host()
def communication(host: HostProfile) -> HostCommunication:
    """The communication of one host."""
    programs, reader = hlo_ops(host).programs, reader_of(host)
    return host_communication(host.lazy, host_devices(host), device_steps(host), programs, lambda: reader.events)


def run_communication(run: RunHosts) -> RunCommunication:
    """The communication of the chosen hosts."""
    return run.merged(communication, merge_communication)


# The longest gaps of a run's devices: when each runs no op, and the host call under it.


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
        return Table.of(GAPS, self, name="gaps")

    @property
    def percent(self) -> F64:
        """Share of the recording."""
        return _percent(self.duration_ps, self.recording_ps)

    @property
    def steps_percent(self) -> F64:
        """Share of the steps, NaN without any."""
        return np.where([bool(name) for name in self.steps], _percent(self.in_steps_ps, self.steps_ps), np.nan)

    @property
    def partial_percent(self) -> F64:
        """Share of the gap that `partial` covers, NaN without one."""
        return np.where([bool(name) for name in self.partial], _percent(self.partial_ps, self.duration_ps), np.nan)


def _percent(part: I64, whole: I64) -> F64:
    with np.errstate(divide="ignore", invalid="ignore"):
        percent: F64 = 100 * part / whole
        return percent


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
