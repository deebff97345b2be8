"""Collectives of PyTorch: data that they send, by recorded arguments and the ops that launched them; runs on CPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import prod

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.op_names import (
    PYTORCH,
    UNKNOWN_KIND,
    collective_kind,
    op_collective,
    parse_op,
    range_of,
    runs_on_host,
)
from tpu_profile_plugin.analysis.common.planes import events_named, line_of, spans_at
from tpu_profile_plugin.analysis.common.rows import among, pair_in_order, row_codes
from tpu_profile_plugin.analysis.common.spans import Times
from tpu_profile_plugin.analysis.devices.model import POINT_TO_POINT, WAIT, Op, OpSpans, Work, ordered
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.columns.stats import text_of
from tpu_profile_plugin.system.name_cache import cached_by_name

ARGUMENT = "Collective name"
"""The stat that events with the arguments of a collective have."""
_TEXTS = (ARGUMENT, "dtype", "Process Group Name", "Process Group Ranks", "Input Dims", "Input type")
_INTS = ("In msg nelems", "Group size", "Src Rank", "Dst Rank")
_WIDTHS = {
    "double": 8, "long": 8, "long int": 8, "float": 4, "int": 4, "half": 2, "bfloat16": 2, "c10::half": 2,
    "c10::bfloat16": 2, "short": 2, "byte": 1, "char": 1, "bool": 1, "unsigned char": 1, "signed char": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "c10::float8_e4m3fn": 1, "c10::float8_e5m2": 1,
}  # fmt: skip
_UNEVEN = ("all-to-all", "send", "recv")
"""Ranks may send different amounts, so that the amount does not tell which of their kernels belong together."""
_SHAPE, _TEXT = re.compile(r"\[([\d, ]+)\]"), re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Sent:
    """A collective's kind, operands on one rank, group, and the pair of ranks of a send; 0 and "" if unknown.

    `certain`: its arguments or its range say so; else the op around the launch starts a collective, of which the event
    may be a part.
    """

    kind: str = ""
    elements: int = 0
    dtype: str = ""
    group: str = ""
    ranks: int = 0
    certain: bool = True
    pair: str = ""

    @property
    def launches(self) -> str:
        """The kind of collective that a kernel with an unknown name is part of; `of` adds the kind."""
        return UNKNOWN_KIND if self.certain else self.kind

    def of(self, op: Op) -> Op:
        """The op with what it sends; collectives of different kinds, sizes or groups are different ops."""
        if not self.certain:
            return op
        details = [self.kind] if self.kind and self.kind != op.collective else []
        details += [] if self.kind in _UNEVEN or not self.elements else [f"{self.elements} {self.dtype}".strip()]
        details += [self.pair] if self.pair else [f"group {self.group}"] if self.group else []
        name = f"{op.name} [{', '.join(details)}]" if details else op.name
        size = self.elements * _WIDTHS.get(self.dtype.lower(), 0)
        kind, ranks = self.kind or op.collective, 2 if self.pair else self.ranks
        return replace(op, name=name, collective=kind, operand_bytes=size, ranks=ranks, pair=self.pair)


def torch_collectives(space: XSpace, plane: Plane, events: I64) -> tuple[I64, list[Sent]]:
    """Per event of a GPU the index of what it sends, -1 if neither its arguments nor its op are of a collective."""
    declared = plane.stat_metadata
    # Ops of PyTorch are written as references.
    if declared.row(ARGUMENT) is None and not any(_starts_collective(name) for name in declared.names):
        return np.full(len(events), -1, np.int64), []
    named = named_ops(space, plane).by("framework_op")
    ops = [op.framework_op for op in named.ops]
    return sent_by(space, plane, events, named.op[events].astype(np.int64), ops)


def sent_by(space: XSpace, plane: Plane, events: I64, op: I64, ops: Sequence[str]) -> tuple[I64, list[Sent]]:
    """As `torch_collectives`, of any events: `op` is the index of each in `ops`, -1 without an op."""
    columns, texts = [op], [ops]
    for name in _TEXTS:
        code, distinct = read.strings(space, plane, plane.events.stats, name)
        columns.append(code[events].astype(np.int64))
        texts.append(distinct)
    for name in _INTS:
        value, known = read.ints(space, plane, plane.events.stats, name)
        columns.append(np.where(known, value, -1 if name.endswith("Rank") else 0)[events])
    index, first = row_codes(*columns)
    rank = _of_distributed(space, _RANK)
    made: list[Sent] = []
    number = np.full(len(first), -1, np.int64)
    for i, row in enumerate(first.tolist()):
        cells = [of[column[row]] if column[row] >= 0 else "" for column, of in zip(columns, texts, strict=False)]
        elements, ranks, source, target = (int(column[row]) for column in columns[len(texts) :])
        sent = _sent(cells, elements, ranks, _pair(rank, source, target))
        if sent is not None:
            number[i] = len(made)
            made.append(sent)
    return number[index], made


def _starts_collective(name: str) -> bool:
    """Whether a name is the path of an op of PyTorch that starts a collective."""
    parsed = parse_op(name)
    return parsed.category == PYTORCH and bool(op_collective(parsed.type))


def _pair(rank: int | None, source: int, target: int) -> str:
    """The ranks of a send or receive, of which each side records the other one."""
    if rank is None or (source < 0) == (target < 0):
        return ""
    return f"{rank} to {target}" if source < 0 else f"{source} to {rank}"


def _sent(texts: list[str], elements: int, ranks: int, pair: str) -> Sent | None:
    op, collective, dtype, group, members, shapes, types = texts
    if collective:
        group = f"{group}: {members}" if members else group
        kind = collective_kind(collective)
        return Sent(kind, elements, dtype, group.strip(": "), ranks, pair=pair if kind in POINT_TO_POINT else "")
    op = parse_op(op).type if op.endswith(PYTORCH) else op.rpartition("/")[2].strip()
    # Older versions, and libraries of processors, mark a range (`nccl:all_reduce`), with shapes as those of an op.
    if range_of(op)[0]:
        sizes = [list(map(int, shape.split(","))) for shape in _SHAPE.findall(shapes)]
        first = _TEXT.search(types)
        return Sent(op_collective(op), sum(map(prod, sizes)), first[1] if first else "")
    kind = op_collective(op)
    return Sent(kind, certain=False) if kind else None


# Collectives of PyTorch on CPUs (gloo, MPI, UCC): from the ops that start them, the library's ranges, and waits.

_WAIT = re.compile(
    r"\w{0,100}c10d\w{0,100}::wait(?:_tensor)?|(?:c10d::)?Work(?:::|\.)wait(?:_tensor)?"
    r"|<built-in method wait(?:_tensor)? of (?:PyCapsule|pybind11_builtins\.\S|torch\._C\._distributed_c10d\.\w).*>"
)
_BACKWARD = re.compile(r"<built-in method run_backward of torch\._C\._EngineBase object.*>\Z")
_GRADIENTS = "gradients of other ranks (run_backward)"
_WORLD, _RANK = re.compile(r'"world_size": (\d{1,9})\b'), re.compile(r'"rank": (\d{1,9})\b')


class _Role(IntEnum):
    """Part of a collective that an event is."""

    NONE = 0
    CALL = 1
    """The op that starts it, and ends when it is handed over or done."""
    RANGE = 2
    """The library runs it, on any thread."""
    WAIT = 3
    """A thread waits until it is done."""
    LAUNCH = 4
    """It is handed over to devices, which were not recorded."""


@dataclass(frozen=True, slots=True, eq=False)
class HostCollectives:
    """Collectives of a host.

    Attributes:
      ops: the distinct ones; spans: when each was under way, from its start to its end.
      blocking: events during which a thread only starts collectives or waits for them.
    """

    ops: tuple[Op, ...]
    spans: OpSpans
    blocking: I64


def host_collectives(space: XSpace, axis: ThreadAxis, recorded: Bools) -> HostCollectives:
    """The collectives of a plane of a host, among the events that `recorded` marks.

    One lasts from the op that starts it until the library's range for it ends; without ranges, until the wait that
    follows on the same thread ends.
    """
    plane = axis.plane
    of_name = np.array([_role(name) for name in plane.event_metadata.names], np.uint8)
    role = np.where(recorded, of_name[plane.events.metadata], _Role.NONE)
    calls, ranges, waits = (np.flatnonzero(role == kind) for kind in (_Role.CALL, _Role.RANGE, _Role.WAIT))
    blocking = np.concatenate([calls, waits])
    if bool((role == _Role.LAUNCH).any()):
        calls, waits = calls[:0], waits[:0]  # of collectives of devices, as far as the library has no range
    elif not len(blocking) + len(ranges):
        return _backward_waits(space, plane) if _distributed(space) else HostCollectives((), OpSpans(), blocking)
    calls, arguments = _outer(axis, calls)
    begin, end = spans_at(plane, calls)
    ranges = ranges[np.argsort(plane.events.begin_ps[ranges], kind="stable")]
    ran = _range_of_calls(axis, calls, ranges)
    runs = ran >= 0
    end[runs] = np.maximum(end[runs], spans_at(plane, ranges[ran[runs]])[1])
    waited = _last_before(axis, calls, waits)
    if len(ranges):
        whole, waits = runs, waits[:0]
    else:
        some = waited >= 0
        np.maximum.at(end, waited[some], spans_at(plane, waits[some])[1])
        whole, waits = np.bincount(waited[some], minlength=len(calls)) > 0, waits[~some]
    # An op that nothing follows ends with its collective, unless others show that they only hand theirs over.
    keep = np.flatnonzero(whole) if whole.any() else np.arange(len(calls))
    others = np.concatenate([np.delete(ranges, ran[runs]), waits])
    named = calls.copy()
    named[runs] = ranges[ran[runs]]
    begin, end = (
        np.concatenate([column[keep], more]) for column, more in zip((begin, end), spans_at(plane, others), strict=True)
    )
    named, arguments = np.concatenate([named[keep], others]), np.concatenate([arguments[keep], others])
    return HostCollectives(
        *_named(space, axis, named, np.where(arguments >= 0, arguments, named), (begin, end)), blocking
    )


def _distributed(space: XSpace) -> bool:
    """Whether the recording is of one of several ranks."""
    return (_of_distributed(space, _WORLD) or 0) > 1


def _of_distributed(space: XSpace, pattern: re.Pattern[str]) -> int | None:
    """A number of PyTorch's `distributedInfo`; None without one."""
    planes = (plane for plane in space.planes if plane.name == "Task Environment")
    texts = (text_of(space, plane, plane.stats, 0, "distributedInfo") for plane in planes)
    found = next((match for text in texts if (match := pattern.search(text))), None)
    return int(found[1]) if found else None


