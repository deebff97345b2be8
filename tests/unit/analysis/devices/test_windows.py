"""Windows of steps: whose markers, per device, and what is done where they only enclose the dispatch."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from builders import planes
from builders.computed import US, decoded
from builders.shown import profile

from tpu_profile_plugin.analysis.devices import windows as module
from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey, CollectiveRuns
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.devices.windows import (
    Marks,
    OwnWork,
    StepWindows,
    common_rows,
    step_windows,
    without_start_up,
)
from tpu_profile_plugin.analysis.steps.inferred import Evidence, InferredSteps


def windows(text):
    """(source, numbers, names, begins, ends in us) of the steps; one column per device."""
    steps = decoded(text).windows
    begin, end = ((times // US).tolist() for times in (steps.begin_ps, steps.end_ps))
    return steps.source, steps.number.tolist(), steps.names, begin, end


def core(number, steps):
    """A TensorCore with an op of 400 us and steps (number, begin, us)."""
    marks = "\n".join(f"{at} {length} {name} {{_ct=9, _c={name}}}" for name, at, length in steps)
    return planes.tpu("0 400 fusion.1", core=number, steps=marks) + "\n"


def test_each_core_has_its_own_windows_and_only_common_steps_count():
    text = core(0, [(5, 0, 100), (6, 100, 100), (7, 200, 100)]) + core(1, [(5, 10, 95), (6, 110, 80)])
    source, numbers, _, begin, end = windows(text)
    assert (source, numbers) == ("device", [0, 1])
    assert (begin, end) == ([[0, 10], [100, 110]], [[100, 105], [200, 190]])


def worked(marks, ops):
    """A device of XLA's CPU backend; markers of steps and ops are (begin, us)."""
    main = "\n".join(f"{at} {length} train {{step_num={i}, _r=1}}" for i, (at, length) in enumerate(marks))
    return planes.host(main, planes.xla_on_cpu("\n".join(f"{at} {length} dot.1" for at, length in ops)))


def test_markers_that_enclose_the_work_are_the_steps():
    source, numbers, names, begin, end = windows(worked([(0, 100), (120, 100)], [(10, 80), (130, 80)]))
    assert (source, numbers, names) == ("host", [0, 1], ("train 0", "train 1"))
    assert (begin, end) == ([[0], [120]], [[100], [220]])


def test_work_that_goes_on_is_that_of_the_steps_in_order():
    source, numbers, names, begin, end = windows(
        worked([(0, 10), (12, 10), (24, 6)], [(5, 100), (105, 100), (205, 95)])
    )
    assert (source, numbers, names) == ("host", [0, 1, 2], ("train 0", "train 1", "train 2"))
    assert (begin, end) == ([[0], [105], [205]], [[105], [205], [300]])


def gpu(marks, kernels, calls=True):
    """A GPU with kernels (launched, begin, us, stream); markers of steps are (begin, us)."""
    main = "\n".join(f"{at}us +{length}us train {{step_num={i}, _r=1}}" for i, (at, length) in enumerate(marks))
    link = "{{correlation_id={}}}".format if calls else lambda _: ""
    launches = "\n".join(f"{at}us +1us cuLaunchKernel {link(i)}" for i, (at, *_) in enumerate(kernels))
    streams = {
        stream: "\n".join(
            f"{begin}us +{length}us k{i} {link(i)}"
            for i, (_, begin, length, own) in enumerate(kernels)
            if own == stream
        )
        for stream in sorted({kernel[3] for kernel in kernels})
    }
    lines = "\n".join(f'line {stream} "Stream #{stream}"\n{events}' for stream, events in streams.items())
    return f'plane 1 "/host:CPU"\nline 1 main\n{main}\n{launches}\nplane 2 "/device:GPU:0"\n{lines}'


