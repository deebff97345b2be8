"""Memory viewer: memory use of a compiled program, and the buffers at its peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import UNKNOWN_PROGRAM
from tpu_profile_plugin.analysis.hlo.programs import Source, source_of
from tpu_profile_plugin.analysis.memory.allocations import DeviceMemory
from tpu_profile_plugin.analysis.memory.buffers import (
    VECTOR_SPACE,
    Block,
    HloPosition,
    MemoryLayout,
    PeakBuffer,
)
from tpu_profile_plugin.errors import in_file
from tpu_profile_plugin.run.catalogue.memory import HEAP, HELD, PLACED
from tpu_profile_plugin.run.figures.memory import host_device_memory, ran_otherwise
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, lacks_modules, requested_program
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import MIB

_SMALL = "small (below 16 KiB each)"


@dataclass(frozen=True)
class ProgramMemory(Document):
    """Memory of a compiled program in a memory space of a device; sizes are bytes.

    Attributes:
      module: `name(program id)`.
      device: of the host; its memory is that of one device.
      spaces: numbers of the memory spaces in which the program has buffers.
      did_not_run: the devices of the host ran other programs.
      unknown_memory: why the memory of the program with most time is unknown, and how to record it; "" if it is known.
      peak_bytes: the most in use.
      peak_unpadded_bytes: the same without padding of temporaries.
      peak_event: the event after which most is in use, from 0; null without heap simulation.
      parameter_bytes: arguments.
      output_bytes: allocations that may be results; donated arguments are counted here too.
      not_reusable_bytes: thread-local buffers and tuples.
      total_bytes: all allocations that are not thread-local.
      indefinite_bytes: in use during the whole run.
      scoped_bytes: the most that one instruction uses as scratch while it runs; of the vector memory only.
      scoped_instruction: its name.
      heap: memory before each event of the heap simulation, and after the last; empty without one.
      buffers: at the peak, in program order; those below 16 KiB are the last row, without `buffer_id`.
      blocks: temporary allocations, each followed by the buffers in it, stacked by offset.
    """

    module: str
    device: DeviceMemory
    spaces: Sequence[int]
    did_not_run: bool
    unknown_memory: str
    peak_bytes: int
    peak_unpadded_bytes: int
    peak_event: int | None
    parameter_bytes: int
    output_bytes: int
    not_reusable_bytes: int
    total_bytes: int
    indefinite_bytes: int
    scoped_bytes: int
    scoped_instruction: str
    heap: Table
    buffers: Table
    blocks: Table


@dataclass(frozen=True)
class NamedBuffer:
    """A logical buffer as the program describes it; `allocation` is a row, -1 if unknown."""

    layout: MemoryLayout
    row: int
    allocation: int

    @property
    def id(self) -> int:
        """Its id in the module."""
        return int(self.layout.buffers.columns["id"][self.row])

    @property
    def position(self) -> HloPosition:
        """Where it is defined."""
        return self.layout.buffers.position(self.row)

    @property
    def shape(self) -> str:
        """Its shape with layout; "" if unknown."""
        return self.layout.buffers.shape(self.row).text

    @property
    def category(self) -> str:
        """Kind of its allocation; "" if unknown."""
        return self.layout.buffers.category(self.allocation) if self.allocation >= 0 else ""

    @property
    def opcode(self) -> str:
        """Opcode of its instruction; "" if unknown."""
        return "" if self.position.row is None else self.layout.program.opcodes[self.position.row]

    @property
    def framework_op(self) -> str:
        """Framework op of its instruction; "" if unknown."""
        return "" if self.position.row is None else self.layout.program.op_names[self.position.row]

    @property
    def source(self) -> Source | None:
        """Source line of its instruction."""
        return None if self.position.row is None else source_of(self.layout.program, self.position.row)


# Colours of buffers, the same as in XProf, so that pictures can be compared.

_DIGITS = (
    "e91e632196f381c7844dd0e13f51b5e53935ff9100b39ddb90a4ae26c6daad145703a9f42196f3c2185b795548f9a82500bfa5880e4f"
    "d500f9ce93d8ec407a4caf50ff8f00ffca28ab47bc00e5ffff980040c4ff1e88e59fa8dabf360c00b8d4f57f1764b5f6e040fbffab91"
    "4caf5001579b66bb6aef9a9a558b2ffb8c00ff408100e676388e3c4242426d4c41c6282861616100897b448aff0d47a1607d8b673ab7"
    "00c8532e7d32ffa7265e35b1ba68c88d6e6300bcd4ff6f00f4511eff17449e9e9ed81b604a148c26a69a689f387b1fa2b0bec5304ffe"
    "f48fb1ffd600ffb74d8bc34a303f9f5d403780cbc4ffcc8000acc13e2723ff5252ff7043e91e63ea80fce65100d84315212121ff5722"
    "1976d22962ffbdbdbd3949ab69f0aed50000ffd740c0ca33ff6e4000b0ff2979ffe64a197c4dff607d8b009688ffb300c51162ffc400"
    "29b6f63d5afe76ff03cddc39b388ff5c6bc09e9d247cb342ef5350fdd835ef6c004fc3f76200ea004d40ff8a65ffab0080deea0097a7"
    "7e57c2ff6d001565c0455a64ffc1074527a0ff5722f44336f57c00827717a5d6a782b1ff9c27b0ff80abe1bee778909c311b9200695c"
    "4e342e3f51b5651fff9e9e9e81d4faf8bbd0b71c1c0091ea673ab7a1887f4db6acffa0006a1b9a43a047bcaaa4546e7aaeea00e57373"
    "ffccbc006064fbc02dffeb3b8bc34a039be58e24aa80d8ff0096889ccc65512da8ffc1077575750277bdff3d0033691e03a9f400838f"
    "ff8a80283593f500571a237e90caf99c27b0aa00ffaed581afb42b9575cdd32f2f64dd17f44336795548cddc39ff9e807986cbdd2c00"
    "0288d1ff980026323800796b42a5f58c9eff1b5e20ffab40536dfe00bcd4f06292"
)
PALETTE = tuple(f"#{_DIGITS[i : i + 6]}" for i in range(0, len(_DIGITS), 6))


_WHITE = "#ffffff"
_WIDTH, _HEIGHT = 1600, 900


@dataclass(frozen=True)
class ShownBlock:
    """A block with its colour; without a buffer it is a whole allocation."""

    block: Block
    colour: str
    name: str
    buffer: NamedBuffer | None = None


def shown_blocks(layout: MemoryLayout) -> list[ShownBlock]:
    """The blocks of a layout; buffers at the peak have the colours of their number in program order."""
    ids = layout.buffers.columns["id"]
    number_of = {int(ids[buffer.row]): number for number, buffer in enumerate(layout.at_peak[0])}
    shown = []
    for block in layout.blocks():
        if block.row is None:
            shown.append(ShownBlock(block, _WHITE, layout.buffers.category(block.allocation)))
            continue
        buffer = NamedBuffer(layout, block.row, block.allocation)
        colour = PALETTE[number_of.get(buffer.id, block.color) % len(PALETTE)]
        shown.append(ShownBlock(block, colour, buffer.position.full_name, buffer))
    return shown


def drawing(title: str, blocks: Sequence[ShownBlock]) -> Raw:
    """Memory over time as an HTML page with one SVG, without scripts and styles: one rectangle per buffer."""
    last = max((shown.block.end for shown in blocks), default=0) + 1
    height = max((shown.block.offset + shown.block.size for shown in blocks), default=0) or 1
    body = "".join(_rectangle(shown, last, height) for shown in blocks)
    note = "" if blocks else "<p>The program has no heap simulator trace, hence no temporary buffers to show.</p>"
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head><body>'
        f"<h1>{escape(title)}: memory over time</h1>{note}"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img">{body}</svg></body></html>'
    )
    return Raw(page.encode("utf-8", "replace"), "text/html; charset=utf-8")


def _rectangle(shown: ShownBlock, steps: int, height: int) -> str:
    block, buffer = shown.block, shown.buffer
    place = f"{shown.name}: {block.size / MIB:.3f} MiB at {block.offset}, events {block.begin} to {block.end}"
    more = [] if buffer is None else filter(None, (buffer.shape, buffer.framework_op))
    return (
        f'<rect x="{block.begin * _WIDTH / steps:.2f}" y="{block.offset * _HEIGHT / height:.2f}" '
        f'width="{(block.end - block.begin + 1) * _WIDTH / steps:.2f}" height="{block.size * _HEIGHT / height:.2f}" '
        f'fill="{escape(shown.colour)}" stroke="#888888" stroke-width="0.5">'
        f"<title>{escape(chr(10).join((place, *more)))}</title></rect>"
    )


def requested_layout(run: Run, query: Query) -> tuple[HostProfile, MemoryLayout]:
    """The program and memory space that a request names, and the program's host. Raises CorruptProfile."""
    host, program = requested_program(run, query)
    with in_file(host.file):
        return host, MemoryLayout(program, query.integer("memory_space"))


