"""Slack and stalls of collectives between slices, one summary per rendezvous.

A collective runs from its send to its recv-done. Its slack is the time from the begin of the send to the begin of the
recv-done without the sends and receives in between: the time for the network without delaying the TPU. Its stall is
the time of its own send, send-done, recv and recv-done. Times are whole microseconds, rounded down, as XProf has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.megascale.ops import OPCODES, RECV, RECV_DONE, SEND, SEND_DONE, SendRecvOps
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import MEGA, NS_PER_US, PS_PER_US

WRAP = 1 << 64
_TIMES = ("slack_us", "observed_us", "stall_us", "send_us", "send_done_us", "recv_us", "recv_done_us")


@dataclass(frozen=True, slots=True)
class Collective:
    """The runs of one rendezvous.

    Attributes:
      rendezvous: its name.
      send_op, recv_op: names of the send and the recv-done of the last run.
      transfer_type: e.g. "ALL_REDUCE".
      runs: number of runs.
      bytes: sent over the network per run.
      slack_us, observed_us, stall_us: averages over runs; observed: from the begin of the send to the end of the
        recv-done.
      send_us, send_done_us, recv_us, recv_done_us: average time of each op.
    """

    rendezvous: str
    send_op: str
    recv_op: str
    transfer_type: str
    runs: int
    bytes: int
    slack_us: int = 0
    observed_us: int = 0
    stall_us: int = 0
    send_us: int = 0
    send_done_us: int = 0
    recv_us: int = 0
    recv_done_us: int = 0


def collectives(ops: SendRecvOps) -> tuple[Collective, ...]:
    """The collectives, in the order of their first complete run."""
    known, group, names = _rendezvous(ops)
    return tuple(_collectives(rows_of(ops, known), group[known], names))


def _rendezvous(ops: SendRecvOps) -> tuple[Bools, I64, list[str]]:
    """Per op, whether its rendezvous is known, and its number; an op without a name takes the last of its channel."""
    names: dict[str, int] = {}
    codes = [-1 if one.rendezvous is None else names.setdefault(one.rendezvous, len(names)) for one in ops.instructions]
    code = np.array([*codes, -1], np.int64)[ops.instruction]
    channel = np.array([*(one.channel for one in ops.instructions), 0], np.int64)[ops.instruction]
    named = _last(channel, code >= 0)
    group = np.where(named >= 0, code[named], -1)
    return group >= 0, group, list(names)


def _last(group: I64, marked: Bools) -> I64:
    """Per row the latest marked row of its group, itself included; -1 without one."""
    order = np.argsort(group, kind="stable")
    rows = np.where(marked[order], np.arange(len(order)), -1)
    first = np.searchsorted(group[order], group[order], side="left")
    latest = np.maximum.accumulate(rows) if len(rows) else rows
    out = np.full(len(group), -1, np.int64)
    inside = latest >= first
    out[order[inside]] = order[latest[inside]]
    return out


def _collectives(ops: SendRecvOps, group: I64, names: Sequence[str]) -> Iterable[Collective]:
    opcode = np.array([*(one.opcode for one in ops.instructions), -1])[ops.instruction]
    last = {code: _last(group, opcode == OPCODES.index(code)) for code in OPCODES}
    done = np.flatnonzero((opcode == OPCODES.index(RECV_DONE)) & (last[SEND] >= 0))
    send = last[SEND][done]
    complete = ops.begin_ns[send] != 0
    done, send = done[complete], send[complete]
    before = np.append(0, np.cumsum(ops.duration_ns))
    slack = (ops.begin_ns[done] - ops.begin_ns[send] - (before[done] - before[send])).view(np.uint64) // NS_PER_US
    running = _within(group, ops.duration_ns)
    times = {
        "slack_us": slack,
        "observed_us": ops.end_ns[done] // NS_PER_US - ops.begin_ns[send] // NS_PER_US,
        "stall_us": (running[done] - running[send] + ops.duration_ns[send]) // NS_PER_US,
    }
    for name, code in (("send_us", SEND), ("send_done_us", SEND_DONE), ("recv_done_us", RECV_DONE), ("recv_us", RECV)):
        rows = last[code][done]
        times[name] = np.where(rows >= 0, ops.duration_ps[rows] // PS_PER_US, 0)
    times["recv_us"] //= MEGA  # XProf divides the time of recv by a million twice
    groups, first = np.unique(group[done], return_index=True)
    for rendezvous in groups[np.argsort(first)].tolist():
        mine = group[done] == rendezvous
        run_times = {name: of[mine] for name, of in times.items()}
        yield _collective(ops, names[rendezvous], done[mine], send[mine], run_times, group)


def _within(group: I64, values: I64) -> I64:
    """Running sums of values within each group."""
    order = np.argsort(group, kind="stable")
    total = np.cumsum(values[order])
    first = np.searchsorted(group[order], group[order], side="left")
    out = np.empty_like(total)
    out[order] = total - np.append(0, total)[first]
    return out


def _collective(ops: SendRecvOps, name: str, done: I64, send: I64, times: dict[str, I64], group: I64) -> Collective:
    sender, receiver = (ops.instructions[ops.instruction[rows[-1]]] for rows in (send, done))
    first_send = ops.instructions[ops.instruction[_first_send(ops, group, int(group[send[0]]))]]
    bytes = transmitted(receiver.bytes, first_send.group, sender.transfer_type)
    averages = {key: sum(of.tolist()) % WRAP // len(done) for key, of in times.items()}
    return Collective(name, sender.name, receiver.name, sender.transfer_type, len(done), bytes, **averages)


def _first_send(ops: SendRecvOps, group: I64, rendezvous: int) -> int:
    """The first send of a rendezvous, whose metadata has the number of participants."""
    opcode = np.array([one.opcode for one in ops.instructions])[ops.instruction]
    return int(np.flatnonzero((group == rendezvous) & (opcode == OPCODES.index(SEND)))[0])


def transmitted(size: int, group: int, transfer_type: str) -> int:
    """Bytes that a participant sends over the network, from the size of the result and the number of participants."""
    if group == 0:
        return 0
    share = (group - 1) / group
    sent = {
        "ONE_TO_ONE": group * size,
        "ALL_GATHER": (group - 1) * size / group,
        "ALL_REDUCE": 2 * share * size,
        "ALL_TO_ALL": share * size,
        "REDUCE_SCATTER": size * (group - 1),
    }
    return int(sent.get(transfer_type, 0)) % WRAP


def combine(hosts: Sequence[tuple[Collective, ...]]) -> tuple[Collective, ...]:
    """The collectives of all hosts: times are averages over all runs, names are those of the last host."""
    merged: dict[str, list[Collective]] = {}
    for collective in (one for host in hosts for one in host):
        merged.setdefault(collective.rendezvous, []).append(collective)
    return tuple(_combined(parts) for parts in merged.values())


def _combined(parts: list[Collective]) -> Collective:
    runs = sum(part.runs for part in parts)
    averages = {name: sum(getattr(part, name) * part.runs for part in parts) % WRAP // runs for name in _TIMES}
    return replace(parts[-1], runs=runs, **averages)
