"""Links between threads and devices: contexts, mutators, iterations, launches; regions of thread pools."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from builders.shown import groups, profile

from tpu_profile_plugin.analysis.common.planes import ExtraLine
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.grouping.lookup import LAUNCH_STATS, EventsByName, event_stats

ROOT = 'plane 1 "/host:CPU"\nline 1 main\n0us +100us train {_r=1}\n'


def reached(sender: str, receiver: str) -> bool:
    """Whether an event inside a root leads to an event on another thread; both are given as `name {stats}`."""
    name = receiver.partition(" ")[0].strip('"')
    text = f"{ROOT}5us +1us {sender}\nline 2 other\n200us +10us {receiver}\n"
    return groups(profile(text))[name][-1] == 0


@pytest.mark.parametrize(
    ("sender", "receiver", "linked"),
    [
        ("p {_pt=3, _p=77}", "c {_ct=3, _c=77}", True),
        ("p {_pt=3, _p=77}", "c {_ct=4, _c=77}", False),
        ("p {_pt=3, _p=77}", "c {_ct=3, _c=78}", False),
        # Neither the sum of kind and id nor the next id is the same context.
        ("p {_pt=3, _p=77}", "c {_ct=4, _c=76}", False),
        ("p {_pt=3, _p=-1}", "c {_ct=3, _c=-1}", True),
        ("p {_pt=3, _p=-1}", "c {_ct=3, _c=0}", False),
        ("p {_pt=3, _p=77}", "c {_ct=3}", False),
        ("p {_pt=3}", "c {_ct=3, _c=0}", False),
        # Ids may be written either way; types written as uint64 read as 0.
        ("p {_pt=3, _p=u77}", "c {_ct=3, _c=77}", True),
        ("p {_pt=u3, _p=77}", "c {_ct=3, _c=77}", False),
        ("p {_pt=u3, _p=77}", "c {_ct=u4, _c=77}", True),
        # Contexts are of one process.
        ("p {_pt=3, _p=77, _pid=5}", "c {_ct=3, _c=77}", False),
        ("p {_pt=3, _p=77, _pid=5}", "c {_ct=3, _c=77, _pid=5}", True),
        ("p {_pt=3, _p=77}", "c {_ct=3, _c=77, _pid=5}", False),
        # Launches on a TPU have no process.
        ("p {_pt=12, _p=77, _pid=5}", "c {_ct=12, _c=77, _pid=6}", True),
        ("p {_pt=3, _p=77, _ct=12, _c=1, _pid=5}", "c {_ct=3, _c=77}", True),
    ],
)
def test_contexts(sender: str, receiver: str, linked: bool) -> None:
    assert reached(sender, receiver) is linked


def test_contexts_are_those_of_one_process() -> None:
    text = """
    plane 1 "/host:CPU" {process_id=5}
    line 1 a
    0us +100us train {_r=1}
    5us +1us p {_pt=3, _p=8}
    line 2 b
    200us +1us c {_ct=3, _c=8}
    plane 2 "/host:CPU [6]" {process_id=6}
    line 1 a
    5us +1us c {_ct=3, _c=8}
    """
    assert (groups(profile(text))["c"], groups(profile(text), 1)["c"]) == ([0], [-1])


def test_the_process_of_the_plane_is_that_of_its_producers_and_of_consumers_that_name_none() -> None:
    text = """
    plane 1 "/host:CPU" {process_id=5}
    line 1 a
    0us +100us train {_r=1}
    5us +1us p {_pt=3, _p=8, _pid=6}
    plane 2 "/host:CPU [77]" {process_id=6}
    line 1 a
    5us +1us c {_ct=3, _c=8}
    8us +1us d {_ct=3, _c=8, _pid=5}
    """
    assert groups(profile(text), 1) == {"c": [-1], "d": [0]}


@pytest.mark.parametrize(("kind", "linked"), [(3, False), (12, True)])
def test_launches_on_a_tpu_are_those_of_any_process(kind: int, linked: bool) -> None:
    text = f"""
    plane 1 "/host:CPU" {{process_id=5}}
    line 1 a
    0us +100us train {{_r=1}}
    5us +1us p {{_pt={kind}, _p=8}}
    plane 2 "/host:CPU [6]" {{process_id=6}}
    line 1 a
    5us +1us c {{_ct={kind}, _c=8}}
    """
    assert groups(profile(text), 1) == {"c": [0 if linked else -1]}


@pytest.mark.parametrize(
    ("sender", "receiver", "linked"),
    [
        ('"ExecutorState::Process" {id=5, iter_num=0}', "TpuExecuteOp {id=5, iter_num=0}", True),
        ('"ExecutorState::Process" {id=5, iter_num=0}', "TpuExecuteOp {id=u5, iter_num=u0}", True),
        ('"ExecutorState::Process" {id=5, iter_num=0}', "TpuExecuteOp {id=5, iter_num=1}", False),
        ('"ExecutorState::Process" {id=5}', "TpuExecuteOp {id=5, iter_num=0}", False),
        ("EnqueueRequestLocked {request_id=4, queue_addr=7}", "PjrtAsyncWait {request_id=4, queue_addr=7}", True),
        ("EnqueueRequestLocked {request_id=4, queue_addr=7}", "CustomWait {request_id=4, queue_addr=7}", True),
        ("EnqueueRequestLocked {request_id=4, queue_addr=7}", "CustomWait {request_id=4, queue_addr=8}", False),
        ("EnqueueRequestLocked {request_id=4, queue_addr=7}", "Other {request_id=4, queue_addr=7}", False),
        # What a rule sets replaces what the file says.
        ("EnqueueRequestLocked {request_id=4, queue_addr=7, _pt=1, _p=99}", "x {_ct=1, _c=99}", False),
    ],
)  # fmt: skip
def test_mutators_make_contexts(sender: str, receiver: str, linked: bool) -> None:
    assert reached(sender, receiver) is linked


@pytest.mark.parametrize(
    ("launched", "completed", "linked"),
    [
        ("run_id=5, device_ordinal=0", "run_id=5, device_ordinal=0", True),
        ("run_id=5, device_ordinal=0, core_type=2", "run_id=5, device_ordinal=0", False),
        ("run_id=5, device_ordinal=0, core_type=0", "run_id=5, device_ordinal=0", True),
        ("run_id=5, device_ordinal=1", "run_id=5, device_ordinal=0", False),
        ("run_id=u5, device_ordinal=u1", "run_id=5, device_ordinal=1", True),
        ("run_id=5", "run_id=5, device_ordinal=0", False),
        # Only the low 27 bits of a run id count.
        ("run_id=134217735, device_ordinal=0", "run_id=7, device_ordinal=0", True),
    ],
)
def test_launches_make_contexts(launched: str, completed: str, linked: bool) -> None:
    receiver = f"CompleteCallbacks {{queue_id=1, {completed}}}"
    assert reached(f"DoEnqueueProgram {{queue_id=1, {launched}}}", receiver) is linked
    assert not reached(f"DoEnqueueContinuationProgram {{queue_id=1, {launched}}}", receiver)


@pytest.mark.parametrize("name", ["DoEnqueueProgram", "DoEnqueueContinuationProgram", "CompleteCallbacks"])
def test_one_kind_of_launch_is_reason_enough_to_read_the_stats_of_launches(name: str) -> None:
    (plane,) = profile(f"{ROOT}5us +1us {name} {{run_id=5}}").planes
    assert set(LAUNCH_STATS) <= set(event_stats(plane, EventsByName(plane)))


def test_stats_of_launches_are_read_of_cores_and_not_of_planes_without_launches() -> None:
    host, core = profile(f'{ROOT}5us +1us x {{run_id=5}}\nplane 2 "/device:TPU:0"\nline 1 s\n1us +1us y').planes
    assert set(LAUNCH_STATS) <= set(event_stats(core, EventsByName(core)))
    assert not set(LAUNCH_STATS) & set(event_stats(host, EventsByName(host)))


def test_launches_and_their_ends_may_be_on_different_planes() -> None:
    launch = "5us +1us DoEnqueueProgram {queue_id=1, run_id=5, device_ordinal=0}\n"
    end = 'plane 2 "/host:CPU [6]"\nline 1 a\n9us +1us CompleteCallbacks {queue_id=1, run_id=5, device_ordinal=0}'
    assert groups(profile(ROOT + launch + end), 1) == {"CompleteCallbacks": [0]}


def test_launches_lead_to_runs_of_programs_on_their_device() -> None:
    launch = "5us +1us DoEnqueueProgram {queue_id=1, run_id=5, device_ordinal=1}\n"
    core = 'plane {0} "/device:TPU:{0}"\nline 1 "XLA Modules"\n9us +1us m {{queue_id=1, run_id=5}}\n'
    text = ROOT + launch + core.format(0) + core.format(1)
    assert [groups(profile(text), plane) for plane in (1, 2)] == [{"m": [-1]}, {"m": [0]}]


def test_contexts_may_be_all_that_events_tell() -> None:
    text = 'plane 1 "/host:CPU"\nline 1 a\n0us +100us ProcessBatch\n5us +1us p {_pt=3, _p=8}\n'
    assert groups(profile(f"{text}line 2 b\n200us +1us c {{_ct=3, _c=8}}"))["c"] == [0]


def test_launches_in_no_queue_are_not_those_in_queue_0() -> None:
    launch = "5us +1us DoEnqueueProgram {run_id=5, device_ordinal=0}\n"
    done = "line 2 b\n200us +1us CompleteCallbacks {queue_id=0, run_id=5, device_ordinal=0}"
    assert groups(profile(ROOT + launch + done))["CompleteCallbacks"] == [-1]


def test_masked_run_ids_are_told() -> None:
    launches = "5us +1us DoEnqueueProgram {run_id=134217735}\n7us +1us DoEnqueueProgram {run_id=134217727}\n"
    (plane,) = preprocess(profile(ROOT + launches + "8us +1us x {run_id=134217735}")).planes
    assert (plane.run_id_event.tolist(), plane.run_id_value.tolist()) == ([1], [7])


def test_executors_lead_to_the_input_they_wait_for() -> None:
    text = (
        ROOT
        + """
    1us +5us "ExecutorState::Process" {id=3, iter_num=0}
    line 2 b
    100us +10us "IteratorGetNextOp::DoCompute" {id=3, iter_num=0}
    101us +1us inside
    120us +10us "IteratorGetNextAsOptionalOp::DoCompute" {id=u3, iter_num=0}
    140us +10us "IteratorGetNextOp::DoCompute" {id=3, iter_num=1}
    160us +10us "IteratorGetNextOp::DoCompute" {id=3}
    180us +10us "IteratorGetNextOp::DoCompute" {iter_num=0}
    """
    )
    found = groups(profile(text))
    assert found["IteratorGetNextOp::DoCompute"] == [0, -1, -1, -1]
    assert (found["inside"], found["IteratorGetNextAsOptionalOp::DoCompute"]) == ([0], [0])


def test_launches_lead_to_kernels_and_the_last_launch_of_an_id_counts() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +10us train {_r=1}
    1us +1us launch {correlation_id=5}
    20us +10us train {_r=1}
    21us +1us launch {correlation_id=u5}
    22us +1us "a:Add" {correlation_id=6}
    plane 2 "/device:CUSTOM:x"
    line 1 s
    30us +1us kernel {correlation_id=5}
    31us +1us other {correlation_id=6}
    """
    assert groups(profile(text), 1) == {"kernel": [1], "other": [-1]}