def _backward_waits(space: XSpace, plane: Plane) -> HostCollectives:
    """Of one of several ranks without a recorded collective: the end of each backward pass, in which no op runs.

    DistributedDataParallel waits there until all ranks have sent their gradients.
    """
    passes = events_named(plane, _BACKWARD.match)
    ops = events_named(plane, lambda name: parse_op(name).category == PYTORCH)
    begin, end = spans_at(plane, passes)
    ends = np.sort(spans_at(plane, ops)[1])
    last = np.searchsorted(ends, end, side="right") - 1
    since = np.maximum(begin, ends[last]) if len(ends) else begin
    since = np.where(last < 0, begin, since)
    keep = end > since
    op = Op(_GRADIENTS, 0, Work.COMMUNICATION, WAIT)
    count = int(keep.sum())
    work = np.full(count, Work.COMMUNICATION, np.uint8)
    spans = OpSpans(since[keep], end[keep], np.zeros(count, np.int32), work, passes[keep])
    return HostCollectives((op,) if count else (), ordered(spans), passes[:0])


@cached_by_name
def _role(name: str) -> _Role:
    parsed = parse_op(name)
    is_op = parsed.category == PYTORCH
    op = parsed.type if is_op else name.strip()
    if _WAIT.fullmatch(op):
        return _Role.WAIT
    library, _ = range_of(op)
    if library:
        return _Role.RANGE if runs_on_host(library) else _Role.LAUNCH
    return _Role.CALL if is_op and op_collective(op) else _Role.NONE


