"""Steps of CPUs and GPUs: markers, event classes, overlaps and what is counted."""

import numpy as np
import pytest
from builders import planes
from builders.answers import summary

from tpu_profile_plugin.analysis.steps.breakdown import generic_ps
from tpu_profile_plugin.analysis.steps.host_steps import (
    NO_SPANS,
    HostEvents,
    Spans,
    assemble,
    gpu_class,
    host_class,
    host_input_ps,
    is_explicit_marker,
    step_times,
)
from tpu_profile_plugin.analysis.steps.step_table import CLASSES, EventClass, drop_incomplete

US = 1_000_000

LAUNCHES = ((1, 100, 50), (2, 200, 50), (3, 260, 20), (4, 300, 20), (5, 400, 20), (6, 700, 20))
KERNELS = (
    (1, 160, 100, "MemcpyHtoD"),
    (2, 300, 200, "sgemm"),
    (3, 500, 100, "gemm_fp16_kernel"),
    (5, 800, 50, "MemcpyDtoD"),
    (6, 900, 60, "MemcpyDtoH"),
)


def on_gpu(rename=None):
    """One step of a GPU with two streams, times in us."""
    rename = rename or {}
    launches = "\n".join(f"{begin} {length} launch {{correlation_id={i}}}" for i, begin, length in LAUNCHES)
    kernels = "\n".join(
        f"{begin} {length} {rename.get(name, name)} {{correlation_id={i}}}" for i, begin, length, name in KERNELS
    )
    before, after = "0 100 IteratorGetNext", "1000 100 MatMul:MatMul\n1200 30 MEMCPYHtoD"
    return planes.profile(
        planes.host(planes.marked(f"{before}\n{launches}\n{after}", steps=1, length=1500)),
        planes.gpu(
            kernels, "550 200 ncclAllReduce {correlation_id=4}", facts='device_vendor="Nvidia", compute_cap_major=9'
        ),
    )