def test_a_kernel_whose_launch_is_not_in_the_profile_belongs_to_no_group() -> None:
    device = 'plane 2 "/device:CUSTOM:x"\nline 1 s\n30us +1us kernel {correlation_id=5}'
    assert groups(profile(ROOT + device), 1) == {"kernel": [-1]}


@pytest.mark.parametrize(
    ("launch", "kernel", "group"),
    [
        ("foo", "k", 0),
        ("KernelLaunch", "KernelExecute", 0),
        ("PrefetchConsume", "k", -1),
        ("KernelExecute", "k", -1),
        ("foo", "KernelLaunch", -1),
        ("foo", "MemoryAllocation", -1),
    ],
)
def test_events_of_a_known_kind_launch_no_kernels_and_are_none(launch: str, kernel: str, group: int) -> None:
    device = f'plane 2 "/device:GPU:0"\nline 1 s\n30us +1us {kernel} {{correlation_id=5}}'
    text = f"{ROOT}1us +1us {launch} {{correlation_id=5}}\n{device}"
    assert groups(profile(text), 1).get(kernel, [-1]) == [group]


def test_without_any_group_ops_are_listed_as_not_eager() -> None:
    (plane,) = preprocess(
        profile('plane 1 "/host:CPU"\nline 1 a\n0us +1us "a:Add"\n1us +1us x\n2us +1us "b:Mul"')
    ).planes
    assert (plane.eager_event.tolist(), plane.eager_value.tolist()) == ([0, 2], [0, 0])


