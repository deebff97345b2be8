"""Memory viewer: memory use of a compiled program, and the buffers at its peak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpu_profile_plugin.analysis.hlo.source import source_of
from tpu_profile_plugin.analysis.memory.buffers import HloPosition
from tpu_profile_plugin.analysis.memory.layout import VECTOR_SPACE, Block, MemoryLayout, PeakBuffer, by_size
from tpu_profile_plugin.analysis.memory.ran import RECORD_HLO, programs_ran, unknown_memory
from tpu_profile_plugin.errors import in_file
from tpu_profile_plugin.run.figures.memory import host_device_memory, host_programs_ran
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, no_modules, requested_program
from tpu_profile_plugin.tools.memory.memory_viewer.block_drawing import drawing
from tpu_profile_plugin.tools.memory.memory_viewer.palette import PALETTE
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json, Payload, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import MIB

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
        "unknownMemory": " ".join([text, RECORD_HLO]) if (text := unknown_memory(ran)) else "",
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
    available=no_modules,
    extras=("module",),
)
