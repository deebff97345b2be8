"""The binding path of steps, and the slack of events beside it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.computed import US, decoded
from builders.fuzzing.random_devices import random_profile, text_of
from builders.rings import many

from tpu_profile_plugin.analysis.budget.budget import spent_time
from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    IDLE_GAP,
    IDLE_HOST,
    IDLE_OTHER,
    NOT_RECORDED,
    PARTS,
)
from tpu_profile_plugin.analysis.budget.host_time import HostReader, HostTime, MainThread
from tpu_profile_plugin.analysis.common.spans import covered_within, no_time
from tpu_profile_plugin.analysis.devices.launches import HostCalls
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans
from tpu_profile_plugin.analysis.replay.binding_path import (
    On,
    Path,
    calls_of,
    device_path,
    farthest,
    in_window,
    leading,
)
from tpu_profile_plugin.analysis.replay.slack import slack_of_call, slack_of_op

EACH = many(12, 60)
GPU = """
plane 1 "/device:GPU:0"
line 1 "Stream #1"
20us +10us a {correlation_id=1}
30us +20us b {correlation_id=2}
80us +20us a {correlation_id=3}
120us +20us b {correlation_id=4}
line 2 "Stream #2"
25us +10us c {correlation_id=5}
45us +15us d {correlation_id=6}
plane 2 "/host:CPU"
line 1 main
0us +75us train {_r=1, step_num=0}
2us +16us "$train.py:9 load"
4us +4us "$io.py:3 read"
18us +2us "PjitFunction(f)"
18us +1us launch {correlation_id=1}
20us +1us "PjitFunction(g)"
20us +1us launch {correlation_id=2}
21us +1us "PjitFunction(h)"
21us +1us launch {correlation_id=5}
22us +1us launch {correlation_id=6}
23us +10us "$train.py:20 log"
33us +29us "np.asarray(jax.Array)"
62us +10us "$train.py:9 load"
75us +70us train {_r=1, step_num=1}
76us +2us "PjitFunction(f)"
77us +1us launch {correlation_id=3}
78us +30us "$train.py:9 load"
108us +1us launch {correlation_id=4}
"""
FIRST = [
    (0, 0, 2, "idle_host", "NOTHING", ""),
    (0, 2, 4, "idle_host", "CALL", "$train.py:9 load"),
    (0, 4, 8, "idle_host", "CALL", "$io.py:3 read"),
    (0, 8, 18, "idle_host", "CALL", "$train.py:9 load"),
    (0, 18, 19, "idle_launch", "CALL", "launch"),
    (0, 19, 20, "idle_launch", "CALL", "PjitFunction(f)"),
    (0, 20, 25, "compute", "OP", "a"),
    (0, 25, 30, "compute", "OP", "c"),
    (0, 30, 45, "compute", "OP", "b"),
    (0, 45, 60, "compute", "OP", "d"),
    (0, 60, 62, "idle_transfer", "CALL", "np.asarray(jax.Array)"),
    (0, 62, 72, "idle_other", "CALL", "$train.py:9 load"),
    (0, 72, 75, "idle_other", "NOTHING", ""),
]
SECOND = [
    (1, 75, 76, "idle_other", "NOTHING", ""),
    (1, 76, 77, "idle_transfer", "CALL", "PjitFunction(f)"),
    (1, 77, 78, "idle_transfer", "CALL", "launch"),
    (1, 78, 80, "idle_transfer", "CALL", "$train.py:9 load"),
    (1, 80, 100, "compute", "OP", "a"),
    (1, 100, 108, "idle_host", "CALL", "$train.py:9 load"),
    (1, 108, 120, "idle_launch", "NOTHING", ""),
    (1, 120, 140, "compute", "OP", "b"),
    (1, 140, 145, "idle_other", "NOTHING", ""),
]


class Paths:
    """The paths of a profile's devices."""

    def __init__(self, text):
        self.space, self.devices, windows, programs = decoded(text)
        self.reader = HostReader(self.space)
        self.spent = spent_time(self.devices, windows, programs, self.reader)

    def path(self, device=0, window=(-(2**62), 2**62)) -> Path:
        steps, one = self.spent.steps, self.devices[device]
        since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
        calls = calls_of(self.reader.main(since, until, steps.evidence), self.reader.time.launch, since, until)
        return device_path(one, self.space.planes[one.plane], self.spent.devices[device], calls, window)

    def op(self, name, begin):
        """The slack of the op that begins at a time in us."""
        plane = self.space.planes[self.devices[0].plane]
        row = next(
            row
            for row in np.flatnonzero(plane.events.begin_ps == begin * US).tolist()
            if plane.event_metadata.names[plane.events.metadata[row]] == name
        )
        window = begin * US, begin * US + int(plane.events.duration_ps[row])
        return slack_of_op(self.devices[0], plane, self.path(0, window), row)

    def call(self, begin, end):
        """The slack of a call of the main thread."""
        window = begin * US, end * US
        return slack_of_call(self.devices[0], self.reader.time, self.path(0, window), window)


