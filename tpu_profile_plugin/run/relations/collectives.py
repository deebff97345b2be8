"""`collectives`: every recorded run of a collective on each device, and the device that it waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.communication.bandwidth import message_bytes
from tpu_profile_plugin.analysis.communication.host import HostCommunication
from tpu_profile_plugin.analysis.communication.recorded import (
    RecordedCollectives,
    RunWaits,
    may_communicate,
    recorded_collectives,
    waits_between_hosts,
)
from tpu_profile_plugin.analysis.devices.across_hosts import kept_rows, step_of
from tpu_profile_plugin.analysis.devices.collective_ops import Transfer
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.devices.windows import common_rows
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.communication import communication
from tpu_profile_plugin.run.figures.devices import device_steps, host_devices
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_of
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.common import coded, each_host
from tpu_profile_plugin.run.relations.relation import HOST, RUN, Relation
from tpu_profile_plugin.tables.coded import Coded, same
from tpu_profile_plugin.tables.table import Table, integers, texts

COLUMNS = (
    RUN,
    HOST,
    texts("device", "Device", "Device of the host."),
    texts("plane", "Plane", "Plane with the events of the device."),
    integers("step", "Step", "", "Number of the step in which the run begins."),
    texts("name", "Collective", "The HLO instruction, or the kernel; start and done are one."),
    texts("kind", "Kind", "all-reduce, all-gather, reduce-scatter, all-to-all, send, ..."),
    texts("program", "Program", "The HLO module with its program id."),
    integers("begin_ps", "Begin", "ps", "Begin on the axis of the trace viewer; of asynchronous ones, of the start."),
    integers("duration_ps", "Duration", "ps", "Time from start to completion."),
    integers("exposed_ps", "Exposed", "ps", "Part of the duration during which the device computes nothing."),
    integers("wait_ps", "Wait", "ps", "Time until the last device began, at most the duration."),
    texts("late_host", "Late host", "Host of the device that began last."),
    texts("late_device", "Late device", "Device that began last in this execution."),
    integers("execution", "Execution", "", "Number of the execution that devices took part in together."),
    integers("ranks", "Ranks", "", "Participating devices, from the program if it is known, else from the profile."),
    texts("replica_group", "Replica group", "Numbers of the devices that exchange data with this one; or: all."),
    integers("bytes", "Message", "bytes", "Contribution of a rank to the run; of an all-gather, the gathered result."),
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A host among those with devices.

    Attributes:
      first, devices: the number of its first device, and (host, device) names of the devices of all hosts.
      step: int64[s], per step of its own the number in the run; known: whether it is a step of the run.
      waits: among all hosts; None: among its own devices.
    """

    first: int
    devices: tuple[tuple[str, str], ...]
    rows: I64
    numbers: I64
    waits: RunWaits | None


@dataclass(slots=True)
class _Executions:
    """The first number that is free for executions of single hosts."""

    free: int = 0

    def take(self, numbers: I64) -> I64:
        """New numbers for those of one host."""
        first = self.free
        self.free += int(numbers.max(initial=-1)) + 1
        return np.where(numbers >= 0, numbers + first, -1)


def _batches(run: RunHosts) -> Iterator[Table]:
    """A table per host."""
    places, executions = _places(run) if len(run.profiles) > 1 else ({}, _Executions())
    kept = (host_devices, groups_of, hlo_ops)
    for host, recorded in each_host(run, _recorded, *kept):
        if recorded is not None and len(recorded.runs.key):
            place = places.get(host.index) or _alone(host)
            yield _of_host(run.name, host, recorded, place, executions)


def _recorded(host: HostProfile) -> RecordedCollectives | None:
    devices = host_devices(host)
    if not may_communicate(devices) or device_steps(host) is None:
        return None
    return recorded_collectives(devices, hlo_ops(host).programs)


def _alone(host: HostProfile) -> _Place:
    steps = device_steps(host)
    number = steps.number if steps is not None else np.zeros(0, np.int64)
    names = tuple((host.name, device.name) for device in host_devices(host))
    return _Place(0, names, np.arange(len(number)), number, None)


def _places(run: RunHosts) -> tuple[dict[int, _Place], _Executions]:
    """By index of the host."""
    parts = run.map_hosts(communication)
    hosts = [(host, part) for host, part in zip(run.readable, parts, strict=True) if part.devices and part.steps]
    if not hosts:
        return {}, _Executions()
    waits, executions = waits_between_hosts([part.runs for _, part in hosts])
    names = tuple((host.name, device) for host, part in hosts for device, _ in part.devices)
    first = np.cumsum([0, *(len(part.devices) for _, part in hosts)]).tolist()
    rows, numbers = _steps([part for _, part in hosts])
    places = {
        host.index: _Place(first[i], names, rows[i], numbers, waits[i]) for i, (host, _) in enumerate(hosts)
    }
    return places, _Executions(executions)


def _steps(parts: list[HostCommunication]) -> tuple[list[I64], I64]:
    """Per host the rows of the steps that all hosts have, and their numbers."""
    steps = [part.steps for part in parts if part.steps is not None]
    rows = common_rows(steps)
    return rows, steps[0].number[rows[0]]


def _of_host(
    run: str, host: HostProfile, recorded: RecordedCollectives, place: _Place, executions: _Executions
) -> Table:
    devices, runs = host_devices(host), recorded.runs
    order = np.lexsort((runs.device, runs.begin_ps))
    key, device, begin = runs.key[order], runs.device[order], runs.begin_ps[order]
    wait, last, execution, ranks = (column[order] for column in _waits(recorded, devices, place, executions))
    planes = {plane.index: plane.name for plane in host.lazy.planes}
    programs = hlo_ops(host).programs.names
    step = _step_numbers(host, place, device, begin)
    late = [place.devices[i] for i in range(len(place.devices))]
    sizes = [_size(one.kind, transfer, int(n)) for one, transfer, n in _by_key(recorded, key, ranks)]
    return Table(
        COLUMNS,
        {
            "run": same(run, len(key)),
            "host": same(host.name, len(key)),
            "device": Coded.of(device, [one.name for one in devices]),
            "plane": Coded.of(device, [planes.get(one.plane, "") for one in devices]),
            "step": np.ma.MaskedArray(step, step < 0),
            "name": Coded.of(key, [one.name for one in runs.keys]),
            "kind": Coded.of(key, [one.kind for one in runs.keys]),
            "program": Coded.of(key, [programs.get(one.program) or str(one.program or "") for one in runs.keys]),
            "begin_ps": begin,
            "duration_ps": runs.end_ps[order] - begin,
            "exposed_ps": recorded.exposed_ps[order],
            "wait_ps": wait,
            "late_host": Coded.of(last, [name for name, _ in late]),
            "late_device": Coded.of(last, [name for _, name in late]),
            "execution": np.ma.MaskedArray(execution, execution < 0),
            "ranks": _known(ranks),
            "replica_group": _groups(recorded, key, device, place),
            "bytes": sizes,
        },
        name="collectives",
    )
