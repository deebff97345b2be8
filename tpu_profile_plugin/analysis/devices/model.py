"""A device and its work, in the same form for TPUs, GPUs and XLA's CPU backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.common.spans import Times, covered_after, no_time, subtract, times_of, times_of_all
from tpu_profile_plugin.columns.arrays import I32, I64, U8, Bools

Kind = Literal["tpu", "gpu", "cpu", "host"]
"""`host` stands for a device that was not recorded."""


class Work(IntEnum):
    """Kind of work that a device does during an op."""

    COMPUTE = 0
    COMMUNICATION = 1
    """With other devices: collectives, send and recv."""
    COPY = 2
    """Between the memories of host and device inside a program, or of unknown direction."""
    INPUT = 3
    """Waiting for input from the host (infeed)."""
    OUTPUT = 4
    """Waiting until the host takes results (outfeed)."""
    CONTROL = 5
    """An op that consists of other ops: a loop, call or conditional."""
    MOVE = 6
    """Copies within the device's own memory."""
    MOVE_WAIT = 7
    """An asynchronous copy between the device's own memories (HBM and VMEM)."""
    UPLOAD = 8
    """A copy to the device that the host launched."""
    DOWNLOAD = 9
    """A copy to the host that the host launched."""
    PEER_COPY = 10
    """A copy to or from another device."""


ASYNCHRONOUS = (Work.COMMUNICATION, Work.COPY, Work.MOVE_WAIT)
"""Work that starts with one op and is waited for by another."""
POINT_TO_POINT = ("send", "recv", "send/recv")
"""Kinds of `Op.collective` between two devices."""
WAIT = "wait"
"""Kind of `Op.collective`: a wait for other devices whose collective was not recorded."""


NO_LAUNCH = -(2**63)
"""Stands for the key of a launch that is not known; run ids may be any other number."""


@dataclass(frozen=True, slots=True)
class Op:
    """A distinct op of a device.

    Attributes:
      name: of the HLO instruction, or of the kernel if that is unknown.
      program: program id, unsigned; 0 if unknown.
      work: what it does.
      collective: "all-reduce", "all-gather", ..., "" for ops other than COMMUNICATION.
      text: the HLO text if the profile has it on the event, else "".
      operand_bytes, ranks: of a collective that PyTorch recorded: bytes of its operands on one device, and how many
        take part; 0 if unknown.
      pair: of a send or receive that PyTorch recorded: the ranks, "0 to 4", the same on both sides; "" if unknown.
      type: of the op of TensorFlow, "" if unknown.
    """

    name: str
    program: int
    work: Work
    collective: str = ""
    text: str = ""
    operand_bytes: int = 0
    ranks: int = 0
    pair: str = ""
    type: str = ""


def ops_of_names(names: Sequence[str], op_of: Callable[[str], Op | None]) -> tuple[tuple[Op, ...], I64]:
    """The ops that names stand for, and per name its op, -1 for names of none."""
    ops: list[Op] = []
    row = np.full(len(names), -1, np.int64)
    for index, name in enumerate(names):
        if (op := op_of(name)) is not None:
            row[index] = len(ops)
            ops.append(op)
    return tuple(ops), row