def test_the_nearest_eager_call_decides() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +50us EagerExecute {is_func=0}
    1us +10us EagerExecute {is_func=1}
    2us +1us "a:Add"
    20us +1us "a:Add"
    """
    (plane,) = preprocess(profile(text)).planes
    assert dict(zip(plane.eager_event.tolist(), plane.eager_value.tolist(), strict=True)) == {2: 0, 3: 1}


@pytest.mark.parametrize(("kind", "category"), [(-1, 0), (0, 0), (1, 1), (17, 17), (18, 0)])
def test_flows_are_of_the_kind_of_their_context(kind: int, category: int) -> None:
    (host,) = preprocess(profile(ROOT + f"5us +1us p {{_pt={kind}, _p=77}}")).planes
    assert [value >> 58 for value in host.flow_value.tolist()] == [category]


def test_eager_ops_and_kernels() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    10us +10us EagerExecute {is_func=u1}
    11us +1us "a:Add"
    30us +10us EagerExecute {is_func=1}
    31us +1us "a:Add"
    50us +10us EagerExecute {is_func=0}
    51us +1us "a:Add"
    52us +1us "Iterator::X"
    53us +1us launch {correlation_id=3}
    54us +1us "b:Mul" {correlation_id=4}
    56us +1us "jit(f)/add:"
    70us +10us EagerExecute
    71us +1us "a:Add"
    72us +1us "x:Foo Bar"
    plane 3 "/device:GPU:0"
    line 1 s
    100us +1us k {correlation_id=3}
    130us +1us b {correlation_id=4}
    """
    host, gpu = preprocess(profile(text)).planes
    assert dict(zip(host.eager_event.tolist(), host.eager_value.tolist(), strict=True)) == {
        1: 1,
        3: 0,
        5: 1,
        8: 1,
        11: 0,
    }
    assert dict(zip(gpu.eager_event.tolist(), gpu.eager_value.tolist(), strict=True)) == {0: 1, 1: 0}


