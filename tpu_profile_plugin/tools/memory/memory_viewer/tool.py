"""Memory viewer: memory use of a compiled program, and the buffers at its peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tpu_profile_plugin.analysis.common.reasons import UNKNOWN_PROGRAM
from tpu_profile_plugin.analysis.hlo.source import source_of
from tpu_profile_plugin.analysis.memory.buffers import (
    VECTOR_SPACE,
    Block,
    HloPosition,
    MemoryLayout,
    PeakBuffer,
    by_size,
    programs_ran,
    unknown_memory,
)
from tpu_profile_plugin.errors import in_file
from tpu_profile_plugin.run.figures.memory import host_device_memory, host_programs_ran
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, lacks_modules, requested_program
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json, Payload, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import MIB

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


# Draws memory over time: one rectangle per buffer, from its first to its last event, at its offset.

_WIDTH, _HEIGHT = 1600, 900


def drawing(title: str, blocks: Sequence[Mapping[str, Any]]) -> bytes:
    """An HTML page with one SVG, without scripts and styles; `blocks` are the `bufferBlocks` of the memory viewer."""
    last = max((block.get("endStep", 0) for block in blocks), default=0) + 1
    height = max((block.get("offset", 0) + block.get("size", 0) for block in blocks), default=0) or 1
    body = "".join(_rectangle(block, last, height) for block in blocks)
    note = "" if blocks else "<p>The program has no heap simulator trace, hence no temporary buffers to show.</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head><body>'
        f"<h1>{escape(title)}: memory over time</h1>{note}"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img">{body}</svg></body></html>'
    ).encode("utf-8", "replace")


def _rectangle(block: Mapping[str, Any], steps: int, height: int) -> str:
    begin, end = block.get("startStep", 0), block.get("endStep", 0)
    size, offset = block.get("size", 0), block.get("offset", 0)
    text = f"{block.get('name', '')}: {size / MIB:.3f} MiB at {offset}, events {begin} to {end}"
    for key in ("shapeString", "tfOpName"):
        text += f"\n{block[key]}" if key in block else ""
    return (
        f'<rect x="{begin * _WIDTH / steps:.2f}" y="{offset * _HEIGHT / height:.2f}" '
        f'width="{(end - begin + 1) * _WIDTH / steps:.2f}" height="{size * _HEIGHT / height:.2f}" '
        f'fill="{escape(block["color"])}" stroke="#888888" stroke-width="0.5"><title>{escape(text)}</title></rect>'
    )


_WHITE = "#ffffff"


def build(run: Run, query: Query) -> Payload:
    """JSON as in XProf, without zero and empty fields. With `extended` also `module`, the full name;
    `device`, the memory of a device; `memorySpaces`, those in which the program has buffers; `didNotRun`, the devices
    of the host ran other programs; `unknownMemory`, why the memory of the program with most time is unknown.
    """
    host, program = requested_program(run, query)
    with in_file(host.file):
        layout = MemoryLayout(program, query.integer("memory_space"))
    names = {
        "module": program.module.name,
        "moduleName": program.module.name.rpartition("(")[0],
        "entryComputationName": "" if program.entry is None else program.computation_names[program.entry],
    }
    peak = _Peak(layout)
    blocks = [_block(layout, peak, block) for block in layout.blocks()]
    if query.text("view_memory_allocation_timeline"):
        return Raw(drawing(program.module.name, blocks), "text/html; charset=utf-8")
    extended = _extended(host, layout) if query.flag("extended") else {}
    return Json(
        _compact({**names, **extended, **_series(layout), **peak.fields(), **_sums(layout), "bufferBlocks": blocks})
    )


def _extended(host: HostProfile, layout: MemoryLayout) -> dict[str, Any]:
    """The memory of a device of the host, and the memory spaces of the program. Zeros are left out, as elsewhere."""
    memory = host_device_memory(host)
    facts = {
        "hardware": memory.hardware.value,
        "model": memory.model,
        "memoryMib": _mib(memory.bytes),
        "source": memory.source,
    }
    ran = programs_ran([host_programs_ran(host)])
    return {
        "device": _compact(facts),
        "memorySpaces": layout.spaces,
        "didNotRun": bool(ran) and all(one.name != layout.program.module.name for one in ran),
        "unknownMemory": UNKNOWN_PROGRAM.said(text).told(()) if (text := unknown_memory(ran)) else "",
    }


def _compact(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry for key, entry in value.items() if entry not in (None, 0, "", [], {})}


def _mib(size: int) -> float:
    return size / MIB


class _Peak:
    """The buffers at the peak, in program order and by size."""

    def __init__(self, layout: MemoryLayout) -> None:
        self._layout = layout
        buffers, small = layout.at_peak
        self.entries = [_peak_entry(layout, number, buffer) for number, buffer in enumerate(buffers)]
        sizes = [buffer.size for buffer in buffers]
        if small:
            label = "small (<16384 bytes)"
            self.entries.append(
                {"numbered": len(buffers), "label": label, "logicalBufferId": -1, "logicalBufferSizeMib": _mib(small)}
            )
            sizes.append(small)
        self.order: list[int] = by_size(sizes).tolist()
        ids = layout.buffers.columns["id"]
        self.number_of = {int(ids[buffer.row]): number for number, buffer in enumerate(buffers)}

    def fields(self) -> dict[str, Any]:
        """The fields of the answer that describe the peak."""
        rank_of = {number: rank for rank, number in enumerate(self.order)}
        return {
            "maxHeap": self.entries,
            "maxHeapBySize": [self.entries[number] for number in self.order],
            "maxHeapToBySize": [rank_of[number] for number in range(len(self.order))],
            "bySizeToMaxHeap": self.order,
        }


def _peak_entry(layout: MemoryLayout, number: int, buffer: PeakBuffer) -> dict[str, Any]:
    buffers, program = layout.buffers, layout.program
    position, shape = buffers.position(buffer.row), buffers.shape(buffer.row)
    op_name = "" if position.row is None else program.op_names[position.row]
    entry = {
        "label": f"{position.name}: {shape.text} # {op_name}",
        "logicalBufferId": int(buffers.columns["id"][buffer.row]),
        "logicalBufferSizeMib": _mib(buffer.size),
        "unpaddedShapeMib": _mib(buffer.unpadded),
        "instructionName": position.full_name,
        "shapeString": shape.text,
        "tfOpName": op_name,
        "groupName": buffers.category(buffer.allocation) if buffer.allocation >= 0 else "",
        "opCode": "" if position.row is None else program.opcodes[position.row],
        "sourceInfo": _source(layout, position),
    }
    return {"numbered": number, **_compact(entry)}


def _source(layout: MemoryLayout, position: HloPosition) -> dict[str, Any] | None:
    source = None if position.row is None else source_of(layout.program, position.row)
    if source is None:
        return None
    return _compact({"fileName": source.file, "lineNumber": source.line, "stackFrame": "\n".join(source.stack)})


def _series(layout: MemoryLayout) -> dict[str, Any]:
    replay = layout.replay
    peak: dict[str, Any] = {"peakHeapMib": _mib(layout.peak_bytes), "peakUnpaddedHeapMib": _mib(layout.peak_unpadded)}
    if replay is None:
        return peak
    base = layout.indefinite_bytes
    ids = layout.buffers.row_of
    spans = {
        str(buffer): _compact({"start": begin, "limit": end})
        for buffer, (begin, end) in replay.span.items()
        if buffer in ids
    }
    return {
        **peak,
        "heapSizes": ((replay.heap + base) / MIB).tolist(),
        "unpaddedHeapSizes": ((replay.unpadded + base) / MIB).tolist(),
        "hloInstructionNames": [*layout.instruction_names, ""],
        "peakHeapSizePosition": replay.peak,
        "logicalBufferSpans": spans,
    }


def _sums(layout: MemoryLayout) -> dict[str, Any]:
    buffers = layout.buffers
    scoped, instruction = layout.scoped() if layout.space == VECTOR_SPACE else (0, "")
    return {
        "entryComputationParametersMib": _mib(layout.bytes_of(buffers.parameter)),
        "maybeLiveOutMib": _mib(layout.bytes_of(buffers.live_out)),
        "nonReusableMib": _mib(layout.bytes_of(buffers.thread_local | buffers.tuple)),
        "totalBufferAllocationMib": _mib(layout.bytes_of(~buffers.thread_local)),
        "indefiniteBufferAllocationMib": _mib(layout.indefinite_bytes),
        "indefiniteLifetimes": _lifetimes(layout),
        "maxScopedVmemAllocationMib": _mib(scoped),
        "maxScopedVmemAllocationInstructionName": instruction,
    }


def _lifetimes(layout: MemoryLayout) -> list[dict[str, Any]]:
    """Allocations in use during the whole run, each with its logical buffers."""
    buffers = layout.buffers
    entries = []
    for allocation in (layout.in_space & buffers.indefinite).nonzero()[0].tolist():
        rows = [buffers.row_of.get(int(buffers.columns["assigned_buffer"][at])) for at in buffers.assigned(allocation)]
        values = [_value(layout, row) for row in rows if row is not None]
        shapes = {value.get("shape", "") for value in values}
        attributes = (
            ("entry computation parameter", buffers.parameter[allocation]),
            ("may-be live out", buffers.live_out[allocation]),
            ("reusable", not (buffers.thread_local[allocation] or buffers.tuple[allocation])),
        )
        number = int(buffers.columns["allocation_index"][allocation])
        entry = {
            "id": str(number) if number else "",
            "sizeMib": _mib(int(buffers.columns["allocation_size"][allocation])),
            "attributes": [name for name, holds in attributes if holds],
            "logicalBuffers": values,
            "commonShape": shapes.pop() if len(shapes) == 1 else "",
        }
        entries.append(_compact(entry))
    return entries


def _value(layout: MemoryLayout, row: int) -> dict[str, Any]:
    columns, position = layout.buffers.columns, layout.buffers.position(row)
    number = int(columns["id"][row])
    return _compact(
        {
            "id": str(number) if number else "",
            "shape": layout.buffers.shape(row).text,
            "sizeMib": _mib(int(columns["size"][row])),
            "hloName": position.name,
            "shapeIndex": [str(index) for index in position.index],
        }
    )


def _block(layout: MemoryLayout, peak: _Peak, block: Block) -> dict[str, Any]:
    buffers = layout.buffers
    category = buffers.category(block.allocation)
    span = {"offset": block.offset, "size": block.size, "startStep": block.begin, "endStep": block.end}
    if block.row is None:
        return _compact({"logicalBufferId": -1, "name": category, **span, "category": category, "color": _WHITE})
    number = int(buffers.columns["id"][block.row])
    position, shape = buffers.position(block.row), buffers.shape(block.row)
    return _compact(
        {
            "logicalBufferId": number,
            "name": position.full_name,
            **span,
            "tfOpName": "" if position.row is None else layout.program.op_names[position.row],
            "category": category,
            "sourceInfo": _source(layout, position),
            "shapeString": shape.text,
            "unpaddedSize": shape.unpadded,
            "color": PALETTE[peak.number_of.get(number, block.color) % len(PALETTE)],
        }
    )


TOOL = Tool(
    id="memory_viewer",
    title="Memory Viewer",
    group="Memory",
    summary="Buffers of a compiled program at its memory peak, and their lifetimes.",
    build=build,
    params=(
        *PARAMS,
        Param("memory_space", "int", 0, "0 HBM, 1 VMEM, 2 Sflag, 3 CMEM, 4 SMEM, 5 host, 6 SparseCore.", minimum=0),
        Param("extended", "bool", False, "Add the device's memory and the program's memory spaces."),
        Param("view_memory_allocation_timeline", "string", "", "If set: answer a drawing of memory over time as HTML."),
    ),
    lacks=lacks_modules,
    extras=("module",),
)
