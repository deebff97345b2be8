"""Memory near its limit, and memory that is kept for the backward pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.answers import answer
from builders.profiles.findings import cpu, evidence, told, tpu
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, trace
from builders.programs.hlo import Op, metadata_plane, op, program

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.model import Finding, Silence
from tpu_profile_plugin.analysis.findings.rules.memory import kept_for_backward, memory_near_limit
from tpu_profile_plugin.analysis.findings.rules.memory.memory_near_limit import ADVICE, RECOMPUTES, Use
from tpu_profile_plugin.analysis.memory.allocations import MemoryUse
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan
from tpu_profile_plugin.analysis.memory.kept_for_backward import Kept, KeptBuffer, KeptGroup
from tpu_profile_plugin.tools.memory.memory_viewer import TOOL as VIEWER

MIB = 1 << 20
STACK = "f32[8,1024,1024]{2,1,0}"
SLICE = "f32[1,1024,1024]{2,1,0}"
FORWARD, BACKWARD = "jit(step)/jvp()", "jit(step)/transpose(jvp())"
LINE = {"source_file": "/home/me/model.py", "source_line": 7}


def scan(forward: str = FORWARD, backward: str = BACKWARD) -> tuple[list[Op], dict[str, list[Op]]]:
    """A loop that stacks the exponentials of its steps, and a loop that reads them from the last to the first."""
    carried = ["s32[]", STACK]
    update = [
        op("u.stack", "parameter", STACK),
        op("u.value", "parameter", SLICE, parameter_number=1),
        op("u.at", "parameter", "s32[]", parameter_number=2),
        op("u.cast", "bitcast", SLICE, "u.value"),
        op("u.dus", "dynamic-update-slice", STACK, "u.stack", "u.cast", "u.at"),
    ]
    body = [
        op("f.state", "parameter", carried),
        op("f.at", "get-tuple-element", "s32[]", "f.state"),
        op("f.stack", "get-tuple-element", STACK, "f.state", tuple_index=1),
        op("f.exp", "custom-call", SLICE, op_name=f"{forward}/while/body/softmax/exp", **LINE),
        op("f.dus", "fusion", STACK, "f.stack", "f.exp", "f.at", called=["update"], fusion_kind="kLoop",
           op_name=f"{forward}/while/body/dynamic_update_slice"),
        op("f.next", "tuple", carried, "f.at", "f.dus"),
    ]  # fmt: skip
    back = [
        op("b.state", "parameter", carried),
        op("b.at", "get-tuple-element", "s32[]", "b.state"),
        op("b.stack", "get-tuple-element", STACK, "b.state", tuple_index=1),
        op("b.read", "dynamic-slice", SLICE, "b.stack", "b.at", op_name=f"{backward}/while/body/dynamic_slice"),
        op("b.next", "tuple", carried, "b.at", "b.stack"),
    ]
    entry = [
        op("zero", "constant", "s32[]"),
        op("empty", "broadcast", STACK, "zero"),
        op("init", "tuple", carried, "zero", "empty"),
        op("forward", "while", carried, "init", called=["body", "go_on"], op_name=f"{forward}/while"),
        op("kept", "get-tuple-element", STACK, "forward", tuple_index=1),
        op("again", "tuple", carried, "zero", "kept"),
        op("backward", "while", carried, "again", called=["back", "go_on"], op_name=f"{backward}/while"),
    ]
    condition = [op("c.state", "parameter", carried), op("c.more", "constant", "pred[]")]
    return entry, {"body": body, "back": back, "update": update, "go_on": condition}


def buffers(entry: list[Op], computations: dict[str, list[Op]], sizes: dict[str, int], total: int) -> bytes:
    """The program with temporary buffers of these sizes (MiB) at instructions of the entry, all in use at the peak."""
    names = [one.name for one in entry]
    logical = [
        buffer(i, size * MIB, instruction_id(names.index(name))) for i, (name, size) in enumerate(sizes.items(), 1)
    ]
    assigned = [(i, 0, size * MIB) for i, size in enumerate(sizes.values(), 1)]
    events = [f"alloc {i} {name}" for i, name in enumerate(sizes, 1)]
    made = assignment(*logical, allocation(0, total * MIB, assigned), trace(*events))
    return program(entry, module="jit_step", **computations) + made


def kept(stack: int, other: int, forward: str = FORWARD, backward: str = BACKWARD) -> bytes:
    return buffers(*scan(forward, backward), {"empty": stack, "zero": other}, stack + other)


def test_a_scan_keeps_what_each_step_computes() -> None:
    profile = cpu([("f.exp", 50)], proto=kept(40, 60))
    found = told("kept_for_backward", profile)
    assert found["title"] == (
        "40% of the memory at the peak of jit_step(5) is kept for the backward pass, most of it for softmax/exp "
        "(model.py:7)"
    )
    assert (found["saving_ps_per_step"], found["share"]) == (0, 0)
    shown = evidence(found)
    assert shown["Kept for the backward pass, of the peak"] == (40.0, "%", "")
    assert shown["Peak memory of the program"] == (100.0, "MiB", "memory_viewer")
    assert shown["1 buffer of softmax/exp (model.py:7)"] == (40.0, "MiB", "")
    assert shown["Buffer empty, f32[8,1024,1024]"] == (40.0, "MiB", "memory_viewer")
    assert shown["It holds the result of"][0] == f"{FORWARD}/while/body/softmax/exp"
    assert "jax.checkpoint" in found["advice"]
    # The memory viewer shows the same.
    query = next(one["query"] for one in found["evidence"] if one["tool"] == "memory_viewer")
    page = answer(VIEWER, profile, module_name=query["module_name"])
    assert page["peakHeapMib"] == 100.0
    assert [(one["instructionName"], one["logicalBufferSizeMib"]) for one in page["maxHeapBySize"]] == [
        ("zero", 60.0),
        ("empty", 40.0),
    ]


@pytest.mark.parametrize(
    ("stack", "other", "finds", "reason"),
    [
        (25, 75, True, ""),
        (24, 76, False, "Large buffers kept for the backward pass are 24.0% of the peak of jit_step(5), 100 MiB."),
        (20, 12, True, ""),
        (20, 11, False, "No program with a backward pass has a peak of 32 MiB of memory."),
    ],
)
def test_a_quarter_of_a_peak_that_matters(stack: int, other: int, finds: bool, reason: str) -> None:
    found = told("kept_for_backward", cpu([("f.exp", 50)], proto=kept(stack, other)))
    assert (("share" in found), found.get("reason", "")) == (finds, reason)


def test_what_the_backward_pass_writes_is_not_kept_for_it() -> None:
    profile = cpu([("f.exp", 50)], proto=kept(60, 40, BACKWARD, BACKWARD))
    assert told("kept_for_backward", profile)["reason"].startswith("Large buffers kept for the backward pass are 0.0%")
    profile = cpu([("f.exp", 50)], proto=kept(60, 40, FORWARD, FORWARD))
    found = told("kept_for_backward", profile)
    assert (found["reason"], found["state"]) == ("No program with a backward pass recorded.", "unknown")


def test_tensorflow_marks_the_backward_pass_by_its_tape() -> None:
    profile = cpu([("f.exp", 50)], proto=kept(60, 40, "model/attention", "gradient_tape/model/attention"))
    assert told("kept_for_backward", profile)["title"].startswith("60% of the memory at the peak of jit_step(5)")


@pytest.mark.parametrize(("size", "confidence"), [(400, "high"), (401, "low")])
def test_a_device_with_much_memory_to_spare(size: int, confidence: str) -> None:
    ops = [("%f.exp = f32[8] custom-call()", "custom-call", 50)]
    profile = tpu(ops, proto=kept(60, 40), facts=f", memory_size={size * MIB}")
    found = told("kept_for_backward", profile)
    assert found["confidence"] == confidence
    assert evidence(found)["That peak, of the device's memory"] == (100 * 100 / size, "%", "")


def test_layers_that_are_not_a_loop_keep_a_buffer_each() -> None:
    of = "f32[1024,1024]{1,0}"
    entry = [op("x", "parameter", of)]
    for i in range(10):
        entry.append(op(f"act.{i}", "tanh", of, "x", op_name=f"{FORWARD}/layer_{i}/tanh", **LINE))
    entry += [op(f"grad.{i}", "multiply", of, f"act.{i}", "x", op_name=f"{BACKWARD}/mul") for i in range(10)]
    proto = buffers(entry, {}, {**{f"act.{i}": 5 for i in range(10)}, "x": 50}, 100)
    found = told("kept_for_backward", cpu([("act.0", 50)], proto=proto))
    assert found["title"].startswith("50% of the memory")
    shown = evidence(found)
    assert shown["10 buffers of layer_0/tanh (model.py:7)"] == (50.0, "MiB", "")
    assert shown["Buffer act.0, f32[1024,1024]"] == (5.0, "MiB", "memory_viewer")


def test_without_a_loop_and_in_a_call() -> None:
    of = "f32[1024,1024]{1,0}"
    called = [op("g.x", "parameter", of), op("g.out", "multiply", of, "g.x", "g.x", op_name=f"{BACKWARD}/mul")]
    entry = [
        op("x", "parameter", of),
        op("act", "tanh", of, "x", op_name=f"{FORWARD}/tanh", **LINE),
        op("sum", "add", of, "act", "x", op_name=f"{FORWARD}/add"),
        op("form", "bitcast", of, "act"),
        op("grad", "call", of, "form", called=["gradient"]),
    ]
    proto = buffers(entry, {"gradient": called}, {"act": 50, "sum": 50}, 100)
    found = told("kept_for_backward", cpu([("act", 50)], proto=proto))
    assert found["title"].startswith("50% of the memory")
    assert found["title"].endswith("most of it for jvp()/tanh (model.py:7)")


def allocator(name: str, used: int, free: int, device: str = "/device:TPU:0") -> str:
    facts = f'allocator_name="{name}", bytes_reserved=0, bytes_allocated={used * MIB}, bytes_available={free * MIB}'
    lines = [f'plane 8 "{device}" {{device_type_string="TPU v5 Lite"}}', 'plane 9 "/host:CPU"', "line 1 t"]
    return "\n".join([*lines, f"1us +0us MemoryAllocation {{{facts}}}"])


def test_an_allocator_near_its_limit() -> None:
    found = told("memory_near_limit", allocator("0", 90, 10))
    assert found["title"] == "Memory is 90% full at the peak of TPU 0, 90 MiB"
    assert (found["share"], found["confidence"]) == (0, "high")
    assert evidence(found) == {
        "In use at the peak, of the capacity": (90.0, "%", "memory_profile"),
        "In use at the peak": (90.0, "MiB", "memory_profile"),
        "Capacity": (100.0, "MiB", "memory_profile"),
    }
    assert found["evidence"][0]["query"] == {"host": "h0", "memory_id": "0"}
    below = told("memory_near_limit", allocator("0", 89, 11))
    assert below["reason"] == "The peak of TPU 0 is 89.0% of the device's memory."


def test_an_allocator_of_a_gpu_and_one_of_the_host() -> None:
    assert "title" in told("memory_near_limit", allocator("GPU_0_bfc", 95, 5, "/device:GPU:0"))
    for name in ("gpu_host_bfc", "cpu_bfc"):
        assert told("memory_near_limit", allocator(name, 95, 5, "/device:GPU:0"))["state"] == "unknown"
    assert told("memory_near_limit", allocator("0", 95, 5, "/host:other"))["state"] == "unknown"


@pytest.mark.parametrize(("gib", "finds"), [(15, True), (14, False)])
def test_a_program_that_needs_almost_all_of_a_tpu(gib: int, finds: bool) -> None:
    entry = [op("x", "parameter", "f32[16]"), op("dot.1", "tanh", "f32[16]", "x")]
    proto = buffers(entry, {}, {"dot.1": gib * 1024}, gib * 1024)
    profile = tpu([("%dot.1 = f32[16] tanh()", "tanh", 50)], proto=proto).replace("TPU v5p", "TPU v5 Lite")
    found = told("memory_near_limit", profile)
    assert ("title" in found) is finds
    if finds:
        assert (found["title"], found["confidence"]) == (
            "Memory is 94% full at the peak of program jit_step(5), 15,360 MiB",
            "medium",
        )
        assert found["evidence"][0]["query"] == {"host": "h0", "module_name": "jit_step(5)"}
    else:
        assert found["reason"] == "The peak of program jit_step(5) is 87.5% of the device's memory."


def recomputing(size: int, capacity: int) -> str:
    """A TPU with `capacity` MiB of memory whose program takes `size` of them and computes half of its ops again."""
    entry = [
        op("x", "parameter", "f32[16]"),
        op("exp.1", "exponential", "f32[16]", "x", op_name="jit(f)/jvp(checkpoint)/exp"),
        op("exp.2", "exponential", "f32[16]", "exp.1", op_name="jit(f)/transpose(jvp())/rematted_computation/exp"),
    ]
    proto = buffers(entry, {}, {"exp.1": size}, size)
    ops = [(f"%exp.{i} = f32[16] exponential()", "loop fusion", 40) for i in (1, 2)]
    return tpu(ops, proto=proto, facts=f", memory_size={capacity * MIB}")


@pytest.mark.parametrize(("size", "finds"), [(49, True), (50, False)])
def test_recomputation_where_half_of_the_memory_is_in_use(size: int, finds: bool) -> None:
    found = told("recomputation", recomputing(size, 100))
    assert ("share" in found) is finds
    if finds:
        assert evidence(found)["That peak, of the device's memory"] == (49.0, "%", "")
    else:
        assert found["reason"] == (
            "Recomputed ops take 40.0% of the step; their program fills 50% of the device's memory with them."
        )


def test_a_program_that_recomputes_and_is_near_the_limit() -> None:
    found = told("memory_near_limit", recomputing(95, 100))
    assert "The program recomputes values already" in found["advice"]
    assert "recomputation in the backward pass" not in found["advice"]


OTHER = 6
"""A program that did not run, next to the one of the builders, which did."""


@pytest.mark.parametrize("gib", [1, 15])
def test_a_program_that_did_not_run_says_nothing_about_the_memory(gib: int) -> None:
    entry = [op("x", "parameter", "f32[16]"), op("dot.1", "tanh", "f32[16]", "x")]
    proto = buffers(entry, {}, {"dot.1": gib * 1024}, gib * 1024)
    ran = tpu([("%dot.1 = f32[16] tanh()", "tanh", 50)]).replace("TPU v5p", "TPU v5 Lite")
    profile = f"{ran}\n{metadata_plane(jit_f=(OTHER, proto))}"
    for rule in ("memory_near_limit", "kept_for_backward"):
        assert "title" not in told(rule, profile)
    found = told("memory_near_limit", profile)
    assert (found["reason"], found["state"]) == (
        "The program that ran all the time, 5, has no HLO in this recording: its memory is unknown.",
        "unknown",
    )
    viewed = answer(VIEWER, profile, module_name="jit_step(6)", page=True)
    assert viewed["did_not_run"] is True
    assert viewed["unknown_memory"].startswith(found["reason"] + " Record the HLO of programs with the profile")


def test_names_of_runs_tell_which_programs_ran_where_all_are_known() -> None:
    entry = [op("x", "parameter", "f32[16]"), op("dot.1", "tanh", "f32[16]", "x")]
    proto = buffers(entry, {}, {"dot.1": 1024}, 1024)
    run = 'line 1 "XLA Modules" @0us\n0us +50us "jit_step(5)"'
    profile = f'plane 1 "/device:TPU:0"\n{run}\n{metadata_plane(jit_f=(5, proto), jit_g=(OTHER, proto))}'
    viewed = [answer(VIEWER, profile, program_id=number, page=True) for number in ("5", "6")]
    assert [(one["did_not_run"], one["unknown_memory"]) for one in viewed] == [(False, ""), (True, "")]


# Typed-in allocators and programs.


@pytest.mark.parametrize(
    ("in_use", "free", "expected"),
    [
        ([10, 30, 20], [90, 70, 80], (30, 100)),
        ([30, 10, 30, 10], [1, 2, 3, 4], (30, 33)),  # the last peak
        ([10, 20], [4, 3], (20, 23)),
        ([20, 10], [3, 4], (20, 23)),
        ([7], [0], None),  # nothing tells what is free
        ([7, 8], [1, 0], (8, 8)),
        ([0, 0], [5, 5], None),
    ],
)
def test_the_peak_of_an_allocator(in_use: list[int], free: list[int], expected: tuple[int, int] | None) -> None:
    host: Any = SimpleNamespace(
        space=SimpleNamespace(planes=()), allocators={"bfc": MemoryUse(np.array(in_use), np.array(free))}
    )
    found = [(one.name, one.title, one.used, one.capacity) for one in memory_near_limit._allocators(host)]
    assert found == ([] if expected is None else [("bfc", "allocator bfc", *expected)])


def use(used: int, name: str = "0", capacity: int = 100, **more: Any) -> Use:
    return Use(name, f"TPU {name}" if name else "", used, capacity, **more)


RAN = (ProgramRan("f", 9, False, 1.0),)


@pytest.mark.parametrize(
    ("allocators", "programs", "ran", "expected"),
    [
        ([use(50), use(90, "1")], [use(95, "p", module=True)], RAN, ("1", 90, (), True)),
        ([use(89)], [], (), ("0", 89, (), False)),
        ([], [use(40, "p", module=True), use(91, "q", module=True)], RAN, ("q", 91, RAN, True)),
        ([], [use(40, "p", 0, module=True)], (), ("p", 40, (), False)),
        ([], [], RAN, ("", 0, RAN, False)),
        ([], [], (), None),
    ],
)
def test_the_fullest_allocator_or_else_program(
    monkeypatch: pytest.MonkeyPatch, allocators: list[Use], programs: list[Use], ran: Any, expected: Any
) -> None:
    """Its advice is another one if it is full of a program that recomputes values."""
    for name, value in {
        "_allocators": iter(allocators), "_programs": programs, "programs_ran": ran, "programs_of_devices": (),
        "work_of": None, "recomputed": ["an op"],
    }.items():  # fmt: skip
        monkeypatch.setattr(memory_near_limit, name, lambda *_, value=value: value)

    def host(hardware: Hardware) -> Any:
        summary = SimpleNamespace(environment=SimpleNamespace(hardware=hardware))
        return SimpleNamespace(
            summary=summary, space=None, devices=(), hlo=SimpleNamespace(programs=SimpleNamespace(programs=()))
        )

    assert memory_near_limit.gather(host(Hardware.CPU_ONLY)) is None
    found = memory_near_limit.gather(host(Hardware.TPU))
    if expected is None:
        assert found is None
        return
    name, used, of_programs, full = expected
    assert found is not None
    assert (found.name, found.used, found.ran) == (name, used, of_programs)
    assert found.advice is (RECOMPUTES if full else ADVICE)
    monkeypatch.setattr(memory_near_limit, "recomputed", lambda work: [])
    monkeypatch.setattr(memory_near_limit, "_allocators", lambda host: iter(allocators))
    again = memory_near_limit.gather(host(Hardware.GPU))
    assert again is not None
    assert again.advice is ADVICE


def near(*parts: Use | None) -> tuple[Any, ...]:
    """Whom the verdict is about."""
    names = "abc"[: len(parts)]
    run: Any = SimpleNamespace(
        present=lambda given: [(one, host) for one, host in zip(given, names, strict=True) if one is not None]
    )
    found = memory_near_limit.judge(run, parts)
    if isinstance(found, Silence):
        return found.reason, found.looked
    page = found.evidence[0]
    assert [one.value for one in found.evidence] == [page.value, found.evidence[1].value, 200.0]
    assert all(one.query == page.query for one in found.evidence)
    return found.hosts, page.tool, page.query["host"], page.value, found.evidence[1].value, found.confidence


def test_the_hosts_whose_memory_is_almost_full() -> None:
    full, fuller, free = (use(size * 2 * MIB, capacity=200 * MIB) for size in (90, 96, 89))
    assert near(free, full) == (("b",), "memory_profile", "b", 90.0, 180.0, "high")
    assert near(full, None, fuller) == (("a", "c"), "memory_profile", "c", 96.0, 192.0, "high")
    program = use(180 * MIB, "p", 200 * MIB, module=True)
    assert near(program, free) == (("a",), "memory_viewer", "a", 90.0, 180.0, "medium")
    assert near(free, None) == ("The peak of TPU 0 is 89.0% of the device's memory.", True)
    assert near(None)[1] is near()[1] is near(use(0, ""))[1] is False
    # Of a program without HLO nothing is known, unless other memory is full.
    unknown = use(0, "", ran=RAN)
    assert "is unknown" in near(unknown, free)[0]
    assert near(unknown, free)[1] is False
    assert near(unknown, full)[0] == ("b",)
    known = use(0, "", ran=(ProgramRan("f", 9, True, 1.0),))
    assert near(known, free)[0] == "The peak of TPU 0 is 89.0% of the device's memory."


def kept_of(*sizes: int, peak: int = 1000, made_by: str = "a/tanh") -> Kept:
    """A program with a group of one buffer of each size in MiB, the largest first."""
    groups = (KeptGroup((KeptBuffer("b", "op", "f32[8]", size * MIB, made_by, ""),)) for size in sizes)
    return Kept("jit_f(5)", 5, peak * MIB, tuple(groups))


@pytest.mark.parametrize(
    ("kept", "much"),
    [
        (kept_of(500), True),
        (kept_of(499), False),
        (kept_of(600, made_by="a/dot_general"), False),
        (kept_of(600, made_by="a/conv_general_dilated"), False),
        (kept_of(600, made_by="dot_general/add"), True),
        (kept_of(499, made_by="a/dot_general"), False),
    ],
)
def test_buffers_of_one_kind_that_are_half_of_the_peak(kept: Kept, much: bool) -> None:
    assert kept_for_backward._is_much(kept) is much


def gathered(monkeypatch: pytest.MonkeyPatch, *kept: Kept | None, capacity: int = 4000) -> tuple[int, Any]:
    """The verdict on programs with a backward pass; capacity in MiB."""
    for name, value in {
        "programs_by_time": lambda host, most: range(len(kept)), "has_backward_pass": lambda blob: True,
        "layout_of": lambda host, number: number,
        "kept_buffers": lambda layout, least, share: kept[layout],
        "device_memory": lambda space: SimpleNamespace(bytes=capacity * MIB),
    }.items():  # fmt: skip
        monkeypatch.setattr(kept_for_backward, name, value)
    hlo = SimpleNamespace(programs=SimpleNamespace(blob=lambda number: b""))
    host: Any = SimpleNamespace(name="h", space=None, hlo=hlo)
    return kept_for_backward.gather(host)


@pytest.mark.parametrize(
    ("kept", "capacity", "size", "expected"),
    [
        ([], 4000, None, False),
        ([None], 4000, 0, True),
        ([kept_of(249)], 4000, 249, True),
        ([None, kept_of(250)], 4000, 250, "low"),
        ([kept_of(260), kept_of(500), kept_of(300)], 4000, 500, "high"),
        ([kept_of(500)], 4001, 500, "low"),
        ([kept_of(500)], 0, 500, "high"),
        ([kept_of(0, peak=0)], 4000, 0, True),
    ],
)
def test_the_program_that_keeps_most(
    monkeypatch: pytest.MonkeyPatch, kept: list[Kept | None], capacity: int, size: int | None, expected: Any
) -> None:
    amount, found = gathered(monkeypatch, *kept, capacity=capacity)
    assert amount == (-1 if size is None else size * MIB)
    assert expected == (found.confidence if isinstance(found, Finding) else found.looked)


def test_the_kind_with_the_largest_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for sizes, told_of in (((300, 299), ", most of it for a/tanh"), ((300, 300), "; the kind a/tanh has the largest")):
        found = gathered(monkeypatch, kept_of(*sizes))[1]
        assert told_of in found.title
        assert [one.value for one in found.evidence[:3]] == [sum(sizes) / 10, 1000.0, 25.0]


def test_the_host_that_keeps_most() -> None:
    verdicts = [(size, Silence(str(size))) for size in (-1, 0, 30, 20)]
    run: Any = None
    assert [kept_for_backward.judge(run, verdicts[:n]).reason for n in (1, 2, 4)] == ["-1", "0", "30"]
