"""Steps of TPUs: categories per core, what the pages show of them, input fix, SparseCores, several hosts."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from builders import planes
from builders.answers import summary
from builders.asked import ask, rows

from tpu_profile_plugin.analysis.steps.breakdown import POD_CATEGORIES, pod_ps, tpu_breakdown, tpu_verdict
from tpu_profile_plugin.analysis.steps.core_steps import step_spans
from tpu_profile_plugin.analysis.steps.step_table import SPARSE_CORE_IDS, TpuPart
from tpu_profile_plugin.analysis.summary.host_summary import reduce_summaries
from tpu_profile_plugin.tools.ops.roofline_model import TOOL as ROOFLINE

SHARED = (("outfeed", 20), ("host send", 20))
CORES = {
    0: (("infeed", 150), ("loop fusion", 500), ("all-reduce", 100), *SHARED),
    1: (("infeed", 200), ("loop fusion", 500), ("all-reduce", 120), *SHARED),
}


def cores_of(cores=CORES, steps=2, period=2000, step=1000, shift=0, host="", collectives=False):
    """Cores whose ops follow each other from the begin of each step; times in us."""
    found = [planes.host(f"0 1 foo\n{host}")]
    for core, ops in cores.items():
        instances = [" {all_reduce_unique_id=$N}" if collectives and name == "all-reduce" else "" for name, _ in ops]
        row = planes.in_a_row([(f"op{i}{instances[i]}", length) for i, (_, length) in enumerate(ops)])
        found.append(
            planes.tpu(
                planes.in_each_step(row, steps, period, shift),
                core=core,
                steps=planes.device_steps(steps, period, step, shift),
                category={f"op{i}": category for i, (category, _) in enumerate(ops)},
                more=", flops=1000, bytes_accessed=500",
            )
        )
    return planes.profile(*found)


def test_what_is_taken_over_the_cores():
    steps = summary(cores_of()).steps
    assert (steps.number.tolist(), steps.cores) == ([0, 1], (0, 1))
    found = tpu_breakdown(steps)
    shown = {name: round(float(getattr(found, name)[0]), 9) for name in
             ("compute", "infeed", "outfeed", "idle", "host_transfer", "active", "scv0_compute")}  # fmt: skip
    assert shown == {"compute": 0.6, "infeed": 0.2, "outfeed": 0.02, "idle": 0.18, "host_transfer": 0.02,
                     "active": 0.61, "scv0_compute": 0.0}  # fmt: skip
    assert found.infeed_core == (1, 1)
    percents = (found.infeed_percent_average, found.infeed_percent_minimum, found.infeed_percent_maximum)
    assert [float(p[0]) for p in percents] == pytest.approx([17.5, 15.0, 20.0])


def test_shares_of_input_are_of_the_step():
    found = tpu_breakdown(summary(cores_of({0: (("infeed", 200), ("loop fusion", 500))}, step=1600)).steps)
    assert found.infeed_percent_average.tolist() == pytest.approx([12.5, 12.5])


def test_without_input_no_core_waits_for_it():
    found = tpu_breakdown(summary(cores_of({0: (("loop fusion", 500),)})).steps)
    assert (found.infeed_core, found.infeed.tolist()) == ((-1, -1), [0, 0])


def test_waiting_for_a_sparse_core_of_version_0_and_for_the_host():
    ops = (
        ("sparsecorev0 infeed", 200), ("sparsecorev0 outfeed", 50), ("loop fusion", 500),
        ("host recv", 30), ("host send", 20), ("megacore fusion", 40), ("async-done", 10),
    )  # fmt: skip
    found = tpu_breakdown(summary(cores_of({0: ops})).steps)
    # 850 of 1000 us; of the input 50 us are transformed to output, which leaves 150 of waiting.
    shown = {name: round(float(getattr(found, name)[0]), 9) for name in
             ("compute", "scv0_compute", "scv0_infeed", "host_transfer", "idle", "active", "displayed")}  # fmt: skip
    assert shown == {"compute": 0.65, "scv0_compute": 0.15, "scv0_infeed": 0.0, "host_transfer": 0.05,
                     "idle": 0.2, "active": 0.6, "displayed": 1.0}  # fmt: skip


def test_steps_of_sparse_cores_alone_have_no_parts():
    steps = summary(cores_of()).steps
    alone = dataclasses.replace(steps, cores=(SPARSE_CORE_IDS, SPARSE_CORE_IDS + 1))
    assert tpu_breakdown(alone).labels == ()


@pytest.mark.parametrize(("share", "level"), [(6.0, "moderate"), (5.9, "no")])
def test_collectives_that_outweigh_the_input(share, level):
    found = tpu_breakdown(summary(cores_of(steps=1)).steps)
    parts = {name: np.zeros(1) for name in ("infeed", "outfeed", "idle", "scv0_compute", "all_reduce_sync")}
    parts |= {"compute": np.array([100.0 - share]), "all_reduce_compute": np.array([share])}
    verdict = tpu_verdict(dataclasses.replace(found, **parts))
    assert (verdict.all_reduce.level, verdict.all_reduce.percent) == (level, share)


def test_collectives_count_once_more_in_the_time_that_shares_refer_to():
    found = tpu_breakdown(summary(cores_of(collectives=True)).steps)
    assert (found.all_reduce_compute[0], found.all_reduce_sync[0]) == (pytest.approx(0.1), pytest.approx(0.02))
    assert (found.displayed[0], found.total[0]) == (pytest.approx(1.0), pytest.approx(1.12))
    assert tpu_verdict(found).input.percent == pytest.approx(100 * 0.2 / 1.12)


def test_ops_longer_than_the_step_leave_no_idle_time():
    steps = summary(cores_of({0: (("loop fusion", 700), ("infeed", 400))}, step=1000)).steps
    assert steps.times.sum()[0, 0] == 1100 * 10**6
    found = tpu_breakdown(steps)
    assert (found.compute[0], found.infeed[0], found.idle[0]) == pytest.approx((0.7, 0.4, 0.0))
    assert found.step_time.average == pytest.approx(1.0)


def test_a_core_that_computes_longer_than_the_step_computes_nothing():
    found = tpu_breakdown(
        summary(cores_of({0: (("infeed", 100), ("loop fusion", 600), ("while", 700))}, step=1000)).steps
    )
    assert (found.compute[0], found.infeed[0], found.idle[0]) == pytest.approx((0.0, 0.1, 0.9))
    exact = tpu_breakdown(summary(cores_of({0: (("loop fusion", 600), ("while", 400))}, step=1000)).steps)
    assert exact.compute[0] == pytest.approx(1.0)


def test_the_least_computation_of_the_cores_counts_also_where_it_is_cut():
    found = tpu_breakdown(summary(cores_of({0: (("loop fusion", 1200),), 1: (("loop fusion", 300),)}, step=1000)).steps)
    assert found.compute[0] == 0.0


@pytest.mark.parametrize(
    ("ops", "compute", "waiting", "pod"),
    [
        # Input of 256 us less what it takes to transform it, 128; then other waiting and transforming is computation.
        ((256, 128, 512, 100), 0.868, 0.128, {"6": 256.0, "7": 128.0, "1": 612.0}),
        ((128, 256, 512, 0), 0.896, 0.0, {"6": 128.0, "7": 256.0, "1": 512.0}),
        ((0, 128, 512, 100), 0.228, 0.512, {"7": 128.0, "6": 612.0}),
    ],
)
def test_waiting_for_a_sparse_core_without_recorded_input(ops, compute, waiting, pod):
    names = [f"sparsecorev0 {name}" for name in ("infeed", "outfeed", "infeed wait", "infeed transform")]
    steps = summary(cores_of({0: [op for op in zip(names, ops, strict=True) if op[1]]}, step=2000, period=5000)).steps
    found = tpu_breakdown(steps)
    assert (found.compute[0], found.scv0_compute[0]) == pytest.approx((compute, waiting))
    shown = {str(i): us for i, us in enumerate((pod_ps(steps)[0, 0] / 1e6).tolist(), start=1) if us and i != 9}
    assert shown == pod


def test_ops_of_the_category_idle_are_idle_time():
    steps = summary(cores_of({0: (("loop fusion", 100), ("IDLE", 300))})).steps
    found = tpu_breakdown(steps)
    assert (found.compute[0], found.idle[0], found.active[0]) == pytest.approx((0.1, 0.9, 0.1))
    assert dict(zip(steps.categories, (steps.category_ps[0] // 10**6).tolist(), strict=True))["IDLE"] == 900
    over = summary(cores_of({0: (("loop fusion", 900), ("IDLE", 300))})).steps
    assert over.times[TpuPart.IDLE][0, 0] == 100 * 10**6


@pytest.mark.parametrize("name", ["all-gather-async-done", "host-send-done", "host-recv-done"])
def test_ops_with_the_name_of_a_wait_wait_whatever_their_category(name):
    text = cores_of({0: (("loop fusion", 100), ("infeed", 50), ("while", 20), ("", 10))})
    for op in ("op0", "op1", "op3"):
        text = text.replace(op, f"{name}.{op}")
    parts = summary(text).steps.times.stacked(TpuPart)[0, 0] // 10**6
    assert {kind.name: int(parts[kind]) for kind in TpuPart if parts[kind]} == {
        "COMPUTE": 20, "INFEED": 50, "ASYNC_DONE": 110, "IDLE": 820,
    }  # fmt: skip


def test_a_step_whose_marker_has_no_duration_is_empty():
    steps = summary(cores_of({0: (("loop fusion", 100),)}).replace("0us +1000us 0", "0us +0us 0")).steps
    assert (steps.number.tolist(), steps.duration_ps[:, 0].tolist()) == ([0, 1], [0, 10**9])
    assert (steps.label(0), steps.label(1), steps.times.sum()[0].sum()) == ("-1", "1", 0)
    found = tpu_breakdown(steps)
    assert (found.compute.tolist(), found.infeed_percent_maximum.tolist()) == ([0.0, 0.1], [0.0, 0.0])
    assert found.step_time.minimum == 0.0


POD = [
    ("infeed", 6), ("sparsecorev0 infeed", 6), ("host recv", 6), ("host recv-done", 6), ("outfeed", 7),
    ("sparsecorev0 outfeed", 7), ("host send", 7), ("host send-done", 7), ("all-reduce", 3), ("all-reduce fusion", 3),
    ("all-to-all", 3), ("send", 2), ("send-done", 2), ("recv", 2), ("recv-done", 2), ("megacore fusion", 2),
    ("async-done", 2), ("all-gather", 1), ("reduce-scatter", 1), ("collective-permute", 1), ("convolution", 1),
    ("sparsecorev0 infeed wait", 6), ("sparsecorev0 infeed transform", 6),
]  # fmt: skip


@pytest.mark.parametrize(("category", "number"), POD)
def test_categories_in_the_pod_viewer(category, number):
    times = pod_ps(summary(cores_of({0: ((category, 100),)})).steps)[0, 0] // 10**6
    expected = np.zeros(len(POD_CATEGORIES), np.int64)
    expected[number - 1], expected[8] = 100, 900
    assert times.tolist() == expected.tolist()


def test_idle_time_becomes_input_when_the_host_waited_and_there_is_no_infeed():
    wait = '0us +1000us train {_r=1, step_num=0}\n5us +100us "IteratorGetNextOp::DoCompute" {_pt=9, _p=0}\n'
    wait += "2000us +1000us train {_r=1, step_num=1}\n2000us +1us work {_pt=9, _p=1}"
    steps = summary(cores_of({0: (("loop fusion", 600),)}, host=wait)).steps
    found = tpu_breakdown(steps)
    assert found.infeed.tolist() == pytest.approx([0.1, 0.0])
    assert found.idle.tolist() == pytest.approx([0.3, 0.4])
    assert steps.categories[-1] == "infeed"
    # 300 us of the first step stay idle; what was moved is input, in all of the sums.
    assert steps.times[TpuPart.IDLE][0, 0] == 300 * 10**6
    columns = dict(zip(steps.categories, (steps.category_ps // 10**6).T.tolist(), strict=True))
    assert {name: columns[name] for name in ("IDLE", "infeed")} == {"IDLE": [300, 400], "infeed": [100, 0]}
    fed = tpu_breakdown(summary(cores_of({0: (("loop fusion", 600), ("infeed", 1))}, host=wait)).steps)
    assert fed.infeed.tolist() == pytest.approx([0.001, 0.001])


def test_steps_without_idle_time_or_without_waiting_stay_as_they_are():
    wait = "0us +1000us train {{_r=1, step_num=0}}\n5us +100us {0} {{_pt=9, _p=0}}"
    for ops, name in (((("loop fusion", 1000),), "IteratorGetNext"), ((("loop fusion", 600),), "work")):
        steps = summary(cores_of({0: ops}, steps=1, host=wait.format(name))).steps
        assert (steps.number.tolist(), "infeed" in steps.categories) == ([0], False)


def test_no_step_line_no_steps_and_sparse_cores_follow_the_tensor_core():
    text = cores_of({0: (("loop fusion", 600),)})
    assert len(summary(text.replace("line 1 Steps", 'line 1 "XLA Modules"')).steps) == 0
    sparse = """
    plane 5 "/device:TPU:0 SparseCore 0" {device_type_string="TPU v4"}
      line 1 "Sparse Core Steps"
        50us +800us 0
        2050us +800us 1
      line 3 "Sparse Core Ops"
        60us +500us y
        560us +100us in
        660us +50us out
        2060us +500us y
      metadata y {hlo_category="custom-call", program_id=u7, symbol_id=u9}
      metadata in {hlo_category="infeed", program_id=u7, symbol_id=u10}
      metadata out {hlo_category="outfeed", program_id=u7, symbol_id=u11}
    """
    steps = summary(text + sparse).steps
    assert steps.cores == (0, 1_000_005)
    found = tpu_breakdown(steps)
    # The span is that of the TensorCore's step; waiting for input and output is idle time.
    shown = (found.sparse_step[0], found.sparse_compute[0], found.sparse_idle[0], found.compute[0])
    assert shown == pytest.approx((1.0, 0.5, 0.5, 0.6))
    assert (found.sparse_infeed.tolist(), found.sparse_outfeed.tolist()) == ([0, 0], [0, 0])


def test_sparse_cores_count_while_they_are_busy_within_the_step():
    sparse = """
    plane 5 "/device:TPU:0 SparseCore 0"
      line 3 "Sparse Core Ops"
        100us +300us y
        150us +1900us y
    plane 6 "/device:TPU:0 SparseCore 1"
      line 3 "Sparse Core Ops"
        100us +900us y
    plane 7 "/device:TPU:0 SparseCore 2"
      line 3 "Sparse Core Ops"
    """
    found = tpu_breakdown(summary(cores_of({0: (("loop fusion", 500),)}) + sparse).steps)
    # 900 us of both in the first step; in the second, from 2000 us on, 50 of one.
    assert found.sparse_compute.tolist() == pytest.approx([0.9, 0.0])
    assert found.sparse_active.tolist() == pytest.approx([0.9, 0.025])
    assert found.sparse_idle.tolist() == pytest.approx([0.1, 0.975])
    assert found.active_on_any.tolist() == pytest.approx([0.9, 0.5])


def test_costs_of_the_steps_leave_out_ops_with_inner_ops():
    steps = summary(cores_of({0: (("loop fusion", 600), ("while", 100))})).steps
    assert steps.costs[:, :2].tolist() == [[1000.0, 500.0]] * 2


def test_hosts_are_aligned_by_time_and_renumbered():
    first, second = summary(cores_of(steps=4)), summary(cores_of(steps=3, shift=2000))
    run = reduce_summaries([first, second])
    assert run.steps.number.tolist() == [0, 1, 2]
    assert run.steps.cores == (0, 1, 1000, 1001)
    assert run.steps.begin_ps[:, 0].tolist() == run.steps.begin_ps[:, 2].tolist()
    assert (run.environment.device_cores, run.environment.tasks) == (4, 2)
    assert run.cores[1001] == ("localhost", -1)


def test_a_host_without_steps_leaves_none_and_a_coordinator_does_not_count():
    worker = summary(cores_of())
    idle = summary(cores_of(steps=0))
    merged = reduce_summaries([worker, idle]).steps
    assert (len(merged), merged.empty_intersection) == (0, False)
    coordinator = summary('plane 0 "/host:CPU"\nline 1 main\n0us +1us x')
    assert len(reduce_summaries([coordinator, worker]).steps) == 2


def test_hosts_that_share_no_step():
    far = reduce_summaries([summary(cores_of(steps=3)), summary(cores_of(steps=2, shift=10_000))]).steps
    # Without any overlap the first steps are taken for the same; only a shift beyond the range empties the result.
    assert far.number.tolist() == [0, 1]


def test_steps_of_sparse_cores_alone_have_no_duration():
    steps = summary(cores_of()).steps
    alone = dataclasses.replace(steps, cores=(SPARSE_CORE_IDS, SPARSE_CORE_IDS + 1))
    assert (steps.step_ms(), alone.step_ms()) == ([1.0, 1.0], [0.0, 0.0])


def test_the_longest_marker_of_any_core_is_the_step():
    ops = {0: (("loop fusion", 100),), 1: (("loop fusion", 100),)}
    text = cores_of(ops, steps=1, shift=500)
    first, second = text.split("plane 1 ")
    longer = first + "plane 1 " + second.replace("500us +1000us 0", "400us +1200us 0")
    steps = summary(longer).steps
    assert (steps.begin_ps // 10**6).tolist() == [[400, 400]]
    assert (steps.duration_ps // 10**6).tolist() == [[1200, 1200]]


def test_collectives_of_steps_that_another_core_does_not_have_are_left_out():
    first, second = cores_of(steps=3, collectives=True).split("plane 1 ")
    second = second.replace("4000us +1000us 2 {_ct=9, _c=2}", "")
    steps = summary(first + "plane 1 " + second).steps
    assert (steps.number.tolist(), steps.collective_key.tolist()) == ([0, 1], [[0, 0], [1, 1]])
    assert (steps.collective_ps // 10**6).tolist() == [[100, 120], [100, 120]]


def test_an_op_that_two_rows_share_counts_for_the_category_of_the_first_one_completed():
    text = """
    plane 99 "/host:CPU"
    line 1 main
    0us +1us foo
    plane 0 "/device:TPU:0"
    metadata a {hlo_category="infeed", program_id=7, symbol_id=1}
    metadata b {hlo_category="loop fusion", program_id=7, symbol_id=1}
    line 1 Steps
    0us +1000us 0
    2000us +1000us 1
    line 3 "XLA Ops"
    0us +100us a
    200us +50us b
    2000us +100us b
    2200us +50us a
    """
    parts = summary(text).steps.times.stacked(TpuPart)[:, 0] // 10**6
    shown = [{kind.name: int(step[kind]) for kind in TpuPart if step[kind]} for step in parts]
    assert shown == [{"INFEED": 150, "IDLE": 850}, {"COMPUTE": 150, "IDLE": 850}]


@pytest.mark.parametrize(
    ("device", "span"),
    [
        ({"device_offset_ps": np.array([5]), "device_duration_ps": np.array([7])}, (5, 7)),
        ({"device_offset_ps": np.array([0]), "device_duration_ps": np.array([0])}, (0, 0)),
        ({"device_offset_ps": np.array([-1]), "device_duration_ps": np.array([-1])}, (20, 30)),
        ({"device_offset_ps": np.array([-5]), "device_duration_ps": np.array([7])}, (20, 30)),
        ({"device_offset_ps": np.array([5]), "device_duration_ps": np.array([-1])}, (20, 30)),
        ({"device_offset_ps": np.array([5])}, (20, 30)),
        ({"device_duration_ps": np.array([7])}, (20, 30)),
        ({}, (20, 30)),
    ],
)
@pytest.mark.parametrize("group", [None, 3])
def test_merged_steps_are_on_the_clock_of_the_device_where_both_of_its_times_are_known(device, span, group):
    line = SimpleNamespace(
        name="Steps",
        begin_ps=np.array([20]),
        duration_ps=np.array([30]),
        extra_args=device,
        group_id=None if group is None else np.array([group]),
    )
    found, groups = step_spans(None, SimpleNamespace(lines=[line]), None)
    assert (found.begin_ps.tolist(), found.duration_ps.tolist()) == ([span[0]], [span[1]])
    assert groups.tolist() == [-1 if group is None else group]


# Steps of TPU cores: which marker is the step, whose ops are in it, on which clock; typed in with their groups.


US = 10**6


def core(plane: int, steps: str, ops: str, stats: str = "") -> str:
    return f"""
    plane {plane} "/device:TPU:{plane}" {{device_type_string="TPU v4"{stats}}}
    metadata a {{hlo_category="x", program_id=u7, symbol_id=u1, flops=1000, bytes_accessed=100}}
    metadata b {{hlo_category="y", program_id=u7, symbol_id=u2, flops=10, bytes_accessed=1}}
    metadata plain {{program_id=u7, symbol_id=u3}}
    metadata unnumbered {{hlo_category="x", program_id=u7, flops=5000}}
    line 1 Steps
    {steps}
    line 3 "XLA Ops"
    {ops}
    """


def sparse(plane: int, steps: str, ops: str) -> str:
    return f"""
    plane {plane} "/device:TPU:0 SparseCore {plane}" {{device_type_string="TPU v4"}}
    metadata s {{hlo_category="gather", program_id=u8, symbol_id=u1, flops=77}}
    line 1 "Sparse Core Steps"
    {steps}
    line 3 "Sparse Core Ops"
    {ops}
    """


def test_the_longest_marker_of_a_group_is_the_step_and_it_needs_ops() -> None:
    markers = """
    10us +5us "0" {group_id=0}
    20us +9us "1" {group_id=0}
    40us +9us "2" {group_id=1}
    42us +9us "3" {group_id=1}
    60us +9us "4" {group_id=3}
    70us +0us "5" {group_id=4}
    80us +9us "6"
    """
    ops = "21us +4us a {group_id=0}\n41us +2us a {group_id=1}\n70us +1us a {group_id=4}\n82us +1us a"
    steps = summary(core(2, markers, ops)).steps
    assert steps.number.tolist() == [0, 1, 4]
    assert (steps.begin_ps[:, 0] // US).tolist() == [20, 40, 70]
    assert (steps.duration_ps[:, 0] // US).tolist() == [9, 9, 0]


def test_steps_that_all_cores_took_part_in_last_as_long_as_the_longest_marker() -> None:
    def ops(*groups: int) -> str:
        return "\n".join(f"{200 * group + 70}us +4us a {{group_id={group}}}" for group in groups)

    first = '0us +100us "0" {group_id=0}\n200us +100us "1" {group_id=1}\n400us +9us "2" {group_id=2}'
    second = '60us +40us "0" {group_id=0}\n250us +100us "1" {group_id=1}'
    # The third core ran nothing in the steps that it marks.
    text = core(2, first, ops(0, 1, 2)) + core(3, second, ops(0, 1)) + core(4, second, ops(5))
    steps = summary(text).steps
    assert (steps.number.tolist(), steps.cores) == ([0, 1], (2, 3))
    assert (steps.begin_ps // US).tolist() == [[0, 0], [200, 200]]
    assert (steps.duration_ps // US).tolist() == [[100, 100], [100, 100]]


def test_what_counts_in_a_step() -> None:
    markers = '0us +100us "0" {group_id=0}\n200us +100us "1" {group_id=1}'
    ops = """
    10us +5us a {group_id=0}
    20us +3us plain {group_id=0}
    30us +4us unnumbered {group_id=0}
    210us +6us b {group_id=1}
    220us +2us plain {group_id=1}
    230us +4us unnumbered {group_id=1}
    """
    steps = summary(core(2, markers, ops)).steps
    assert (steps.times[TpuPart.COMPUTE][:, 0] // US).tolist() == [8, 8]
    assert (steps.times[TpuPart.IDLE][:, 0] // US).tolist() == [92, 92]
    columns = dict(zip(steps.categories, (steps.category_ps // US).T.tolist(), strict=True))
    assert columns == {"x": [5, 0], "y": [0, 6], "": [3, 2], "IDLE": [92, 92]}
    assert steps.costs[:, :2].tolist() == [[1000, 100], [10, 1]]


def test_sparse_cores_have_neither_categories_nor_costs() -> None:
    markers, op = '0us +100us "0" {group_id=0}', "10us +5us a {group_id=0}"
    text = core(2, markers, op) + sparse(0, markers, "10us +20us s {group_id=0}")
    steps = summary(text).steps
    assert (steps.cores, steps.categories) == ((2, SPARSE_CORE_IDS), ("x", "y", "", "IDLE"))
    assert steps.category_ps.sum() // US == 100
    assert steps.costs[0, 0] == 1000
    assert (steps.times[TpuPart.COMPUTE][0, 1] // US, steps.step_ms()) == (20, [0.1])


def test_ops_of_sparse_cores_count_in_the_step_of_the_tensor_core_in_which_they_run() -> None:
    markers = '0us +100us "0" {group_id=0}\n200us +100us "1" {group_id=1}'
    tensor = core(2, markers, "10us +5us a {group_id=0}\n210us +5us a {group_id=1}")
    late = sparse(5, markers, "10us +1us s {group_id=0}\n20us +2us s {group_id=1}\n30us +4us s {group_id=1}")
    assert (summary(tensor + late).steps.times[TpuPart.COMPUTE][:, 1] // US).tolist() == [7, 0]


def test_sparse_cores_follow_the_steps_of_the_tensor_core_not_their_own() -> None:
    host = 'plane 9 "/host:CPU"\nline 1 main\n0us +1us x\n'
    tensor = core(2, '100us +1000us "0"\n2100us +1000us "1"', "110us +5us a\n2110us +5us a")
    ops = """
    50us +5us s
    90us +20us s
    150us +10us s
    1095us +20us s
    1500us +40us s
    2100us +80us s
    3200us +160us s
    """
    steps = summary(host + tensor + sparse(5, "150us +1200us 0\n2150us +900us 1", ops)).steps
    assert (steps.times[TpuPart.COMPUTE][:, 1] // US).tolist() == [10 + 10 + 5, 80]
    assert (steps.begin_ps // US).tolist() == [[100, 100], [2100, 2100]]
    assert (steps.duration_ps // US).tolist() == [[1000, 1000], [1000, 1000]]


LAUNCHES = """
plane 9 "/host:CPU"
line 1 main
0us +50us train {_r=1, step_num=4}
1us +1us p {_pt=12, _p=1}
2us +1us p {_pt=12, _p=2}
60us +50us train {_r=1, step_num=5}
61us +1us p {_pt=12, _p=3}
120us +50us train {_r=1, step_num=6}
121us +1us p {_pt=12, _p=4}
"""


def test_steps_of_several_parts_and_on_the_clock_of_the_device() -> None:
    clock = "device_offset_ps={0}000000, device_duration_ps={1}000000"
    steps = f"""
    10us +9us "0" {{_ct=12, _c=1}}
    20us +9us "1" {{_ct=12, _c=2}}
    70us +9us "2" {{_ct=12, _c=3, {clock.format(0, 50)}}}
    130us +9us "3" {{_ct=12, _c=4, {clock.format(130, 0)}}}
    """
    ops = f"""
    11us +4us a
    21us +3us a
    72us +1us a {{{clock.format(10, 20)}}}
    131us +1us a
    """
    found = summary(LAUNCHES + core(2, steps, ops)).steps
    # A step that lasted no time on the device is empty.
    assert (found.number.tolist(), (found.begin_ps[:, 0] // US).tolist()) == ([0, 1, 2], [10, 0, 130])
    assert (found.duration_ps[:, 0] // US).tolist() == [19, 50, 0]
    assert (found.times[TpuPart.COMPUTE][:, 0] // US).tolist() == [7, 20, 0]


def test_cores_without_groups_have_no_steps() -> None:
    loop = 'plane 9 "/host:CPU"\nline 1 main\n0us +1us ForOp\n'
    steps = summary(loop + core(2, '0us +9us "0"', "1us +1us a {all_reduce_unique_id=3}")).steps
    assert len(steps) == 0


@pytest.fixture(scope="module")
def roofline() -> list[tuple]:
    markers = '0us +100us "0" {group_id=0}\n200us +100us "1" {group_id=1}\n400us +50us "2" {group_id=2}'
    ops = """
    10us +5us a {group_id=0}
    20us +5us a {group_id=0}
    30us +5us b {group_id=0}
    40us +5us unnumbered {group_id=0}
    210us +5us b {group_id=1}
    410us +5us a {group_id=2}
    """
    two = '0us +100us "0" {group_id=0}\n200us +100us "1" {group_id=1}'
    text = core(2, markers, ops) + core(3, two, "10us +5us b {group_id=0}\n210us +5us a {group_id=1}")
    # A core of which nothing is grouped.
    text += core(4, "", "10us +5us a", ", group_id=0")
    table, _ = ask(ROOFLINE, text)
    names = ("step", "total_time", "measured_flop_rate", "measured_memory_bw", "include_infeed_outfeed")
    return [row[:-1] for row in rows(table, *names) if row[0] in ("0", "1", "2", "Average") and row[-1]]


def test_what_was_done_in_each_step(roofline: list[tuple]) -> None:
    gib = 2**30 / 1e9
    # Two cores with 100 us each; the third step is not one of both.
    assert roofline == [
        ("Average", 200, pytest.approx((2020 + 1010) / 2 / 200_000), pytest.approx((202 + 101) / 2 / 200_000 / gib)),
        ("0", 200, pytest.approx(2020 / 200_000), pytest.approx(202 / 200_000 / gib)),
        ("1", 200, pytest.approx(1010 / 200_000), pytest.approx(101 / 200_000 / gib)),
    ]


def test_events_with_a_group_in_the_file_keep_it() -> None:
    markers = '0us +100us "0"\n200us +100us "1"'
    ops = "10us +5us a\n20us +6us a {group_id=1}\n30us +7us a {group_id=9}\n210us +8us a"
    host = 'plane 9 "/host:CPU"\nline 1 main\n0us +1us x\n'
    steps = summary(host + core(2, markers, ops)).steps
    assert (steps.times[TpuPart.COMPUTE][:, 0] // US).tolist() == [5, 14]


@pytest.mark.parametrize(
    ("ops", "busy"),
    [
        # 650 us around two that overlap each other for 1000 us: none left, and not less than none.
        ("0us +200us a\n300us +650us b\n310us +500us a\n400us +500us a", 1200),
        ("0us +200us a\n300us +650us b\n310us +500us b\n400us +500us b", 1200),
        ("0us +200us a\n300us +650us b\n310us +200us b\n600us +100us b", 850),
    ],
)
def test_an_op_around_ops_that_together_take_longer_takes_no_time(ops: str, busy: int) -> None:
    host = 'plane 9 "/host:CPU"\nline 1 main\n0us +1us x\n'
    steps = summary(host + core(2, '0us +1500us "0"', ops)).steps
    assert (steps.times[TpuPart.COMPUTE][:, 0] // US).tolist() == [busy]
