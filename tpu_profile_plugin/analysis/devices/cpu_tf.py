"""TensorFlow on the CPU without XLA, as a device: the ops that executors and eager calls run, on any thread."""

from __future__ import annotations

import re

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW, parse_op
from tpu_profile_plugin.analysis.common.planes import events_named, line_of, recorded_lines, rows_named, spans_at
from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work, ops_of_names, ordered
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis, fits_one_axis
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

NAME = "CPU (TensorFlow)"
_EXECUTOR = "ExecutorState::Process"
"""A part of a graph's execution on one thread; its `id` is that of the execution."""
_EAGER_KERNEL = "KernelAndDeviceFunc::Run"
"""An eager call of an op or of a function."""
_CALL = "EagerLocalExecute: "
_RUNNERS = frozenset((_EXECUTOR, _EAGER_KERNEL, "EagerKernelExecute", "FunctionRun", "SessionRun", "RunGraph"))
_MAPPED = "InstantiatedCapturedFunction::Run"
"""tf.data runs a function of the program; executions with the same id are its."""
_PIPELINE_THREADS = "tf_data_"
_FETCH = re.compile(r"IteratorGetNext\w{0,100}:(?::DoCompute|\w{1,100})\Z")
"""The program waits for the next element of its input pipeline."""
_INPUT_TYPE = re.compile(r"Iterator|Dataset|OptionalGetValue|OptionalHasValue|OptionalFromValue|Prefetch")
_CONTAINER_TYPE = re.compile(
    r"(?:Stateless|Stateful)?(?:While|If|Case|PartitionedCall)\Z|(?:For|RemoteCall)\Z|__inference_"
)
_REWRITTEN = re.compile(r"_(?:Mkl)?(?:Native)?(?:Fused)?(?=[A-Z])")
"""Begin of the type of an op that stands for several, and bears the name of the last, or comes from a library."""


def runs_tensorflow(plane: Plane) -> bool:
    """Whether the plane declares what TensorFlow records when it executes graphs or eager ops on the CPU."""
    metadata = plane.declared.event_metadata
    return any(name in (_EXECUTOR, _EAGER_KERNEL) for name in metadata.names)


def tensorflow_devices(space: XSpace, plane: Plane) -> list[Device]:
    """The host's CPU as one device, if TensorFlow executed ops on it; else none.

    Its runs are the events of ops that an executor or an eager call encloses on the same thread, without those of input
    pipelines, and calls of eager ops that record no event of their own. Ops that consist of others are left out where
    those were recorded. Waiting for the next element of the input, in the graph or outside, is `Work.INPUT`.
    """
    if not runs_tensorflow(plane) or not fits_one_axis(plane):
        return []
    axis = ThreadAxis(plane)
    ops, op_of_row = ops_of_names(plane.event_metadata.names, _op)
    # Most events are none of these, and where they are in the program does not matter.
    wanted = (op_of_row >= 0) | rows_named(plane, lambda name: name in _RUNNERS or name.startswith(_CALL))
    program = _of_program(space, axis, np.flatnonzero(wanted[plane.events.metadata]))
    events = program[(op_of_row >= 0)[plane.events.metadata[program]]]
    work = np.array([op.work for op in ops], np.uint8)
    op = op_of_row[plane.events.metadata[events]]
    enclosed = axis.inside(events, events_named(plane, _RUNNERS.__contains__))
    keep = enclosed | (work[op] == Work.INPUT)
    events, op = events[keep], op[keep]
    eager, eager_op, ops = _eager_kernels(axis, program, events, ops)
    events, op = np.concatenate([events, eager]), np.concatenate([op, eager_op])
    work = np.array([op.work for op in ops], np.uint8)
    spans = OpSpans(*spans_at(plane, events), op.astype(np.int32), work[op], events)
    spans = _without_containers(ordered(spans))
    return [Device(NAME, "cpu", 0, plane.index, ops, spans)] if len(spans) else []


