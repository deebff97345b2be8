"""Communication: collectives, hidden and exposed, their bandwidth and waits, late devices, clocks and launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.op_names import UNKNOWN_KIND
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.communication.host_collectives import (
    HostCommunication,
    bus_factor,
    gigabytes_per_second,
    message_bytes,
)
from tpu_profile_plugin.analysis.communication.run_collectives import RunCommunication, Straggler
from tpu_profile_plugin.analysis.devices.across_hosts import sum_by_step
from tpu_profile_plugin.analysis.devices.collectives import FirstWait
from tpu_profile_plugin.analysis.devices.model import WAIT, device_names
from tpu_profile_plugin.run.catalogue.communication import CLOCKS, COLLECTIVES, LAUNCHES, RANKS, hidden_percent
from tpu_profile_plugin.run.facts import lacks_communication
from tpu_profile_plugin.run.figures.budget import budget, communication, run_budget, run_communication
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import duration


@dataclass(frozen=True)
class CommunicationCost:
    """The price of communication.

    Attributes:
      share: of the step, or of the time from step to step, that communication takes and no computation hides, waits for
        late devices included; 0 to 1.
      base: what it is a share of.
    """

    share: float
    base: str


@dataclass(frozen=True)
class CommunicationStep:
    """Communication in a step, summed over devices.

    Attributes:
      begin_ps: on the time axis of the host of the first device.
      communication_ps: time with a collective under way.
      exposed_ps: the part of it in which the device computes nothing.
      hidden_percent: the rest; null without communication.
    """

    number: int
    name: str
    begin_ps: int
    communication_ps: int
    exposed_ps: int
    hidden_percent: float | None


@dataclass(frozen=True)
class LateDevice:
    """A device that the others wait for.

    Attributes:
      caused_percent: its share of all waits.
      work_ratio: its work over the median of all devices; null if that is 0.
      more_work: it has clearly more work than the others.
      modified_z: how far its work is from the median; null without clearly more work.
      waits_ratio: the others' time in collectives over its own; null as above.
    """

    device: str
    host: str
    caused_percent: float
    work_ratio: float | None
    more_work: bool
    modified_z: float | None
    waits_ratio: float | None


@dataclass(frozen=True)
class WaitForStart:
    """A run of a collective that waited until other devices had started; no other number includes this wait."""

    device: str
    host: str
    op: str
    kind: str
    begin_ps: int
    end_ps: int
    wait_ps: int


@dataclass(frozen=True)
class Communication(Document):
    """Collectives, steps, devices, clocks and launches of the chosen hosts; times are whole picoseconds.

    Attributes:
      ops: one row per collective, most exposed time without waits first, as findings rank them.
      cost: null without steps.
      ranks: one row per device.
      late_hosts: hosts of which all devices are late.
      first_waits: longest first.
      clocks: hosts against the first one, devices against their host.
      host_offsets_ps: what to add to the times of each host so that its clock agrees with that of the first one.
      early_ends: runs of collectives that ended before the last rank began.
      launches: one row per GPU.
      notes: sentences.
    """

    ops: Table
    cost: CommunicationCost | None
    steps: list[CommunicationStep]
    ranks: Table
    stragglers: list[LateDevice]
    late_hosts: list[str]
    first_waits: list[WaitForStart]
    clocks: Table
    host_offsets_ps: dict[str, int]
    early_ends: int
    launches: Table
    notes: list[str]


_COST = ("collectives", "device_to_device")
_SAMPLED = "Waits cover the first runs of collectives only: there are too many to match between hosts."
_UNKNOWN_CLOCK = "The clocks of some hosts could not be compared; their waits are for devices of the same host only."


def build(run: Run, query: Query) -> Communication:
    """Collectives, steps, ranks, clocks and launches of the chosen hosts."""
    parts, comm = run.map_hosts(communication), run_communication(run)
    budget = run_budget(run)
    hosts = [host.name for host in run.readable]
    names = device_names(comm.devices, hosts, several=len(comm.hosts) > 1)
    notes = [] if comm.whole else [_SAMPLED]
    if any(offset is None for offset in comm.offsets[1:]):
        notes.append(_UNKNOWN_CLOCK)
    if comm.first_waits:
        notes.append(first_wait_note(comm.first_waits, names))
    return Communication(
        ops=_ops(comm, names, hosts, _programs(run, {sums.key.program for sums in comm.sums if sums.key.program})),
        cost=CommunicationCost(_cost(budget, comm), budget.base) if len(budget) else None,
        steps=_steps(comm),
        ranks=_ranks(comm, names, hosts),
        stragglers=[_late_device(straggler, comm, names, hosts) for straggler in comm.stragglers],
        late_hosts=[] if comm.late_host is None else [hosts[comm.late_host]],
        first_waits=[
            WaitForStart(
                names[wait.device],
                hosts[comm.devices[wait.device].host],
                wait.key.name,
                wait.key.kind,
                wait.begin_ps,
                wait.end_ps,
                wait.wait_ps,
            )
            for wait in comm.first_waits
        ],
        clocks=_clocks(comm, parts, names, hosts),
        host_offsets_ps={
            hosts[host]: offset.offset_ps
            for host, offset in zip(comm.hosts, comm.offsets, strict=True)
            if offset is not None
        },
        early_ends=comm.early,
        launches=_launches(comm, parts, names),
        notes=[*notes, *run.warnings],
    )


def first_wait_note(waits: Sequence[FirstWait], names: Sequence[str]) -> str:
    """A sentence on the collectives that are set aside."""
    first = waits[0]
    what = first.key.kind if first.key.kind not in (UNKNOWN_KIND, WAIT) else "collective"
    more = f" {len(waits)} runs waited so; the longest is meant." if len(waits) > 1 else ""
    return (
        f"The first {what} on {names[first.device]} waited {duration(first.wait_ps)} for other devices to start; "
        f"left out of all times and shares here.{more}"
    )


def _cost(budget: RunBudget, comm: RunCommunication) -> float:
    """Share of the average step that exposed communication takes, waits for the start of other devices left out."""
    waits = comm.first_waits
    columns = (np.array([getattr(one, name) for one in waits], np.int64) for name in ("device", "begin_ps", "wait_ps"))
    same = len(comm.devices) == len(budget.devices)
    in_steps = sum_by_step(budget.begin_ps, budget.begin_ps + budget.duration_ps, *columns) if same else budget.number
    start = exact_sum(in_steps) / max(budget.cells, 1) if same else 0.0
    base = budget.base_ps - start
    return max(sum(map(budget.part_ps, _COST)) - start, 0.0) / base if base > 0 else 0.0


def _late_device(
    straggler: Straggler, comm: RunCommunication, names: Sequence[str], hosts: Sequence[str]
) -> LateDevice:
    return LateDevice(
        device=names[straggler.index],
        host=hosts[comm.devices[straggler.index].host],
        caused_percent=100 * straggler.share,
        work_ratio=straggler.ratio,
        more_work=straggler.work is not None,
        modified_z=straggler.work.z if straggler.work else None,
        waits_ratio=straggler.work.waits if straggler.work else None,
    )


def _programs(run: Run, wanted: set[int]) -> dict[int, str]:
    """Names by id of the programs `wanted`, and perhaps of others: hosts are read until all have a name."""
    names: dict[int, str] = {}
    for host in run.readable:
        if wanted <= names.keys():
            break
        names = {**programs_of(host).names, **names}
    return names


def _ops(comm: RunCommunication, names: Sequence[str], hosts: Sequence[str], programs: dict[int, str]) -> Table:
    sums = comm.sums
    # A single device tells nothing about the number of the others.
    ranks = [one.transfer.ranks or (one.ranks if one.ranks > 1 else 0) for one in sums]
    sizes = [message_bytes(one.key.kind, one.transfer.operand_bytes, n) for one, n in zip(sums, ranks, strict=True)]
    rates = [
        gigabytes_per_second(None if size is None else size * one.instances, one.latency_ps)
        for one, size in zip(sums, sizes, strict=True)
    ]
    return Table.of_rows(
        COLLECTIVES,
        sums,
        {
            "ranks": [n or None for n in ranks],
            "last": [names[one.last] if one.last >= 0 else "" for one in sums],
            "bytes": sizes,
            "algorithm_gbps": rates,
            "bus_gbps": [
                None if rate is None or not n else rate * bus_factor(one.key.kind, n)
                for one, rate, n in zip(sums, rates, ranks, strict=True)
            ],
            "program": [programs.get(one.key.program) or str(one.key.program or "") for one in sums],
            "host": [hosts[comm.devices[one.device].host] for one in sums],
        },
    )


def _steps(comm: RunCommunication) -> list[CommunicationStep]:
    under_way, exposed = comm.communication_ps.sum(axis=1).tolist(), comm.exposed_ps.sum(axis=1).tolist()
    begin = comm.begin_ps[:, 0].tolist() if len(comm.number) else []
    steps = zip(comm.number.tolist(), comm.names, begin, under_way, exposed, strict=True)
    return [
        CommunicationStep(number, name or str(number), begin_ps, ps, exposed_ps, hidden_percent(exposed_ps, ps))
        for number, name, begin_ps, ps, exposed_ps in steps
    ]


def _ranks(comm: RunCommunication, names: Sequence[str], hosts: Sequence[str]) -> Table:
    steps = max(len(comm.number), 1)
    work = comm.work_ps.sum(axis=0)
    median = float(np.median(work)) if len(work) else 0.0
    return Table(
        RANKS,
        {
            "device": names,
            "host": [hosts[device.host] for device in comm.devices],
            "work_ps": work / steps,
            "communication_ps": comm.communication_ps.sum(axis=0) / steps,
            "exposed_ps": comm.exposed_ps.sum(axis=0) / steps,
            "wait_ps": comm.wait_ps.sum(axis=0) / steps,
            "caused_ps": comm.caused_ps,
            "work_ratio": work / median if median > 0 else np.full(len(work), np.nan),
        },
    )


def _clocks(
    comm: RunCommunication, parts: Sequence[HostCommunication], names: Sequence[str], hosts: Sequence[str]
) -> Table:
    """Hosts against the first one; then devices against their host."""
    compared = [(hosts[host], hosts[comm.hosts[0]], one) for host, one in zip(comm.hosts, comm.offsets, strict=True)]
    of_devices = [clock for host in comm.hosts for clock in parts[host].clocks]
    compared += [
        (name, hosts[device.host], clock) for device, name, clock in zip(comm.devices, names, of_devices, strict=True)
    ]
    known = [(name, reference, one) for name, reference, one in compared if one is not None]
    places = {"clock": [name for name, _, _ in known], "reference": [reference for _, reference, _ in known]}
    return Table.of_rows(CLOCKS, (one for _, _, one in known), places)


def _launches(comm: RunCommunication, parts: Sequence[HostCommunication], names: Sequence[str]) -> Table:
    of_devices = [one for host in comm.hosts for one in parts[host].launches]
    known = [(name, one) for name, one in zip(names, of_devices, strict=True) if one is not None]
    return Table.of_rows(LAUNCHES, (one for _, one in known), {"device": [name for name, _ in known]})


TOOL = Tool(
    id="communication",
    title="Communication",
    group="Time",
    summary="Collectives: hidden and exposed time, bandwidth, and the devices that others wait for.",
    build=build,
    needs=(communication, budget),
    lacks=lacks_communication,
)