def is_collective(name: str) -> bool:
    """Whether an event of the name starts, runs or awaits a collective."""
    return _role(name) != _Role.NONE


def _shown(name: str) -> str:
    parsed = parse_op(name)
    return parsed.type if parsed.category == PYTORCH else name.strip()


def _outer(axis: ThreadAxis, calls: I64) -> tuple[I64, I64]:
    """The calls that are in no other, by begin on the axis, and per call the event with its arguments, else -1."""
    plane = axis.plane
    calls = calls[np.lexsort((-plane.events.duration_ps[calls], axis.begin(calls)))]
    outer = axis.outermost(calls)
    arguments = np.full(int(outer.sum()), -1)
    named = np.flatnonzero(among(calls, plane.events.stats.where(plane.stat_metadata.row(ARGUMENT))[0]))[::-1]
    arguments[np.cumsum(outer)[named] - 1] = calls[named]
    return calls[outer], arguments


def _range_of_calls(axis: ThreadAxis, calls: I64, ranges: I64) -> I64:
    """Per call the index of the library's range for it, -1 without; both of one kind are in the same order.

    `ranges` are by begin.
    """
    plane = axis.plane
    kinds: dict[str, int] = {}
    of_name = [kinds.setdefault(collective_kind(_shown(name)), len(kinds)) for name in plane.event_metadata.names]
    events = np.concatenate([calls, ranges])
    kind = np.array(of_name, np.int64)[plane.events.metadata[events]]
    opens = np.arange(len(events)) < len(calls)
    order = np.lexsort((~opens, plane.events.begin_ps[events]))
    opened, closed = pair_in_order(kind[order], opens[order])
    range_of_call = np.full(len(calls), -1)
    range_of_call[order[opened]] = order[closed] - len(calls)
    return range_of_call


