"""The answer of the communication tool.

An object; times are whole picoseconds, bandwidths 1e9 bytes per second:

* `ops`: DataTable, one row per collective, most exposed time first;
* `steps` [{number, name, begin_ps, communication_ps, exposed_ps, hidden_percent}], times summed over devices;
* `ranks`: DataTable, one row per device;
* `stragglers` [{device, host, work_ratio, modified_z, waits_ratio}]: devices that the others wait for;
  `late_hosts` [{host, modified_z}];
* `clocks`, `launches`: DataTables; `host_offsets_ps` {host: what to add to its times};
* `early_ends`: runs of collectives that ended before the last rank began;
* `notes` [sentences].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

import numpy as np

from tpu_profile_plugin.analysis.communication.bandwidth import bus_factor, gigabytes_per_second, message_bytes
from tpu_profile_plugin.analysis.communication.host import CollectiveSums, HostCommunication
from tpu_profile_plugin.analysis.communication.run import RunCommunication
from tpu_profile_plugin.analysis.devices.clocks import ClockOffset
from tpu_profile_plugin.run.communication import communication, run_communication
from tpu_profile_plugin.run.programs import hlo_ops
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.devices import communication_available, device_names
from tpu_profile_plugin.tools.payload import Raw, Records, encode_object
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.time.communication.columns import CLOCKS, LAUNCHES, OPS, RANKS
from tpu_profile_plugin.tools.tool import HostChoice, Tool

_SAMPLED = "There are too many runs of collectives to match all of them between hosts; waits are of the first ones."
_UNKNOWN_CLOCK = "The clocks of some hosts could not be compared; waits there are for devices of the same host."


def build(run: Run, query: Query) -> Raw:
    """Collectives, steps, ranks, clocks and launches of the chosen hosts."""
    parts, comm = run.map_hosts(communication), run_communication(run)
    hosts = [host.name for host in run.readable]
    names = device_names(comm.devices, hosts, several=len(comm.hosts) > 1)
    notes = [] if comm.whole else [_SAMPLED]
    if any(offset is None for offset in comm.offsets[1:]):
        notes.append(_UNKNOWN_CLOCK)
    return Raw(
        encode_object(
            {
                "ops": Table.from_rows(OPS, (_op(one, comm, names, hosts, _programs(run)) for one in comm.sums)),
                "steps": _steps(comm),
                "ranks": Table.from_rows(RANKS, _ranks(comm, names, hosts)),
                "stragglers": [
                    {
                        "device": names[one.index],
                        "host": hosts[comm.devices[one.index].host],
                        "work_ratio": one.ratio if isfinite(one.ratio) else None,
                        "modified_z": one.z,
                        "waits_ratio": one.waits,
                    }
                    for one in comm.stragglers
                ],
                "late_hosts": [{"host": hosts[at], "modified_z": score} for at, score in comm.host_outliers],
                "clocks": Table.from_rows(CLOCKS, _clocks(comm, parts, names, hosts)),
                "host_offsets_ps": {
                    hosts[host]: offset.offset_ps
                    for host, offset in zip(comm.hosts, comm.offsets, strict=True)
                    if offset is not None
                },
                "early_ends": comm.early,
                "launches": Table.from_rows(LAUNCHES, _launches(comm, parts, names)),
                "notes": [*notes, *run.warnings],
            }
        )
    )


def _programs(run: Run) -> dict[int, str]:
    """Names of the programs by id."""
    return {number: name for host in run.readable for number, name in hlo_ops(host).programs.names.items()}


def _op(
    one: CollectiveSums, comm: RunCommunication, names: Sequence[str], hosts: Sequence[str], programs: dict[int, str]
) -> tuple[object, ...]:
    # A single device of which others are unknown says nothing about their number.
    ranks = one.transfer.ranks or (one.ranks if one.ranks > 1 else 0)
    size = message_bytes(one.key.kind, one.transfer.operand_bytes, ranks)
    rate = gigabytes_per_second(None if size is None else size * one.instances, one.latency_ps)
    program = programs.get(one.key.program) or (str(one.key.program) if one.key.program else "")
    return (
        one.key.name,
        one.key.kind,
        ranks or None,
        one.count,
        one.total_ps,
        one.exposed_ps,
        100 * (1 - one.exposed_ps / one.total_ps) if one.total_ps else None,
        one.stall_ps,
        one.wait_ps,
        one.most_wait_ps,
        names[one.last] if one.last >= 0 else "",
        size,
        rate,
        None if rate is None or not ranks else rate * bus_factor(one.key.kind, ranks),
        program,
        hosts[comm.devices[one.device].host],
        one.begin_ps,
        one.end_ps,
    )


def _steps(comm: RunCommunication) -> Records:
    communication, exposed = comm.communication_ps.sum(axis=1), comm.exposed_ps.sum(axis=1)
    times = zip(communication.tolist(), exposed.tolist(), strict=True)
    numbered = zip(comm.names, comm.number.tolist(), strict=True)
    return Records(
        {
            "number": comm.number,
            "name": [name or str(number) for name, number in numbered],
            "begin_ps": comm.begin_ps[:, 0] if len(comm.number) else comm.number,
            "communication_ps": communication,
            "exposed_ps": exposed,
            "hidden_percent": np.array(
                [100 * (1 - shown / time) if time else None for time, shown in times], np.float64
            ),
        }
    )


def _ranks(comm: RunCommunication, names: Sequence[str], hosts: Sequence[str]) -> Iterable[tuple[object, ...]]:
    steps = max(len(comm.number), 1)
    tables = (comm.work_ps, comm.communication_ps, comm.exposed_ps, comm.wait_ps)
    sums = [table.sum(axis=0) for table in tables]
    median = float(np.median(sums[0])) if len(sums[0]) else 0.0
    for i, device in enumerate(comm.devices):
        work = int(sums[0][i])
        per_step = [int(column[i]) / steps for column in sums]
        ratio = work / median if median > 0 else None
        yield (names[i], hosts[device.host], *per_step, int(comm.caused_ps[i]), ratio)


def _clocks(
    comm: RunCommunication, parts: Sequence[HostCommunication], names: Sequence[str], hosts: Sequence[str]
) -> Iterable[tuple[object, ...]]:
    """Hosts against the first one; then devices against their host."""

    def row(clock: str, reference: str, one: ClockOffset) -> tuple[object, ...]:
        return (clock, reference, one.offset_ps, one.spread_ps, one.pairs, one.violations)

    for host, offset in zip(comm.hosts, comm.offsets, strict=True):
        if offset is not None:
            yield row(hosts[host], hosts[comm.hosts[0]], offset)
    found = [clock for host in comm.hosts for clock in parts[host].clocks]
    for device, name, clock in zip(comm.devices, names, found, strict=True):
        if clock is not None:
            yield row(name, hosts[device.host], clock)


def _launches(
    comm: RunCommunication, parts: Sequence[HostCommunication], names: Sequence[str]
) -> Iterable[tuple[object, ...]]:
    found = [one for host in comm.hosts for one in parts[host].launches]
    for name, one in zip(names, found, strict=True):
        if one is not None:
            yield (
                name,
                one.launches,
                one.per_step,
                100 * one.starved_ps / one.step_ps if one.step_ps else None,
                one.delay_ps,
                one.late_delay_ps,
                one.call_ps,
                one.most_queued,
                one.mean_queued,
                one.tiny,
                100 * one.tiny / one.launches,
            )


TOOL = Tool(
    id="communication",
    title="Communication",
    group="Time",
    summary="Collectives: how much of them computation hides, at what bandwidth, and which device the others wait for.",
    build=build,
    hosts=HostChoice.ONE_OR_ALL,
    available=communication_available,
)
