"""Damaged messages read as what is sound in them, whatever the bytes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from builders.damage.wire import packed, text
from hypothesis import given
from hypothesis import strategies as st

from tpu_profile_plugin.protos import message, read

INSTRUCTION: Any = message("xla.HloInstructionProto")
WHOLE = INSTRUCTION(
    name="dot.1",
    opcode="dot",
    shape={"element_type": "F32", "dimensions": [2, 3]},
    metadata={"op_name": "jit(f)/dot", "op_type": "dot_general"},
    id=7,
    operand_ids=[1, 2],
    frontend_attributes={"map": {"a": "b"}},
)


def test_sound_bytes_are_the_message() -> None:
    assert read("xla.HloInstructionProto", WHOLE.SerializeToString()) == WHOLE
    assert read("xla.HloInstructionProto", memoryview(b"")) == INSTRUCTION()


def test_a_damaged_field_is_left_out() -> None:
    damaged = WHOLE.SerializeToString() + packed(INSTRUCTION.DIMENSIONS_FIELD_NUMBER, [3, 4])[:-1] + b"\x80"
    assert read("xla.HloInstructionProto", damaged) == WHOLE


def test_what_is_sound_in_a_damaged_part_stays() -> None:
    data = WHOLE.SerializeToString()
    at = data.index(b"dot_general")
    found = read("xla.HloInstructionProto", data[:at] + b"dot\xff" + data[at + 4 :])
    assert found.metadata.op_name == "jit(f)/dot"
    assert found.metadata.op_type == "dot�general"
    found.metadata.op_type = WHOLE.metadata.op_type
    assert found == WHOLE


def test_what_follows_the_damage_cannot_be_told() -> None:
    data = WHOLE.SerializeToString()
    at = data.index(b"jit(f)/dot") - 1
    found = read("xla.HloInstructionProto", data[:at] + b"\x7f" + data[at + 1 :])
    assert (found.name, found.shape, found.metadata.op_type) == ("dot.1", WHOLE.shape, "dot_general")
    assert found.id == 7
    whole = text(INSTRUCTION.METADATA_FIELD_NUMBER, data)[:-5] + data
    assert read("xla.HloInstructionProto", whole).id in (0, 7)


def test_repeated_texts_and_messages() -> None:
    index = message("xla.StackFrameIndexProto")
    data = index(file_names=["a", "b?"], stack_frames=[{"file_location_id": 1}]).SerializeToString()
    data = data.replace(b"?", b"\xff") + text(index.STACK_FRAMES_FIELD_NUMBER, b"\x10")
    found = read("xla.StackFrameIndexProto", data)
    assert (list(found.file_names), len(found.stack_frames)) == (["a", "b�"], 2)


@pytest.mark.parametrize("damage", [b"\xff" * 4_000_000, b"\x08" + b"\xff" * 1_000_000, b"\x0a\x01\xff" * 80_000])
def test_much_damage_takes_no_time(damage: bytes) -> None:
    begun = time.perf_counter()
    read("xla.HloInstructionProto", damage)
    assert time.perf_counter() - begun < 5


def test_deep_nesting_ends() -> None:
    sharding = message("xla.OpSharding")
    data = sharding(type="TUPLE").SerializeToString()
    for _ in range(3000):
        data = sharding(type="TUPLE").SerializeToString() + text(sharding.TUPLE_SHARDINGS_FIELD_NUMBER, data)
    found, depth = read("xla.OpSharding", data), 0
    while found.tuple_shardings:
        found, depth = found.tuple_shardings[0], depth + 1
    assert 20 < depth < 200


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for name in ("xla.HloInstructionProto", "xla.ShapeProto", "tensorflow.profiler.XSpace"):
        read(name, data)


@given(st.integers(0, 60), st.binary(max_size=4))
def test_any_damage(at: int, noise: bytes) -> None:
    data = WHOLE.SerializeToString()
    read("xla.HloInstructionProto", data[:at] + noise + data[at + len(noise) :])