def parts(steps):
    return {name: (ps // US).tolist() for name, ps in generic_ps(steps).items() if ps.any()}


def test_gpu_step_without_the_hosts_events():
    steps = summary(on_gpu()).steps
    assert (steps.duration_ps // US).tolist() == [[800]]
    assert (steps.names, steps.label(0), steps.cores) == (("",), "0", (1,))
    assert parts(steps) == {
        "device_compute": [300],
        "device_to_device": [50],
        "device_collectives": [150],
        "infeed": [100],
        "outfeed": [60],
        "other": [140],
    }


GROUPED = """
plane 0 "/host:CPU"
line 1 main
0us +100us train {_r=1, step_num=0, group_id=3}
plane 1 "/device:GPU:0" {device_vendor="Nvidia"}
line 10 "Stream #1"
20us +30us sgemm {correlation_id=1, group_id=3}
"""


@pytest.mark.parametrize(("line", "steps"), [("", []), ("line 3735928559 Steps", []), ("line -559038737 Steps", [40])])
def test_steps_of_a_file_saved_with_groups_are_those_of_its_step_line(line, steps):
    events = '10us +40us "3" {group_id=3}' if line else ""
    found = summary(f"{GROUPED}\n{line}\n{events}")
    assert (found.steps.duration_ps // US).flatten().tolist() == steps
    assert len(found.merged_steps.duration_ps) == 1  # our own reading: groups are steps with or without the line


def test_gpu_step_with_the_hosts_events():
    steps = summary(on_gpu()).merged_steps
    assert ((steps.duration_ps // US).tolist(), steps.names) == ([[1500]], ("train 0",))
    assert parts(steps) == {
        "device_compute": [300],
        "device_to_device": [50],
        "device_collectives": [150],
        "host_compute": [100],
        "kernel_launch": [120],
        "infeed": [180],
        "outfeed": [60],
        "other": [540],
    }


def test_instants_of_the_host_do_not_count_in_steps_of_gpus():
    instants = "1250us +0us IteratorGetNext\n1300us +10us IteratorGetNext"
    text = on_gpu().replace("1200us +30us MEMCPYHtoD", f"1200us +30us MEMCPYHtoD\n{instants}")
    found = parts(summary(text).merged_steps)
    assert (found["infeed"], found["other"]) == ([190], [530])


def test_short_copy_names_count_as_compute_unless_they_are_accepted():
    short = on_gpu({"MemcpyHtoD": "MemcpyH2D", "MemcpyDtoD": "MemcpyD2D", "MemcpyDtoH": "MemcpyD2H"})
    assert parts(summary(short).steps) == {"device_compute": [510], "device_collectives": [150], "other": [140]}
    assert parts(summary(short).merged_steps)["device_to_device"] == [50]
    assert (summary(short).steps.compute_16_ps // US, summary(short).steps.compute_32_ps // US) == (100, 410)


def on_cpu(steps, period=100):
    """Steps of 80 us with 50 us of computation."""
    return planes.host(planes.marked("10 50 MatMul:MatMul", steps=steps, period=period, length=80))


def test_cpu_steps_are_named_by_their_marker_and_need_computation():
    steps = summary(on_cpu(3)).steps
    assert steps.names == ("train 0", "train 1", "train 2")
    assert parts(steps) == {"host_compute": [50] * 3, "other": [30] * 3}
    empty = 'plane 0 "/host:CPU"\nline 1 main\n0us +80us train {_r=1, step_num=0}'
    assert len(summary(empty).steps) == 0


def test_steps_of_a_cpu_without_instants_stand_beside_those_with_them():
    def found(events):
        text = f'plane 0 "/host:CPU"\nline 1 main\n0us +80us train {{_r=1, step_num=0}}\n{events}'
        return tuple(
            None if steps is None else parts(steps) for steps in (summary(text).steps, summary(text).merged_steps)
        )

    lasting = "30us +20us foo"
    assert found(lasting) == ({"host_compute": [20], "other": [60]}, None)
    assert found(f"10us +0us bar\n{lasting}") == (
        {"host_compute": [40], "other": [40]},
        {"host_compute": [20], "other": [60]},
    )
    # An instant inside of what lasts changes nothing.
    assert found(f"{lasting}\n35us +0us bar")[1] is None


def test_more_than_five_steps_lose_the_first_and_the_last():
    assert len(drop_incomplete(summary(on_cpu(5)).steps)) == 5
    assert drop_incomplete(summary(on_cpu(6)).steps).names == ("train 1", "train 2", "train 3", "train 4")


def test_the_longest_device_marker_is_the_step_unless_a_host_marker_includes_it():
    def spans(*rows):
        import numpy as np

        columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
        return Spans(*columns, np.zeros(len(rows), np.uint8))

    device = spans((0, 10, 20), (0, 30, 40), (1, 50, 60))
    assert device.longest() == {0: (10, 20), 1: (50, 60)}
    host = spans((0, 5, 45), (1, 55, 90), (2, 0, 3), (3, 7, 7))
    assert step_times(device, host) == {0: (5, 45), 1: (50, 60), 2: (0, 3)}
    assert spans((0, 10, 20), (0, 30, 45), (0, 50, 60)).longest() == {0: (30, 45)}
    assert step_times(device, spans((0, 10, 40), (1, 40, 60))) == {0: (10, 40), 1: (40, 60)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("InfeedEnqueueTuple:InfeedEnqueueTuple", EventClass.HOST_TO_DEVICE),
        ("MEMCPYHtoD", EventClass.HOST_TO_DEVICE),
        ("MemcpyHToH", EventClass.HOST_TO_HOST),
        ("IteratorGetNextOp::DoCompute", EventClass.HOST_WAIT_INPUT),
        ("iteratorgetnext", EventClass.HOST_WAIT_INPUT),
        ("anything", EventClass.HOST_COMPUTE),
    ],
)
def test_host_classes(name, kind):
    assert host_class(name) == kind


@pytest.mark.parametrize(
    ("name", "shapes", "kind"),
    [
        ("MemcpyHToD", "", EventClass.HOST_TO_DEVICE),
        ("MEMCPYDtoH", "", EventClass.DEVICE_TO_HOST),
        ("NcclAllGather", "", EventClass.DEVICE_COLLECTIVES),
        ("my_half_kernel", "", EventClass.DEVICE_COMPUTE_16),
        ("gemm_fp16", "(float)", EventClass.DEVICE_COMPUTE_32),
        ("gemm", "(half)", EventClass.DEVICE_COMPUTE_16),
        ("gemm", "", EventClass.DEVICE_COMPUTE_32),
    ],
)
def test_gpu_classes(name, shapes, kind):
    assert gpu_class(name, shapes) == kind


def test_explicit_markers():
    assert is_explicit_marker("train 3")
    assert is_explicit_marker("TraceContext")
    assert not is_explicit_marker("training/MatMul")


def test_a_stage_of_an_input_pipeline_without_a_source_is_waiting():
    stage = '_ipl_stage_name="read", _ipl_stage_cat="read", _ipl_stage_id'
    fed = "_ct=2, _c=9"
    text = f"""
    plane 0 "/host:CPU"
      line 1 main
        0us +100us train {{_r=1, step_num=0}}
        10us +20us outer {{{stage}=1}}
        12us +5us inner {{{stage}=2}}
        40us +10us fed {{{stage}=3, {fed}}}
        60us +10us work
      line 2 other
        5us +1us feeder {{_pt=2, _p=9}}
    """
    assert parts(summary(text).steps)["infeed"] == [20]


def test_only_outermost_stages_of_a_pipeline_wait_for_input():
    stage, fed = '_ipl_stage_name="read", _ipl_stage_cat="read"', "_ct=2, _c=9"
    text = f"""
    plane 0 "/host:CPU"
      line 1 main
        0us +200us train {{_r=1, step_num=0}}
        70us +10us inner {{{stage}}}
        70us +20us outer {{{stage}, {fed}}}
        100us +10us twin {{{stage}, {fed}}}
        100us +10us other {{{stage}}}
        120us +10us late {{{stage}}}
        140us +7us half_fed {{{stage}, _ct=2}}
        150us +1us work
      line 2 second
        0us +200us train {{_r=1, step_num=1}}
        72us +6us alone {{{stage}}}
        90us +1us work
      line 3 feeders
        5us +1us feeder {{_pt=2, _p=9}}
        7us +1us feeder {{_pt=2, _p=0}}
    """
    assert parts(summary(text).steps)["infeed"] == [17, 6]


def test_copies_that_are_launched_stay_copies():
    more = "1250us +10us IteratorGetNext {correlation_id=98}\n1300us +5us MEMCPYHtoD {correlation_id=99}\n"
    found = parts(summary(on_gpu().replace('plane 1 "/device', f'{more}plane 1 "/device')).merged_steps)
    assert (found["kernel_launch"], found["infeed"]) == ([130], [185])


def test_shapes_tell_the_precision_of_kernels():
    kernels = """
      line 10 "Stream #1"
        0us +1us gemm_fp16 {correlation_id=1, shape="(float)"}
        10us +2us gemm {correlation_id=1, shape="(half)"}
        20us +4us gemm {correlation_id=1, shape="(float)"}
        30us +8us gemm {correlation_id=1}
        40us +16us gemm_fp16 {correlation_id=1}
    """
    host = 'plane 0 "/host:CPU"\nline 1 a\n0us +90us train {_r=1, step_num=0}\n1us +1us launch {correlation_id=1}\n'
    steps = summary(f'{host}plane 1 "/device:GPU:0"\n{kernels}').steps
    assert (steps.compute_16_ps // US, steps.compute_32_ps // US) == (18, 13)


@pytest.mark.parametrize("group", [0, 3])
def test_the_step_line_of_a_file_may_have_any_group(group):
    line = f'line -559038737 Steps\n10us +40us "3" {{group_id={group}}}'
    found = summary(GROUPED.replace("group_id=3", f"group_id={group}") + line)
    assert (found.steps.number.tolist(), (found.steps.duration_ps // US).tolist()) == ([group], [[40]])


def test_groups_of_a_file_without_a_step_line_span_their_events_on_the_device():
    text = """
    plane 0 "/host:CPU"
      line 1 a
        0us +1us launch {correlation_id=1}
    plane 1 "/device:GPU:0"
      line 10 "Stream #1"
        40us +20us b {group_id=0, correlation_id=1}
        70us +5us c {group_id=7, correlation_id=1}
      line 11 "Stream #2"
        30us +5us a {group_id=0, correlation_id=1}
    """
    found = summary(text).merged_steps
    assert found.number.tolist() == [0, 7]
    spans = zip((found.begin_ps // US).tolist(), (found.duration_ps // US).tolist(), strict=True)
    assert list(spans) == [([30], [30]), ([70], [5])]


def test_gpus_of_a_profile_saved_with_groups_have_no_steps_without_a_step_line():
    text = """
    plane 0 "/host:CPU"
      line 1 a
        0us +90us train {group_id=0, step_name="train 0"}
    plane 1 "/device:GPU:0"
      line 10 "Stream #1"
        10us +5us a {group_id=0, correlation_id=1}
        40us +20us b {group_id=0, correlation_id=1}
    """
    assert len(summary(text).steps) == 0


def test_derived_lines_of_a_file_do_not_count():
    text = """
    plane 0 "/host:CPU"
      line 1 main
        0us +80us train {group_id=0, step_name="train 0"}
        10us +50us "MatMul:MatMul" {group_id=0}
      line 3735928562 "Framework Ops"
        0us +80us again {group_id=0}
    """
    assert parts(summary(text).steps)["host_compute"] == [50]


@pytest.mark.parametrize(
    ("events", "compute", "infeed"),
    [
        # An instant that is the highest class when it happens counts until an event of its class ends.
        ("1000us +0us foo\n3000us +2000us foo", 4000, 0),
        ("1ms +0us IteratorGetNext\n3ms +2ms foo\n6ms +1ms IteratorGetNext\n8ms +1ms foo", 1000, 6000),
        ("1000us +8000us foo\n3000us +0us IteratorGetNext", 2000, 6000),
        # Ends come before begins: the instant is alone when the event before it has ended.
        ("1000us +2000us IteratorGetNext\n3000us +0us foo\n5000us +1000us IteratorGetNext", 2000, 3000),
        # Computation for no time at all is computation: the step stays.
        ("1000us +0us foo\n1000us +0us foo", 0, 0),
        # Without any the step is dropped.
        ("1000us +0us foo", None, None),
        ("1000us +0us IteratorGetNext\n3000us +2000us foo", None, None),
        ("1000us +8000us IteratorGetNext\n3000us +0us foo", None, None),
    ],
)  # fmt: skip
def test_instants_on_the_host(events, compute, infeed):
    steps = summary(f'plane 0 "/host:CPU"\nline 1 main\n0us +10000us train {{_r=1}}\n{events}').steps
    assert len(steps) == (0 if compute is None else 1)
    if compute is not None:
        found = {name: int(ps[0]) // US for name, ps in generic_ps(steps).items()}
        assert (found["host_compute"], found["infeed"], found["other"]) == (compute, infeed, 10000 - compute - infeed)


def test_spans_of_steps_in_any_order_with_and_without_instants():
    """Spans need not be sorted, nor do groups without a step count; an instant lasts until its class ends."""
    spans = Spans(
        np.array([7, 3, 7, 5, 7]),
        np.array([0, 10, 50, 0, 20]) * US,
        np.array([100, 40, 60, 99, 20]) * US,
        np.array([EventClass.HOST_COMPUTE, *[EventClass.HOST_TO_DEVICE] * 2, *[EventClass.HOST_COMPILE] * 2], np.uint8),
    )
    times = {3: (0, 50 * US), 7: (0, 80 * US)}
    steps = assemble(spans, times, {7: "seven"}, with_device=False)
    assert (steps.number.tolist(), steps.names) == ([7], ("seven",))
    # Compilation at 20 us lasts until the copy ends it: its class has no other end.
    assert parts(steps) == {"host_compute": [40], "compile": [30], "infeed": [10]}
    lasting = assemble(spans, times, {}, with_device=False, instants=False)
    assert (lasting.names, parts(lasting)) == (("",), {"host_compute": [70], "infeed": [10]})
    assert len(assemble(spans, {}, {}, with_device=False)) == 0


def test_time_that_the_host_waits_for_input_or_transfers_it():
    kinds = [EventClass.HOST_WAIT_INPUT, EventClass.HOST_TO_DEVICE, EventClass.HOST_COMPUTE, EventClass.HOST_WAIT_INPUT]
    begin, length = np.array([100, 120, 130, 300]), np.array([50, 7, 9, 4])
    spans = Spans(np.array([3, 3, 3, 0]), begin, begin + length, np.array(kinds, np.uint8))
    assert host_input_ps(HostEvents(NO_SPANS, spans, {})) == {3: 57, 0: 4}


def test_classes_are_ascending_for_they_are_counted_by_their_rank():
    assert list(CLASSES) == sorted(CLASSES)
    assert CLASSES[0] == EventClass.UNKNOWN == 0
