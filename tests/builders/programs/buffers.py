"""Buffer assignments for tests: `assignment(...)` is appended to what `builders.programs.hlo.program` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builders.programs.hlo import metadata_plane
from tpu_profile_plugin.protos import message

FLAGS = {
    "thread_local": "is_thread_local",
    "parameter": "is_entry_computation_parameter",
    "live_out": "maybe_live_out",
    "tuple": "is_tuple",
    "constant": "is_constant",
}
KINDS = {"alloc": "ALLOC", "free": "FREE", "share": "SHARE_WITH"}


def buffer(id_: int, size: int, instruction: int, *index: int, color: int = 0) -> Any:
    """A logical buffer, defined by an instruction (its id) at a shape index."""
    place = message("xla.LogicalBufferProto.Location")(instruction_id=instruction, shape_index=index)
    return message("xla.LogicalBufferProto")(id=id_, size=size, defined_at=place, color=color)


def allocation(index: int, size: int, assigned: Sequence[tuple[int, int, int]], *flags: str, color: int = 0) -> Any:
    """An allocation with its buffers as (id, offset, size)."""
    marks = {FLAGS[flag]: True for flag in flags}
    made = message("xla.BufferAllocationProto")(index=index, size=size, color=color, **marks)
    for id_, offset, bytes_ in assigned:
        made.assigned.add(logical_buffer_id=id_, offset=offset, size=bytes_)
    return made


def trace(*events: str) -> Any:
    """A heap trace from events like "alloc 1 add", "share 2 1 mul", "free 1 mul"."""
    made = message("xla.HeapSimulatorTrace")()
    for event in events:
        kind, buffer_id, *rest = event.split()
        canonical = int(rest.pop(0)) if kind == "share" else 0
        made.events.add(
            kind=KINDS[kind],
            buffer_id=int(buffer_id),
            share_with_canonical_id=canonical,
            instruction_name=rest[0] if rest else "",
        )
    return made


def assignment(*parts: Any) -> bytes:
    """The buffer assignment, to be appended to a HloProto."""

    def of(name: str) -> list[Any]:
        return [part for part in parts if part.DESCRIPTOR.name == name]

    made = message("xla.BufferAssignmentProto")(
        logical_buffers=of("LogicalBufferProto"),
        buffer_allocations=of("BufferAllocationProto"),
        heap_simulator_traces=of("HeapSimulatorTrace"),
    )
    return bytes(message("xla.HloProto")(buffer_assignment=made).SerializeToString())


def instruction_id(position: int, computation: int = 1) -> int:
    """The id that `builders.programs.hlo.program` gives to an instruction; the entry is computation 1."""
    return (computation << 32) + position


def profile(**protos: bytes) -> str:
    """A profile whose metadata plane holds these modules, numbered from 1."""
    return metadata_plane(**{name: (i, proto) for i, (name, proto) in enumerate(protos.items(), 1)})