def shown(path: Path):
    names = [path.names[name] if name >= 0 else "" for name in path.name.tolist()]
    ons = [On(on).name for on in path.on.tolist()]
    parts = [CATEGORIES[part] for part in path.part.tolist()]
    times = (path.begin_ps // US).tolist(), (path.end_ps // US).tolist()
    return list(zip(path.step.tolist(), *times, parts, ons, names, strict=True))


def test_the_path_is_in_ops_and_in_the_calls_that_the_device_waits_for():
    path = Paths(GPU).path()
    assert shown(path) == [*FIRST, *SECOND]
    op = np.flatnonzero((path.on == On.OP) & (path.begin_ps == 30 * US))[0]
    assert (path.event_begin_ps[op], path.event_ps[op], path.count[op]) == (30 * US, 20 * US, 1)
    call = np.flatnonzero((path.on == On.CALL) & (path.begin_ps == 8 * US))[0]
    assert (path.event_begin_ps[call], path.event_ps[call]) == (2 * US, 16 * US)


def test_a_window_has_the_whole_steps_that_it_overlaps():
    paths = Paths(GPU)
    assert shown(paths.path(0, (80 * US, 81 * US))) == SECOND
    assert len(paths.path(0, (200 * US, 300 * US))) == 0


def test_a_window_has_the_pieces_that_overlap_it_whole():
    assert [row[1:3] for row in shown(in_window(Paths(GPU).path(), (29 * US, 31 * US)))] == [(25, 30), (30, 45)]


def test_of_many_pieces_small_neighbours_in_a_step_are_one():
    path = Paths(GPU).path()
    thin = in_window(path, (0, 145 * US), 20)
    assert [(*row[:4], row[5], count) for row, count in zip(shown(thin), thin.count.tolist(), strict=True)] == [
        (0, 0, 18, "idle_host", "", 4),
        (0, 18, 30, "compute", "", 4),
        (0, 30, 45, "compute", "b", 1),
        (0, 45, 60, "compute", "d", 1),
        (0, 60, 75, "idle_other", "", 3),
        (1, 75, 80, "idle_transfer", "", 4),
        (1, 80, 100, "compute", "a", 1),
        (1, 100, 108, "idle_host", "$train.py:9 load", 1),
        (1, 108, 120, "idle_launch", "", 1),
        (1, 120, 140, "compute", "b", 1),
        (1, 140, 145, "idle_other", "", 1),
    ]


def test_of_spans_under_way_the_one_that_ends_last_leads():
    begin, end, row = farthest(np.array([5, 0, 0, 12, 8]), np.array([11, 10, 4, 20, 9]))
    assert (begin.tolist(), end.tolist(), row.tolist()) == ([0, 5, 12], [5, 11, 20], [1, 0, 3])


@pytest.mark.parametrize("block", range(5))
def test_the_pieces_of_random_profiles_add_up_to_the_steps_and_their_parts(block):
    for seed in range(EACH * block, EACH * block + EACH):
        paths = Paths(text_of(random_profile(seed)))
        assert 0 <= leading(paths.spent) < len(paths.devices)
        for number, time in enumerate(paths.spent.devices):
            path, (begin, end) = paths.path(number), time.windows
            assert bool((path.begin_ps[1:] >= path.end_ps[:-1]).all())
            sums = np.zeros(len(begin), np.int64)
            np.add.at(sums, path.step, path.end_ps - path.begin_ps)
            assert sums.tolist() == np.maximum(end - begin, 0).tolist(), seed
            parts = [
                sum(int(covered_within(*t, begin, end).sum()) for c, t in time.spent if c == part) for part in PARTS
            ]
            assert path.by_part().tolist() == parts, seed
            thin = in_window(path, (-(2**62), 2**62), 6)
            assert int((thin.end_ps - thin.begin_ps).sum()) == int(sums.sum())
            assert int(thin.count.sum()) == len(path)


def bounds(slack):
    return slack.bound, slack.ps // US, slack.path_ps // US


def test_slack_of_ops():
    paths = Paths(GPU)
    assert bounds(paths.op("d", 45)) == ("exactly", 0, 15)
    assert bounds(paths.op("a", 20)) == ("exactly", 0, 5)  # b follows at once
    assert bounds(paths.op("c", 25)) == ("at most", 10, 5)  # until d on the same queue
    assert paths.op("c", 25).why == (
        "Its queue is idle for so long until d, which is on the binding path. Waits between queues are not recorded."
    )
    assert bounds(paths.op("b", 30)) == ("unknown", 0, 15)
    assert paths.op("b", 30).why == "No later op of its queue is on the binding path of this step."


def test_slack_of_calls():
    paths = Paths(GPU)
    assert bounds(paths.call(2, 18)) == ("exactly", 0, 16)
    assert bounds(paths.call(33, 62)) == ("exactly", 0, 2)
    assert bounds(paths.call(21, 22)) == ("at most", 23, 0)  # d begins 23 us after its launch
    assert bounds(paths.call(23, 33)) == ("at least", 27, 0)  # the wait from 33 on, until d ends
    assert bounds(paths.call(62, 72)) == ("unknown", 0, 0)
    assert paths.call(62, 72).why == "The device is idle meanwhile, and nothing tells why."
    assert paths.call(200, 210).why == "The event is in no step."


def test_a_call_has_no_slack_if_the_main_thread_goes_on_without_a_wait_until_the_device_waits_for_it():
    slack = Paths(GPU).call(81, 99)
    assert bounds(slack) == ("exactly", 0, 0)
    assert slack.why == "The main thread goes on without a wait until the device waits for it."


def test_a_call_that_waits_is_not_the_cause_of_its_length():
    slack = Paths(GPU).call(33, 50)
    assert bounds(slack) == ("unknown", 0, 0)
    assert slack.why == "The main thread waits in it for something else, which decides how long it takes."


def test_without_a_launch_or_a_wait_nothing_tells_the_slack_of_a_call():
    text = GPU.replace('62us +10us "$train.py:9 load"\n', "").replace('33us +29us "np.asarray(jax.Array)"\n', "")
    slack = Paths(text).call(23, 33)
    assert slack.why == "In this step the main thread launches nothing after it, and does not wait."


def test_ops_of_a_pool_of_threads_tell_no_slack_unless_they_are_on_the_path():
    text = """
plane 1 "/host:CPU"
line 1 main
0us +100us train {_r=1, step_num=0}
line 2 pool
10us +20us dot.1 {hlo_op="dot.1", run_id=1, program_id=3}
line 3 pool
20us +30us dot.2 {hlo_op="dot.2", run_id=1, program_id=3}
"""
    paths = Paths(text)
    assert bounds(paths.op("dot.2", 20)) == ("exactly", 0, 30)
    assert paths.op("dot.1", 10).why == (
        "Another op ends later, and the recording does not tell what waits for the ops of a pool of threads."
    )


def test_pieces_that_are_together_are_of_the_part_with_most_of_their_time():
    """Not of the one that comes last."""
    begin, end = np.array([0, 90, 150, 250, 300]), np.array([90, 150, 250, 300, 400])
    part, step = np.array([COMPUTE, IDLE_HOST, COMPUTE, COMPUTE, COMPUTE]), np.array([0, 0, 1, 1, 1])
    on, none, one = np.full(5, int(On.NOTHING)), np.full(5, -1), np.ones(5, np.int64)
    thin = in_window(Path(step, begin, end, part, on, none, none, 0 * begin, 0 * begin, one), (0, 400), 4)
    assert (thin.count.tolist(), thin.part.tolist()) == ([2, 1, 2], [COMPUTE] * 3)


def test_a_span_without_length_leads_at_no_moment():
    begin, end, row = farthest(np.array([3, 5]), np.array([3, 9]))
    assert (begin.tolist(), end.tolist(), row.tolist()) == ([5], [9], [1])


def test_a_window_that_ends_where_a_step_begins_is_not_in_it():
    paths = Paths(GPU)
    assert shown(paths.path(0, (74 * US, 75 * US))) == FIRST
    assert shown(paths.path(0, (75 * US, 76 * US))) == SECOND
    assert [row[1:3] for row in shown(in_window(paths.path(), (25 * US, 45 * US)))] == [(25, 30), (30, 45)]


def pieces(*ends, start=0):
    """A path of one step with pieces that follow each other."""
    end = np.array(ends) + start
    begin, none = np.append(start, end[:-1]), np.full(len(end), -1)
    on, zero = np.full(len(end), int(On.NOTHING)), np.zeros(len(end), np.int64)
    return Path(zero, begin, end, zero, on, none, none, zero, zero, zero + 1)


@pytest.mark.parametrize("start", [0, 2000])
@pytest.mark.parametrize(
    ("ends", "count"),
    [
        ((50, 600, 700, 800, 1000), [1, 1, 3]),  # the second is longer than two of four equal parts
        ((50, 550, 700, 800, 1000), [1, 1, 3]),
        ((50, 549, 700, 800, 1000), [2, 3]),
        ((50, 600, 700, 1000), [1, 1, 1, 1]),
    ],
)
def test_small_pieces_are_together_wherever_the_path_begins(ends, count, start):
    path = pieces(*ends, start=start)
    assert in_window(path, (0, 10_000), 4).count.tolist() == count


def test_the_device_that_works_most_without_waits_leads():
    """The first waits for 50 us in its collective, which it does nothing else meanwhile."""
    core = 'plane {0} "/device:TPU:{0}"\nline 1 Steps\n0us +100us 1 {{_ct=9, _c=1}}\nline 3 "XLA Ops"\n'
    core += "0us +{1}us fusion.1\n{1}us +{2}us all-reduce.1\nmetadata fusion.1 {{program_id=u7, symbol_id=u1}}\n"
    core += "metadata all-reduce.1 {{program_id=u7, symbol_id=u2}}\n"
    assert leading(Paths(core.format(0, 25, 60) + core.format(1, 70, 15)).spent) == 1
    assert leading(Paths(core.format(0, 70, 15) + core.format(1, 25, 60)).spent) == 0


def test_work_that_hides_other_work_is_on_the_path():
    text = """
    plane 1 "/device:GPU:0"
    line 1 "Stream #1"
    10us +40us gemm {correlation_id=1}
    line 2 "Stream #2"
    20us +40us ncclDevKernel_AllReduce_Sum_f32 {correlation_id=2}
    plane 2 "/host:CPU"
    line 1 main
    0us +70us train {_r=1, step_num=0}
    2us +1us launch {correlation_id=1}
    4us +1us launch {correlation_id=2}
    """
    work = [row[1:] for row in shown(Paths(text).path()) if row[4] == "OP"]
    assert work == [
        (10, 50, "compute", "OP", "gemm"),
        (50, 60, "exposed_communication", "OP", "ncclDevKernel_AllReduce_Sum_f32"),
    ]


def waited(part=IDLE_HOST, kind="gpu", starts=(), keys=(), calls=(), wait=(50, 60), spans=(), ops=()):
    """The slack of a call from 20 to 30 in a step from 10 to 100, with calls of the main thread on the path.

    The thread waits in between; calls with keys 1, 2, ... launch work.
    """
    begins = [10, *(begin for begin, _ in spans), *ops]
    ends = [11, *(end for _, end in spans), *(begin + 1 for begin in ops)]
    on = [On.NOTHING, *(On.CALL for _ in spans), *(On.OP for _ in ops)]
    rows = sorted(zip(begins, ends, on, strict=True))
    begin, end, what = (np.array(column) for column in zip(*rows, (99, 100, On.NOTHING), strict=True))
    none, parts = np.full(len(begin), -1), np.full(len(begin), part)
    path = Path(0 * begin, begin, end, parts, what, none, none, begin, end - begin, 0 * begin + 1)
    key, when = np.arange(len(calls)) + 1, np.array(calls, np.int64)
    host = HostTime(transfer=tuple(np.array([time]) for time in wait), calls=HostCalls(key, key, when, when + 1))
    device = Device("a", kind, 0, 0, (), OpSpans(), starts=np.array(starts, np.int64), launch_key=np.array(keys, int))
    slack = slack_of_call(device, host, path, (20, 30))
    return slack.bound, slack.ps, slack.path_ps


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # On the path as far as they overlap.
        ({"spans": [(11, 21), (25, 28), (29, 40)]}, ("exactly", 0, 5)),
        ({"spans": [(25, 28)], "part": IDLE_OTHER}, ("unknown", 0, 0)),
        # The wait, in it or after it.
        ({"wait": (29, 31)}, ("unknown", 0, 0)),
        ({"wait": (30, 44)}, ("at least", 14, 0)),
        ({}, ("at least", 10, 0)),
        ({"wait": (100, 110)}, ("unknown", 0, 0)),
        # What the device waits for before the wait, from the end of the call to the begin of the wait.
        ({"spans": [(11, 20), (30, 31)]}, ("exactly", 0, 0)),
        ({"spans": [(50, 51)]}, ("exactly", 0, 0)),
        ({"spans": [(51, 52)]}, ("at least", 1, 0)),
        ({"spans": [(50, 51)], "part": IDLE_OTHER}, ("at least", 0, 0)),
        ({"spans": [(60, 61)]}, ("at least", 10, 0)),
        ({"spans": [(59, 61), (70, 71)]}, ("at least", 9, 0)),
        # Work on the path that is launched until then, the soonest one.
        ({"calls": [30, 50], "keys": [1, 2], "starts": [45, 60], "ops": [45, 60]}, ("at most", 10, 0)),
        ({"calls": [50], "keys": [1], "starts": [61], "ops": [61]}, ("at most", 11, 0)),
        ({"calls": [51], "keys": [1], "starts": [61], "ops": [61]}, ("at least", 10, 0)),
        ({"calls": [29], "keys": [1], "starts": [61], "ops": [61]}, ("at least", 10, 0)),
        ({"calls": [40], "keys": [9], "starts": [61], "ops": [61]}, ("at least", 10, 0)),
        ({"calls": [40], "keys": [1], "starts": [61], "ops": [62]}, ("at least", 10, 0)),
        ({"calls": [40], "keys": [1], "starts": [39], "ops": [39]}, ("at most", 0, 0)),
        # Programs of a TPU are on the path in all of its time.
        ({"kind": "tpu", "calls": [40], "keys": [1], "starts": [61], "ops": [62]}, ("at most", 21, 0)),
        ({"kind": "tpu", "calls": [40], "keys": [1], "starts": [75], "ops": [62]}, ("at most", 35, 0)),
        ({"kind": "tpu", "calls": [40], "keys": [1], "starts": [99]}, ("at most", 59, 0)),
        ({"kind": "tpu", "calls": [40], "keys": [1], "starts": [100]}, ("at least", 10, 0)),
        ({"kind": "tpu", "calls": [40, 40], "keys": [1, 2], "starts": [10, 75]}, ("at most", 0, 0)),
        ({"kind": "tpu", "calls": [40, 40], "keys": [1, 2], "starts": [9, 75]}, ("at most", 35, 0)),
        ({"kind": "tpu", "calls": [40], "keys": [2], "starts": [75]}, ("at least", 10, 0)),
    ],
)
def test_how_long_a_call_may_take_until_something_waits_for_it(given, expected):
    assert waited(**given) == expected


