"""Time on devices, work and memory of a run by file, function and line of its source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.hlo.source import Frame
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION, LineSums, OpFigures, sums_by_line
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.run.figures.op_rates import OpRates, run_op_rates
from tpu_profile_plugin.run.figures.op_stacks import Stack, run_op_stacks
from tpu_profile_plugin.run.figures.program_memory import MemoryAtPeak, run_memory_at_peak
from tpu_profile_plugin.run.hosts import RunHosts


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
    figures = OpFigures(ops.occurrences, ops.self_ps, flops, traffic)
    held, size = _buffer_lines(memory)
    return SourceProfile(ops, found.stacks, flops, traffic, memory, sums_by_line(found.lines, figures, held, size))


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