def test_contexts_of_one_kind_are_different_flows() -> None:
    (host,) = preprocess(profile(ROOT + "5us +1us p {_pt=3, _p=77}\n7us +1us q {_pt=3, _p=78}")).planes
    assert len(set(host.flow_value.tolist())) == 2


def test_flows_have_two_ends_with_one_number() -> None:
    text = (
        ROOT
        + """
    5us +1us p {_pt=3, _p=77, correlation_id=4}
    6us +1us own {flow=u99}
    7us +1us c {_ct=3, _c=77}
    8us +1us old {_pt=40, _p=1}
    plane 2 "/device:GPU:0"
    line 1 s
    9us +1us k {correlation_id=4}
    """
    )
    host, gpu = preprocess(profile(text)).planes
    direction: Callable[[int], int] = lambda value: value & 3  # noqa: E731
    number: Callable[[int], int] = lambda value: value >> 2  # noqa: E731
    launch, produced, own, consumed, old = host.flow_value.tolist()
    assert host.flow_event.tolist() == [1, 1, 2, 3, 4]
    assert [direction(value) for value in (launch, produced, consumed, old)] == [2, 2, 1, 2]
    assert [value >> 58 for value in (launch, produced, consumed, old)] == [9, 3, 3, 0]
    assert (number(produced), own) == (number(consumed), 99)
    assert (number(launch), direction(gpu.flow_value[0])) == (number(gpu.flow_value[0]), 1)
    assert number(launch) != number(produced)


