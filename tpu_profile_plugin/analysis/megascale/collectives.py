"""Slack and stalls of collectives between slices, one summary per rendezvous.

A collective runs from its send to its recv-done. Its slack is the time from the begin of the send to the begin of the
recv-done without the sends and receives in between: the time for the network without delaying the TPU. Its stall is
the time of its own send, send-done, recv and recv-done. Times are whole microseconds, rounded down, as XProf has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.planes import MODULES, OPS, events_of_lines, lines_named, spans_at
from tpu_profile_plugin.analysis.common.rows import row_codes, rows_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.hlo.shapes import byte_size, is_tuple
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, Bools
from tpu_profile_plugin.protos import parse
from tpu_profile_plugin.units import MEGA, NS_PER_US, PS_PER_NS, PS_PER_US

PLANE = "/device:TPU:0"
SEND, RECV, SEND_DONE, RECV_DONE = OPCODES = ("send", "recv", "send-done", "recv-done")
CATEGORY, INFO = "hlo_category", "dcn_collective_info"
RENDEZVOUS, TRANSFER_TYPE = "_xla_host_transfer_rendezvous", "_xla_megascale_transfer_type"


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction that sends or receives.

    Attributes:
      name: its name.
      opcode: index in `OPCODES`; -1 for other instructions of these categories.
      channel: its channel, 0 without one.
      rendezvous: name shared by sender and receiver; None if only the channel identifies it.
      transfer_type: e.g. "ALL_REDUCE"; "" if unknown.
      bytes: size of the result.
      group: number of participants, 0 if unknown.
    """

    name: str
    opcode: int
    channel: int
    rendezvous: str | None
    transfer_type: str
    bytes: int
    group: int


@dataclass(frozen=True, slots=True, eq=False)
class SendRecvOps:
    """Runs of send and receive instructions, in file order.

    Attributes:
      instruction: int32[n], rows of `instructions`.
      begin_ns, end_ns, duration_ns: int64[n], whole nanoseconds.
      duration_ps: int64[n].
      instructions: the distinct instructions.
    """

    instruction: I32
    begin_ns: I64
    end_ns: I64
    duration_ns: I64
    duration_ps: I64
    instructions: tuple[Instruction, ...]