def build(run: Run, query: Query) -> ProgramMemory | Raw:
    """The memory of one program, or the drawing of it."""
    host, layout = requested_layout(run, query)
    if query.text("view_memory_allocation_timeline"):
        return drawing(layout.program.module.name, shown_blocks(layout))
    buffers = layout.buffers
    did_not_run, unknown = ran_otherwise(host, layout.program)
    scoped, instruction = scoped_memory(layout)
    return ProgramMemory(
        module=layout.program.module.name,
        device=host_device_memory(host),
        spaces=layout.spaces,
        did_not_run=did_not_run,
        unknown_memory=UNKNOWN_PROGRAM.said(unknown).told(()) if unknown else "",
        peak_bytes=layout.peak_bytes,
        peak_unpadded_bytes=layout.peak_unpadded,
        peak_event=None if layout.replay is None else layout.replay.peak,
        parameter_bytes=layout.bytes_of(buffers.parameter),
        output_bytes=layout.bytes_of(buffers.live_out),
        not_reusable_bytes=layout.bytes_of(buffers.thread_local | buffers.tuple),
        total_bytes=layout.bytes_of(~buffers.thread_local),
        indefinite_bytes=layout.indefinite_bytes,
        scoped_bytes=scoped,
        scoped_instruction=instruction,
        heap=_heap(layout),
        buffers=_buffers(layout),
        blocks=_blocks(layout),
    )


