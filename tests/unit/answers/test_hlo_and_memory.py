"""The verbs hlo and memory on a typed-in run of two programs."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import rows
from builders.asking import asked, page
from builders.profiles.two_programs import ALLOCATIONS, BUFFERS, DEVICE, FUSED, MIB, OF, STEP, TPU, opened
from builders.programs.buffers import assignment
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.errors import BadRequest, NotFound

PAGE = "http://localhost:6006/data/plugin/profile/index.html?run=memory&tool="
LOGDIR = opened(TPU)
RECORDED = opened(TPU + ALLOCATIONS)


def ask(verb: str, **arguments: Any) -> Any:
    return asked(LOGDIR, verb, **arguments)


def test_hlo_around_an_op() -> None:
    found = ask("hlo", op="fusion.1", around=1)
    assert {name: found["answer"][name] for name in ("instruction", "program", "computation")} == {
        "instruction": "fusion.1",
        "program": "jit_step(7)",
        "computation": "main",
    }
    assert [(one["role"], one["text"]) for one in found["answer"]["instructions"]] == [
        ("asked", "fusion.1 = f32[8,128]{1,0} fusion(x), kind=kLoop, calls=fused"),
        ("inside", "p0 = f32[8,128]{1,0} parameter(0)"),
        ("inside", "add.1 = f32[8,128]{1,0} add(p0, p0)"),
        ("inside", "max.1 = f32[8,128]{1,0} maximum(add.1, p0)"),
        ("operand", "x = f32[8,128]{1,0} parameter(0)"),
        ("user", "copy.2 = f32[8,128]{1,0} copy(fusion.1)"),
    ]
    assert found["link"] == f"{PAGE}graph_viewer&program_id=7&node_name=fusion.1&graph_width=1"
    asked_for = [(one["verb"], one["arguments"]) for one in found["next"]]
    assert asked_for == [
        ("op", {"run": "memory", "name": "fusion.1@jit_step(7)"}),
        ("source", {"run": "memory", "place": "/home/me/train.py:12"}),
        ("hlo", {"run": "memory", "op": "x@jit_step(7)"}),
        ("hlo", {"run": "memory", "op": "copy.2@jit_step(7)"}),
    ]


@pytest.mark.parametrize("hops", range(4))
def test_hlo_has_the_instructions_that_the_graph_viewer_draws(hops: int) -> None:
    found = ask("hlo", op="fusion.1", around=hops)
    drawn = {node["name"] for node in page(LOGDIR, found)["nodes"]}
    listed = {one["id"].partition("@")[0] for one in found["answer"]["instructions"]}
    assert drawn <= listed
    assert listed - drawn <= {"fusion.1", "x"}  # drawn as a box, or written into its users


@pytest.mark.parametrize("op", ["add.1", "add.1@jit_step(7)", "add.1@7", "add.1@jit_step", "add.1{0}@jit_step(7)"])
def test_hlo_of_an_instruction_that_is_no_op(op: str) -> None:
    found = ask("hlo", op=op, around=0)
    assert [one["id"] for one in found["answer"]["instructions"]] == ["add.1@jit_step(7)"]
    assert [one["verb"] for one in found["next"]] == ["source"]


def test_hlo_of_several_programs() -> None:
    assert ask("hlo", op="copy.2@8", around=0)["answer"]["program"] == "jit_eval(8)"
    with pytest.raises(BadRequest, match="2 programs have an op"):
        ask("hlo", op="copy.2")


@pytest.mark.parametrize(
    ("op", "choice"),
    [
        ("fusion.7", "fusion.1@jit_step(7)"),
        ("fusion.7@jit_step(7)", "fusion.1@jit_step(7)"),
        ("fusion.1@9", "fusion.1@jit_step(7)"),
        ("fusion.1@jit_other(9)", "fusion.1@jit_step(7)"),
        ("", "fusion.1@jit_step(7)"),
        ("a@" + "9" * 5000, "fusion.1@jit_step(7)"),
        ("a@²", "fusion.1@jit_step(7)"),
    ],
)
def test_hlo_of_what_is_not_there(op: str, choice: str) -> None:
    with pytest.raises(NotFound) as caught:
        ask("hlo", op=op)
    assert caught.value.details["argument"] == "op"
    assert caught.value.details["choices"][0] == choice


@pytest.mark.parametrize("around", [-1, 6])
def test_hlo_too_far_around(around: int) -> None:
    with pytest.raises(BadRequest, match="around must be from 0 to 5") as caught:
        ask("hlo", op="fusion.1", around=around)
    assert caught.value.details["choices"] == ["0", "1", "2", "3", "4", "5"]


def test_hlo_without_programs() -> None:
    device = TPU[TPU.index("plane 2") :]
    assert asked(opened(device), "hlo", op="fusion.1")["cannot_answer"]["reason"] == (
        "The profile contains no HLO module."
    )


def test_memory_of_a_program() -> None:
    found = ask("memory")
    buffers = found["answer"].pop("buffers")
    assert found["answer"] == {
        "verdict": "No limit: 0.0% of the memory in use at the peak of the program.",
        "program": "jit_step(7)",
        "peak_bytes": 14 * MIB,
        "without_padding_bytes": 8 * MIB + 2 * 8 * 128 * 4,
        "argument_bytes": 8 * MIB,
        "output_bytes": 0,
        "device_bytes": 32 << 30,
        "device_memory": "by the device's model; the runtime reserves a part",
    }
    assert [(one["id"], one["size_bytes"], one["kind"]) for one in buffers] == [
        ("x@jit_step(7)", 8 * MIB, "Parameter"),
        ("fusion.1@jit_step(7)", 4 * MIB, "Temporary"),
        ("copy.2@jit_step(7)", 2 * MIB, "Temporary"),
    ]
    shown = page(LOGDIR, found)
    assert (shown["peak_bytes"], shown["device"]["bytes"]) == (14 * MIB, 32 << 30)
    assert [size for (size,) in rows(shown["buffers"], "size")] == [8 * MIB, 4 * MIB, 2 * MIB]
    assert found["cannot_answer"] is None


def test_memory_that_was_recorded() -> None:
    found = asked(RECORDED, "memory")
    assert found["answer"] == {
        "verdict": "Near the limit: 95.0% of the memory in use at the peak of TPU 0.",
        "of": "TPU 0 of host host",
        "in_use_bytes": 9_500_000,
        "capacity_bytes": 10_000_000,
        "free_bytes": 500_000,
        "heap_bytes": 8_500_000,
        "stack_bytes": 1_000_000,
        "at_ms": 0.002,
        "heap_lifetime_peak_bytes": 9_500_000,
        "allocators": ["TPU 0 of host"],
        "allocations": [
            {**row, "count": 1}
            for row in (
                {
                    "id": "params",
                    "size_bytes": 5_000_000,
                    "kind": "persist",
                    "shape": "float[8,128]",
                    "framework_op": "params",
                },
                {
                    "id": "grads",
                    "size_bytes": 3_500_000,
                    "kind": "temp",
                    "shape": "float[8,64]",
                    "framework_op": "grads",
                },
                {"id": "stack", "size_bytes": 1_000_000, "kind": "stack", "shape": "", "framework_op": ""},
            )
        ],
    }
    (memory,) = page(RECORDED, found)["memories"]
    assert (memory["id"], memory["peak"]["capacity"], memory["peak"]["used"]) == ("0", 10_000_000, 9_500_000)
    assert found["link"] == f"{PAGE}memory_profile&host=host&memory_id=0"
    assert found["next"][0]["arguments"] == {"run": "memory", "program": "jit_step(7)"}


def test_memory_of_devices_comes_before_fuller_memory_of_the_host() -> None:
    more = (
        '    4us +0us MemoryAllocation {allocator_name="host_pool", bytes_reserved=0, bytes_allocated=99, '
        "bytes_available=1, peak_bytes_in_use=99, allocation_bytes=99, requested_bytes=99, addr=7}\n"
    )
    found = asked(opened(TPU + ALLOCATIONS + more), "memory")["answer"]
    assert (found["of"], found["allocators"]) == ("TPU 0 of host host", ["TPU 0 of host", "host_pool of host"])


def test_memory_of_a_program_instead_of_allocations() -> None:
    for asked_for in ("jit_step(7)", "7"):
        found = asked(RECORDED, "memory", program=asked_for)["answer"]
        assert (found["program"], found["device_bytes"]) == ("jit_step(7)", 10_000_000)


def test_memory_that_is_not_known() -> None:
    without = ask("memory", program="jit_eval(8)")
    assert without["cannot_answer"]["reason"] == "The profile has no buffer assignment of jit_eval(8)."
    assert without["answer"] == {"program": "jit_eval(8)"}
    with pytest.raises(NotFound) as caught:
        ask("memory", program="jit_other(1)")
    assert caught.value.details == {"argument": "program", "choices": ["jit_eval(8)", "jit_step(7)"]}


def test_memory_of_a_program_without_hlo() -> None:
    """The step ran 48 of 53 us, and only the HLO of the other program, which ran, and of one that did not is there."""
    other = program([op("x", "parameter", OF), op("copy.2", "copy", OF, "x")], module="jit_eval")
    silent = program(STEP, module="jit_old", main="main", fused=FUSED) + assignment(*BUFFERS)
    logdir = opened(metadata_plane(second=(8, other), third=(9, silent)) + "\n" + DEVICE)
    found = asked(logdir, "memory")
    share = found["answer"].pop("share_percent")
    assert found["answer"] == {"program": "jit_step(7)"}
    assert found["cannot_answer"]["reason"] == (
        f"The program that ran {share:.1f}% of the time, jit_step(7), has no HLO in this recording: "
        "its memory is unknown."
    )
    assert found["cannot_answer"]["how_to_record"].startswith("Record the HLO of programs with the profile")
    assert found["next"][0]["arguments"] == {"run": "memory", "program": "jit_eval(8)"}
    old = asked(logdir, "memory", program="jit_old(9)")["answer"]
    assert (old["peak_bytes"], "verdict" in old) == (14 * MIB, False)
    assert old["notes"] == ["This program did not run in the recording.", found["cannot_answer"]["reason"]]


def test_memory_of_an_unknown_capacity() -> None:
    programs = TPU.partition("plane 2")[0]
    found = asked(opened(programs), "memory", program="jit_step(7)")
    assert found["answer"]["peak_bytes"] == 14 * MIB
    assert "verdict" not in found["answer"]
    assert found["cannot_answer"]["reason"].startswith("The capacity is not recorded")
    nothing = asked(opened('plane 1 "/host:CPU"\nline 1 a\n0us +1us x'), "memory")
    assert nothing["answer"] == {}
    assert nothing["cannot_answer"]["how_to_record"].startswith("Record on a TPU or GPU")
