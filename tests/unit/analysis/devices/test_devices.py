"""Devices of each kind: which events are their work, and when."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from builders.computed import devices, runs
from builders.shown import profile

from tpu_profile_plugin.analysis.common.spans import no_time
from tpu_profile_plugin.analysis.devices import thread_axis
from tpu_profile_plugin.analysis.devices.inventory import program_names, programs_declared, programs_of_devices
from tpu_profile_plugin.analysis.devices.model import (
    HOST_ALONE,
    NO_LAUNCH,
    Device,
    Op,
    OpSpans,
    Work,
    ops_of_names,
    ordered,
)
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis, fits_one_axis

US = 10**6


TPU = """
plane 2 "/device:TPU:1"
line 1 "XLA Modules"
10us +90us "jit_f(7)" {run_id=42}
line 2 "XLA Ops"
10us +80us "%while.1 = (s32[]) while((s32[]) %t), body=b" {_x=1}
20us +30us "%fusion.2 = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop"
60us +20us "%all-reduce.3 = f32[8]{0:T(8)} all-reduce(f32[8]{0} %fusion.2), replica_groups={{0,1}}"
92us +1us "%copy-start.4 = (f32[8]{0}, f32[8]{0:S(5)}, u32[]) copy-start(f32[8]{0} %a)"
96us +4us "%copy-done.4 = f32[8]{0:S(5)} copy-done((f32[8]{0}, f32[8]{0:S(5)}, u32[]) %copy-start.4)"
metadata "%while.1 = (s32[]) while((s32[]) %t), body=b" {hlo_category="while", program_id=u7}
plane 3 "/device:TPU:1 SparseCore 0"
line 1 "Sparse Core Ops"
0us +5us "sc"
plane 4 "/device:TPU:2"
line 1 "Steps"
0us +5us 1
"""


def test_a_tensor_core_has_its_ops_and_pairs_start_and_done():
    (one,) = devices(TPU)
    assert (one.name, one.kind, one.ordinal) == ("TPU 1", "tpu", 1)
    assert runs(one.runs, one) == [
        ("fusion.2", "COMPUTE", 20, 50),
        ("all-reduce.3", "COMMUNICATION", 60, 80),
        ("copy-start.4", "COPY", 92, 93),
        ("copy-done.4", "COPY", 96, 100),
    ]
    assert runs(one.control, one) == [("while.1", "CONTROL", 10, 90)]
    assert runs(one.windows, one) == [("copy-start.4", "COPY", 92, 100)]
    assert [column.tolist() for column in one.programs] == [[10 * US], [100 * US]]
    assert (one.starts.tolist(), one.launch_key.tolist()) == ([10 * US], [42])


def test_a_core_without_ops_has_the_runs_of_its_programs():
    (one,) = devices('plane 3 "/device:TPU:1"\nline 2 "XLA Modules"\n10us +90us "jit_f(7)" {run_id=42}')
    assert runs(one.runs, one) == [("jit_f(7)", "COMPUTE", 10, 100)]
    assert [column.tolist() for column in one.programs] == [[10 * US], [100 * US]]


def test_windows_of_the_asynchronous_line_are_used_where_there_is_one():
    line = 'line 3 "Async XLA Ops"\n15us +70us "%all-gather-start.9 = (f32[1], f32[2]) all-gather-start(f32[1] %x)"\n'
    (one,) = devices(TPU.replace('plane 3 "', line + 'plane 3 "'))
    assert runs(one.windows, one) == [("all-gather-start.9", "COMMUNICATION", 15, 85)]
    assert [column.tolist() for column in one.communication()] == [[15 * US], [85 * US]]


GPU = """
plane 1 "/device:GPU:3"
line 7 "Stream #7(Compute)"
30us +10us gemm {correlation_id=2, hlo_op="dot.1", program_id=u5}
10us +10us gemm {correlation_id=1, hlo_op="dot.1", program_id=u5}
line 8 "Stream #8"
35us +20us "ncclDevKernel_AllGather_RING_LL(a)" {correlation_id=3, hlo_op="all-gather-start.4"}
60us +1us MemcpyD2H {correlation_id=4}
line 9 "Counters"
0us +500us sm_active
plane 2 "/device:GPU:4"
"""


def test_a_gpu_has_the_events_of_its_streams():
    (one,) = devices(GPU)
    assert (one.name, one.kind, one.ordinal, one.programs) == ("GPU 3", "gpu", 3, None)
    assert runs(one.runs, one) == [
        ("dot.1", "COMPUTE", 10, 20),
        ("dot.1", "COMPUTE", 30, 40),
        ("all-gather-start.4", "COMMUNICATION", 35, 55),
        ("MemcpyD2H", "DOWNLOAD", 60, 61),
    ]
    assert [(op.program, op.collective) for op in one.ops if op.collective] == [(0, "all-gather")]
    assert one.launch_key.tolist() == [1, 2, 3, 4]


def test_run_ids_are_those_of_the_modules_wherever_their_line_is():
    head, _, rest = TPU.partition('line 1 "XLA Modules"')
    modules, line, ops = rest.partition('line 2 "XLA Ops"')
    ops, sparse, others = ops.partition('plane 3 "')
    runs_of = f'line 1 "XLA Modules"{modules}200us +5us "jit_f(7)"\n300us +5us "jit_f(7)" {{run_id=44}}\n'
    (one,) = devices(f"{head}{line}{ops}{runs_of}{sparse}{others}")
    assert one.launch_key.tolist() == [42, NO_LAUNCH, 44]
    assert [op.name for op in one.ops if op.text] == ["all-reduce.3"]


def test_ops_between_start_and_done_end_no_window():
    text = (
        TPU
        + """
