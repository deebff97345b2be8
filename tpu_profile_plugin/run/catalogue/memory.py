"""Columns about memory; those of allocations are computed from `Allocations` of one allocator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tpu_profile_plugin.analysis.memory.allocations import INVALID, Allocations, TextColumn
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.catalogue import BEGIN, FRAMEWORK_OP, HOST, PLACE_OF_LINE, PLACE_OF_STACK, RUN, SOURCE, STEP
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.coded import Coded
from tpu_profile_plugin.tables.column import Column, flags, integers, numbers, texts

if TYPE_CHECKING:
    from tpu_profile_plugin.run.figures.memory_over_time import Piece

_NO_TEXT = ("", "(null)", INVALID, "unknown")
"""Texts for "none" that runtimes record."""
_OPS = {"unused preallocated device memory": "Allocated before or not recorded"}
"""Names of memory that belongs to no recorded allocation, as in the chart of memory over time."""


def _coded(column: TextColumn) -> Coded:
    return Coded.of(column.code, ["" if text == INVALID else text for text in column.texts])


def known_texts(column: TextColumn) -> list[str | None]:
    """The texts, None for those that mean "none"."""
    texts_ = [None if text in _NO_TEXT else text for text in column.texts]
    return [texts_[code] for code in column.code.tolist()]


def op_name(name: str) -> str:
    """The name of an op as pages have it, without PyTorch's mark of its framework."""
    return _OPS.get(name, name.removesuffix(":PyTorch"))


def op_names(column: TextColumn) -> list[str | None]:
    """The names of ops as pages have them."""
    return [text and op_name(text) for text in known_texts(column)]


def _known(size: I64) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
    """Bytes, negative if unknown."""
    return np.ma.MaskedArray(size, size < 0)


def _signed(rows: Allocations, size: I64) -> I64:
    return np.where(rows.allocates, size, -size)


def _line(piece: Piece) -> str:
    return "" if piece.line == NO_LOCATION else f"{piece.line[0]}:{piece.line[2]}"


_ALLOCATIONS = Catalogue(
    *(RUN, HOST, STEP, SOURCE),
    replace(BEGIN, of=lambda rows: rows.time_ps),
    replace(FRAMEWORK_OP, of=lambda rows: _coded(rows.op)),
    texts("allocator", "Allocator", "Number of a device, or name of an allocator.", lambda rows: _coded(rows.memory)),
    texts("kind", "Kind", "allocation or deallocation.",
          lambda rows: Coded((~rows.allocates).astype(np.int32), ("allocation", "deallocation"))),
    integers("bytes", "Bytes", "bytes", "Size of the block that is allocated or freed.", lambda rows: rows.allocated),
    integers("requested_bytes", "Requested", "bytes", "Size that was asked for.", lambda rows: rows.requested),
    Column("address", "Address", "number", "", "Address of the block; empty if it was not recorded.", dtype="uint64",
           of=lambda rows: np.ma.MaskedArray(rows.address.view(np.uint64), rows.address == 0)),
    integers("in_use_bytes", "In use", "bytes", "Memory of the allocator in use after it: stack and heap.",
             lambda rows: rows.in_use),
    integers("stack_bytes", "Stack", "bytes",
             "Part of the memory in use that is reserved for temporaries of programs.",
             lambda rows: rows.stack),
    integers("heap_bytes", "Heap", "bytes", "Part of the memory in use that is allocated.", lambda rows: rows.heap),
    integers("free_bytes", "Free", "bytes", "Memory of the allocator that is available after it.",
             lambda rows: rows.free),
    numbers("fragmentation", "Fragmentation", "", "Of the free memory after it, 0 to 1."),
    integers("peak_bytes", "Peak so far", "bytes", "Most memory in use so far, as counted by the allocator.",
             lambda rows: rows.peak),
    flags("at_peak", "At the peak", "Allocated in the step of the allocator's peak, and not yet freed at the peak."),
    texts("region", "Region", "Kind of use, such as output or temp.", lambda rows: _coded(rows.region)),
    texts("data_type", "Data type", "Type of the elements.", lambda rows: _coded(rows.data_type)),
    texts("shape", "Shape", "Shape of the tensor.", lambda rows: _coded(rows.shape)),
    texts("op", "Framework op", "Op that uses the memory."),
    texts("calls", "Call stack", "Calls that lead to the line, innermost first, one a line.",
          lambda rows: _coded(rows.stack_of_calls)),
    integers("segment_bytes", "Segments", "bytes",
             "Bytes of the segments that its blocks are cut from, after it; empty if the allocator has none.",
             lambda rows: _known(rows.segments)),
    integers("largest_free_bytes", "Largest free block", "bytes",
             "Of the segments, after it; empty if that is not known.", lambda rows: _known(rows.largest_free)),
    integers("size", "Size", "bytes", "Bytes of the block."),
    integers("requested", "Requested", "bytes", "Size that was asked for."),
    integers("allocated_ps", "Allocated", "ps", "Since the start of the recording; empty if it was before."),
    integers("freed_ps", "Freed", "ps", "Since the start of the recording; empty if it is not freed in it."),
    texts("freed_by", "Freed in", "Op in which it is freed, if that is recorded."),
)  # fmt: skip
_column = _ALLOCATIONS.column

