"""Send and receive ops of a TensorCore, each with its HLO instruction: the parts of collectives between slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.planes import MODULES, OPS, events_of_lines, lines_named, spans_at
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, Program
from tpu_profile_plugin.analysis.hlo.shapes import byte_size, is_tuple
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64
from tpu_profile_plugin.protos import parse
from tpu_profile_plugin.units import PS_PER_NS

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
    pairs, inverse = np.unique(
        np.stack([modules, plane.events.metadata[rows].astype(np.int64)]), axis=1, return_inverse=True
    )
    of_pair = np.full(pairs.shape[1], -1, np.int32)
    for pair, (module, metadata) in enumerate(pairs.T.tolist()):
        transfer = _instruction(space, plane, programs, plane.event_metadata.names[module], metadata)
        if transfer is not None:
            of_pair[pair] = index_of.setdefault((plane.event_metadata.names[module], metadata), len(instructions))
            instructions.append(transfer)
    instruction = of_pair[inverse.reshape(-1)]
    known = instruction >= 0
    rows, instruction = rows[known], instruction[known]
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
    return _described(program, row, name, _participants(space, plane, metadata))


def _described(program: Program, row: int, name: str, group: int) -> Instruction:
    proto = program.instruction(row)
    attributes = proto.frontend_attributes.map
    opcode = program.opcodes[row]
    return Instruction(
        name,
        OPCODES.index(opcode) if opcode in OPCODES else -1,
        int(proto.channel_id),
        attributes.get(RENDEZVOUS),
        attributes.get(TRANSFER_TYPE, ""),
        _bytes(proto.shape),
        group,
    )


def _bytes(shape: Any) -> int:
    """Size of an array, or of the parts of a tuple."""
    return sum(map(byte_size, shape.tuple_shapes)) if is_tuple(shape) else byte_size(shape)


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