def _none() -> I64:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class OpSpans:
    """Runs of ops; times in picoseconds on the axis of the file.

    Attributes:
      begin_ps, end_ps: int64[n], by begin.
      op: int32[n], index into `Device.ops`.
      work: uint8[n], a `Work`.
      event: int64[n], row in the plane's event table.
    """

    begin_ps: I64 = field(default_factory=_none)
    end_ps: I64 = field(default_factory=_none)
    op: I32 = field(default_factory=lambda: np.zeros(0, np.int32))
    work: U8 = field(default_factory=lambda: np.zeros(0, np.uint8))
    event: I64 = field(default_factory=_none)

    def __len__(self) -> int:
        return len(self.begin_ps)

    def where(self, keep: Bools | I64) -> OpSpans:
        if keep.dtype == np.bool_ and bool(keep.all()):
            return self
        return OpSpans(self.begin_ps[keep], self.end_ps[keep], self.op[keep], self.work[keep], self.event[keep])

    def times(self, work: Work) -> Times:
        """The set of time that runs of a kind cover."""
        return times_of(self.begin_ps, self.end_ps, self.work == work)


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One TensorCore, GPU or device of the CPU backend.

    Attributes:
      name: for display and, within a host, unique: "TPU 0", "GPU 1", "CPU device 2".
      kind, ordinal: the kind, and its number on this host.
      plane: index of the plane that holds its events.
      ops: the distinct ops.
      runs: ops that the device executed, without those that consist of other ops (`control`).
      control: loops, calls and conditionals.
      windows: asynchronous collectives and copies, from start to completion.
      programs: when a program was running; None if that is unknown.
      starts: begins of work that the host launches (kernels, program runs), ascending.
      launch_key: what identifies the launch of each start (correlation or run id), `NO_LAUNCH` if unknown.
    """

    name: str
    kind: Kind
    ordinal: int
    plane: int
    ops: tuple[Op, ...]
    runs: OpSpans
    control: OpSpans = field(default_factory=OpSpans)
    windows: OpSpans = field(default_factory=OpSpans)
    programs: Times | None = None
    starts: I64 = field(default_factory=_none)
    launch_key: I64 = field(default_factory=_none)

    def compute(self) -> Times:
        """When it computed or moved data within its memory."""
        runs = self.runs
        return times_of(runs.begin_ps, runs.end_ps, (runs.work == Work.COMPUTE) | (runs.work == Work.MOVE))

    def communication(self) -> Times:
        """When a collective was under way, in the device's own ops or asynchronously."""
        return self._with_windows(Work.COMMUNICATION)

    def sends(self) -> Times:
        """When it sent to or received from another device, and no other collective was under way."""
        between_two = np.array([op.collective in POINT_TO_POINT for op in self.ops], np.bool_)
        if not bool(between_two.any()):
            return no_time()
        parts = [(spans, spans.work == Work.COMMUNICATION) for spans in (self.runs, self.windows)]
        pairs = ((spans.begin_ps, spans.end_ps, talks & between_two[spans.op]) for spans, talks in parts)
        others = ((spans.begin_ps, spans.end_ps, talks & ~between_two[spans.op]) for spans, talks in parts)
        return subtract(times_of_all(*pairs), times_of_all(*others))

    def copies(self, work: Work) -> Times:
        """When a copy of a kind was under way, in the device's own ops or asynchronously."""
        return self._with_windows(work)

    def span(self) -> tuple[int, int] | None:
        """First begin and last end of its ops; None without any."""
        filled = [spans for spans in (self.runs, self.control) if len(spans)]
        if not filled:
            return None
        return int(min(spans.begin_ps[0] for spans in filled)), int(max(spans.end_ps.max() for spans in filled))

    def _with_windows(self, work: Work) -> Times:
        parts = (self.runs, self.windows)
        return times_of_all(*((spans.begin_ps, spans.end_ps, spans.work == work) for spans in parts))


HOST_ALONE = Device("Host", "host", 0, -1, (), OpSpans())
"""Stands for the device of a host without any: activities of the host count as if a device waited for them."""


@dataclass(frozen=True, slots=True)
class RunDevice:
    """A device of a run of one or more hosts; `host` is the position of its host among those of the run."""

    name: str
    host: int
    kind: str


def device_names(devices: Sequence[RunDevice], hosts: Sequence[str], *, several: bool) -> list[str]:
    """The devices for display, with the names of their hosts if there are several."""
    return [f"{hosts[one.host]}: {one.name}" if several else one.name for one in devices]


def of_hosts(devices: Sequence[RunDevice]) -> dict[int, slice]:
    """By position of the host, the range of its devices, which stand together."""
    hosts, first = np.unique(np.array([device.host for device in devices], np.int64), return_index=True)
    return dict(zip(hosts.tolist(), map(slice, first.tolist(), [*first[1:].tolist(), None]), strict=True))


def ordered(spans: OpSpans) -> OpSpans:
    """The runs sorted by begin."""
    if bool((spans.begin_ps[1:] >= spans.begin_ps[:-1]).all()):
        return spans
    return spans.where(np.argsort(spans.begin_ps, kind="stable"))


def busy(device: Device) -> Times:
    """When the device ran any op, loops and calls included."""
    return times_of_all(*_ops(device))


def busy_after(device: Device, point: int) -> tuple[int, int]:
    """How long the device is busy, in ps, and how much of that is after a point in time; without making the set."""
    return covered_after(point, *_ops(device))


def _ops(device: Device) -> tuple[tuple[I64, I64, None], ...]:
    return tuple((spans.begin_ps, spans.end_ps, None) for spans in (device.runs, device.control))
