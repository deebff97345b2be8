"""One host reduced, and several as one: host ops, cores, times that cannot be, peaks, ops of the CPU itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders.answers import summary
from builders.asked import ask, rows
from builders.programs.buffers import profile
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.steps.step_table import SPARSE_CORE_IDS
from tpu_profile_plugin.analysis.summary.host_summary import reduce_summaries
from tpu_profile_plugin.analysis.summary.missing_events import mended_times
from tpu_profile_plugin.columns import DeviceClock, ImpossibleTimes
from tpu_profile_plugin.tools.ops import hlo_stats
from tpu_profile_plugin.tools.ops.roofline_model import TOOL as ROOFLINE

EAGER = """
plane 1 "/host:CPU"
line 1 a
0us +1us plain
1us +1us plain
2us +1us "c:Add"
10us +10us EagerExecute {is_func=0}
11us +1us "a:Add"
30us +10us EagerExecute {is_func=1}
31us +1us "b:Add"
"""


def test_ops_of_the_host_know_whether_they_ran_eagerly() -> None:
    table = summary(EAGER).host.ops
    assert dict(zip(table.name, table.eager.tolist(), strict=True)) == {"a": True, "b": False, "c": False}


def test_host_ops_of_several_hosts_add_up() -> None:
    one = summary(EAGER)
    for hosts in (1, 2, 3):
        table = reduce_summaries([one] * hosts).host.ops
        assert (sorted(table.name), table.occurrences.tolist()) == (["a", "b", "c"], [hosts] * 3)


def test_cores_are_known_by_the_ids_of_their_planes() -> None:
    tpu = 'plane 5 "/device:TPU:0" {core_details=0x1003}\nplane 7 "/device:TPU:0 SparseCore 0"'
    assert summary(tpu).cores == {5: ("localhost", 3), SPARSE_CORE_IDS + 7: ("localhost", -1)}
    assert summary('plane 5 "/device:GPU:0"').cores == {1: ("localhost", 0)}


def test_gpu_steps_of_several_hosts_with_and_without_the_events_of_the_hosts() -> None:
    gpu = """
    plane 0 "/host:CPU"
    line 1 a
    0us +90us train {_r=1, step_num=0}
    1us +1us launch {correlation_id=1}
    plane 1 "/device:GPU:0"
    line 10 "Stream #1"
    10us +30us k {correlation_id=1}
    """
    found = reduce_summaries([summary(gpu)] * 2)
    assert (found.steps.duration_ps // 10**6).tolist() == [[30, 30]]
    assert (found.merged_steps.duration_ps // 10**6).tolist() == [[90, 90]]


@pytest.mark.parametrize(
    ("memories", "shown"),
    [
        ("cmem_rd", ("1", "100", "0", "0", "0")),
        ("cmem_wr", ("1", "0", "100", "0", "0")),
        ("vmem_rd", ("0", "0", "0", "0", "0")),
        ("vmem_rd merged", ("0", "0", "0", "100", "0")),
        ("vmem_rd vmem_wr merged", ("0", "0", "0", "100", "100")),
        ("vmem_rd cmem_rd merged", ("1", "100", "0", "0", "0")),
    ],
)
def test_on_chip_memory_that_a_roofline_makes_sense_for(memories: str, shown: tuple[str, ...]) -> None:
    peaks = [f"peak_{name}_bw_gigabytes_per_second=107.3741824d" for name in memories.split() if name != "merged"]
    stats = ", ".join([*peaks, f"has_merged_vmem={int('merged' in memories)}"])
    found = ask(ROOFLINE, f'plane 2 "/device:TPU:0" {{device_type_string="TPU v9", {stats}}}')[0]["p"]
    names = ("has_cmem", "peak_cmem_read_bw", "peak_cmem_write_bw", "peak_vmem_read_bw", "peak_vmem_write_bw")
    assert tuple(found[name] for name in names) == shown


CPU = """
plane 2 "/host:CPU"
line 1 empty
line 2 worker
5us +10us add.1 {hlo_op="add.1", program_id=-300, device_ordinal=0}
6us +2us other {hlo_op="lost.9", program_id=-300, device_ordinal=0}
20us +10us add.1 {hlo_op="add.1", program_id=-300, device_ordinal=0}
"""


def test_ops_of_the_cpu_itself() -> None:
    add = program([op("x", "parameter", "f32[8,128]"), op("add.1", "add", "f32[8,128]", "x", "x")])
    modules = profile(jit_f=add).replace('"jit_f(1)" id=1 ', f'"jit_f({2**64 - 300})" id=-300 ')
    table = ask(hlo_stats.TOOL, modules + CPU, backend="auto")
    names = ("hlo_op_name", "program_id", "occurrences", "total_time", "total_self_time", "total_self_time_percent")
    assert rows(table, *names) == [
        ("add.1", str(2**64 - 300), 2, 20, 18, 72),
        ("lost.9", str(2**64 - 300), 1, 2, 2, 8),
    ]
    # 1024 operations in each of the runs.
    assert rows(table, "normalized_flop_rate") == [(2 * 1024 / 20_000,), (0,)]


def test_a_profile_without_a_host_has_no_ops_of_the_cpu() -> None:
    assert rows(ask(hlo_stats.TOOL, 'plane 1 "/host:metadata"', backend="cpu"), "hlo_op_name") == []


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        ([], []),
        (
            [("/host:CPU", "python", 1, 0)],
            [
                "1 event has an impossible time (0, negative, or far from all others) and is left out: "
                "1 on python of /host:CPU."
            ],
        ),
        (
            [("p", "a", 4, 0), ("p", "b", 3, 0), ("q", "c", 2, 0)],
            [
                "9 events have an impossible time (0, negative, or far from all others) and are left out: "
                "4 on a of p, 3 on b of p, 2 on c of q."
            ],
        ),
        (
            [("p", "a", 1, 0), ("p", "", 1200, 2), ("p", "c", 3, 0), ("q", "d", 2, 1)],
            [
                "1,206 events have an impossible time (0, negative, or far from all others) and are left out: "
                "1,200 on an unnamed line of p, 3 on c of p, 2 on d of q, the others on 1 more line.",
                "3 events have a duration that spans many later events of its stream and are cut short: "
                "2 on an unnamed line of p, 1 on d of q.",
            ],
        ),
    ],
)
def test_impossible_times_are_told(lines: list[tuple[str, str, int, int]], sentences: list[str]) -> None:
    found = list(mended_times([ImpossibleTimes(*line) for line in lines], ()))
    assert [one.message for one in found] == sentences
    kept = list(mended_times([ImpossibleTimes(*line, kept=True) for line in lines], ()))
    assert [(one.code, one.count) for one in kept] == [(one.code, one.count) for one in found]
    assert all("left out" not in one.message and "cut short" not in one.message for one in kept)


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (("/device:GPU:0", 5_000_000, 40, 30), ("GPU 0", "us behind", "30 of 40 launches")),
        (("/device:GPU:0", -5_000_000, 40, 40), ("GPU 0", "us ahead of", "all 40 launches")),
        (("/device:TPU:1", 0, 40, 30), ("TPU 1", "disagrees", "no offset")),
    ],
)
def test_clocks_that_disagree_are_told(clock: tuple[str, int, int, int], words: tuple[str, ...]) -> None:
    (found,) = mended_times([], [DeviceClock(*clock)])
    assert (found.code, found.count) == ("clock_skew", clock[3])
    assert [word for word in words if word not in found.message] == []


FRAMES, CALLS, NOTHING = (
    f'plane 0 "/host:CPU"\nline 1 a\n{event}' for event in ('0us +1us "$m.py:3 f"', "0us +1us f", "")
)


@pytest.mark.parametrize(
    ("hosts", "frames"),
    [
        ([FRAMES], True),
        ([FRAMES, FRAMES], True),
        ([FRAMES, NOTHING], True),  # of which no function could be known
        ([FRAMES, CALLS], False),
        ([CALLS, CALLS], False),
        ([NOTHING], False),
    ],
)
def test_python_functions_are_known_if_all_hosts_with_events_have_them(hosts: list[str], frames: bool) -> None:
    assert reduce_summaries([summary(one) for one in hosts]).python_frames is frames


@pytest.mark.parametrize(("name", "frames"), [("$m.py:3 f", True), ("$f", False), ("m.py:3 f", False)])
def test_names_of_python_functions(name: str, frames: bool) -> None:
    assert summary(f'plane 0 "/host:CPU"\nline 1 a\n0us +1us "{name}"').python_frames is frames


def test_use_of_several_hosts_is_their_mean_and_names_are_told_apart() -> None:
    used = [
        summary(f'plane 0 "/host:CPU" {{matrix_unit_utilization_percent={one}d, hbm_utilization_percent={other}d}}')
        for one, other in ((20, 50), (40, 10))
    ]
    found = reduce_summaries(used)
    assert (found.mxu_percent, found.hbm_percent) == (30, 30)
    assert found.host_names == ("localhost", "localhost (1)")
    assert reduce_summaries([replace(one, hostname=name) for one, name in zip(used, "ab", strict=True)]).host_names == (
        "a",
        "b",
    )


def test_hosts_with_and_without_devices() -> None:
    tpu = 'plane 1 "/device:TPU:0" {device_type_string="TPU v4"}\nline 1 "XLA Ops"\n0us +1us x'
    assert [summary(text).has_device for text in (tpu, CALLS)] == [True, False]
