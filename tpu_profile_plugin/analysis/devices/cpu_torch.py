"""PyTorch on the CPU as a device: its outermost ops on every thread; each call returns when the op has run."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import GRAPH, PYTORCH, compiles_torch, parse_op
from tpu_profile_plugin.analysis.common.planes import events_named, on_recorded_line
from tpu_profile_plugin.analysis.common.rows import among, joined
from tpu_profile_plugin.analysis.common.spans import Times, contains, join, no_time, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work, ops_of_names, ordered
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis, fits_one_axis
from tpu_profile_plugin.analysis.devices.torch_collectives import host_collectives, is_collective
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

NAME = "CPU (PyTorch)"
_NEXT = ("enumerate(DataLoader)", "DataLoader:")
"""Begins of the ranges in which the program waits for its next batch, or makes it."""
_NATIVE = "aten::"
"""Begin of the names of ops that PyTorch itself implements, none of them in Python."""

COMPILED = "Torch-Compiled Region"
"""What runs a compiled function, and the scope of its ops that no graph holds."""
_COMPILED, _GRAPH = re.compile(rf"(?:\A|/){COMPILED}"), re.compile(rf"(?:\A|/)## Call {GRAPH}")
_RUNS_GRAPH = re.compile(r"(?:\A|/)CompiledFunction(?:Backward)?\Z")
"""What runs a graph for the forward or the backward pass: of some backends as ops, one by one."""


def runs_pytorch(plane: Plane) -> bool:
    """Whether the plane declares ops of PyTorch."""
    return any(parse_op(name).category == PYTORCH for name in plane.declared.event_metadata.names)


def pytorch_devices(space: XSpace, plane: Plane) -> list[Device]:
    """The host's CPU as one device, if PyTorch ran ops on it; else none.

    Its runs are the ops that no other op encloses on their thread, without those that run while PyTorch compiles, and
    without the parts in which they wait for a collective or for compilation or run Python; of compiled functions the
    ops and graphs inside, and what is left; and collectives, during which other ops may run. Ops that a DataLoader runs
    in the program's own process are part of it: the range of the next batch is `Work.INPUT`.
    """
    if not runs_pytorch(plane) or not fits_one_axis(plane):
        return []
    metadata = plane.events.metadata
    ops, op_of_row = ops_of_names(plane.event_metadata.names, _op)
    axis, recorded = ThreadAxis(plane), on_recorded_line(plane)
    compiling = events_named(plane, compiles_torch)
    compiling = compiling[recorded[compiling]]
    collectives = host_collectives(space, axis, recorded)
    events = np.flatnonzero((op_of_row >= 0)[metadata] & recorded)
    events = events[~axis.inside(events, compiling)]
    python, cuts = _python_inside(axis, events), np.concatenate([collectives.blocking, compiling])
    spans = _runs(axis, events, [op.name for op in ops], op_of_row, (cuts, python))
    ops, op = _outside_graphs(axis, events, spans, ops, op_of_row)
    work = np.array([op.work for op in ops], np.uint8)[op]
    runs = OpSpans(spans.begin_ps, spans.end_ps, op.astype(np.int32), work, spans.event)
    exchanged = replace(collectives.spans, op=(collectives.spans.op + len(ops)).astype(np.int32))
    runs = ordered(joined([runs, exchanged]))
    return [Device(NAME, "cpu", 0, plane.index, (*ops, *collectives.ops), runs)] if len(runs) else []


def _runs(axis: ThreadAxis, events: I64, names: list[str], op_of_row: I64, cuts: tuple[I64, Times]) -> OpSpans:
    """The outermost ops, and what they leave of the outermost graphs, and these of the compiled functions around."""
    op = op_of_row[axis.plane.events.metadata[events]]
    layers = _GRAPH, _RUNS_GRAPH, _COMPILED
    kind = np.array([next((i + 1 for i, one in enumerate(layers) if one.search(name)), 0) for name in names])[op]
    inside, also = cuts
    found = []
    for layer in range(len(layers) + 1):
        mine = events[kind == layer]
        mine = mine[axis.outermost(mine)]
        found.append(_without(axis, mine, inside, also))
        inside = np.append(inside, mine)
    return joined(found)


def _outside_graphs(
    axis: ThreadAxis, events: I64, spans: OpSpans, ops: tuple[Op, ...], op_of_row: I64
) -> tuple[tuple[Op, ...], I64]:
    """The ops with their own ones for those that compiled functions run outside of their graphs, and that of each run.

    There they run one by one, because the graph broke.
    """
    op, known = op_of_row[axis.plane.events.metadata[spans.event]], op_of_row[axis.plane.events.metadata[events]]
    graphs, functions = (
        events[np.array([any(pattern.search(one.name) for pattern in patterns) for one in ops], np.bool_)[known]]
        for patterns in ((_GRAPH, _RUNS_GRAPH), (_COMPILED,))
    )
    native = np.array([_is_native(one.name) for one in ops], np.bool_)
    loose = native[op] & axis.inside(spans.event, functions) & ~axis.inside(spans.event, graphs)
    which, of = np.unique(op[loose], return_inverse=True)
    op[loose] = len(ops) + of.reshape(-1)
    return (*ops, *(replace(ops[row], name=f"{COMPILED}/{ops[row].name}") for row in which.tolist())), op


def _is_native(name: str) -> bool:
    return name.rpartition("/")[2].startswith(_NATIVE)


def _python_inside(axis: ThreadAxis, ops: I64) -> Times:
    """When Python functions run in native ops, as in debug modes, without the ops that these functions call.

    Ops of other libraries may be functions of Python that compute.
    """
    plane = axis.plane
    names = plane.event_metadata.names
    native = np.array([_is_native(name) for name in names], np.bool_)
    frame = np.array([name.startswith("$") for name in names], np.bool_)
    around = ops[native[plane.events.metadata[ops]]]
    frames = np.flatnonzero(frame[plane.events.metadata])
    frames = frames[axis.inside(frames, around)]
    if not len(frames):
        return no_time()
    begin, called = axis.begin(frames), ops[axis.inside(ops, frames)]
    since = axis.begin(called)
    python = times_of(begin, begin + plane.events.duration_ps[frames])
    return subtract(python, times_of(since, since + plane.events.duration_ps[called]))


def _without(axis: ThreadAxis, events: I64, cuts: I64, also: Times) -> OpSpans:
    """The events, none of which overlap on their thread, without parts that others or a set cut out; no ops yet."""
    plane = axis.plane
    begin = axis.begin(events)
    order = np.argsort(begin, kind="stable")
    events, begin = events[order], begin[order]
    whole = begin, begin + plane.events.duration_ps[events]
    cut = axis.begin(cuts)
    since, until = subtract(whole, join(times_of(cut, cut + plane.events.duration_ps[cuts]), also))
    # Events that follow each other without a gap are one span of the difference.
    inner = begin[contains((since, until), begin) & ~among(begin, since)]
    since, until = np.sort(np.concatenate([since, inner])), np.sort(np.concatenate([until, inner]))
    event = events[np.searchsorted(begin, since, side="right") - 1] if len(events) else events
    shift = plane.events.begin_ps[event] - axis.begin(event)
    none = np.zeros(len(event), np.int32)
    return OpSpans(since + shift, until + shift, none, none.astype(np.uint8), event)


def _op(name: str) -> Op | None:
    """The op or wait that an event is named after; None for other events."""
    if name.startswith(_NEXT):
        return Op(name, 0, Work.INPUT)
    parsed = parse_op(name)
    # Some versions record a graph as a range of the program.
    is_op = (parsed.category == PYTORCH or _GRAPH.search(name)) and not is_collective(name) and not compiles_torch(name)
    return Op(parsed.name, 0, Work.COMPUTE) if is_op else None