def _of_program(space: XSpace, axis: ThreadAxis, events: I64) -> I64:
    """Without those of tf.data's own threads and of functions that tf.data executes on others."""
    plane = axis.plane
    line = line_of(plane, events)
    pipeline = np.array([name.startswith(_PIPELINE_THREADS) for name in plane.lines.name], np.bool_)
    fetch = rows_named(plane, _FETCH.search)[plane.events.metadata[events]]
    events = events[recorded_lines(plane)[line] & (~pipeline[line] | fetch)]
    mapped = events_named(plane, lambda name: name.startswith(_MAPPED))
    if not len(mapped):
        return events
    number, numbered = read.ints(space, plane, plane.events.stats, "id")
    parts = events_named(plane, _EXECUTOR.__eq__)
    parts = parts[numbered[parts]]
    parts = parts[among(number[parts], np.sort(number[mapped[numbered[mapped]]]))]
    return events[~axis.inside(events, np.concatenate([parts, mapped]))]


def _op(name: str) -> Op | None:
    """The op that an event is named after; None for other events."""
    if _FETCH.search(name):
        return Op(name.partition("Op::")[0], 0, Work.INPUT)
    parsed = parse_op(name)
    if ":" not in name or parsed.category != TENSORFLOW or _INPUT_TYPE.search(parsed.type):
        return None
    work = Work.CONTROL if _CONTAINER_TYPE.match(parsed.type) else Work.COMPUTE
    return Op(parsed.name, 0, work, type=_REWRITTEN.sub("", parsed.type))


def _eager_kernels(
    axis: ThreadAxis, candidates: I64, ops_run: I64, ops: tuple[Op, ...]
) -> tuple[I64, I64, tuple[Op, ...]]:
    """Eager calls of ops that recorded nothing within: the events, their ops, and all ops with those added.

    The op is named by the call around; calls of functions contain the start of an execution.
    """
    plane = axis.plane
    names, metadata = plane.event_metadata.names, plane.events.metadata
    kernels = candidates[rows_named(plane, _EAGER_KERNEL.__eq__)[metadata[candidates]]]
    calls = candidates[rows_named(plane, lambda name: name.startswith(_CALL))[metadata[candidates]]]
    if not len(kernels) or not len(calls):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), ops
    starts = _RUNNERS - {_EAGER_KERNEL, "EagerKernelExecute"}
    inner = candidates[rows_named(plane, starts.__contains__)[metadata[candidates]]]
    begins = np.sort(axis.begin(np.concatenate([inner, ops_run])))
    begin = axis.begin(kernels)
    end = begin + plane.events.duration_ps[kernels]
    empty = np.searchsorted(begins, begin) == np.searchsorted(begins, end)
    kernels, begin = kernels[empty], begin[empty]
    start = axis.begin(calls)
    order = np.argsort(start, kind="stable")
    calls, start = calls[order], start[order]
    call = np.searchsorted(start, begin, side="right") - 1
    called = call >= 0
    called[called] = begin[called] < start[call[called]] + plane.events.duration_ps[calls[call[called]]]
    kernels, call = kernels[called], call[called]
    rows, which = np.unique(metadata[calls[call]], return_inverse=True)
    types = [names[row].removeprefix(_CALL) for row in rows.tolist()]
    which = which.reshape(-1)
    wanted = np.array([not _INPUT_TYPE.search(kind) for kind in types], np.bool_)[which]
    return kernels[wanted], which[wanted] + len(ops), (*ops, *(Op(kind, 0, Work.COMPUTE) for kind in types))


def _without_containers(spans: OpSpans) -> OpSpans:
    """Ops that consist of others count as computation only if none of the others was recorded."""
    container = spans.work == Work.CONTROL
    if not container.any():
        return spans
    begin = spans.begin_ps[~container]
    holds = np.searchsorted(begin, spans.begin_ps) < np.searchsorted(begin, spans.end_ps)
    work = np.where(container, Work.COMPUTE, spans.work).astype(np.uint8)
    opaque = OpSpans(spans.begin_ps, spans.end_ps, spans.op, work, spans.event)
    return opaque.where(~(container & holds))
