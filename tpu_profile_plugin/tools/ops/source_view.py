"""Source: time, FLOPs, bytes and memory at the peak by file, function and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.catalogue.memory import SOURCE_BUFFERS
from tpu_profile_plugin.run.catalogue.ops import SOURCE_FRAMES, SOURCE_LINES, SOURCE_OPS
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.run.figures.memory import MemoryAtPeak, run_program_peaks
from tpu_profile_plugin.run.figures.ops import Place
from tpu_profile_plugin.run.figures.source import SourceProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

NO_LOCATION_LABEL = "no location"
_MOST_PROGRAMS = 200


@dataclass(frozen=True)
class ProgramPeakSize:
    """The memory peak of a program."""

    name: str
    peak_bytes: int


@dataclass(frozen=True)
class SourceMemory:
    """The program whose memory is shown by line.

    Attributes:
      program: `name(program id)`.
      host: the first that has it.
      programs: those to choose from, the largest peak first, 200 at most.
    """

    program: str
    host: str
    peak_bytes: int
    programs: Sequence[ProgramPeakSize]


@dataclass(frozen=True)
class Source(Document):
    """Cost by source line of the chosen hosts; without ops the tables are empty.

    Attributes:
      lines: one row per source line, most self time first; what has no location is the last row.
      ops: one row per op, most self time first; `line` and `stack` are positions in `lines` and `stacks`.
      buffers: what the program holds at its peak, the largest first, with `line` and `stack` as ops.
      frames: calls.
      stacks: positions of frames, innermost call first; empty without location.
      memory: null if no program has buffers.
      place: where the ops ran.
      total_ps: observed time, idle time included.
      cores: number of device cores that times add up over; 0 if unknown.
    """

    lines: Table
    ops: Table
    buffers: Table
    frames: Table
    stacks: Sequence[Sequence[int]] = ()
    memory: SourceMemory | None = None
    place: Place = "device"
    total_ps: int = 0
    cores: int = 0


def build(run: Run, query: Query) -> Source:
    """Lines, ops and buffers of the chosen hosts."""
    try:
        profile = run.source_profile(query.text("module_name"))
    except NoData:
        declared = (SOURCE_LINES, SOURCE_OPS, SOURCE_BUFFERS, SOURCE_FRAMES)
        lines, no_ops, buffers, calls = (Table(columns, [[] for _ in columns]) for columns in declared)
        return Source(lines, no_ops, buffers, calls)
    ops, memory = profile.ops, profile.memory
    held = () if memory is None else memory.buffers
    every = [*profile.stacks, *(buffer.stack for buffer in held)]
    stacks = {stack: number for number, stack in enumerate(dict.fromkeys(every))}
    frames = {frame: number for number, frame in enumerate(dict.fromkeys(frame for stack in stacks for frame in stack))}
    numbered = [stacks[stack] for stack in every]
    return Source(
        lines=_lines(profile),
        ops=_ops(profile, numbered[: len(ops)]),
        buffers=Table.of_rows(
            SOURCE_BUFFERS,
            held,
            {
                "line": profile.lines.of_buffer,
                "stack": numbered[len(ops) :],
                "size": np.zeros(0, np.int64) if memory is None else memory.size,
            },
        ),
        frames=Table(SOURCE_FRAMES, list(zip(*frames, strict=True)) or [[] for _ in SOURCE_FRAMES]),
        stacks=[[frames[frame] for frame in stack] for stack in stacks],
        memory=None if memory is None else _memory(memory, run),
        place=ops.place,
        total_ps=ops.total_ps,
        cores=0 if ops.summary is None else ops.summary.environment.device_cores,
    )


def _lines(profile: SourceProfile) -> Table:
    lines = profile.lines
    total = max(1, int(lines.self_ps.sum()))
    cells = {
        "file": [NO_LOCATION_LABEL if line == NO_LOCATION else line[0] for line in lines.line],
        "function": [function for _, function, _ in lines.line],
        "line": [None if line == NO_LOCATION else line[2] for line in lines.line],
        "share": 100 * lines.self_ps / total,
        "occurrences": lines.occurrences,
        "flops": _known(lines.flops),
        "bytes": _known(lines.bytes),
    }
    return Table.of(SOURCE_LINES, lines, cells)


def _known(work: F64) -> F64:
    """Work of 0 is unknown work."""
    return np.where(work > 0, work, np.nan)


def _ops(profile: SourceProfile, stacks: Sequence[int]) -> Table:
    ops = profile.ops
    summary, rows = ops.summary, ops.rows.tolist()
    modules = [0] * len(rows) if summary is None else [summary.records.table.module[row] for row in rows]
    names = ("name", "program", "category", "framework_op", "self_ps", "occurrences")
    return Table(
        SOURCE_OPS,
        {
            **{name: getattr(ops, name) for name in names},
            "program_id": [str(module) if module else "" for module in modules],
            "line": profile.lines.of_op,
            "stack": stacks,
            "flops": _known(profile.flops),
            "bytes": _known(profile.bytes),
        },
    )


def _memory(memory: MemoryAtPeak, run: Run) -> SourceMemory:
    peaks = list(run_program_peaks(run).items())[:_MOST_PROGRAMS]
    programs = [ProgramPeakSize(name, peak) for name, peak in peaks if peak]
    return SourceMemory(memory.program, memory.host, memory.peak_bytes, programs)


TOOL = Tool(
    id="source_view",
    title="Source",
    group="Ops",
    summary="Time, FLOPs, bytes and memory at the peak by file, function and line.",
    build=build,
    params=(
        Param(
            "module_name", "string", "", "Program whose memory is shown, `name(program id)`; the largest peak without."
        ),
    ),
    lacks=lacks_devices,
)