plane 5 "/device:TPU:3"
line 2 "XLA Ops"
0us +1us "%copy-start.4 = (f32[8]{0}, f32[8]{0:S(5)}, u32[]) copy-start(f32[8]{0} %a)"
1us +1us "%all-gather-start.9 = (f32[1], f32[2]) all-gather-start(f32[1] %x)"
2us +9us "%fusion.2 = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop"
20us +5us "%all-gather-done.9 = f32[2] all-gather-done((f32[1], f32[2]) %all-gather-start.9)"
30us +5us "%copy-done.4 = f32[8]{0:S(5)} copy-done((f32[8]{0}, f32[8]{0:S(5)}, u32[]) %copy-start.4)"
"""
    )
    found = devices(text)[1]
    assert runs(found.windows, found) == [
        ("copy-start.4", "COPY", 0, 35), ("all-gather-start.9", "COMMUNICATION", 1, 25),
    ]  # fmt: skip


def test_a_sparse_core_is_no_device_of_its_own():
    text = TPU.replace('line 1 "Sparse Core Ops"', 'line 1 "XLA Ops"')
    assert [one.name for one in devices(text)] == ["TPU 1"]


CPU = """
plane 1 "/host:CPU"
line 1 python
0us +500us train {step_num=0}
line 2 "tf_XLAEigen/1"
10us +30us dot.1 {hlo_op="dot.1", program_id=5, device_ordinal=0, run_id=8, _p=100}
40us +1us "end: dot.1" {_c=100}
50us +40us all-reduce.2 {hlo_op="all-reduce.2", program_id=5, device_ordinal=0, run_id=8, _p=101}
60us +30us Rendezvous
line 3 "tf_XLAEigen/2"
5us +80us while.3 {hlo_op="while.3", program_id=6, device_ordinal=1, run_id=9}
10us +20us dot.1 {hlo_op="dot.1", program_id=5, device_ordinal=1, run_id=8, _p=200}
45us +5us all-reduce.2 {hlo_op="all-reduce.2", program_id=5, device_ordinal=1, run_id=8, _p=201}
line 4 "tf_XLAEigen/3"
70us +5us fusion {hlo_op="fusion", program_id=5, device_ordinal=1, run_id=8, _p=202}
78us +1us "end: dot.1" {_c=200}
"""


def test_devices_of_the_cpu_backend_are_told_apart_by_their_ordinal():
    first, second = devices(CPU)
    assert [(one.name, one.kind) for one in (first, second)] == [("CPU device 0", "cpu"), ("CPU device 1", "cpu")]
    assert runs(first.runs, first) == [("dot.1", "COMPUTE", 10, 40), ("all-reduce.2", "COMMUNICATION", 50, 90)]
    assert [column.tolist() for column in first.programs] == [[10 * US], [90 * US]]
    assert runs(second.control, second) == [("while.3", "CONTROL", 5, 85)]


def test_an_op_that_hands_its_work_on_lasts_until_the_finishing_thread_goes_on():
    # dot.1 of device 1 ends at 30 us on its own thread; the thread that finishes it goes on with fusion at 70 us.
    second = devices(CPU)[1]
    assert runs(second.runs, second) == [
        ("dot.1", "COMPUTE", 10, 70),
        ("all-reduce.2", "COMMUNICATION", 45, 50),
        ("fusion", "COMPUTE", 70, 75),
    ]
    # Without a following op it lasts until the end event.
    without = "\n".join(line for line in CPU.splitlines() if not line.startswith("70us"))
    second = devices(without)[1]
    assert runs(second.runs, second)[0] == ("dot.1", "COMPUTE", 10, 78)


def handed_on(finishing: str) -> int:
    """The end in us of an op from 10 to 30 us of run 8, which a thread with these events finishes at 78 us."""
    named = 'fusion {{hlo_op="fusion", program_id=5, device_ordinal=1, run_id={}}}'
    events = [f"{at}us +1us {named.format(run)}" for at, run in (pair.split(":") for pair in finishing.split())]
    lines = [
        *('plane 1 "/host:CPU"', "line 1 other", f"35us +1us {named.format(8)}", "line 2 a"),
        '10us +20us dot.1 {hlo_op="dot.1", program_id=5, device_ordinal=1, run_id=8, _p=200}',
        *("line 3 b", *events, '78us +1us "end: dot.1" {_c=200}'),
    ]
    (one,) = devices("\n".join(lines))
    assert {op.program for op in one.ops} == {5}
    return next(end for name, _, _, end in runs(one.runs, one) if name == "dot.1")


@pytest.mark.parametrize(
    ("finishing", "end"),
    [
        ("", 78),
        ("70:8", 70),
        ("30:8", 30),
        ("29:8", 78),
        ("29:8 60:8", 60),
        ("60:9", 78),
        ("60:9 70:8", 70),
        ("90:8", 78),
    ],
)
def test_the_finishing_thread_goes_on_with_the_next_op_of_the_run(finishing, end):
    assert handed_on(finishing) == end


def test_names_of_programs_without_hlo():
    tpu = profile(
        'plane 2 "/device:TPU:1"\nline 1 "XLA Modules"\n0us +9us "jit_f(300)"\n9us +9us "jit_g(18446744073709551621)"'
    )
    assert programs_declared(tpu) == {300, 5}
    assert program_names(tpu, {300, 7}) == {300: "jit_f(300)"}
    ops = "\n".join(f'{i}us +1us k {{hlo_op="dot.{i}", hlo_module="m{i}", program_id={i}}}' for i in (5, 6))
    gpu = profile(f'plane 1 "/device:GPU:3"\nline 7 "Stream #7"\n{ops}')
    assert program_names(gpu, {5}) == {5: "m5(5)"}
    assert program_names(gpu, set()) == {}


def spans_of(*runs):
    begin, end = (np.array(column) for column in zip(*((run[1], run[2]) for run in runs), strict=True))
    work = np.array([Work.COMMUNICATION if run[0] < 3 else Work.COMPUTE for run in runs], np.uint8)
    return OpSpans(begin, end, np.array([run[0] for run in runs], np.int32), work, np.arange(len(runs)))


def test_a_device_sends_while_no_other_collective_is_under_way():
    ops = [Op(name, 1, Work.COMMUNICATION, name) for name in ("send", "recv", "all-reduce")]
    ops.append(Op("dot", 1, Work.COMPUTE))
    runs = spans_of((0, 0, 20), (2, 10, 15), (3, 30, 40), (2, 50, 60), (1, 58, 70))
    one = Device("GPU 0", "gpu", 0, 0, tuple(ops), runs, windows=spans_of((1, 100, 120), (2, 110, 115)))
    assert [column.tolist() for column in one.sends()] == [[0, 15, 60, 100, 115], [10, 20, 70, 110, 120]]
    alone = Device("GPU 0", "gpu", 0, 0, tuple(ops[2:]), OpSpans())
    assert [column.tolist() for column in alone.sends()] == [[], []]


def test_runs_are_ordered_by_begin():
    runs = spans_of((0, 20, 30), (1, 0, 5), (2, 0, 9), (3, 10, 12))
    assert ordered(runs).op.tolist() == [1, 2, 3, 0]
    assert ordered(spans_of((0, 5, 30), (1, 30, 40), (2, 20, 25))).op.tolist() == [0, 2, 1]
    in_order = spans_of((0, 0, 30), (1, 5, 6), (2, 5, 9))
    assert ordered(in_order) is in_order


def test_names_that_stand_for_no_op():
    ops, row = ops_of_names(["a", "x", "b"], lambda name: None if name == "x" else Op(name, 1, Work.COMPUTE))
    assert ([op.name for op in ops], row.tolist()) == (["a", "b"], [0, -1, 1])


def test_threads_lie_one_after_the_other_on_an_axis():
    """Between 100 and 150 us, the threads 50 us and 1 ps long."""
    text = "line 1 a\n100us +50us p\n100us +9us q\n150us +0us r\nline 2 b\n120us +9us s\n129us +1us t\n121us +20us u"
    axis = ThreadAxis(profile(f'plane 1 "/host:CPU"\n{text}').planes[0])
    events, length = np.arange(6), 50 * US + 1
    assert axis.begin(events).tolist() == [0, 0, 50 * US, *(length + at * US for at in (20, 29, 21))]
    assert axis.outermost(events).tolist() == [True, False, True, True, False, False]
    assert axis.outermost(np.array([1, 0])).tolist() == [False, True]
    assert axis.inside(np.array([1, 2, 5]), np.array([0, 3])).tolist() == [True, False, True]


def test_an_axis_of_times_that_count_from_long_ago():
    at = 4 * 10**18
    text = f"line 1 a\n{at}ps +9ps p\nline 2 b\n{at + 3}ps +1ps q\nline 3 c\n{at + 5}ps +1ps r"
    plane = profile(f'plane 1 "/host:CPU"\n{text}').planes[0]
    assert fits_one_axis(plane)
    assert ThreadAxis(plane).begin(np.arange(3)).tolist() == [0, 10 + 3, 20 + 5]


@pytest.mark.parametrize(("most", "fits"), [(10 * 3 + 1, True), (10 * 3, False)])
def test_times_too_far_apart_do_not_fit_on_an_axis(monkeypatch, most, fits):
    """From 100 to 109 ps, two threads and one more."""
    monkeypatch.setattr(thread_axis, "_LARGEST", most)
    plane = profile('plane 1 "/host:CPU"\nline 1 a\n100ps +1ps p\nline 2 b\n102ps +7ps s').planes[0]
    assert fits_one_axis(plane) is fits
    assert not fits_one_axis(profile('plane 1 "/host:CPU"').planes[0])


def test_profiles_without_devices():
    assert devices('plane 1 "/host:CPU"\nline 1 python\n0us +5us train') == ()
    assert devices("") == ()
    (one,) = devices(GPU)
    assert one.windows.times(Work.COPY)[0].tolist() == no_time()[0].tolist()


def test_runs_without_a_number_are_not_taken_for_one_that_lasts_through_the_recording():
    (one,) = devices("""
