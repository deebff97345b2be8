"""The answer of the source tool.

An object:

* `lines`: DataTable, one row per source line, most self time first; what has no location is the last row;
* `ops`: DataTable, one row per op, most self time first; `line` and `stack` are positions in `lines` and `stacks`;
* `buffers`: DataTable of what the program holds at its peak, the largest first, likewise;
* `frames`: DataTable of calls; `stacks` [positions of frames, innermost call first];
* `memory` {program, host, peak_bytes, programs: [{name, peak_bytes}]}; null if no program has buffers;
* `place`: where the ops ran ("device", "cpu", "framework device" or "framework host"); `total_ps`: observed time, idle
  time included; `cores`: number of device cores that times add up over, 0 if unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.hlo.source import Frame
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.run.figures.memory import MemoryAtPeak, run_program_peaks
from tpu_profile_plugin.run.figures.op import Stack
from tpu_profile_plugin.run.figures.source import SourceProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, integers, numbers, texts
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

NO_LOCATION_LABEL = "no location"
_MOST_PROGRAMS = 200
LINES = (
    texts("file", "File", "Source file, as the compiler recorded its path."),
    texts("function", "Function", "Function that contains the line."),
    integers("line", "Line", "", "Line in the file."),
    integers("self_ps", "Self time", "ps", "Time of the ops from the line, nested ops excluded, summed over devices."),
    numbers("share", "Share", "%", "Self time as a share of the self time of all ops."),
    integers("ops", "Ops", "", "Number of ops from the line."),
    integers("occurrences", "Runs", "", "Runs of these ops on all devices."),
    numbers("flops", "FLOPs", "FLOP", "Model FLOPs of all runs; ops that contain others count as 0."),
    numbers("bytes", "Bytes accessed", "bytes", "Memory traffic of all runs; ops that contain others count as 0."),
    integers("buffers", "Buffers", "", "Number of the program's buffers at its memory peak."),
    integers("peak_bytes", "At the peak", "bytes", "Size of these buffers."),
)
OPS = (
    texts("name", "Op", "HLO instruction, or the framework's op without a program."),
    texts("program_id", "Program id", "Id of the HLO program; empty if unknown."),
    texts("program", "Program", "The HLO module with its program id."),
    texts("category", "Category", "HLO category, or type of the framework's op."),
    texts("framework_op", "Framework op", "Framework op from which the op was compiled."),
    integers("line", "Line", "", "Position of its source line in `lines`."),
    integers("stack", "Stack", "", "Position of its call stack in `stacks`."),
    integers("self_ps", "Self time", "ps", "Time without nested ops, summed over devices."),
    integers("occurrences", "Runs", "", "Number of runs on all devices."),
    numbers("flops", "FLOPs", "FLOP", "Model FLOPs of all runs; ops that contain others count as 0."),
    numbers("bytes", "Bytes accessed", "bytes", "Memory traffic of all runs; ops that contain others count as 0."),
)
BUFFERS = (
    texts("name", "Buffer", "Instruction that defines the buffer, with its shape index."),
    texts("shape", "Shape", "Shape with layout."),
    texts("category", "Kind", "Parameter, output, constant, temporary or unknown."),
    texts("framework_op", "Framework op", "Framework op of the instruction; of an argument its path."),
    integers("line", "Line", "", "Position of its source line in `lines`."),
    integers("stack", "Stack", "", "Position of its call stack in `stacks`."),
    integers("size", "Size", "bytes", "Storage that the buffer takes up."),
)
FRAMES = (
    texts("file", "File", "Source file."),
    texts("function", "Function", "Function; empty if unknown."),
    integers("line", "Line", "", "Line in the file."),
)


def build(run: Run, query: Query) -> Json:
    """Lines, ops and buffers of the chosen hosts; without ops the same tables, empty."""
    try:
        found = run.source_profile(query.text("module_name"))
    except NoData:
        return Json(_empty())
    stacks = _Stacks()
    ops, buffers = _ops(found, stacks.codes(found.stacks)), _buffers(found, stacks)
    listed = stacks.listed()
    return Json(
        {
            "lines": _lines(found),
            "ops": ops,
            "buffers": buffers,
            "frames": stacks.table(),
            "stacks": listed,
            "memory": None if found.memory is None else _memory(found.memory, run),
            "place": found.ops.place,
            "total_ps": found.ops.total_ps,
            "cores": 0 if found.ops.summary is None else found.ops.summary.environment.device_cores,
        }
    )


def _empty() -> dict[str, Any]:
    tables = {"lines": LINES, "ops": OPS, "buffers": BUFFERS, "frames": FRAMES}
    empty = {name: Table(columns, [[] for _ in columns]) for name, columns in tables.items()}
    return {**empty, "stacks": [], "memory": None, "place": "device", "total_ps": 0, "cores": 0}


class _Stacks:
    """Numbers call stacks and the frames in them."""

    def __init__(self) -> None:
        self._stacks: dict[Stack, int] = {}
        self._frames: dict[Frame, int] = {}

    def codes(self, stacks: Iterable[Stack]) -> list[int]:
        """The numbers of stacks."""
        return [self._stacks.setdefault(stack, len(self._stacks)) for stack in stacks]

    def listed(self) -> list[list[int]]:
        """The stacks as positions of frames."""
        return [[self._frames.setdefault(frame, len(self._frames)) for frame in stack] for stack in self._stacks]

    def table(self) -> Table:
        """The frames of the stacks listed so far."""
        return Table(FRAMES, list(zip(*self._frames, strict=True)) or [[] for _ in FRAMES])


def _lines(found: SourceProfile) -> Table:
    lines = found.lines
    total = max(1, int(lines.self_ps.sum()))
    return Table(
        LINES,
        {
            "file": [NO_LOCATION_LABEL if line == NO_LOCATION else line[0] for line in lines.line],
            "function": [function for _, function, _ in lines.line],
            "line": [None if line == NO_LOCATION else line[2] for line in lines.line],
            "share": 100 * lines.self_ps / total,
            **{name: getattr(lines, name) for name in ("self_ps", "ops", "occurrences", "buffers", "peak_bytes")},
            "flops": _known(lines.flops),
            "bytes": _known(lines.bytes),
        },
    )


def _known(work: F64) -> F64:
    """Work of 0 is unknown work."""
    return np.where(work > 0, work, np.nan)


def _ops(found: SourceProfile, stacks: list[int]) -> Table:
    ops = found.ops
    return Table(
        OPS,
        {
            "program_id": _program_ids(found),
            "line": found.lines.of_op,
            "stack": stacks,
            "flops": _known(found.flops),
            "bytes": _known(found.bytes),
            **{name: getattr(ops, name) for name in ("name", "program", "category", "framework_op")},
            "self_ps": ops.self_ps,
            "occurrences": ops.occurrences,
        },
    )


def _program_ids(found: SourceProfile) -> list[str]:
    summary, rows = found.ops.summary, found.ops.rows.tolist()
    modules = (0 for _ in rows) if summary is None else (summary.records.table.module[row] for row in rows)
    return [str(module) if module else "" for module in modules]


def _buffers(found: SourceProfile, stacks: _Stacks) -> Table:
    held = () if found.memory is None else found.memory.buffers
    size: I64 = np.zeros(0, np.int64) if found.memory is None else found.memory.size
    names = ("name", "shape", "category", "framework_op")
    data: dict[str, Any] = {name: [getattr(one, name) for one in held] for name in names}
    numbered = stacks.codes(one.stack for one in held)
    return Table(BUFFERS, {**data, "line": found.lines.of_buffer, "stack": numbered, "size": size})


def _memory(memory: MemoryAtPeak, run: Run) -> dict[str, Any]:
    peaks = run_program_peaks(run)
    listed = [{"name": name, "peak_bytes": peak} for name, peak in list(peaks.items())[:_MOST_PROGRAMS] if peak]
    return {"program": memory.program, "host": memory.host, "peak_bytes": memory.peak_bytes, "programs": listed}


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
