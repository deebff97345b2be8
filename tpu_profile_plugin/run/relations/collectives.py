"""`collectives`: every recorded run of a collective on each device, and the device that it waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.communication.host_collectives import (
    RunWaits,
    may_communicate,
    message_bytes,
    waits_between_hosts,
)
from tpu_profile_plugin.analysis.devices.across_hosts import kept_rows, step_of
from tpu_profile_plugin.analysis.devices.collectives import (
    CollectiveRuns,
    RecordedCollectives,
    Transfer,
    recorded_collectives,
)
from tpu_profile_plugin.analysis.devices.windows import common_rows
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.catalogue.communication import RELATION
from tpu_profile_plugin.run.figures.budget import communication, device_steps, host_devices
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.relation import Relation, each_host
from tpu_profile_plugin.tables.coded import Coded, same
from tpu_profile_plugin.tables.table import Table


@dataclass(frozen=True, slots=True)
class _Place:
    """A host among those with devices.

    Attributes:
      devices: (host, device) of the devices of all hosts; first: the number of its own first one.
      rows, numbers: which of its own steps all hosts have, and their numbers in the run.
      waits: what its runs waited for among the devices of all hosts; None: its own devices alone.
    """

    devices: tuple[tuple[str, str], ...]
    first: int
    rows: I64
    numbers: I64
    waits: RunWaits | None


class _Executions:
    """Numbers executions that the devices of one host took part in, from a number on that is free."""

    def __init__(self, free: int) -> None:
        self._free = free

    def number(self, instances: I64) -> I64:
        """The numbers in the run for those of one host; -1 stays."""
        first = self._free
        self._free += int(instances.max(initial=-1)) + 1
        return np.where(instances >= 0, instances + first, -1)


def _batches(run: RunHosts) -> Iterator[Table]:
    """A table per host that has any."""
    places, free = _places(run) if len(run.profiles) > 1 else ({}, 0)
    executions = _Executions(free)
    for host, recorded in each_host(run, _recorded):
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
    number = np.zeros(0, np.int64) if steps is None else steps.number
    names = tuple((host.name, device.name) for device in host_devices(host))
    return _Place(names, 0, np.arange(len(number)), number, None)


def _places(run: RunHosts) -> tuple[dict[int, _Place], int]:
    """The hosts with devices by `HostProfile.index`, and the number of executions that several hosts took part in."""
    parts = run.map_hosts(communication)
    hosts = [(host, part) for host, part in zip(run.readable, parts, strict=True) if part.devices]
    steps = [part.steps for _, part in hosts if part.steps is not None]
    if not hosts:
        return {}, 0
    waits, executions = waits_between_hosts([part.runs for _, part in hosts])
    names = tuple((host.name, device) for host, part in hosts for device, _ in part.devices)
    first = np.cumsum([0, *(len(part.devices) for _, part in hosts)]).tolist()
    rows = common_rows(steps)
    numbers = steps[0].number[rows[0]]
    places = {host.index: _Place(names, first[i], rows[i], numbers, waits[i]) for i, (host, _) in enumerate(hosts)}
    return places, executions


def _of_host(
    run: str, host: HostProfile, recorded: RecordedCollectives, place: _Place, executions: _Executions
) -> Table:
    """The runs of one host by begin."""
    devices, runs = host_devices(host), recorded.runs
    planes = {plane.index: plane.name for plane in host.lazy.planes}
    programs = hlo_ops(host).programs.names
    wait, last, execution, most = _waits(recorded, len(devices), place, executions)
    ranks = [transfer.ranks or (n if n > 1 else 0) for transfer, n in zip(runs.transfers, most, strict=True)]
    sizes = [
        message_bytes(key.kind, transfer.operand_bytes, n)
        for key, transfer, n in zip(runs.keys, runs.transfers, ranks, strict=True)
    ]
    step = _steps(host, place, runs)
    count = len(runs.key)
    table = Table(
        RELATION,
        {
            "run": same(run, count),
            "host": same(host.name, count),
            "device": Coded.of(runs.device, [device.name for device in devices]),
            "plane": Coded.of(runs.device, [planes.get(device.plane, "") for device in devices]),
            "step": step,
            "name": Coded.of(runs.key, [key.name for key in runs.keys]),
            "kind": Coded.of(runs.key, [key.kind for key in runs.keys]),
            "program": Coded.of(runs.key, [programs.get(key.program) or str(key.program or "") for key in runs.keys]),
            "begin_ps": runs.begin_ps,
            "duration_ps": runs.end_ps - runs.begin_ps,
            "exposed_ps": recorded.exposed_ps,
            "wait_ps": wait,
            "late_host": Coded.of(last, [name for name, _ in place.devices]),
            "late_device": Coded.of(last, [name for _, name in place.devices]),
            "execution": np.ma.MaskedArray(execution, execution < 0),
            "ranks": _of_key([n or None for n in ranks], runs.key),
            "replica_group": _replica_groups(recorded, len(devices), place),
            "bytes": _of_key(sizes, runs.key),
        },
        name="collectives",
    )
    return table.take(np.lexsort((runs.device, runs.begin_ps)))


def _waits(
    recorded: RecordedCollectives, devices: int, place: _Place, executions: _Executions
) -> tuple[np.ma.MaskedArray[Any, np.dtype[np.int64]], I64, I64, list[int]]:
    """Wait (masked where unknown), last device (of all hosts) and execution per run; the most ranks per key."""
    runs, between = recorded.runs, place.waits
    if between is None:
        last = np.where(runs.last >= 0, runs.last + place.first, -1)
        most = np.ones(len(runs.keys), np.int64)
        np.maximum.at(most, runs.key, runs.ranks)
        return np.ma.MaskedArray(runs.wait_ps), last, executions.number(runs.instance), most.tolist()
    # What the devices of other hosts did in further runs is not known.
    wait: np.ma.MaskedArray[Any, np.dtype[np.int64]] = np.ma.MaskedArray(np.zeros(len(runs.key), np.int64), True)
    last, execution = np.full((2, len(runs.key)), -1)
    kept = kept_rows(runs, devices)
    wait[kept], last[kept], execution[kept] = between.wait_ps, between.last, between.execution
    return wait, last, execution, between.ranks.tolist()


def _steps(host: HostProfile, place: _Place, runs: CollectiveRuns) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
    """The number of the step in which each run begins, masked outside of the steps of the run."""
    steps = device_steps(host)
    assert steps is not None
    number, unknown = np.zeros(len(steps) + 1, np.int64), np.ones(len(steps) + 1, np.bool_)
    number[place.rows], unknown[place.rows] = place.numbers, False
    row = step_of(steps.begin_ps, steps.end_ps, runs.device, runs.begin_ps)  # -1, the last one: outside of all steps
    return np.ma.MaskedArray(number[row], unknown[row])


def _of_key(values: Sequence[int | None], key: I64) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
    """The value of each run's collective, masked where it is unknown."""
    known = np.array([value or 0 for value in values], np.int64)
    return np.ma.MaskedArray(known[key], np.array([value is None for value in values], np.bool_)[key])


def _replica_groups(recorded: RecordedCollectives, devices: int, place: _Place) -> Coded:
    """The numbers of the devices in the group of each run's device."""
    runs, several = recorded.runs, place.waits is not None
    first, total = (place.first, len(place.devices)) if several else (0, devices)
    texts_ = [_members(transfer, first + number, total) for transfer in runs.transfers for number in range(devices)]
    return Coded.of(runs.key * devices + runs.device, texts_)


def _members(transfer: Transfer, device: int, devices: int) -> str:
    """The group of a device as text; "" if it is unknown."""
    group = transfer.group_of(device, devices)
    if group is None or transfer.groups is None:
        return ""
    return ",".join(map(str, transfer.groups[group])) if transfer.groups else "all"


COLLECTIVES = Relation(
    "collectives",
    "One row per run of a collective on a device: when it was, how long it waited, and for which device.",
    RELATION,
    _batches,
)