plane 1 "/host:CPU"
line 1 pool
10us +20us dot.1 {hlo_op="dot.1", program_id=3, device_ordinal=0, run_id=-1}
80us +20us dot.1 {hlo_op="dot.1", program_id=3, device_ordinal=0, run_id=-1}
""")
    assert (len(one.runs), one.programs, one.starts.tolist()) == (2, None, [])


def test_programs_that_devices_ran_by_the_names_in_their_ops():
    """Numbers of programs are told by HLO, by the events, or as they are; those without time or number not at all."""
    ops = [Op("a", 7, Work.COMPUTE), Op("b", 7, Work.COMPUTE), Op("c", 8, Work.COMPUTE), Op("d", 9, Work.COMPUTE)]
    ops += [Op("e", 0, Work.COMPUTE), Op("f", 5, Work.COMPUTE)]
    runs = spans_of((0, 10, 20), (1, 20, 25), (2, 30, 34), (3, 40, 43), (4, 50, 60), (0, 70, 71))
    one = Device("GPU 0", "gpu", 0, 0, tuple(ops), runs)
    programs = SimpleNamespace(names={7: "jit_f(7)"}, modules={7: None, 9: None})
    space = profile('plane 0 "/device:TPU:0"\nline 1 "XLA Modules"\n0us +5us "jit_g(8)"')
    found = programs_of_devices(space, [one, replace(one, ops=tuple(ops[2:5] + ops[:3]))], programs)
    rows = sorted((ran.name, ran.time_ps, ran.known) for ran in found)
    assert rows == [("9", 8, True), ("jit_f(7)", 29, True), ("jit_g(8)", 15, False)]


def test_run_ids_may_be_any_numbers_but_the_one_that_stands_for_none():
    """Of the smallest number there is no run."""
    assert np.iinfo(np.int64).min == NO_LAUNCH
    assert HOST_ALONE.plane < 0
