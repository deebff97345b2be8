"""HLO programs: found by id, decoded when asked for, broken ones empty with a reason."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from builders.messages import XSpace

from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, call_stack, hlo_programs, written_stack
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.protos import message

AGAIN = {"name": "conv.1", "opcode": "copy", "id": 6}


def programs(*protos: tuple[int, str, bytes]) -> HloPrograms:
    space = XSpace()
    plane = space.planes.add(name="/host:metadata")
    plane.stat_metadata[1].id, plane.stat_metadata[1].name = 1, "Hlo Proto"
    for program_id, name, proto in protos:
        entry = plane.event_metadata[program_id]
        entry.id, entry.name = program_id, name
        entry.stats.add(metadata_id=1, bytes_value=proto)
    return hlo_programs(load(space.SerializeToString()))


def module() -> bytes:
    metadata = {"op_type": "Conv2D", "op_name": "net/conv", "source_file": "/src/model.py", "source_line": 12}
    conv = {"name": "conv.1", "opcode": "convolution", "metadata": metadata, "id": 4, "operand_ids": [1, 2]}
    fusion = {"name": "fusion", "opcode": "fusion", "id": 5, "called_computation_ids": [9]}
    inner = {"name": "fused", "instructions": [AGAIN], "id": 9, "root_id": 6, "is_fusion_computation": True}
    main = {"name": "main", "instructions": [conv, fusion], "id": 3, "root_id": 5}
    frames = {
        "file_names": ["f.py"],
        "function_names": ["run"],
        "file_locations": [{"file_name_id": 1, "function_name_id": 1, "line": 40}],
        "stack_frames": [{"file_location_id": 1}],
    }
    made = {"name": "jit_f", "computations": [inner, main], "entry_computation_id": 3, "stack_frame_index": frames}
    return bytes(message("xla.HloProto")(hlo_module=made).SerializeToString())


def test_instructions_by_name() -> None:
    found = programs((-3, "jit_f", module()))
    assert found.names == {2**64 - 3: f"jit_f({2**64 - 3})"}
    program = found.program(-3)
    assert program is not None
    assert (len(program), program.problem, program.program_id) == (3, None, 2**64 - 3)
    assert program.names == ["conv.1", "conv.1", "fusion"]
    assert program.opcodes == ["copy", "convolution", "fusion"]
    assert program.row_of == {"conv.1": 0, "fusion": 2}
    assert (program.op_names[1], program.op_types[1]) == ("net/conv", "Conv2D")
    assert program.columns["operand"].tolist() == [1, 2]
    assert program.columns["operand_start"].tolist() == [0, 0, 2, 2]
    assert program.columns["called"].tolist() == [9]
    assert (program.computation_names, program.entry) == (["fused", "main"], 1)
    assert program.columns["computation_start"].tolist() == [0, 1, 3]
    assert program.columns["computation_is_fusion"].tolist() == [1, 0]
    assert program.frames == [("f.py", "run", 40)]
    assert program.instruction(0) == message("xla.HloInstructionProto")(**AGAIN)
    assert (program.provenance("fusion"), program.provenance("none")) == (":", None)
    assert (program.source("fusion"), program.source("none")) == ("", "")
    assert found.program(-3) is program


def test_a_broken_program_is_empty_and_says_why() -> None:
    whole = message("xla.HloProto")(hlo_module={"name": "x"}).SerializeToString()
    program = programs((4, "bad(4)", whole[:-2] + b"\x7fx")).program(4)
    assert program is not None
    assert len(program) == 0
    assert program.problem is not None
    said, offset = program.problem
    assert "HloModuleProto" in said
    assert offset > 0


def test_unknown_programs_are_none() -> None:
    assert programs().program(4) is None


@pytest.mark.parametrize(
    ("file", "line", "frame", "expected"),
    [
        ("", 9, 3, [("c.py", "h", 3), ("b.py", "g", 2), ("a.py", "f", 1)]),
        ("c.py", 3, 3, [("c.py", "h", 3), ("b.py", "g", 2), ("a.py", "f", 1)]),
        ("b.py", 2, 3, [("b.py", "g", 2), ("a.py", "f", 1)]),
        ("a.py", 1, 3, [("a.py", "f", 1)]),
        ("b.py", 3, 2, [("b.py", "", 3), ("b.py", "g", 2), ("a.py", "f", 1)]),
        ("b.py", 3, 0, [("b.py", "", 3)]),
        ("b.py", 3, 4, [("b.py", "", 3)]),
        ("", 3, 0, []),
    ],
)
def test_calls_to_an_instruction_begin_with_its_own_line(
    file: str, line: int, frame: int, expected: list[tuple[str, str, int]]
) -> None:
    found = SimpleNamespace(
        source_files=["other.py", file], frames=[("a.py", "f", 1), ("b.py", "g", 2), ("c.py", "h", 3)],
        columns={"source_line": [7, line], "stack_frame": [1, frame], "frame_parent": [0, 1, 2]},
    )  # fmt: skip
    assert call_stack(found, 1) == tuple(expected)  # type: ignore[arg-type]


def test_stacks_that_were_recorded_as_text() -> None:
    text = "a.py:12 (run)\n  b.py:3:4\nnothing\n:5\nc.py:6\nd.py:7 (x"
    assert written_stack(text) == (("a.py", "run", 12), ("b.py", "", 3), ("c.py", "", 6))
