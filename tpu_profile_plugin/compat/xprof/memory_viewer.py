"""XProf's memory viewer: the JSON of its message, sizes in MiB, without zero and empty fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpu_profile_plugin.analysis.memory.buffers import MemoryLayout, PeakBuffer, by_size
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.memory import memory_viewer
from tpu_profile_plugin.tools.memory.memory_viewer import NamedBuffer, ShownBlock
from tpu_profile_plugin.tools.payload import Json, Payload
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import MIB


def build(run: Run, query: Query) -> Payload:
    """The memory of one program, or the drawing of it."""
    _, layout = memory_viewer.requested_layout(run, query)
    program, blocks = layout.program, memory_viewer.shown_blocks(layout)
    if query.text("view_memory_allocation_timeline"):
        return memory_viewer.drawing(program.module.name, blocks)
    names = {
        "moduleName": program.module.name.rpartition("(")[0],
        "entryComputationName": "" if program.entry is None else program.computation_names[program.entry],
    }
    shown = list(map(_block, blocks))
    return Json(_compact({**names, **_series(layout), **_peak(layout), **_sums(layout), "bufferBlocks": shown}))


def _compact(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry for key, entry in value.items() if entry not in (None, 0, "", [], {})}


def _mib(size: int) -> float:
    return size / MIB


def _peak(layout: MemoryLayout) -> dict[str, Any]:
    """The buffers at the peak, in program order and by size."""
    buffers, small = layout.at_peak
    entries = [_peak_entry(layout, number, buffer) for number, buffer in enumerate(buffers)]
    sizes = [buffer.size for buffer in buffers]
    if small:
        label = "small (<16384 bytes)"
        entries.append(
            {"numbered": len(buffers), "label": label, "logicalBufferId": -1, "logicalBufferSizeMib": _mib(small)}
        )
        sizes.append(small)
    order: list[int] = by_size(sizes).tolist()
    rank_of = {number: rank for rank, number in enumerate(order)}
    return {
        "maxHeap": entries,
        "maxHeapBySize": [entries[number] for number in order],
        "maxHeapToBySize": [rank_of[number] for number in range(len(order))],
        "bySizeToMaxHeap": order,
    }


def _peak_entry(layout: MemoryLayout, number: int, peak: PeakBuffer) -> dict[str, Any]:
    buffer = NamedBuffer(layout, peak.row, peak.allocation)
    entry = {
        "label": f"{buffer.position.name}: {buffer.shape} # {buffer.framework_op}",
        "logicalBufferId": buffer.id,
        "logicalBufferSizeMib": _mib(peak.size),
        "unpaddedShapeMib": _mib(peak.unpadded),
        "instructionName": buffer.position.full_name,
        "shapeString": buffer.shape,
        "tfOpName": buffer.framework_op,
        "groupName": buffer.category,
        "opCode": buffer.opcode,
        "sourceInfo": _source(buffer),
    }
    return {"numbered": number, **_compact(entry)}


def _source(buffer: NamedBuffer) -> dict[str, Any] | None:
    source = buffer.source
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
    scoped, instruction = memory_viewer.scoped_memory(layout)
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


def _block(shown: ShownBlock) -> dict[str, Any]:
    block, buffer = shown.block, shown.buffer
    span = {"offset": block.offset, "size": block.size, "startStep": block.begin, "endStep": block.end}
    if buffer is None:
        return _compact(
            {"logicalBufferId": -1, "name": shown.name, **span, "category": shown.name, "color": shown.colour}
        )
    return _compact(
        {
            "logicalBufferId": buffer.id,
            "name": shown.name,
            **span,
            "tfOpName": buffer.framework_op,
            "category": buffer.category,
            "sourceInfo": _source(buffer),
            "shapeString": buffer.shape,
            "unpaddedSize": buffer.layout.buffers.shape(buffer.row).unpadded,
            "color": shown.colour,
        }
    )


TOOL = replace(memory_viewer.TOOL, build=build)