def _last_before(axis: ThreadAxis, calls: I64, waits: I64) -> I64:
    """Per wait the index of the last call before it on the same thread, -1 without one; calls are by begin there."""
    index = np.searchsorted(axis.begin(calls), axis.begin(waits), side="right") - 1
    same = index >= 0
    same[same] = line_of(axis.plane, calls[index[same]]) == line_of(axis.plane, waits[same])
    return np.where(same, index, -1)


def _named(space: XSpace, axis: ThreadAxis, named: I64, arguments: I64, times: Times) -> tuple[tuple[Op, ...], OpSpans]:
    """The distinct collectives by what they are called and what they send, and their spans by begin."""
    plane = axis.plane
    names, metadata = plane.event_metadata.names, plane.events.metadata
    sent, sizes = sent_by(space, plane, arguments, metadata[arguments].astype(np.int64), names)
    op, first = row_codes(metadata[named].astype(np.int64), sent)
    ops = []
    for row, size in zip(metadata[named[first]].tolist(), sent[first].tolist(), strict=True):
        name = _shown(names[row])
        kind = WAIT if _role(names[row]) == _Role.WAIT else collective_kind(name) or UNKNOWN_KIND
        op_ = Op(name, 0, Work.COMMUNICATION, kind)
        ops.append(sizes[size].of(op_) if size >= 0 else op_)
    work = np.full(len(named), Work.COMMUNICATION, np.uint8)
    return tuple(ops), ordered(OpSpans(*times, op.astype(np.int32), work, named))
