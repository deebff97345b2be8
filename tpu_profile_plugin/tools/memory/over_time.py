"""Memory of a program and of an allocator over time: parts that add up to it, and what lives at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.op_names import parse_op, shown_event
from tpu_profile_plugin.analysis.hlo.programs import Frame
from tpu_profile_plugin.analysis.memory.scaling import RECOMPILED, Corner
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.catalogue.memory import BLOCKS, PIECES
from tpu_profile_plugin.run.figures.memory_over_time import host_memory_over_time
from tpu_profile_plugin.run.figures.recorded_memory import RecordedOverTime, Stack, host_recorded_memory, line_of_ops
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, lacks_modules, requested_program
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

_MOST_CHOSEN = 10_000


@dataclass(frozen=True)
class MemoryPart:
    """Memory of a kind, or of a region, op or step.

    Attributes:
      bytes: one per shown instant.
    """

    name: str
    bytes: I64


@dataclass(frozen=True)
class LineMemory:
    """Memory of buffers that a source line makes.

    Attributes:
      file: "" of other lines together, and of buffers without a location.
      line: null likewise.
      label: short form.
      bytes: one per shown instant.
    """

    file: str
    function: str
    line: int | None
    label: str
    bytes: I64


@dataclass(frozen=True)
class ProgramMemoryOverTime(Document):
    """Memory of a program at each instant, what lives at one, and how it grows with the batch; sizes are bytes.

    Attributes:
      program: `module(program id)`.
      host: the first that has it.
      device_bytes: memory of a device; 0 if unknown.
      instants: number of events of the heap simulation.
      peak: the first instant with most.
      peak_bytes: memory at the peak, as in the memory viewer.
      shown: instants of the series, with the highest of each stretch.
      names: instruction before each shown instant.
      heap: one per shown instant.
      categories: parts of the heap by kind; they add up to it.
      lines: parts of the heap by source line; they add up to it.
      instant: the one whose buffers are listed.
      live_bytes: all buffers that live at it.
      live: the largest of these.
      batch: size of the batch; 0 if unknown.
      corners: `[fixed, scaled, above]`: the peak at k times the batch is the largest fixed + k * scaled of those with
        k > above.
      recompiled: what programs compiled anew needed at least and at most, as factors of the prediction.
      assumed: the largest buffers of the program, with what is assumed of them.
    """

    program: str
    host: str
    device_bytes: int
    instants: int
    peak: int
    peak_bytes: int
    shown: I64
    names: Sequence[str]
    heap: I64
    categories: Sequence[MemoryPart]
    lines: Sequence[LineMemory]
    instant: int
    live_bytes: int
    live: Table
    batch: int
    corners: Sequence[Corner]
    recompiled: tuple[float, float]
    assumed: Table


def _program(run: Run, query: Query) -> ProgramMemoryOverTime:
    """The memory of the requested program; the largest module without a name."""
    host, program = requested_program(run, query)
    choice = [_numbers(query, name) for name in ("fixed", "scaled")]
    found = host_memory_over_time(host, program.program_id, query.integer("instant"), *choice)
    return ProgramMemoryOverTime(
        program=found.program,
        host=found.host,
        device_bytes=found.device_bytes,
        instants=found.instants,
        peak=found.peak,
        peak_bytes=found.peak_bytes,
        shown=found.shown,
        names=found.names,
        heap=found.heap,
        categories=[MemoryPart(name, values) for name, values in found.categories.items()],
        lines=[_line(line, values) for line, values in found.lines],
        instant=found.instant,
        live_bytes=found.live_bytes,
        live=Table.of_rows(PIECES, found.live),
        batch=found.batch,
        corners=found.corners,
        recompiled=RECOMPILED,
        assumed=Table.of_rows(PIECES, found.assumed),
    )


def _numbers(query: Query, name: str) -> tuple[int, ...]:
    """A comma-separated list of numbers of buffers."""
    parts = [part for part in query.text(name).split(",") if part]
    if len(parts) > _MOST_CHOSEN or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise BadRequest(f"Parameter {name!r} must be numbers of buffers, separated by commas.", parameter=name)
    return tuple(sorted({int(part) for part in parts}))


def _line(line: Frame | None, values: I64) -> LineMemory:
    if line is None or line == NO_LOCATION:
        return LineMemory("", "", None, "other lines" if line is None else "no location", values)
    file, function, number = line
    label = f"{file.replace(chr(92), '/').rpartition('/')[2]}:{number}{f' ({function})' if function else ''}"
    return LineMemory(file, function, number, label, values)


PROGRAM = Tool(
    id="memory_over_time",
    title="Memory over time",
    group="Memory",
    summary="Memory of a program at each instant by kind and source line, what lives there, and how it grows.",
    build=_program,
    params=(
        *PARAMS,
        Param("instant", "int", -1, "Instant whose buffers are listed; -1 is the peak.", minimum=-1),
        Param("fixed", "string", "", "Numbers of buffers that do not grow with the batch, separated by commas."),
        Param("scaled", "string", "", "Numbers of buffers that grow with the batch, separated by commas."),
    ),
    lacks=lacks_modules,
    offered=False,
)


@dataclass(frozen=True)
class AllocationsOverTime(Document):
    """Memory of an allocator after each of its events; sizes are bytes, times whole picoseconds of the recording.

    Attributes:
      memory: name of the allocator.
      instants: number of its events.
      peak: the first event after which most is in use.
      shown: events of the series, with the highest of each stretch.
      time_ps: one per shown event.
      heap: memory in use, one per shown event.
      stacks: parts of the heap for `region`, `op`, `step` and `line`; those of each add up to it.
      instant: the event after which blocks are listed.
      at_ps: time of this event.
      live_bytes: of all blocks recorded and in use then.
      blocks: number of these blocks.
      rest_bytes: memory in use then that no recorded block accounts for.
      live: these blocks, the largest first, at most 500.
    """

    memory: str
    host: str
    instants: int
    peak: int
    shown: I64
    time_ps: I64
    heap: I64
    stacks: Mapping[Stack, Sequence[MemoryPart]]
    instant: int
    at_ps: int
    live_bytes: int
    blocks: int
    rest_bytes: int
    live: Table


def _allocator(run: Run, query: Query) -> AllocationsOverTime:
    """The memory of an allocator; of the one with the highest peak without a name."""
    if len(run.profiles) > 1:
        hosts = [host.name for host in run.profiles]
        raise BadRequest("Allocations are shown for one host: select one with 'host'.", parameter="host", hosts=hosts)
    found = host_recorded_memory(run.profiles[0], query.text("memory_id"), query.integer("instant"))
    return AllocationsOverTime(
        memory=found.memory,
        host=found.host,
        instants=found.instants,
        peak=found.peak,
        shown=found.shown,
        time_ps=found.time_ps,
        heap=found.heap,
        stacks={by: [MemoryPart(name, values) for name, values in parts.items()] for by, parts in found.stacks.items()},
        instant=found.instant,
        at_ps=found.at_ps,
        live_bytes=found.live_bytes,
        blocks=found.blocks,
        rest_bytes=found.rest_bytes,
        live=_blocks(run, found),
    )


def _blocks(run: Run, found: RecordedOverTime) -> Table:
    lines = line_of_ops(run)
    sources = [block.source or lines.get(parse_op(block.op).name, "") for block in found.live]
    names = [shown_event(block.op) for block in found.live]
    return Table.of_rows(BLOCKS, found.live, {"op": names, "source": sources})


ALLOCATOR = Tool(
    id="allocations_over_time",
    title="Allocations over time",
    group="Memory",
    summary="Memory of an allocator over the recording by region, op, step and line, and the blocks at a moment.",
    build=_allocator,
    hosts=HostChoice.ONE,
    params=(
        Param("memory_id", "string", "", "The allocator: number of a device, or name; the fullest without one."),
        Param("instant", "int", -1, "Event after which the blocks are listed; -1 is the peak.", minimum=-1),
    ),
    offered=False,
)