def test_markers_of_the_dispatch_alone_divide_the_whole_time():
    """Nothing tells which step launched what."""
    kernels = [(5, 5, 100, 1), (17, 105, 100, 1), (26, 205, 95, 1)]
    source, numbers, names, begin, end = windows(gpu([(0, 10), (12, 10), (24, 6)], kernels, calls=False))
    assert (source, numbers, names) == ("dispatch", [0, 1, 2], ("train 0", "train 1", "train 2"))
    assert (begin, end) == ([[0], [100], [200]], [[100], [200], [300]])


MARKS = [(100 * i, 99) for i in range(8)]


def inner(text):
    """Source, begins and ends of six of eight steps: the first and last are left out."""
    steps = decoded(text).windows
    assert (steps.number.tolist(), steps.left_out, steps.without_work) == ([1, 2, 3, 4, 5, 6], 2, 0)
    begin, end = ((times[:, 0] // US).tolist() for times in (steps.begin_ps, steps.end_ps))
    return steps.source, begin, end


def repeated(*kernels, steps=8):
    return [
        (100 * i + launched, 100 * i + begin, length, stream)
        for i in range(steps)
        for launched, begin, length, stream in kernels
    ]


def test_a_device_that_is_behind_comes_later_to_each_step():
    # Launched at once, 60 us later begun, 90 us long.
    source, begin, end = inner(gpu(MARKS, repeated((1, 60, 90, 1))))
    assert (source, begin) == ("device", [150, 250, 350, 450, 550, 650])
    assert end == [250, 350, 450, 550, 650, 750]


def test_work_on_other_queues_does_not_hold_the_main_queue_back():
    """A collective that begins at the end of the step and runs into the next; it counts there."""
    _, begin, end = inner(gpu(MARKS, repeated((1, 2, 70, 1), (90, 95, 20, 2))))
    assert (begin, end) == ([100, 200, 300, 400, 500, 600], [200, 300, 400, 500, 600, 700])


def test_a_step_begins_at_the_latest_with_its_own_work():
    """The last kernel of each step runs behind the first of the next one."""
    _, begin, end = inner(gpu(MARKS, repeated((1, 5, 20, 1), (60, 130, 60, 1))))
    assert (begin, end) == ([105, 205, 305, 405, 505, 605], [205, 305, 405, 505, 605, 705])


def test_a_device_whose_clock_is_late_or_early_is_shifted():
    for shift in (-30, 5000):
        marks = [(at + 10_000, length) for at, length in MARKS]
        kernels = [(at + 10_000, begin + 10_000 + shift, *more) for at, begin, *more in repeated((1, 3, 80, 1))]
        _, begin, end = inner(gpu(marks, kernels))
        assert [after - before for before, after in pairwise(begin)] == [100] * 5
        assert all(last - first <= 100 for first, last in zip(begin, end, strict=True))


def test_few_steps_that_overlap_lose_the_first_and_the_last():
    steps = decoded(gpu(MARKS[:5], repeated((1, 5, 20, 1), (60, 130, 60, 1), steps=5))).windows
    assert (steps.number.tolist(), steps.left_out) == ([1, 2, 3], 2)
    apart = decoded(gpu(MARKS[:5], repeated((1, 5, 20, 1), steps=5))).windows
    assert (apart.number.tolist(), apart.left_out) == ([0, 1, 2, 3, 4], 0)


def test_marked_steps_without_work_at_both_ends_do_not_count():
    steps = decoded(gpu(MARKS, repeated((1, 2, 70, 1))[2:5])).windows
    assert (steps.number.tolist(), steps.left_out, steps.without_work) == ([2, 3, 4], 0, 5)
    between = repeated((1, 2, 70, 1))
    del between[4]
    assert 4 in decoded(gpu(MARKS, between)).windows.number.tolist()


def test_steps_of_a_core_that_overlap_end_where_the_next_begins():
    text = core(0, [(5, 0, 110), (6, 100, 110), (7, 200, 100)])
    assert windows(text)[3:] == ([[0], [100], [200]], [[100], [200], [300]])


def test_a_little_work_after_the_last_step_changes_nothing():
    assert windows(worked([(0, 100), (100, 100)], [(10, 90), (110, 90), (205, 10)]))[0] == "host"


def test_without_markers_steps_are_inferred_or_the_recording_is_one():
    kernels = "\n".join(f"{100 * i}us +60us step_kernel {{correlation_id={i}}}" for i in range(5))
    text = f'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n{kernels}'
    source, numbers, _, begin, end = windows(text)
    assert (source, numbers) == ("inferred", [0, 1, 2, 3, 4])
    assert (begin[1], end[1], end[4]) == ([100], [200], [460])
    once = 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n10us +60us a {correlation_id=1}\n90us +10us b'
    assert windows(once) == ("recording", [0], ("",), [[10]], [[100]])


def evaluated(program):
    """Steps of 100 us, each with work of 80 us, and 200 us of a program after every third."""
    ops = [(300 * (i // 3) * 2 + 100 * (i % 3) + 10, 80, "dot.1", 7) for i in range(9)]
    ops += [(600 * i + 310, 200, "dot.2", program) for i in range(3)]
    marks = [f"{at - 10}us +100us train {{_r=1, step_num={i}}}" for i, (at, *_) in enumerate(ops[:9])]
    runs = "\n".join(
        f'{at}us +{length}us {name} {{hlo_op="{name}", device_ordinal=0, program_id={of}, run_id={i}}}'
        for i, (at, length, name, of) in enumerate(sorted(ops), 1)
    )
    return "\n".join(['plane 9 "/host:CPU"', "line 1 main", *marks, "line 2 worker", runs])


def test_an_evaluation_after_the_last_step_is_no_late_work():
    source, numbers, _, begin, _ = windows(evaluated(program=8))
    assert source == "host"
    # Without the first and the last.
    assert (numbers, begin) == ([1, 2, 3, 4, 5, 6, 7], [[100], [200], [600], [700], [800], [1200], [1300]])


def test_late_work_of_the_steps_own_program_is_no_time_of_a_cpu():
    assert windows(evaluated(program=7))[0] == "host"


def test_marks_at_one_time_are_one_step():
    """The shorter one ends where the longer one begins."""
    _, numbers, _, begin, end = windows(worked([(0, 50), (0, 100), (100, 100)], [(10, 80), (110, 80)]))
    assert (numbers, begin, end) == ([1, 2], [[0], [100]], [[100], [200]])


def test_programs_that_begin_with_their_steps_are_of_them():
    _, numbers, _, begin, end = windows(worked([(0, 10), (100, 10)], [(0, 50), (100, 70)]))
    assert (numbers, begin, end) == ([0, 1], [[0], [100]], [[50], [170]])
    # One that begins before its step belongs to none.
    assert windows(worked([(5, 10), (100, 10)], [(0, 50), (100, 70)]))[4] == [[15], [110]]


def test_kernels_without_a_launch_are_of_no_step():
    source, numbers, _, begin, end = windows(
        gpu([(0, 90), (100, 90)], [(1, 2, 40, 1), (101, 102, 40, 1)]) + "\n300us +500us k9"
    )
    assert (source, numbers, begin, end) == ("device", [0, 1], [[0], [100]], [[90], [190]])
    assert windows(gpu([(0, 90)], [(1, 2, 40, 1)])) == ("device", [0], ("train 0",), [[0]], [[90]])


def test_groups_of_a_gpu_that_no_marker_of_the_host_begins_are_steps():
    kernels = "\n".join(f"{200 * i + 20}us +30us k {{group_id={i}, correlation_id=1}}" for i in range(7))
    text = f'plane 1 "/device:GPU:0"\nline 10 "Stream #1"\n{kernels}'
    source, numbers, _, begin, end = windows(text)
    assert (source, numbers) == ("device", [1, 2, 3, 4, 5])
    assert (begin, end) == ([[220], [420], [620], [820], [1020]], [[250], [450], [650], [850], [1050]])
    two = "20us +30us k {group_id=7, correlation_id=1}\n5us +9us k {group_id=8, correlation_id=1}"
    _, numbers, _, begin, end = windows(f'plane 1 "/device:GPU:0"\nline 10 "Stream #1"\n{two}')
    assert (numbers, begin, end) == ([8, 7], [[5], [20]], [[14], [50]])


def test_work_of_a_single_step_is_its_own(monkeypatch):
    monkeypatch.setattr(module, "_step_of_runs", lambda *_: ints(0, -1))
    own = module.own_work(None, None, device((1, 20, 30), (1, 40, 90), kind="tpu"), marks_of(7))
    assert (own.first_ps.tolist(), own.last_ps.tolist(), own.some.tolist()) == ([20], [30], [True])
    monkeypatch.setattr(module, "_step_of_runs", lambda *_: ints(-1, -1))
    assert module.own_work(None, None, device((1, 20, 30), (1, 40, 90), kind="tpu"), marks_of(7)) is None


def test_steps_of_a_core_are_those_with_a_number_and_a_duration():
    text = core(0, [(5, 10, 90), (6, 100, 100)]).replace('line 2 "XLA Modules"', "200 0 7 {_ct=9, _c=7}\n50 9 x")
    text = text.replace("200 0 7", "200us +0us 7").replace("50 9 x", '50us +9us x\nline 2 "XLA Modules"')
    assert windows(text)[3:] == ([[10], [100]], [[100], [200]])


def ints(*values):
    return np.array(values, np.int64)


EARLIEST = int(np.iinfo(np.int64).min)


@pytest.mark.parametrize(
    ("steps", "queues", "begins", "kept"),
    [
        ([0, 5], [1, 1], [10, 20], [0, 1]),
        ([0, 5, 1], [1, 1, 1], [10, 20, 30], [0, 2]),
        ([5, 0, 6], [1, 1, 1], [10, 20, 30], [0, 2]),
        ([3, 5, 3], [1, 1, 1], [10, 20, 30], [0, 2]),
        ([0, 0, 1], [1, 1, 1], [10, 20, 30], [0, 1, 2]),
        ([0, 1, 1], [1, 1, 1], [10, 20, 30], [0, 1, 2]),
        ([1, 5, 0], [1, 1, 1], [10, 20, 30], [0, 1, 2]),
        # Of another queue, or of no step.
        ([0, 5, 1], [1, 1, 2], [10, 20, 30], [0, 1, 2]),
        ([0, 5, 1], [1, 2, 1], [10, 20, 30], [0, 2, 1]),
        ([-1, 0, 5, 1], [1, 1, 1, 1], [10, 20, 30, 40], [1, 3]),
        ([5, 1, 0], [1, 1, 1], [20, 30, 10], [2, 1]),
        # Two are too many to be exceptions among so few.
        ([0, 9, 1, 2, 9, 3], [1] * 6, range(6), [0, 1, 2, 3, 4, 5]),
        ([*([0, 9] + [1] * 100), 9, 2, 2, *[3] * 100], [1] * 205, range(205), [0, *range(2, 102), *range(103, 205)]),
    ],
)  # fmt: skip
def test_a_queue_runs_in_order(steps, queues, begins, kept):
    assert module._in_order(ints(*steps), ints(*queues), ints(*begins)).tolist() == kept


@pytest.mark.parametrize(
    ("kind", "grouped", "launched", "step"),
    [
        ("gpu", None, None, None),
        ("gpu", [0, 1, 1, 1], None, [0, 1, 1, 1]),
        ("gpu", None, [0, 1, 2, 3], [0, 1, 2, 3]),
        ("gpu", [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 2, 3]),
        ("gpu", [0, 0, 0, 0], [0, 0, 2, 3], [0, 0, 0, 0]),
        ("gpu", [0, 0, 0, 0], [-1, -1, -1, 3], [0, 0, 0, 0]),
        ("gpu", [1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1]),
        ("tpu", [0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 0]),
    ],
)
def test_groups_tell_the_step_of_a_run_unless_most_launches_disagree(monkeypatch, kind, grouped, launched, step):
    for name, rows in (("_step_of_groups", grouped), ("_step_of_launches", launched)):
        monkeypatch.setattr(module, name, lambda *_, rows=rows: None if rows is None else ints(*rows))
    found = module._step_of_runs(None, None, SimpleNamespace(kind=kind), None)
    assert (None if found is None else found.tolist()) == step


def marks_of(*numbers):
    at = np.arange(len(numbers)) * 100
    return Marks(ints(*numbers), ("",) * len(numbers), at, at + 100)


@pytest.mark.parametrize(
    ("groups", "step"), [([5, 7, 9, -1], [1, 0, -1, -1]), ([7, 7, 7, 7], [0, 0, 0, 0]), ([6, 8, 9, -1], None)]
)
def test_a_run_is_of_the_step_of_its_group(groups, step):
    device = SimpleNamespace(plane=0, runs=SimpleNamespace(event=np.arange(4)))
    pre = SimpleNamespace(planes=[SimpleNamespace(group_id=ints(*groups))])
    found = module._step_of_groups(pre, device, marks_of(7, 5))
    assert (None if found is None else found.tolist()) == step


@pytest.mark.parametrize(("kind", "step"), [("tpu", [-1, 3, 3, 4]), ("gpu", [3, 4])])
def test_a_run_of_a_core_is_of_the_step_of_the_program_that_runs(monkeypatch, kind, step):
    monkeypatch.setattr(module, "_step_of_starts", lambda *_: ints(3, 4))
    device = SimpleNamespace(kind=kind, starts=ints(10, 20), runs=SimpleNamespace(begin_ps=ints(5, 10, 15, 25)))
    assert module._step_of_launches(None, device, None).tolist() == step


@pytest.mark.parametrize(
    ("begin", "last", "overlaps"),
    [
        ([0, 100, 200, 300], [103, 202, 302, 900], True),  # 7 of 300
        ([0, 100, 200, 300], [102, 202, 302, 900], False),  # just a fiftieth
        ([1000, 1100, 1200, 1300], [1103, 1202, 1302, 1900], True),
        ([0, 100, 200, 300], [EARLIEST, 209, 309, 900], True),
        ([0, 100, 200, 300], [90, 190, 290, 900], False),
    ],
)
def test_steps_overlap_if_more_than_a_fiftieth_runs_late(begin, last, overlaps):
    nothing = ints(*[0] * len(begin))
    assert module._overlaps(OwnWork(nothing, nothing, ints(*last)), ints(*begin)) is overlaps


def device(*runs, kind="gpu", works=(), ordinal=0):
    """A device with runs (program, begin, end)."""
    programs = sorted({program for program, *_ in runs})
    ops = tuple(Op(f"k{program}", program, Work.COMPUTE) for program in programs)
    columns = (ints(*(run[i] for run in runs)) for i in (1, 2))
    op = np.array([programs.index(program) for program, *_ in runs], np.int32)
    work = np.array(works or [Work.COMPUTE] * len(runs), np.uint8)
    return Device(f"d{ordinal}", kind, ordinal, 0, ops, OpSpans(*columns, op, work, np.arange(len(runs))))


def test_the_main_queue_of_a_gpu_computes_most():
    one = device((1, 0, 10), (1, 10, 30), (1, 30, 90), works=(Work.COMPUTE, Work.COMPUTE, Work.COPY))
    assert module._on_main_queue(one, ints(1, 2, 1)).tolist() == [False, True, False]
    copies = device((1, 0, 10), (1, 10, 30), (1, 30, 90), works=(Work.COPY,) * 3)
    assert module._on_main_queue(copies, ints(1, 2, 1)).tolist() == [True, False, True]


def steps_at(*spans, source="host", names=None, devices=1):
    """Steps with the same (begin, end) on all devices."""
    begin, end = (np.repeat(ints(*times)[:, None], devices, axis=1) for times in zip(*spans, strict=True))
    return StepWindows(np.arange(len(spans)), names or ("",) * len(spans), begin, end, source)


@pytest.mark.parametrize(
    ("kind", "runs", "source"),
    [
        # Program 1 is that of the steps; the last one ends at 1100.
        ("gpu", [(1, 1000, 1090), (1, 1100, 1110)], "dispatch"),  # a tenth of all work, and of the program's
        ("gpu", [(1, 1000, 1091), (1, 1100, 1110)], "host"),
        ("gpu", [(1, 1000, 1050), (2, 1065, 1100), (1, 1100, 1108)], "host"),  # less of all work
        ("gpu", [(1, 1000, 1081), (2, 1081, 1090), (1, 1100, 1109), (2, 1109, 1120)], "dispatch"),
        ("gpu", [(1, 1000, 1090), (1, 1100, 1109), (2, 1109, 1150)], "host"),  # less of the program's
        ("gpu", [(1, 1000, 1090), (1, 1095, 1109), (2, 1109, 1150)], "host"),
        ("gpu", [(0, 1000, 1090), (0, 1100, 1109), (2, 1109, 1150)], "dispatch"),  # of an unknown program
        ("gpu", [(1, 1000, 1090)], "host"),
        ("cpu", [(1, 1000, 1090), (1, 1100, 1190)], "host"),
    ],
)
def test_work_after_the_last_step_tells_that_steps_are_dispatch_times(kind, runs, source):
    found = module._undivided(steps_at((1000, 1040), (1050, 1100)), [device(*runs, kind=kind)])
    assert found.source == source
    if source == "dispatch":
        end = runs[-1][2]
        assert found.begin_ps.tolist() == [[1000], [(1000 + end) // 2]]
        assert found.end_ps.tolist() == [[(1000 + end) // 2], [end]]


def test_the_work_of_all_devices_counts():
    """A tenth of the first device's work is late, but not of both."""
    both = [device((1, 1000, 1090), (1, 1100, 1110)), device((2, 1000, 1100), ordinal=1)]
    assert module._undivided(steps_at((1000, 1050), (1050, 1100), devices=2), both).source == "host"


def test_inferred_steps_have_a_duration():
    evidence = Evidence("device kernel", "k", "s", "p", 3, 1.0, 0.0, 1.0)
    steps = InferredSteps(evidence, ints(0, 100, 200), ints(50, 0, 70), None)
    found = step_windows(profile("host h"), None, [device((1, 0, 10))], lambda: steps)
    assert (found.begin_ps.tolist(), found.end_ps.tolist()) == ([[0], [200]], [[50], [270]])


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        ((("a", "b", "c"), ("b", "c", "d")), [[1, 2], [0, 1]]),
        ((("a", "b", "c"), ("d", "e", "f")), [[0, 1, 2], [0, 1, 2]]),
        ((("a", "b", "b"), ("b", "c", "d")), [[0, 1, 2], [0, 1, 2]]),
        ((("a", "", "c"), ("c", "", "a")), [[0, 1, 2], [0, 1, 2]]),
    ],
)
def test_steps_of_hosts_are_matched_by_names_that_tell_them_apart(names, rows):
    hosts = [steps_at((0, 90), (100, 190), (200, 290), names=own) for own in names]
    assert [own.tolist() for own in common_rows(hosts)] == rows


def test_steps_without_names_are_matched_by_time():
    spans = [(0, 40), (100, 190), (200, 230), (300, 390)]
    assert [own.tolist() for own in common_rows([steps_at(*spans), steps_at(*spans[1:])])] == [[1, 2, 3], [0, 1, 2]]
    assert [own.tolist() for own in common_rows([steps_at(*spans)])] == [[0, 1, 2, 3]]


def waiting(*waits):
    """Runs of collectives: (device, begin, wait for the start of others)."""
    number, begin, wait = (ints(*column) for column in zip(*waits, strict=True))
    none = np.zeros(len(waits), np.int64)
    return CollectiveRuns(
        (CollectiveKey("reduce", 1, "all-reduce"),),
        *(none, number, begin, begin + wait, *(none,) * 4, wait, wait, *(none,) * 2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spans", "waits", "out"),
    [
        ([(0, 20), (20, 30), (30, 40)], [(0, 0, 11)], [(0, 0, 1, 11)]),
        ([(0, 20), (20, 30), (30, 40)], [(0, 0, 10)], []),  # half of the step
        ([(0, 19), (20, 30), (30, 40)], [(0, 0, 19)], []),  # less than twice the median
        ([(0, 20), (20, 30)], [(0, 0, 11)], [(0, 0, 1, 11)]),  # the shorter one of two is the median
        ([(0, 20)], [(0, 0, 19)], []),
        ([(0, 20), (20, 30), (30, 40)], [(0, 0, 11), (0, 12, 0)], [(0, 0, 1, 11)]),
        ([(0, 20), (20, 30), (30, 40)], [(0, 0, 11), (1, 1, 15)], [(0, 1, 1, 15)]),
        ([(0, 20), (20, 30), (30, 40)], [(0, 0, 15), (1, 1, 11)], [(0, 0, 1, 15)]),
        ([(0, 20), (20, 30), (30, 40)], [(0, 0, 11), (1, 1, 11)], [(0, 0, 1, 11)]),
        ([(0, 10), (10, 20), (20, 41), (41, 51)], [(0, 0, 3), (0, 21, 8), (0, 30, 8)], [(2, 0, 2, 16)]),
    ],
)
def test_steps_that_wait_for_other_devices_to_start_are_left_out(spans, waits, out):
    steps = steps_at(*spans, devices=2)
    found = without_start_up(steps, [device((1, 0, 5), kind="tpu")] * 2, lambda: waiting(*waits), lambda: None)
    shown = [(int(one.label), one.device, one.calls, one.wait_ps) for one in found.start_up]
    assert shown == out
    assert found.number.tolist() == [row for row in range(len(spans)) if row not in [step for step, *_ in out]]
    spread = steps_at(*spans, devices=2, source="dispatch")
    assert without_start_up(spread, [device((1, 0, 5))] * 2, lambda: waiting(*waits), lambda: None) is spread


MS = 10**9


@pytest.mark.parametrize(
    ("lasts", "calls"),
    [
        ([1000] + [10] * 9, 1),
        ([999] + [10] * 9, 0),
        ([2000] + [20] * 9, 1),
        ([1999] + [20] * 9, 0),
        ([1000] + [10] * 8, 0),  # too few to tell
        ([2000], 0),
        ([2000] * 2 + [10] * 18, 2),
        ([2000] * 3 + [10] * 18, 0),
        ([1000] * 5 + [10] * 95, 5),
        ([1000] * 6 + [10] * 94, 0),
    ],
)
def test_slow_launches_are_the_few_that_last_far_longer(lasts, calls):
    """Back to back from 1 ms on, in us; the device runs before and after."""
    at = 1000 + np.concatenate([[0], np.cumsum(lasts)]).astype(int)
    events = "\n".join(f"{begin}us +{length}us cudaLaunchKernel" for begin, length in zip(at, lasts, strict=False))
    host = profile(f'plane 1 "/host:CPU"\nline 1 python\n{events}').planes[0]
    end = int(at[-1]) * US
    steps = steps_at((0, 1000 * US), (1000 * US, 1000 * US + sum(lasts[:calls] or [0]) * US + 1), (end, end + MS))
    found = module._slow_launches(steps, [device((1, 0, 5), (1, end, end + 5))], host)
    assert [(row, why.calls, why.wait_ps // US) for row, why in found] == [(1, calls, sum(lasts[:calls]))][:calls]
    assert module._slow_launches(steps, [device((1, 0, 5), kind="tpu")], host) == []


@pytest.mark.parametrize(
    ("kind", "source", "table", "expected"),
    [
        ("gpu", "device", True, "device"),
        ("gpu", "host", True, "table"),
        ("gpu", "host", False, "host"),
        ("gpu", None, True, "table"),
        ("gpu", None, False, None),
        ("cpu", "host", True, "host"),
        ("cpu", None, True, None),
    ],
)
def test_groups_of_gpus_count_where_no_work_is_linked_to_marks_of_the_host(monkeypatch, kind, source, table, expected):
    def steps(source):
        return StepWindows(np.arange(1), ("",), np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64), source)

    monkeypatch.setattr(module, "_host_marks", lambda space, pre: source)
    monkeypatch.setattr(module, "_of_marks", lambda space, pre, marks, devices: steps(source))
    monkeypatch.setattr(module, "gpu_steps", lambda space, pre, **how: None)
    monkeypatch.setattr(module, "_of_table", lambda made, devices, source: steps("table") if table else None)
    found = module._marked(None, None, [SimpleNamespace(kind=kind)])
    assert (None if found is None else found.source) == expected


def test_marks_of_the_host_are_the_longest_of_each_group(monkeypatch):
    """In time order, with names where they are known; none without groups."""
    pre = SimpleNamespace(planes=["events of a", "events of b"])
    host = SimpleNamespace(markers="markers", names={7: "seven"})
    times = {9: (50, 60), 7: (10, 45), 8: (45, 50)}
    monkeypatch.setattr(module, "host_plane", lambda space: SimpleNamespace(index=1))
    monkeypatch.setattr(module, "host_events", lambda space, plane, of: host if of == "events of b" else None)
    monkeypatch.setattr(module, "step_times", lambda table, markers: dict(times))
    marks = module._host_marks(None, pre)
    assert (marks.number.tolist(), marks.names) == ([7, 8, 9], ("seven", "", ""))
    assert (marks.begin_ps.tolist(), marks.end_ps.tolist()) == ([10, 45, 50], [45, 50, 60])
    times.clear()
    assert module._host_marks(None, pre) is None
    monkeypatch.setattr(module, "host_plane", lambda space: None)
    assert module._host_marks(None, pre) is None


def test_steps_of_a_core_are_the_longest_event_of_each_group(monkeypatch):
    """Of those with a length: of the line that was made for steps, else of the events."""
    group, begin = np.array([0, 5, 5, -1, 6, 0]), np.array([10, 20, 40, 60, 80, 90])
    duration = np.array([5, 6, 7, 8, 0, 4])
    monkeypatch.setattr(module, "lines_named", lambda plane, name: [2])
    monkeypatch.setattr(module, "events_of_lines", lambda plane, lines: np.array([1, 2, 3]))
    plane = SimpleNamespace(events=SimpleNamespace(begin_ps=begin, duration_ps=duration))

    def found(line, of_events):
        return module._core_steps(plane, SimpleNamespace(line=lambda name: line, group_id=of_events))

    line = SimpleNamespace(group_id=group, begin_ps=begin, duration_ps=duration)
    assert found(line, None) == {0: (10, 15), 5: (40, 47)}
    assert found(line, group) == {0: (10, 15), 5: (40, 47)}
    assert found(SimpleNamespace(group_id=None), group) == {5: (40, 47)}
    assert found(None, group) == {5: (40, 47)}
    assert found(SimpleNamespace(group_id=None), None) == found(None, None) == {}
