"""Columns about memory."""

from __future__ import annotations

from tpu_profile_plugin.run.catalogue import BEGIN, FRAMEWORK_OP, HOST, RUN, SOURCE, STEP
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import Column, flags, integers, numbers, texts

_ALLOCATIONS = Catalogue(
    *(RUN, HOST, BEGIN, STEP, FRAMEWORK_OP, SOURCE),
    texts("allocator", "Allocator", "Number of a device, or name of an allocator."),
    texts("kind", "Kind", "allocation or deallocation."),
    integers("bytes", "Bytes", "bytes", "Size of the block that is allocated or freed."),
    integers("requested_bytes", "Requested", "bytes", "Size that was asked for."),
    Column("address", "Address", "number", "", "Address of the block; empty if it was not recorded.", dtype="uint64"),
    integers("in_use_bytes", "In use", "bytes", "Memory of the allocator in use after it: stack and heap."),
    integers("stack_bytes", "Stack", "bytes",
             "Part of the memory in use that is reserved for temporaries of programs."),
    integers("heap_bytes", "Heap", "bytes", "Part of the memory in use that is allocated."),
    integers("free_bytes", "Free", "bytes", "Memory of the allocator that is available after it."),
    numbers("fragmentation", "Fragmentation", "", "Of the free memory after it, 0 to 1."),
    integers("peak_bytes", "Peak so far", "bytes", "Most memory in use so far, as counted by the allocator."),
    flags("at_peak", "At the peak", "Allocated in the step of the allocator's peak, and not yet freed at the peak."),
    texts("region", "Region", "Kind of use, such as output or temp."),
    texts("data_type", "Data type", "Type of the elements."),
    texts("shape", "Shape", "Shape of the tensor."),
    texts("op", "Framework op", "Op that uses the memory."),
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
)
"""Of the relation `allocations`."""
BLOCKS = _ALLOCATIONS.typed(
    *("op", "size", "requested", _column("source", "Source line of the op."), "region"),
    *(_column("step", "Step that it is allocated in."), "allocated_ps", "freed_ps", "freed_by", "data_type", "shape"),
)
"""Of the tool `allocations_over_time`."""

_PROFILE = Catalogue(
    integers("time", "Timestamp", "ps", "From the start of the recording."),
    texts("event", "Event", "Allocation or deallocation."),
    integers("requested", "Requested size", "bytes", "Bytes that the program requested."),
    integers("allocation", "Allocation size", "bytes",
             "Bytes allocated: the requested size rounded up by the allocator."),
    texts("op", "Op name", "The op that requested the memory."),
    texts("step", "Step", "Step that the event belongs to."),
    texts("region", "Region type", "Purpose: temp, output, persist/dynamic (kept across steps), stack."),
    texts("dtype", "Data type", "Type of the elements."),
    texts("shape", "Shape", "Dimensions of the tensor."),
    integers("used", "Memory in use", "bytes", "Stack + heap after the event."),
    integers("stack", "Stack", "bytes", ""),
    integers("heap", "Heap", "bytes", ""),
    integers("free", "Free", "bytes", ""),
    numbers("fragmentation", "Fragmentation", "fraction", "Lower is better."),
    integers("occurrences", "Occurrences", "", "Number of identical allocations that are live at the peak."),
)  # fmt: skip
TIMELINE = _PROFILE.typed(
    *("time", "event"),
    *(_PROFILE.column(size, "Negative for deallocations.") for size in ("requested", "allocation")),
    *("op", "step", _PROFILE.column("region", "Purpose of the memory."), "dtype", "shape"),
    *("used", "stack", "heap", "free", "fragmentation"),
)
"""Of the tool `memory_profile`, over time."""
LIVE = _PROFILE.typed(
    _PROFILE.column("op", "The op that requested the memory.\nRecorded by TensorFlow only."),
    *("allocation", "requested", "occurrences", "region", "dtype", "shape"),
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
    *(FRAMEWORK_OP, SOURCE),
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
PIECES = _BUFFERS.typed(
    *("name", "category", "size", _BUFFERS.column("source", "Source line that makes it.")),
    _BUFFERS.column("framework_op", "Framework op of the instruction; of an argument its path."),
    *("shape", "first", "last", "freed_by", "scales", "why", "number"),
)
"""Of the tool `memory_over_time`."""
ANSWERED = _BUFFERS.typed(
    *("id", "size_bytes", "count", "kind", _BUFFERS.column("shape", "Type and shape.")),
    *(_BUFFERS.column("framework_op", "Framework op that it is of."), "source"),
)
"""Of the verb `memory`."""
