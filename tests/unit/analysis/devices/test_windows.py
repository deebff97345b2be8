"""Windows of steps: whose markers, per device, and what is done where they only enclose the dispatch."""

from __future__ import annotations

from itertools import pairwise

from builders import planes
from builders.computed import US, decoded


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