RELATION = _ALLOCATIONS.typed(
    *("run", "host", "allocator", "kind", _column("begin_ps", "On the axis of the trace viewer.", label="Time")),
    *("bytes", "requested_bytes", "address", "in_use_bytes", "stack_bytes", "heap_bytes", "free_bytes"),
    *("fragmentation", "peak_bytes", "at_peak"),
    _column("framework_op", "Framework op that uses the memory; of a deallocation, that of its allocation."),
    *("region", "data_type", "shape", _column("step", "Number of the step that it is in, if any.")),
    _column("source", "Line that asks for it, if that was recorded.", of=lambda rows: _coded(rows.source)),
    *("calls", "segment_bytes", "largest_free_bytes"),
)
"""Of the relation `allocations`."""
BLOCKS = _ALLOCATIONS.typed(
    *(
        "op",
        "size",
        "requested",
        _column("source", "Source line that asks for it, or of the op."),
        _column("region", of=None),
    ),
    *(_column("step", "Step that it is allocated in."), "allocated_ps", "freed_ps", "freed_by"),
    *(_column("data_type", of=None), _column("shape", of=None), _column("calls", of=None)),
)
"""Of the tool `allocations_over_time`."""

_PROFILE = Catalogue(
    integers("time", "Timestamp", "ps", "From the start of the recording.", lambda rows: rows.time_ps),
    texts("event", "Event", "Allocation or deallocation.",
          lambda rows: np.where(rows.allocates, "allocation", "deallocation")),
    integers("requested", "Requested size", "bytes", "Bytes that the program requested."),
    integers("allocation", "Allocation size", "bytes",
             "Bytes allocated: the requested size rounded up by the allocator."),
    texts("op", "Op name", "The op that requested the memory.", lambda rows: op_names(rows.op)),
    texts("step", "Step", "Step that the event belongs to.", lambda rows: rows.step.tolist()),
    texts("region", "Region type", "Purpose: temp, output, persist/dynamic (kept across steps), stack.",
          lambda rows: known_texts(rows.region)),
    texts("dtype", "Data type", "Type of the elements.", lambda rows: known_texts(rows.data_type)),
    texts("shape", "Shape", "Dimensions of the tensor.", lambda rows: known_texts(rows.shape)),
    integers("used", "Memory in use", "bytes", "Stack + heap after the event.", lambda rows: rows.in_use),
    integers("stack", "Stack", "bytes", ""),
    integers("heap", "Heap", "bytes", ""),
    integers("free", "Free", "bytes", ""),
    numbers("fragmentation", "Fragmentation", "fraction",
            "Part of the free memory outside of its largest block, as the allocator reports it; lower is better."),
    integers("segments", "Segments", "bytes", "Bytes of the segments that blocks are cut from, if there are any.",
             lambda rows: _known(rows.segments)),
    texts("source", "Source", "Line that asks for it, if that was recorded.", lambda rows: known_texts(rows.source)),
    integers("occurrences", "Occurrences", "", "Number of identical allocations that are live at the peak."),
)  # fmt: skip
TIMELINE = _PROFILE.typed(
    *("time", "event"),
    _PROFILE.column("requested", "Negative for deallocations.", of=lambda rows: _signed(rows, rows.requested)),
    _PROFILE.column("allocation", "Negative for deallocations.", of=lambda rows: _signed(rows, rows.allocated)),
    *("op", "step", _PROFILE.column("region", "Purpose of the memory."), "dtype", "shape"),
    *("used", "stack", "heap", "free", "fragmentation", "segments"),
)
"""Of the tool `memory_profile`, over time."""
LIVE = _PROFILE.typed(
    _PROFILE.column("op", "The op that requested the memory.\nRecorded by TensorFlow only."),
    *("allocation", "requested", "occurrences", "region", "dtype", "shape", "source"),
)
"""Of the tool `memory_profile`, at the peak."""
MODULES = (
    texts("module", "HLO module", "Name and program id of the compiled program."),
    texts("device", "Device", "Device that ran it."),
    integers("start", "Start", "ps", "From the start of the recording."),
    integers("end", "End", "ps", "From the start of the recording."),
    integers("duration", "Duration", "ps", "End - start."),
    texts("id", "Id", "Number of the run within the profile."),
)
"""Of the tool `memory_profile`, of runs of programs."""

