"""Steps of TPU cores: which marker is the step, whose ops are in it, on which clock; typed in with their groups."""

from __future__ import annotations

import pytest
from builders.answers import summary
from builders.asked import ask, rows

from tpu_profile_plugin.analysis.steps.step_table import SPARSE_CORE_IDS, TpuPart
from tpu_profile_plugin.tools.ops.roofline_model import TOOL as ROOFLINE

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
