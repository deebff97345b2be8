"""Every recorded run of a collective on a host's devices, and the devices of all hosts that it waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.devices import cpu_tf
from tpu_profile_plugin.analysis.devices.across_hosts import HostRuns, clock_offsets, match_hosts
from tpu_profile_plugin.analysis.devices.collective_ops import Transfer, transfer_of
from tpu_profile_plugin.analysis.devices.collectives import (
    CollectiveKey,
    CollectiveRuns,
    exposed_runs,
    key_of,
    match_collectives,
)
from tpu_profile_plugin.analysis.devices.kinds import async_role
from tpu_profile_plugin.analysis.devices.model import Device, Op, Work
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns.arrays import I64


@dataclass(frozen=True, slots=True, eq=False)
class RecordedCollectives:
    """The runs of collectives of one host.

    Attributes:
      runs: matched among the devices of the host.
      exposed_ps: int64[n], the part of each run in which its device computes nothing.
      transfers: by key, what a run transfers.
    """

    runs: CollectiveRuns
    exposed_ps: I64
    transfers: tuple[Transfer, ...]


def may_communicate(devices: Sequence[Device]) -> bool:
    """Whether there are devices that can run collectives; CPUs on which TensorFlow runs ops do not."""
    return bool(devices) and devices[0].name != cpu_tf.NAME


def recorded_collectives(devices: Sequence[Device], programs: HloPrograms) -> RecordedCollectives:
    """The runs of collectives on the devices of one host."""
    runs = match_collectives(devices, lambda op: transfer_of(op, programs))
    ops = _ops_by_key(devices)
    transfers = tuple(transfer_of(ops[key], programs) for key in runs.keys)
    return RecordedCollectives(runs, exposed_runs(devices, runs), transfers)


def _ops_by_key(devices: Sequence[Device]) -> dict[CollectiveKey, Op]:
    """The op with the transferred data of each collective: the start op of an asynchronous collective."""
    ops: dict[CollectiveKey, Op] = {}
    for device in devices:
        for op in device.ops:
            role = async_role(op.name)
            if op.work != Work.COMMUNICATION:
                continue
            if key_of(op) not in ops or (role is not None and role[1]):
                ops[key_of(op)] = op
    return ops


@dataclass(frozen=True, slots=True, eq=False)
class RunWaits:
    """What the runs of one host waited for, among the devices of all hosts.

    Attributes:
      wait_ps: int64[n], per row of its `HostRuns`: from the run's begin to that of the last device.
      last: int64[n], the device that began last, counted over all hosts; -1 if unknown.
      execution: int64[n], number of the execution that devices took part in together; -1 if unknown.
      ranks: int64[k], per key of the host the most devices in one execution.
    """

    wait_ps: I64
    last: I64
    execution: I64
    ranks: I64


def waits_between_hosts(parts: Sequence[HostRuns]) -> tuple[list[RunWaits | None], int]:
    """Per host what its runs waited for, None if its clock is unknown; and the number of executions."""
    matched = match_hosts(parts, clock_offsets(parts))
    runs = matched.runs
    columns = [np.empty_like(column) for column in (runs.wait_ps, runs.last, runs.instance)]
    for ordered, column in zip(columns, (runs.wait_ps, runs.last, runs.instance), strict=True):
        ordered[runs.source] = column
    ranks = np.ones(len(matched.keys), np.int64)
    np.maximum.at(ranks, runs.key, runs.ranks)
    waits: list[RunWaits | None] = []
    first = 0
    for i, part in enumerate(parts):
        if i in matched.alone:
            waits.append(None)
            continue
        own = slice(first, first + len(part.key))
        wait, last, execution = (column[own] for column in columns)
        waits.append(RunWaits(wait, last, execution, ranks[matched.numbers[i]]))
        first = own.stop
    return waits, int(runs.instance.max(initial=-1)) + 1