_BUFFERS = Catalogue(
    SOURCE,
    replace(FRAMEWORK_OP, sentence="Framework op of the instruction; of an argument its path."),
    texts(
        "id", "Id", "What holds the memory: an instruction and its program, for the verb hlo, or the framework's op."
    ),
    integers("size_bytes", "Size", "bytes", "Size of each."),
    integers("count", "Count", "", "Number of equal ones."),
    texts("kind", "Kind", "Parameter, output, temporary; or the region of an allocation."),
    texts("name", "Buffer", "Instruction that defines the buffer, with its shape index."),
    texts("category", "Kind", "Parameter, argument, kept for backward, temporary, output, constant or unknown."),
    integers("size", "Size", "bytes", "Storage that the buffer takes up."),
    texts("shape", "Shape", "Shape with layout."),
    integers("first", "From", "", "First instant at which it lives."),
    integers("last", "Until", "", "Last instant at which it lives."),
    texts("freed_by", "Freed by", "Instruction that frees it; empty if it lives to the end."),
    flags("scales", "Grows with the batch", "Whether it is assumed to."),
    texts("why", "Because", "The reason for this assumption."),
    integers("number", "Number", "", "Number of the buffer among those of the program."),
)
SOURCE_BUFFERS = _BUFFERS.typed(
    *("name", "shape", _BUFFERS.column("category", "Parameter, output, constant, temporary or unknown.")),
    *("framework_op", PLACE_OF_LINE, PLACE_OF_STACK, "size"),
)
"""Of the tool `source_view`."""
PIECES = _BUFFERS.typed(
    *("name", "category", "size", _BUFFERS.column("source", "Source line that makes it.", of=_line)),
    "framework_op",
    *("shape", "first", "last", "freed_by", "scales", "why", "number"),
)
"""Of the tool `memory_over_time`."""
ANSWERED = _BUFFERS.typed(
    *("id", "size_bytes", "count", "kind", _BUFFERS.column("shape", "Type and shape.")),
    *(_BUFFERS.column("framework_op", "Framework op that it is of."), "source"),
)
"""Of the verb `memory`."""

_VIEWED = Catalogue(
    texts("name", "Instruction name", "Instruction that defines the buffer, with a tuple index in braces."),
    integers("size", "Size", "bytes", "Size with padding."),
    integers("unpadded", "Unpadded size", "bytes", "Product of dimensions and element size."),
    texts("category", "Allocation type", "Parameter, output, thread-local, temporary or constant."),
    texts("opcode", "Opcode", "Opcode of the instruction."),
    texts("op", "Framework op", "Name of the op in the framework."),
    texts("shape", "Shape", "Element type, dimensions and layout."),
    integers("alloc", "Allocated at", "", "Event in program order, from 1; missing if live from the start."),
    integers("free", "Freed at", "", "Event in program order, from 1; missing if live to the end."),
    texts("freed_by", "Freed at instruction", "Instruction of that event."),
    texts("source", "Source", "Source line of the program."),
    texts("stack", "Call stack", "Calls that lead to the source line, innermost first, one a line."),
    integers("buffer_id", "Buffer id", "", "Logical buffer id in the module."),
    integers("offset", "Offset", "bytes", "First byte within the allocation."),
    integers("begin", "Allocated at", "", "Event of the program order, from 1."),
    integers("end", "Freed at", "", "Event of the program order, from 1."),
    integers("event", "Before event", "", "Position in the program order; the last row is after the last event."),
    texts("instruction", "Instruction", "Instruction of the event."),
)
HEAP = _VIEWED.typed(
    *("event", "instruction", _VIEWED.column("size", "Memory in use with padded shapes.")),
    _VIEWED.column("unpadded", "Memory in use with unpadded shapes."),
)
"""Of the tool `memory_viewer`, over the program."""
HELD = _VIEWED.typed(
    *("name", "size", "unpadded", "category", "opcode", "op", "shape", "alloc", "free", "freed_by", "source", "stack"),
    "buffer_id",
)
"""Of the tool `memory_viewer`, of buffers at the peak."""
PLACED = _VIEWED.typed(
    *(_VIEWED.column("name", "Instruction that defines the buffer.", label="Buffer"), "offset", "size", "begin", "end"),
    _VIEWED.column("buffer_id", "Logical buffer id in the module; missing for a whole allocation."),
)
"""Of the tool `memory_viewer`, of blocks within allocations."""
