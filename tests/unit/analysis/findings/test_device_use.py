"""What limits a device: memory bandwidth or arithmetic, as recorded or by the costs of ops; and copies."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told, tpu, window
from builders.programs.hlo import op, program

PEAKS = ", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=100d"
OPS = [("%fusion.1 = f32[8] fusion()", "loop fusion", 100)]


def recorded(matrix: float, hbm: float) -> str:
    host = f'plane 9 "/host:CPU" {{matrix_unit_utilization_percent={matrix}d, hbm_utilization_percent={hbm}d}}'
    return tpu(OPS) + "\n" + host


@pytest.mark.parametrize(
    ("matrix", "hbm", "memory", "compute"),
    [
        (49.9, 70.1, True, False),
        (50.0, 70.1, False, False),
        (49.9, 70.0, False, False),
        (70.1, 49.9, False, True),
        (70.0, 49.9, False, False),
        (70.1, 50.0, False, False),
    ],
)
def test_the_limits_of_xprof(matrix: float, hbm: float, memory: bool, compute: bool) -> None:
    profile = recorded(matrix, hbm)
    found = told("memory_bound", profile), told("compute_bound", profile)
    assert ["share" in one for one in found] == [memory, compute]
    assert [one.get("share", 0) for one in found] == [0, 0]
    if not memory:
        assert found[0]["reason"] == f"The matrix units are used to {matrix}% of their peak, HBM bandwidth to {hbm}%."


def test_recorded_use() -> None:
    found = told("memory_bound", recorded(20, 80))
    assert (found["title"], found["confidence"]) == ("Limited by memory bandwidth: HBM at 80.0% of its peak", "high")
    shown = evidence(found)
    assert shown["HBM bandwidth, of the peak"] == (80.0, "%", "overview_page")
    assert shown["Matrix units, of the peak"] == (20.0, "%", "overview_page")


@pytest.mark.parametrize(
    ("flops", "accessed", "rule", "title"),
    [
        # In 100 us: 1e8 FLOPs at the peak, 1e7 bytes.
        (20_000_000, 8_000_000, "memory_bound", "Limited by memory bandwidth: 80.0% of its peak"),
        (90_000_000, 1_000_000, "compute_bound", "Limited by arithmetic: matrix units at 90.0% of their peak"),
    ],
)
def test_use_by_the_costs_of_ops(flops: int, accessed: int, rule: str, title: str) -> None:
    costs = f", flops={flops}, model_flops={flops}, bytes_accessed={accessed}"
    found = told(rule, tpu(OPS, facts=PEAKS, costs=costs))
    assert (found["title"], found["confidence"]) == (title, "medium")
    assert any("estimated from the costs of ops" in label for label in evidence(found))


@pytest.mark.parametrize("rule", ["memory_bound", "compute_bound"])
def test_unknown_or_impossible_use(rule: str) -> None:
    costs = ", flops=20000000, model_flops=20000000, bytes_accessed=20000000"  # twice the peak bandwidth
    for profile in (tpu(OPS), cpu([("dot.1", 50)]), tpu(OPS, facts=PEAKS, costs=costs)):
        found = told(rule, profile)
        assert (found["reason"], found["state"]) == (
            "The use of matrix units and memory bandwidth is unknown.",
            "unknown",
        )


def offload(space: int) -> bytes:
    """A copy from a memory space that an addition waits for."""
    of, there = "f32[1024,1024]{1,0}", f"f32[1024,1024]{{1,0:S({space})}}"
    line = {"source_file": "/home/me/model.py", "source_line": 9, "op_name": "jit(f)/add"}
    entry = [
        op("x", "parameter", there),
        op("copy-start.1", "copy-start", [of, there, "u32[]"], "x"),
        op("copy-done.1", "copy-done", of, "copy-start.1"),
        op("add.1", "add", of, "copy-done.1", "copy-done.1", **line),
    ]
    return program(entry)


def copying(wait: int, space: int = 5) -> str:
    ops = [
        ("%copy-start.1 = f32[8] copy-start()", "copy-start", 1),
        ("%copy-done.1 = f32[8] copy-done()", "copy-done", wait),
        ("%add.1 = f32[8] add()", "add", 50),
    ]
    return tpu(ops, proto=offload(space))


def test_a_copy_from_the_memory_of_the_host() -> None:
    found = told("exposed_copy", copying(40))
    assert found["title"] == ("41.0% of the step waits for host copies, most of it in copy-done.1 (model.py:9)")
    assert (found["saving_ps_per_step"], found["share"]) == (41_000_000, 0.41)
    shown = evidence(found)
    assert shown["Host copies per step"] == (0.041, "ms", "time_budget")
    assert shown["Self time of copy-done.1, all runs on h0"] == (80.0, "us", "hlo_stats")
    assert shown["Size of the copied value"] == (4.0, "MiB", "")
    assert window(found) == {"host": "h0", "window": "0,81000000", "find": "copy-done.1"}
    other = told("exposed_copy", copying(40, space=1))
    assert other["title"].startswith("41.0% of the step waits for copies, most of it in ")


@pytest.mark.parametrize(("wait", "finds"), [(9, True), (8, False)])
def test_copies_from_a_tenth_of_the_step_on(wait: int, finds: bool) -> None:
    found = told("exposed_copy", copying(wait))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Host copies take 9.0% of the step."


def test_copies_of_the_cpu_backend_are_computation() -> None:
    assert told("exposed_copy", cpu([("copy.1", 50)]))["state"] == "unknown"


def test_copies_that_are_alike_are_most_of_it_at_their_line() -> None:
    of, there = "f32[1024,1024]{1,0}", "f32[1024,1024]{1,0:S(5)}"
    line = {"source_file": "/home/me/model.py", "source_line": 9, "op_name": "jit(f)/add"}
    entry, ops = [op("x", "parameter", there)], [("%add.1 = f32[8] add()", "add", 50)]
    for i in range(1, 5):
        entry += [
            op(f"copy-start.{i}", "copy-start", [of, there, "u32[]"], "x"),
            op(f"copy-done.{i}", "copy-done", of, f"copy-start.{i}", **line),
        ]
        ops.append((f"%copy-done.{i} = f32[8] copy-done()", "copy-done", 9 + (i == 3)))
    entry.append(op("add.1", "add", of, "copy-done.1", "copy-done.2", **line))
    found = told("exposed_copy", tpu(ops, proto=program(entry)))
    most = "most of it at model.py:9, the largest part, 27%, in copy-done.3"
    assert found["title"] == f"37.0% of the step waits for host copies, {most}"
    assert evidence(found)["The op with the largest part"][0] == "copy-done.3"