def test_a_queue_is_idle_until_its_next_op_on_the_path_without_the_ops_in_between():
    """The second queue runs c for 2 us more, off the path."""
    paths = Paths(GPU.replace("45us +15us d {correlation_id=6}", "38us +2us c\n45us +15us d {correlation_id=6}"))
    assert bounds(paths.op("c", 25)) == ("at most", 8, 5)


def test_pieces_of_the_same_event_and_part_are_one_as_long_as_they_touch():
    """Not across steps, nor across parts."""
    spans = [(0, 10), (10, 20), (20, 25), (25, 40), (40, 50), (50, 60)]
    parts = [IDLE_GAP, IDLE_GAP, IDLE_GAP, NOT_RECORDED, IDLE_GAP, IDLE_GAP]
    spent = tuple((part, (np.array([begin]), np.array([end]))) for part, (begin, end) in zip(parts, spans, strict=True))
    time = SimpleNamespace(windows=(np.array([0, 40]), np.array([40, 60])), spent=spent)
    device = Device("a", "gpu", 0, 0, (), OpSpans())
    path = device_path(device, None, time, calls_of(MainThread(), no_time(), 0, 60), (0, 60))
    rows = list(zip(path.begin_ps.tolist(), path.end_ps.tolist(), path.part.tolist(), path.step.tolist(), strict=True))
    assert rows == [(0, 25, IDLE_GAP, 0), (25, 40, NOT_RECORDED, 0), (40, 60, IDLE_GAP, 1)]
