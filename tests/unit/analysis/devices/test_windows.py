"""Windows of steps: whose markers, per device, and what is done where they only enclose the dispatch."""

from __future__ import annotations

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


def test_markers_of_the_dispatch_alone_divide_the_whole_time():
    source, numbers, names, begin, end = windows(
        worked([(0, 10), (12, 10), (24, 6)], [(5, 100), (105, 100), (205, 95)])
    )
    assert (source, numbers, names) == ("dispatch", [0, 1, 2], ("train 0", "train 1", "train 2"))
    assert (begin, end) == ([[0], [100], [200]], [[100], [200], [300]])


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


def test_late_work_of_the_steps_own_program_divides_the_time():
    assert windows(evaluated(program=7))[0] == "dispatch"