def test_what_runs_on_a_core_waits_for_no_input() -> None:
    """A step of a core with the name, id and iteration of an executor run leads to no iterator on the host."""
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +50us train {_r=1}
    1us +1us p {_pt=12, _p=1}
    line 2 b
    200us +10us "IteratorGetNextOp::DoCompute" {id=3, iter_num=0}
    plane 3 "/device:TPU:0"
    line 1 Steps
    10us +10us "ExecutorState::Process" {_ct=12, _c=1, id=3, iter_num=0}
    """
    assert groups(profile(text), 1)["ExecutorState::Process"] == [0]
    assert groups(profile(text))["IteratorGetNextOp::DoCompute"] == [-1]


# Threadpool regions: spans between start and stop events, and where they nest.


def regions(text: str) -> list[ExtraLine]:
    return [line for line in preprocess(profile(text)).planes[0].lines if "ThreadpoolListener::Region" in line.names]


def spans(line: ExtraLine) -> list[tuple[int, int]]:
    return list(zip((line.begin_ps // 10**6).tolist(), (line.duration_ps // 10**6).tolist(), strict=True))


def test_threadpool_regions_span_from_the_last_start_with_an_id_to_each_stop() -> None:
    text = """
    plane 1 "/host:CPU"
    line 2 b @1000ns
    0us +5us "ThreadpoolListener::StartRegion" {_ct=15, _c=9}
    2us +1us work
    10us +3us "ThreadpoolListener::StopRegion"
    20us +0us "ThreadpoolListener::StopRegion"
    30us +0us "ThreadpoolListener::StartRegion"
    40us +2us "ThreadpoolListener::StopRegion"
    line 3 c
    50us +1us "ThreadpoolListener::StopRegion"
    """
    (line,) = regions(text)
    assert (line.id, line.name, spans(line)) == (2, "b", [(1, 10), (1, 20), (1, 40)])


def test_regions_enclose_events_but_carry_no_context() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +100us train {_r=1}
    5us +1us q {_pt=15, _p=9}
    line 2 b
    200us +50us outer {_r=1}
    210us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=10}
    212us +1us work
    220us +0us "ThreadpoolListener::StopRegion"
    260us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=9}
    262us +1us free
    270us +0us "ThreadpoolListener::StopRegion"
    """
    found = groups(profile(text))
    (line,) = regions(text)
    assert line.group_id is not None
    assert (found["work"], found["free"], line.group_id.tolist()) == ([1], [-1], [1, -1])
    assert found["ThreadpoolListener::StartRegion"] == [1, 0]


def test_a_region_lies_inside_an_event_that_begins_with_it_and_lasts_longer() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=10}
    0us +20us train {_r=1}
    10us +0us "ThreadpoolListener::StopRegion"
    line 2 b
    5us +20us train {_r=1}
    6us +2us inside
    30us +2us outside
    """
    (line,) = regions(text)
    assert line.group_id is not None
    assert (line.group_id.tolist(), spans(line)) == ([0], [(0, 10)])
    assert groups(profile(text)) == {
        "ThreadpoolListener::StartRegion": [0],
        "train": [0, 1],
        "ThreadpoolListener::StopRegion": [0],
        "inside": [1],
        "outside": [-1],
    }


def test_lines_are_in_file_order_unless_they_have_regions() -> None:
    """An event that the file has before the step around it is not in that step; regions put their line in order."""
    text = """
    plane 1 "/host:CPU"
    line 1 a
    20us +5us plain
    0us +100us train {_r=1}
    30us +5us after
    line 2 b
    20us +5us sorted
    12us +0us "ThreadpoolListener::StopRegion"
    0us +100us train {_r=1}
    10us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=10}
    13us +0us "ThreadpoolListener::StopRegion"
    """
    found = groups(profile(text))
    (line,) = regions(text)
    assert (found["plain"], found["after"], found["sorted"]) == ([-1], [0], [1])
    # Which start a stop ends is a matter of the file's order too.
    assert line.group_id is not None
    assert (spans(line), line.group_id.tolist()) == ([(10, 3)], [1])


def test_regions_of_many_lines_number_no_event_anew() -> None:
    text = "plane 1 /host:CPU\n" + "".join(
        f"""line {i} t{i}
        {100 * i}us +50us train {{_r=1}}
        {100 * i + 1}us +0us "ThreadpoolListener::StartRegion" {{_ct=15, _c={i}}}
        {100 * i + 2}us +1us {"ab"[i % 2]} {{_pt=3, _p={i}}}
        {100 * i + 5}us +0us "ThreadpoolListener::StopRegion"
        {100 * i + 60}us +1us c {{_ct=3, _c={(i + 1) % 4}}}
        """
        for i in range(4)
    )
    assert groups(profile(text)) == {
        "train": [0, 1, 2, 3],
        "ThreadpoolListener::StartRegion": [0, 1, 2, 3],
        "a": [0, 2],
        "b": [1, 3],
        "ThreadpoolListener::StopRegion": [0, 1, 2, 3],
        "c": [1, 2, 3, 0],
    }
    assert [line.group_id.tolist() for line in regions(text) if line.group_id is not None] == [[0], [1], [2], [3]]


def test_starts_without_an_id_open_no_region() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +0us "ThreadpoolListener::StartRegion"
    5us +1us x {_ct=15, _c=9}
    10us +0us "ThreadpoolListener::StopRegion"
    """
    assert regions(text) == []
