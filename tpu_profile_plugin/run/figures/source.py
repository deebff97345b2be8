"""The lines of the program's source by the time of the ops that were compiled from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.reasons import NO_PYTHON, NO_SOURCE
from tpu_profile_plugin.analysis.hlo.programs import Frame, written_stack
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION, LineSums, sums_by_line
from tpu_profile_plugin.analysis.timeline.stacks import Stacks, thread_stacks
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.run.facts import frameworks_of
from tpu_profile_plugin.run.figures.memory import MemoryAtPeak, run_memory_at_peak
from tpu_profile_plugin.run.figures.op import Stack, run_op_stacks
from tpu_profile_plugin.run.figures.ops import OpRates, Texts, objects, run_op_rates
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts

_CHOICES = 20


@dataclass(frozen=True, eq=False)
class SourceLines:
    """Lines of the source, most self time first.

    Attributes:
      ops: all ops.
      at: positions of the ops from these lines, most self time first.
      by_stack: no op is from the place itself; it is in the call stacks of these ops.
      line: `file:line`.
      self_ps: int64[lines], summed over the ops of each line; share: float64[lines], as a fraction of `ops.total_ps`.
      count: int64[lines], number of ops.
      longest: int64[lines], position of the op with most self time.
    """

    ops: OpRates
    at: I64
    by_stack: bool
    line: Texts
    self_ps: I64
    share: F64
    count: I64
    longest: I64


def run_source(run: RunHosts, place: str = "") -> SourceLines:
    """The source lines of the ops, all or those of a place, `FILE` or `FILE:LINE`; `FILE` may be the end of a path.

    Raises NoData if no op has a source line, NotFound with `argument` and `choices` if none is from the place.
    """
    ops = run_op_rates(run)
    has_source = np.flatnonzero(ops.source != "")
    if not len(has_source):
        raise NO_SOURCE.error()
    if not place:
        return _lines(ops, has_source, by_stack=False)
    at = np.array([row for row in has_source.tolist() if _is_of(ops.source[row], place)], np.int64)
    if len(at):
        return _lines(ops, at, by_stack=False)
    at = np.array(
        [row for row in has_source.tolist() if any(_is_of(call, place) for call in _stack(ops, row))], np.int64
    )
    if len(at):
        return _lines(ops, at, by_stack=True)
    found = _lines(ops, has_source, by_stack=False)
    wanted = place.rpartition("/")[2].partition(":")[0].lower()
    alike = [line for line in found.line if wanted and wanted in line.lower()]
    choices = (alike or list(found.line))[:_CHOICES]
    message = f"No op is from {place[:200]!r}; most time is from {', '.join(choices[:3])}."
    raise NotFound(message, code="source_not_found", argument="place", choices=choices)


def _stack(ops: OpRates, at: int) -> Iterator[str]:
    """The calls that lead to an op, as `file:line`."""
    assert ops.summary is not None
    for file, _, line in written_stack(ops.summary.records.text[int(ops.rows[at])].source_stack):
        yield f"{file}:{line}"


def _is_of(source: str, place: str) -> bool:
    """Whether `file:line` is in the place."""
    file = source.rpartition(":")[0]
    return any(text == place or text.endswith(f"/{place.lstrip('/')}") for text in (source, file))


def _lines(ops: OpRates, at: I64, *, by_stack: bool) -> SourceLines:
    line, first, of = np.unique(ops.source[at].astype(str), return_index=True, return_inverse=True)
    self_ps = np.zeros(len(line), np.int64)
    np.add.at(self_ps, of, ops.self_ps[at])
    order = np.argsort(-self_ps, kind="stable")
    return SourceLines(
        ops,
        at,
        by_stack,
        objects(line[order].tolist()),
        self_ps[order],
        self_ps[order] / max(1, ops.total_ps),
        np.bincount(of, minlength=len(line))[order],
        at[first[order]],  # the first op of a line has most time
    )


# Time on devices, work and memory of a run by file, function and line of its source.


@dataclass(frozen=True, eq=False)
class SourceProfile:
    """What the source lines of a run cost.

    Attributes:
      ops: all ops.
      stacks: of each op, innermost call first; empty without location.
      flops, bytes: float64[ops], of all occurrences, 0 for ops that contain others, whose work is that of the others.
      memory: what a program holds at its peak; None if no program has buffers.
      lines: sums by line.
    """

    ops: OpRates
    stacks: tuple[Stack, ...]
    flops: F64
    bytes: F64
    memory: MemoryAtPeak | None
    lines: LineSums

    @property
    def located_ps(self) -> int:
        """Self time of the ops with a line."""
        known = np.array([line != NO_LOCATION for line in self.lines.line], np.bool_)
        return int(self.lines.self_ps[known].sum())


def run_source_profile(run: RunHosts, program: str = "") -> SourceProfile:
    """The ops of the chosen hosts and the memory of a program by line. Raises NoData without ops, NotFound."""
    ops = run_op_rates(run)
    found = run_op_stacks(run, ops)
    memory = run_memory_at_peak(run, program)
    flops, traffic = _work(ops)
    sums = sums_by_line(found.lines, ops.occurrences, ops.self_ps, flops, traffic, *_buffer_lines(memory))
    return SourceProfile(ops, found.stacks, flops, traffic, memory, sums)


def _work(ops: OpRates) -> tuple[F64, F64]:
    """FLOPs and bytes of each op."""
    if ops.summary is None:
        return np.zeros(len(ops)), np.zeros(len(ops))
    records = ops.summary.records
    inner = np.array([records.inside(row) is None for row in ops.rows.tolist()], np.bool_)
    contains = (ops.time_ps > ops.self_ps) & inner
    flops, traffic = records.table.model_flops[ops.rows], records.traffic[ops.rows].sum(axis=(1, 2))
    return np.where(contains, 0.0, flops), np.where(contains, 0.0, traffic)


def _buffer_lines(memory: MemoryAtPeak | None) -> tuple[list[Frame], I64]:
    if memory is None:
        return [], np.zeros(0, np.int64)
    return [one.stack[0] if one.stack else NO_LOCATION for one in memory.buffers], memory.size


# Time of the host threads that run Python, by call stack.

_FRAME = "$"
"""Names of Python frames begin with it."""


@dataclass(frozen=True, slots=True, eq=False)
class HostStacks:
    """Stacks of the threads with Python frames, of each host by name; threads are the outermost frames."""

    hosts: tuple[tuple[str, Stacks], ...]


@per_host()
def host_python_stacks(host: HostProfile) -> Stacks:
    """The stacks of one host; none without Python frames."""
    space = host.lazy
    plane = host_plane(space)
    if plane is None:
        return Stacks()
    space.decode([plane])
    frames = np.array([name.startswith(_FRAME) for name in plane.event_metadata.names], np.bool_)
    if not frames.any():
        return Stacks()
    starts = plane.lines.event_start.astype(np.int64)
    before = np.concatenate(([0], np.cumsum(frames[plane.events.metadata])))
    lines = before[starts[1:]] > before[starts[:-1]]
    return thread_stacks(plane, lines, plane.lines.name) if lines.any() else Stacks()


def run_python_stacks(run: RunHosts) -> HostStacks:
    """The stacks of the chosen hosts. Raises NoData without Python frames."""
    each = run.map_hosts(host_python_stacks)
    # Only now it is known which hosts can be read.
    hosts = tuple((host.name, stacks) for host, stacks in zip(run.readable, each, strict=True) if len(stacks))
    if not hosts:
        raise NO_PYTHON.error(frameworks_of(run))
    return HostStacks(hosts)