def send_recv_ops(space: XSpace, plane: Plane, programs: HloPrograms) -> SendRecvOps:
    """The ops of host transfers of a TensorCore during runs of modules with a known program."""
    rows, modules = _ops_in_modules(space, plane)
    index_of: dict[tuple[str, int], int] = {}
    instructions: list[Instruction] = []
    code, first = row_codes(modules, plane.events.metadata[rows])
    of_pair = np.full(len(first), -1, np.int32)
    pairs = zip(modules[first].tolist(), plane.events.metadata[rows[first]].tolist(), strict=True)
    for pair, (module, metadata) in enumerate(pairs):
        transfer = _instruction(space, plane, programs, plane.event_metadata.names[module], metadata)
        if transfer is not None:
            of_pair[pair] = index_of.setdefault((plane.event_metadata.names[module], metadata), len(instructions))
            instructions.append(transfer)
    instruction = of_pair[code]
    described = instruction >= 0
    rows, instruction = rows[described], instruction[described]
    begin, duration = plane.events.begin_ps[rows], plane.events.duration_ps[rows]
    begin_ns, end_ns, duration_ns = (ps // PS_PER_NS for ps in (begin, begin + duration, duration))
    return SendRecvOps(instruction, begin_ns, end_ns, duration_ns, duration, tuple(instructions))


def _ops_in_modules(space: XSpace, plane: Plane) -> tuple[I64, I64]:
    """Events of host transfers inside runs of modules, and the metadata rows of these runs."""
    codes = StatColumns(space, plane, plane.event_metadata.stats, (CATEGORY,)).texts(CATEGORY)
    transfers = np.array(["host send" in text or "host recv" in text for text in codes[2]], np.bool_)
    wanted = np.zeros(len(plane.event_metadata), np.bool_)
    wanted[codes[0]] = transfers[codes[1]] if len(transfers) else False
    none = np.zeros(0, np.int64)
    runs = lines_named(plane, MODULES)[:1]
    if not runs:
        return none, none
    part = plane.lines.events_of(runs[0])
    order = np.argsort(plane.events.begin_ps[part], kind="stable") + part.start
    begin, end = spans_at(plane, order)
    rows = events_of_lines(plane, lines_named(plane, OPS))
    rows = rows[wanted[plane.events.metadata[rows]]]
    since = plane.events.begin_ps[rows]
    run = np.searchsorted(begin, since, side="right") - 1
    inside = run >= 0
    rows, since, run = rows[inside], since[inside], run[inside]
    inside = since + plane.events.duration_ps[rows] <= end[run]
    modules: I64 = plane.events.metadata[order[run[inside]]].astype(np.int64)
    return rows[inside], modules


def _instruction(space: XSpace, plane: Plane, programs: HloPrograms, module: str, metadata: int) -> Instruction | None:
    """The instruction of an op by module and name; None if unknown."""
    program_id = programs.id_of(module)
    program = None if program_id is None else programs.program(program_id)
    table = plane.event_metadata
    name = table.display_names[metadata] or table.names[metadata]
    row = None if program is None else program.row_of.get(name)
    if program is None or row is None:
        return None
    proto = program.instruction(row)
    attributes = proto.frontend_attributes.map
    opcode = program.opcodes[row]
    return Instruction(
        name,
        OPCODES.index(opcode) if opcode in OPCODES else -1,
        int(proto.channel_id),
        attributes.get(RENDEZVOUS),
        attributes.get(TRANSFER_TYPE, ""),
        sum(map(byte_size, proto.shape.tuple_shapes)) if is_tuple(proto.shape) else byte_size(proto.shape),
        _participants(space, plane, metadata),
    )


def _participants(space: XSpace, plane: Plane, metadata: int) -> int:
    """The number of devices of a group; 1 for pairs of devices, 0 if it is not recorded."""
    row = plane.stat_metadata.row(INFO)
    stats = plane.event_metadata.stats
    stat = int(stats.find(row)[metadata]) if row is not None else -1
    if stat < 0:
        return 0
    info = parse("tensorflow.profiler.DcnCollectiveInfoProto", space.blob(int(stats.value[stat])))
    if info is None:
        return 0
    if info.one_to_one_groups:
        return 1
    return len(info.endpoint_groups[0].endpoints) if info.endpoint_groups else 0


WRAP = 1 << 64
_TIMES = ("slack_us", "observed_us", "stall_us", "send_us", "send_done_us", "recv_us", "recv_done_us", "recv_s")


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
      recv_s: average of the whole seconds of the recv op, which XProf takes for microseconds.
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
    recv_s: int = 0


def collectives(ops: SendRecvOps) -> tuple[Collective, ...]:
    """The collectives, in the order of their first complete run."""
    names: dict[str, int] = {}
    codes = [-1 if i.rendezvous is None else names.setdefault(i.rendezvous, len(names)) for i in ops.instructions]
    code = np.array([*codes, -1], np.int64)[ops.instruction]
    channel = np.array([*(i.channel for i in ops.instructions), 0], np.int64)[ops.instruction]
    named = _last(channel, code >= 0)  # an op without a rendezvous takes the last of its channel
    group = np.where(named >= 0, code[named], -1)
    return tuple(_collectives(rows_of(ops, group >= 0), group[group >= 0], list(names)))


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
    opcode = np.array([*(i.opcode for i in ops.instructions), -1])[ops.instruction]
    last = {code: _last(group, opcode == OPCODES.index(code)) for code in OPCODES}
    done = np.flatnonzero((opcode == OPCODES.index(RECV_DONE)) & (last[SEND] >= 0))
    send = last[SEND][done]
    complete = ops.begin_ns[send] != 0
    done, send = done[complete], send[complete]
    before = np.append(0, np.cumsum(ops.duration_ns))
    slack = (ops.begin_ns[done] - ops.begin_ns[send] - (before[done] - before[send])).view(np.uint64) // NS_PER_US
    running = _running(group, ops.duration_ns)
    times = {
        "slack_us": slack,
        "observed_us": ops.end_ns[done] // NS_PER_US - ops.begin_ns[send] // NS_PER_US,
        "stall_us": (running[done] - running[send] + ops.duration_ns[send]) // NS_PER_US,
    }
    for name, code in (("send_us", SEND), ("send_done_us", SEND_DONE), ("recv_done_us", RECV_DONE), ("recv_us", RECV)):
        rows = last[code][done]
        times[name] = np.where(rows >= 0, ops.duration_ps[rows] // PS_PER_US, 0)
    times["recv_s"] = times["recv_us"] // MEGA
    groups, first = np.unique(group[done], return_index=True)
    for rendezvous in groups[np.argsort(first)].tolist():
        mine = group[done] == rendezvous
        sends, ends = send[mine], done[mine]
        sender, receiver = (ops.instructions[ops.instruction[rows[-1]]] for rows in (sends, ends))
        # The first send's metadata has the number of participants.
        first_send = np.flatnonzero((group == rendezvous) & (opcode == OPCODES.index(SEND)))[0]
        participants = ops.instructions[ops.instruction[first_send]].group
        bytes = transmitted(receiver.bytes, participants, sender.transfer_type)
        averages = {name: sum(of[mine].tolist()) % WRAP // len(ends) for name, of in times.items()}
        name = names[rendezvous]
        yield Collective(name, sender.name, receiver.name, sender.transfer_type, len(ends), bytes, **averages)


def _running(group: I64, values: I64) -> I64:
    """Running sums of values, group after group: those of one group tell what lies between them."""
    order = np.argsort(group, kind="stable")
    out = np.empty(len(order), np.int64)
    out[order] = np.cumsum(values[order])
    return out


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
    for collective in (collective for host in hosts for collective in host):
        merged.setdefault(collective.rendezvous, []).append(collective)
    combined = []
    for parts in merged.values():
        runs = sum(part.runs for part in parts)
        averages = {name: sum(getattr(part, name) * part.runs for part in parts) % WRAP // runs for name in _TIMES}
        combined.append(replace(parts[-1], runs=runs, **averages))
    return tuple(combined)