def scoped_memory(layout: MemoryLayout) -> tuple[int, str]:
    """The largest scoped vector memory of one instruction in bytes, and its name; of other spaces 0 and ""."""
    return layout.scoped() if layout.space == VECTOR_SPACE else (0, "")


def _heap(layout: MemoryLayout) -> Table:
    replay = layout.replay
    if replay is None:
        return Table(HEAP, [[] for _ in HEAP])
    events, base = len(replay.heap), layout.indefinite_bytes
    instructions = [*layout.instruction_names, None]
    return Table(HEAP, [np.arange(1, events + 1), instructions, replay.heap + base, replay.unpadded + base])


def _buffers(layout: MemoryLayout) -> Table:
    at_peak, small = layout.at_peak
    instructions = [*layout.instruction_names, ""]
    rows = [_buffer_row(layout, buffer, instructions) for buffer in at_peak]
    if small:
        rows.append((_SMALL, small, *[None] * (len(HELD) - 2)))
    return Table(HELD, list(zip(*rows, strict=True)) or [[] for _ in HELD])


def _buffer_row(layout: MemoryLayout, peak: PeakBuffer, instructions: Sequence[str]) -> tuple[object, ...]:
    buffer = NamedBuffer(layout, peak.row, peak.allocation)
    source = buffer.source
    begin, end = (None, None) if layout.replay is None else layout.replay.span.get(buffer.id, (None, None))
    described = (buffer.category, buffer.opcode, buffer.framework_op, buffer.shape)
    return (
        buffer.position.full_name or "(no name)",
        peak.size,
        peak.unpadded,
        *(text or None for text in described),
        None if begin is None else begin + 1,
        None if end is None else end + 1,
        (None if end is None else instructions[end]) or None,
        None if source is None else f"{source.file}:{source.line}" if source.line > 0 else source.file,
        ("" if source is None else "\n".join(source.stack)) or None,
        buffer.id,
    )


def _blocks(layout: MemoryLayout) -> Table:
    rows = [
        (
            shown.name,
            shown.block.offset,
            shown.block.size,
            shown.block.begin + 1,
            shown.block.end + (shown.buffer is not None),  # a whole allocation lives until the last event
            None if shown.buffer is None else shown.buffer.id,
        )
        for shown in shown_blocks(layout)
    ]
    return Table(PLACED, list(zip(*rows, strict=True)) or [[] for _ in PLACED])


TOOL = Tool(
    id="memory_viewer",
    title="Memory Viewer",
    group="Memory",
    summary="Buffers of a compiled program at its memory peak, and their lifetimes.",
    build=build,
    params=(
        *PARAMS,
        Param("memory_space", "int", 0, "0 HBM, 1 VMEM, 2 Sflag, 3 CMEM, 4 SMEM, 5 host, 6 SparseCore.", minimum=0),
        Param("view_memory_allocation_timeline", "string", "", "If set: answer a drawing of memory over time as HTML."),
    ),
    lacks=lacks_modules,
)
