"""Memory snapshots of PyTorch: events of allocations out of a pickle of plain values, and pickles that want more."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import struct
import time
from typing import Any

import numpy as np
import pytest
from builders.snapshots import BASE, MIB, block, dumped, entry, frame, segment, snapshot, training

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.memory.allocations import Allocations, allocations, recorded_memory
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import unpack


def read(content: bytes) -> dict[str, Allocations]:
    space = columns.load(unpack(content).space)
    plane = host_plane(space)
    assert plane is not None
    found = allocations(space, plane, since_recording=True)
    return {} if found is None else found.by_memory()


def rows(found: Allocations) -> list[tuple[Any, ...]]:
    """Time in µs, kind, address from BASE and sizes in MiB, op, line."""
    mib = [(column / MIB).tolist() for column in (found.allocated, found.heap, found.segments, found.largest_free)]
    return list(
        zip(
            (found.time_ps // 10**6).tolist(),
            np.where(found.allocates, "alloc", "free").tolist(),
            [(address - BASE) // MIB for address in found.address.tolist()],
            *mib,
            [found.op.texts[code] for code in found.op.code],
            [found.source.texts[code].rpartition("/")[2] for code in found.source.code],
            strict=True,
        )
    )


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_blocks_become_events_of_allocations(protocol: int) -> None:
    ((name, found),) = read(dumped(training(), protocol)).items()
    assert name == "GPU_0_caching"
    assert rows(found) == [
        # Weights were there before: 4 of 20 MiB.
        (0, "alloc", 0, 4, 4, 20, 16, "__init__:PyTorch", "train.py:4"),
        (0, "alloc", 4, 6, 10, 20, 10, "forward/aten::mm:PyTorch", "train.py:12"),
        (10, "alloc", 64, 8, 18, 40, 12, "forward/aten::mm:PyTorch", "train.py:12"),
        (21, "free", 4, 6, 12, 40, 16, "MmBackward0:PyTorch", ""),
    ]
    assert found.region.texts[found.region.code[0]] == "before the recording"
    assert np.round(found.fragmentation, 6).tolist() == [0.0, 0.0, round(1 - 12 / 22, 6), round(1 - 16 / 28, 6)]
    assert found.peak.tolist() == [4 * MIB, 10 * MIB, 18 * MIB, 18 * MIB]
    assert found.free.tolist() == [0, 0, 0, 0]  # what the device has is not known
    calls = "/usr/lib/site-packages/torch/nn/x.py:9 (forward)\n/home/me/train.py:12 (forward)"
    assert found.stack_of_calls.texts[found.stack_of_calls.code[1]] == calls


def test_memory_over_time_adds_up() -> None:
    found = recorded_memory(read(dumped(training()))["GPU_0_caching"])
    assert found.heap.tolist() == [4 * MIB, 10 * MIB, 18 * MIB, 12 * MIB]
    parts = {name: (values // MIB).tolist() for name, values in found.stacks("line").items()}
    assert parts == {"/home/me/train.py:12": [0, 6, 14, 8], "/home/me/train.py:4": [4, 4, 4, 4]}
    assert found.rest.tolist() == [0, 0, 0, 0]


def test_a_compressed_snapshot_is_the_same() -> None:
    content = dumped(training())
    assert unpack(gzip.compress(content)).space.tobytes() == unpack(content).space.tobytes()


def test_the_state_before_follows_from_the_end() -> None:
    """Allocated before, freed during the history; a segment of before is given back."""
    history = [
        entry("free_completed", 0, 0, 3 * MIB),
        entry("segment_free", 5, 0, 4 * MIB),
        entry("alloc", 10, 32 * MIB, 1000, user_metadata="cache"),
    ]
    found = read(dumped(snapshot([segment(32 * MIB, 2 * MIB, [block(32 * MIB, 1024)])], history)))["GPU_0_caching"]
    assert [(row[1], found.segments[i] // MIB) for i, row in enumerate(rows(found))] == [
        ("alloc", 6), ("free", 6), ("alloc", 2),
    ]  # fmt: skip
    assert found.allocated.tolist() == [3 * MIB, 3 * MIB, 1024]
    assert found.requested.tolist() == [3 * MIB, 3 * MIB, 1000]
    assert found.region.texts[found.region.code[2]] == "cache"
    assert found.largest_free.tolist() == [2 * MIB, 4 * MIB, 2 * MIB - 1024]


def test_the_rest_of_a_large_block_is_not_free() -> None:
    """A rest of up to 1 MiB is not split off a large segment, but it is off small ones and expandable ones."""
    history = [entry("alloc", 0, 0, 3 * MIB), entry("alloc", 1, 32 * MIB, 512)]
    large, small = segment(0, 4 * MIB, [block(0, 4 * MIB)]), segment(32 * MIB, MIB, [block(32 * MIB, 512)])
    found = read(dumped(snapshot([large, small], history)))["GPU_0_caching"]
    assert found.allocated.tolist() == [4 * MIB, 512]
    assert found.largest_free.tolist() == [MIB, MIB - 512]
    expandable = segment(0, 4 * MIB, [block(0, 3 * MIB)], is_expandable=True)
    found = read(dumped(snapshot([expandable, small], history)))["GPU_0_caching"]
    assert found.allocated.tolist() == [3 * MIB, 512]


def test_parts_of_expandable_segments_join() -> None:
    mapped = [entry("segment_map", 0, 0, 2 * MIB), entry("segment_map", 1, 2 * MIB, 2 * MIB)]
    history = [*mapped, entry("alloc", 2, 0, 3 * MIB), entry("free_completed", 3, 0, 3 * MIB)]
    found = read(dumped(snapshot([segment(0, 4 * MIB, [], is_expandable=True)], history)))["GPU_0_caching"]
    assert found.largest_free.tolist() == [MIB, 4 * MIB]
    assert found.segments.tolist() == [4 * MIB, 4 * MIB]


def test_a_failed_allocation_tells_the_memory_of_the_device() -> None:
    history = [entry("alloc", 0, 0, MIB), entry("oom", 1, 0, 64 * MIB, device_free=3 * MIB)]
    content = dumped(snapshot([segment(0, 2 * MIB, [block(0, MIB)])], history))
    assert read(content)["GPU_0_caching"].free.tolist() == [4 * MIB]
    space = columns.load(unpack(content).space)
    plane = host_plane(space)
    assert plane is not None
    assert list(plane.lines.name) == ["GPU 0 allocator", "GPU 0 segments"]
    assert "out of memory" in plane.event_metadata.names


def test_each_device_has_its_allocator_and_blocks_alone_are_enough() -> None:
    devices = [segment(0, MIB, [block(0, 512)]), segment(MIB, MIB, [block(MIB, 1024)], device=1)]
    found = read(dumped(snapshot(devices)))
    assert {name: one.allocated.tolist() for name, one in found.items()} == {
        "GPU_0_caching": [512], "GPU_1_caching": [1024],
    }  # fmt: skip
    assert found["GPU_1_caching"].largest_free.tolist() == [MIB - 1024]


def test_contradictions_leave_the_largest_free_block_unknown() -> None:
    history = [entry("alloc", 0, 8 * MIB, MIB)]  # outside of all segments
    found = read(dumped(snapshot([segment(0, 2 * MIB, [])], history)))["GPU_0_caching"]
    assert found.largest_free.tolist() == [-1]
    assert found.fragmentation.tolist() == [0.0]


def test_entries_without_times_are_told() -> None:
    made = unpack(dumped(snapshot([], [entry("alloc", None, 0, 512), entry("alloc", None, 512, 512)])))
    (told,) = made.skipped
    assert told.code == "untimed_entries"
    assert told.sentence == ("2 of 2 entries of the history have no time: all are shown 1 µs apart, in their order.")


class _Trap:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("false",)


class _Stateful:
    def __init__(self) -> None:
        self.value = 1


class _Persistent(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return 7 if obj == "elsewhere" else None


def _persistent() -> bytes:
    from io import BytesIO

    out = BytesIO()
    _Persistent(out, 4).dump({"segments": ["elsewhere"]})
    return out.getvalue()


_HOSTILE = {
    "a call": (dumped({"segments": [_Trap()]}), "opcode STACK_GLOBAL"),
    "a call of protocol 2": (dumped({"segments": [_Trap()]}, 2), "opcode GLOBAL"),
    "an object": (dumped({"segments": [_Stateful()]}), "opcode STACK_GLOBAL"),
    "a state": (b"\x80\x04}}b.", "opcode BUILD"),
    "a call without a name": (b"\x80\x04}})R.", "opcode REDUCE"),
    "a set": (dumped({"segments": {1, 2}}), "opcode EMPTY_SET"),
    "an extension": (b"\x80\x02\x82\x01.", "opcode EXT"),
    "a persistent id": (_persistent(), "opcode BINPERSID"),
    "a buffer from elsewhere": (b"\x80\x05\x97.", "opcode NEXT_BUFFER"),
    "text opcodes": (b"\x80\x02I7\n.", "opcode of protocol 0"),
}


@pytest.mark.parametrize("case", _HOSTILE)
def test_more_than_plain_values_is_refused_by_its_opcode(case: str) -> None:
    content, opcode = _HOSTILE[case]
    with pytest.raises(CorruptProfile, match=rf"The file is a Python pickle with {opcode} at byte \d+, which may run"):
        unpack(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (dumped([1, 2]), "The file is a Python pickle, but no memory snapshot of PyTorch"),
        (dumped({"weights": [1.0]}), "The file is a Python pickle, but no memory snapshot of PyTorch"),
        (b"\x80\x04X" + struct.pack("<I", 2**32 - 1), "truncated pickle at byte 2"),
        (b"\x80\x04\x8d" + struct.pack("<Q", 2**64 - 1), "truncated pickle at byte 2"),
        (b"\x80\x04\x95" + struct.pack("<Q", 2**63), "length past the end of pickle at byte 2"),
        (b"\x80\x02\x8b" + struct.pack("<I", 2**31), "truncated pickle at byte 2"),
        (b"\x80\x04" + b"(" * 10**6, "nested too deeply in pickle at byte 66"),
        (b"\x80\x04" + b"]" * 10**6 + b"a" * 10**7, "unexpected character in pickle"),
        (b"\x80\x04]" + b"2" * 10**7, "too many entries in pickle"),
        (b"\x80\x02]r" + struct.pack("<I", 2**31) + b".", "too many entries in memo of pickle at byte 3"),
        (b"\x80\x04" + (b"\x95" + bytes(8)) * 10**6, "truncated pickle at byte 9000002"),
        (b"\x80\x04h\x05.", "unexpected character in pickle at byte 2"),
        (b"\x80\x04(a.", "unexpected character in pickle at byte 3"),
        (b"\x80\x04(](s.", "unexpected character in pickle"),
        (b"\x80\x04K\x01K\x02a.", "unexpected character in pickle at byte 6"),
        (b"\x80\x04\x86.", "unexpected character in pickle at byte 2"),
        (b"\x80\x04", "truncated pickle at byte 2"),
    ],
)  # fmt: skip
def test_damage_and_bombs_end_soon(content: bytes, message: str) -> None:
    began = time.thread_time()
    with pytest.raises(CorruptProfile, match=re.escape(message)):
        unpack(content)
    assert time.thread_time() - began < 20  # linear in the file


def test_shared_lists_do_not_multiply() -> None:
    """A history of a thousand entries that a thousand devices refer to; frames that refer to one list of frames."""
    history = [entry("alloc", i, 512 * i, 512) for i in range(1000)]
    with pytest.raises(CorruptProfile, match="too many entries in snapshot"):
        unpack(dumped(snapshot([], *[history] * 1000)))
    frames = [frame("/home/me/a.py", i, "f") for i in range(1000)]
    found = read(dumped(snapshot([], [entry("alloc", i, 512 * i, 512, frames) for i in range(1000)])))["GPU_0_caching"]
    assert len(found) == 1000
    assert len(found.stack_of_calls.texts) == 2
    assert found.stack_of_calls.texts[1].count("\n") == 63


def test_equal_call_stacks_are_kept_once_and_too_many_are_left_out() -> None:
    """20,000 blocks with call stacks of 4 KiB: one, and one each."""
    shared = [frame(f"/home/me/{'a' * 200}.py", line, "f") for line in range(19)]
    equal = [entry("alloc", i, 512 * i, 512, shared) for i in range(20_000)]
    made = unpack(dumped(snapshot([], equal)))
    assert not made.skipped
    assert len(made.space) < 4 << 20
    different = [entry("alloc", i, 512 * i, 512, [frame("/b.py", i, "f"), *shared]) for i in range(20_000)]
    made = unpack(dumped(snapshot([], different)))
    assert [part.code for part in made.skipped] == ["long_stacks"]
    assert len(made.space) < 100 << 20


def test_a_list_within_itself_is_harmless() -> None:
    loop: list[Any] = []
    loop.append(loop)
    content = dumped({"segments": loop, "device_traces": [loop], "external_annotations": loop})
    assert read(content) == {}


def test_every_byte_mutated_is_read_or_refused() -> None:
    content = dumped(training())
    for at in range(0, len(content), 3):
        for value in (0, 0x28, 0x5D, 0x80, 0xFF):
            mutated = content[:at] + bytes([value]) + content[at + 1 :]
            try:
                columns.load(unpack(mutated).space)
            except CorruptProfile:
                continue
