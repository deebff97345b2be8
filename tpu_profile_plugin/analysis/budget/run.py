"""The time budget of a run: the hosts' budgets side by side, for the steps that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import HostBudget, HostCause
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, EXPOSED_COMMUNICATION, IDLE_PEER
from tpu_profile_plugin.analysis.devices.across_hosts import clock_offsets, match_hosts, sum_by_step
from tpu_profile_plugin.analysis.devices.model import RunDevice
from tpu_profile_plugin.analysis.devices.windows import Source, common_rows
from tpu_profile_plugin.analysis.steps.inferred import Evidence
from tpu_profile_plugin.columns.arrays import I64


@dataclass(frozen=True, slots=True, eq=False)
class RunBudget:
    """The time budget of one or more hosts.

    Attributes:
      hosts: positions of the hosts with devices in the given order.
      devices: host after host.
      number, names: int64[s] and the names of the steps, those of the first host.
      begin_ps, duration_ps: int64[s, d], on each host's own axis.
      time_ps: int64[s, d, c], by `CATEGORIES`; adds up to `duration_ps`.
      between_ps, between_time_ps: int64[d] and int64[d, c], the time between successive steps.
      causes: (position of the host, cause), most time first.
      sources: where the steps of each host come from.
      evidence: of the first host whose steps are inferred.
      traced: per host, whether Python functions were recorded; None if that was not looked for.
    """

    hosts: tuple[int, ...]
    devices: tuple[RunDevice, ...]
    number: I64
    names: tuple[str, ...]
    begin_ps: I64
    duration_ps: I64
    time_ps: I64
    between_ps: I64
    between_time_ps: I64
    causes: tuple[tuple[int, HostCause], ...] = ()
    sources: tuple[Source, ...] = ()
    evidence: Evidence | None = None
    traced: tuple[bool | None, ...] = ()

    def __len__(self) -> int:
        return len(self.number)

    def average_ps(self) -> I64:
        """Total per device and category over the steps, int64[d, c]."""
        total: I64 = self.time_ps.sum(axis=0)
        return total


def merge_budgets(parts: Sequence[HostBudget]) -> RunBudget:
    """The hosts that have devices, for the steps that they have in common.

    Steps whose markers have the same names on all hosts are matched by name, others by time since the begin of each
    host's recording.
    """
    hosts = [i for i, part in enumerate(parts) if part.devices and part.steps is not None]
    if not hosts:
        return _empty()
    rows = common_rows([windows for i in hosts if (windows := parts[i].steps) is not None])
    lead = parts[hosts[0]].steps
    assert lead is not None
    chosen = [(parts[i], row) for i, row in zip(hosts, rows, strict=True)]
    begin = np.concatenate([part.steps.begin_ps[row] for part, row in chosen if part.steps], axis=1)
    end = np.concatenate([part.steps.end_ps[row] for part, row in chosen if part.steps], axis=1)
    causes = [(i, cause) for i in hosts for cause in parts[i].causes]
    steps = [part.steps for part, _ in chosen if part.steps]
    return RunBudget(
        hosts=tuple(hosts),
        devices=tuple(RunDevice(name, i, kind) for i in hosts for name, kind in parts[i].devices),
        number=lead.number[rows[0]],
        names=tuple(lead.names[at] for at in rows[0].tolist()),
        begin_ps=begin,
        duration_ps=end - begin,
        time_ps=_with_peers(chosen, np.concatenate([part.time_ps[row] for part, row in chosen], axis=1), (begin, end)),
        between_ps=np.concatenate([part.between_ps for part, _ in chosen]),
        between_time_ps=np.concatenate([part.between_time_ps for part, _ in chosen]),
        causes=tuple(sorted(causes, key=lambda one: -sum(one[1].time_ps) / len(one[1].time_ps))),
        sources=tuple(one.source for one in steps),
        evidence=next((one.evidence for one in steps if one.evidence), None),
        traced=tuple(part.traced for part, _ in chosen),
    )


def _with_peers(parts: Sequence[tuple[HostBudget, I64]], time_ps: I64, window: tuple[I64, I64]) -> I64:
    """Moves waits for devices of other hosts from communication, where a single host counts them, to waits.

    A wait counts to the step in which the collective begins.
    """
    runs = [part.runs for part, _ in parts if part.runs is not None]
    if len(parts) < 2 or len(runs) < len(parts):
        return time_ps
    matched = match_hosts(runs, clock_offsets(runs))
    matched_runs, row = matched.runs, matched.runs.source
    begin = matched_runs.begin_ps - matched.moved_ps[row]
    extra = sum_by_step(*window, matched_runs.device, begin, matched.extra_ps[row])
    extra = np.minimum(extra, time_ps[:, :, EXPOSED_COMMUNICATION])
    moved: I64 = time_ps.copy()
    moved[:, :, EXPOSED_COMMUNICATION] -= extra
    moved[:, :, IDLE_PEER] += extra
    return moved


def _empty() -> RunBudget:
    steps, count = np.zeros((0, 0), np.int64), len(CATEGORIES)
    devices, none = np.zeros((0, count), np.int64), np.zeros(0, np.int64)
    return RunBudget((), (), none, (), steps, steps, np.zeros((0, 0, count), np.int64), none, devices)
