"""Steps of profiles without markers: repetitions of work, numbered and named events, with evidence."""

from __future__ import annotations

import random

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.planes import gpu, host, in_each_step, tpu
from builders.profiles.planted import cpu, evidence, finding, reason
from builders.shown import profile

from tpu_profile_plugin.analysis.steps import inferred
from tpu_profile_plugin.analysis.steps.inferred import (
    FOREIGN,
    TRACE,
    Track,
    device_busy,
    divides,
    infer_steps,
    longest_periods,
    named_steps,
    numbered_steps,
)
from tpu_profile_plugin.tools.summary import overview_page

US = 1_000_000


def repeating(periods=5, extra=""):
    """A TensorCore that runs a program again and again, and another one once."""
    runs = in_each_step('0 80 "jit_step(3)"', periods, 100) + '\n3us +1us "jit_init(1)"'
    return tpu(in_each_step("10 60 op", periods, 100), modules=runs) + "\n" + extra


def test_a_program_that_repeats_on_the_device():
    found = infer_steps(profile(repeating()))
    evidence = found.evidence
    assert (evidence.source, evidence.event, evidence.occurrences) == ("device program", "jit_step(3)", 5)
    assert (evidence.period_ms, evidence.variation, evidence.coverage) == (0.1, 0.0, 1.0)
    assert (found.duration_ps // US).tolist() == [100, 100, 100, 100, 80]
    assert (found.busy_ps // US).tolist() == [60] * 5


@pytest.mark.parametrize(
    ("text", "of_host"),
    [
        (repeating(), False),
        (host("\n".join(f"{i}us +1us batch" for i in range(4))), True),
        (repeating(extra=host("\n".join(f"{9 * i} 9 train {{step_num={i}}}" for i in range(4)))), True),
    ],
)
def test_steps_are_times_of_the_host_or_of_a_device(text, of_host):
    assert infer_steps(profile(text)).of_host is of_host


def test_two_runs_are_no_repetition_and_irregular_ones_are_no_steps():
    assert infer_steps(profile(repeating(2))) is None
    at = (0, 10, 200, 230, 900)
    irregular = "\n".join(f'{t}us +5us "jit_f(1)"' for t in at)
    assert infer_steps(profile(f'plane 1 "/device:TPU:0"\nline 2 "XLA Modules"\n{irregular}')) is None
    assert infer_steps(profile('plane 0 "/host:CPU"')) is None


def test_a_thread_must_fill_its_steps_unless_it_runs_the_program():
    events = "\n".join(f"{100 * i}us +90us batch\n{100 * i + 5}us +5us detail" for i in range(4))
    found = infer_steps(profile(f'plane 0 "/host:CPU"\nline 1 python\n{events}'))
    assert (found.evidence.source, found.evidence.event, found.evidence.line) == ("host event", "batch", "python")
    assert (found.duration_ps // US).tolist() == [100, 100, 100, 90]
    assert found.busy_ps is None
    for name, runs_program in (("tick", False), ("PjitFunction(f)", True)):
        sparse = "\n".join(f'{100 * i}us +5us "{name}"' for i in range(4))
        steps = infer_steps(profile(f'plane 0 "/host:CPU"\nline 1 python\n{sparse}'))
        assert (steps is not None) is runs_program


@pytest.mark.parametrize(("period", "found"), [(9, True), (10, False)])
def test_a_thread_may_be_idle_for_seven_tenths_of_its_steps(period, found):
    assert (infer_steps(profile(host(in_each_step("0 2 tick", 3, period)))) is not None) is found


def test_calls_count_from_the_first_to_the_last():
    calls = in_each_step('0 10 "PjitFunction(f)"', 3, 100, start=100)
    found = infer_steps(profile(host(f"50 50 import\n{calls}\n310 5 flush\n400 5 save")))
    assert (found.begin_ps // US).tolist() == [100, 200, 300]
    assert (found.duration_ps // US).tolist() == [100, 100, 10]
    assert infer_steps(profile(host(f"50 51 import\n{calls}"))) is None
    assert infer_steps(profile(host(f"{calls}\n309 5 flush"))) is None


def test_a_thread_is_compared_by_how_often_it_does_something():
    calls = in_each_step('0 5 "PjitFunction(f)"', 150, 10)
    found = infer_steps(profile(host(f'{calls}\n1490 900 wait\n2390 1 "PjitFunction(f)"')))
    assert found.evidence.occurrences == 151


def test_kernels_are_compared_by_how_long_they_last():
    found = infer_steps(profile(gpu(f"{in_each_step('0 80 gemm', 9, 100, start=1000)}\n1890 1 check")))
    assert found.evidence.occurrences == 9


def test_kernels_of_streams_take_turns():
    text = gpu(in_each_step("0 20 gemm", 4, 50), in_each_step("25 10 add", 4, 50))
    found = infer_steps(profile(text))
    assert (found.evidence.event, (found.begin_ps // US).tolist()) == ("gemm", [0, 50, 100, 150])
    assert (found.duration_ps // US).tolist() == [50, 50, 50, 35]


def test_the_python_frames_tell_the_program_of_a_gpu_without_repetition():
    text = gpu("0 5 gemm\n10 5 gemm\n200 5 gemm") + "\n" + host(in_each_step('0 90 "$train.py:3 step"', 3, 100))
    assert infer_steps(profile(text)).evidence.event == "$train.py:3 step"


def test_longer_steps_of_calls_are_the_same_once_the_host_is_decoded():
    calls = in_each_step('0 5 "PjitFunction(train)"', 4, 100) + "\n20 1 a\n130 1 b\n250 1 c"
    text = gpu(in_each_step("0 40 gemm", 8, 50)) + "\n" + host(calls)
    space, decoded = profile(text), profile(text)
    assert len(decoded.planes[1].events) == 7
    for one in (space, decoded):
        found = infer_steps(one)
        assert (found.evidence.event, found.evidence.occurrences) == ("PjitFunction(train)", 4)


@pytest.mark.parametrize(("ops", "found"), [(4, True), (8, True), (6, True), (1, False)])
def test_steps_of_the_host_must_be_able_to_hold_the_work_of_xla(ops, found):
    calls = in_each_step('0 60 "PjitFunction(f)"', 4, 100)
    dots = in_each_step('30 30 dot.1 {hlo_op="dot.1"}', ops, 50)
    assert (infer_steps(profile(host(calls, dots))) is not None) is found


def test_kernels_that_repeat_on_a_gpu():
    kernels = "\n".join(f"{50 * i}us +20us gemm\n{50 * i + 25}us +5us add" for i in range(6))
    found = infer_steps(profile(f'plane 1 "/device:GPU:0"\nline 4 stream\n{kernels}'))
    assert (found.evidence.source, found.evidence.event) == ("device kernel", "gemm")
    assert (found.duration_ps // US).tolist() == [50] * 5 + [30]
    assert (found.busy_ps // US).tolist() == [25] * 6


def test_a_named_event_marks_steps_wherever_it_is():
    host = 'plane 0 "/host:CPU"\nline 1 a\n0us +10us my_step\n50us +12us my_step\nline 2 b\n1us +1us my_step'
    found = named_steps(profile(repeating(extra=host)), "my_step")
    assert (found.evidence.source, found.evidence.line, found.evidence.occurrences) == ("named event", "a", 2)
    assert (found.duration_ps // US).tolist() == [10, 12]
    assert named_steps(profile(host), "other") is None
    alike = named_steps(profile(f"{host}\n70us +1us my_step"), "my_step")
    assert alike.evidence.line == "a"  # the first of those with most
    most = "\n".join(f"line {i} l{i}\n{each('my_step', 1, *range(0, 9 * n, 9))}" for i, n in ((3, 1), (4, 3), (5, 1)))
    assert named_steps(profile(f'plane 0 "/host:CPU"\n{most}'), "my_step").evidence.line == "l4"
    instants = named_steps(profile('plane 0 "/host:CPU"\nline 1 a\n0us +0us s\n7us +0us s\n9us +0us s'), "s")
    assert (instants.duration_ps // US).tolist() == [7, 2, 0]


def test_busy_time_counts_overlapping_ops_once():
    text = 'plane 1 "/device:GPU:0"\nline 1 a\n0us +10us k\n20us +10us k\nline 2 b\n5us +10us k\n22us +2us k'
    window = np.array([0, 12, 30]) * US, np.array([8, 25, 40]) * US
    assert (device_busy(profile(text), *window) // US).tolist() == [8, 8, 0]


def test_the_overview_offers_guesses_apart_from_its_tables():
    tables, page = (answer(overview_page.TOOL, repeating(), page=page) for page in (False, True))
    assert len(tables) == 7
    assert tables[1]["rows"] == []
    guess = page["inferred"]
    assert guess["evidence"]["event"] == "jit_step(3)"
    assert rows(guess["table"], "stepnum", "stepTimeMs", "deviceBusyMs")[0] == ["0", 0.1, 0.06]
    assert guess["statistics"]["count"] == 5
    marked = 'plane 0 "/host:CPU"\nline 1 a\n0us +10us train {_r=1, step_num=0}\n1us +5us work'
    assert answer(overview_page.TOOL, marked, page=True)["inferred"] is None
    named = answer(overview_page.TOOL, marked, page=True, step_event="work")["inferred"]
    assert named["evidence"]["source"] == "named event"
    assert rows(named["table"], "stepTimeMs", "deviceBusyMs") == [[0.005, None]]


def on_host(*threads):
    return profile(host(*threads))


def on_gpu(*streams):
    return profile(gpu(*streams))


def each(name, length, *begins):
    return "\n".join(f"{begin}us +{length}us {name}" for begin in begins)


def test_coverage_is_of_all_that_was_recorded():
    later = 'line 2 "XLA Ops"\n500us +400us op'
    runs = f'line 3 "XLA Modules"\n{each("m", 80, 0, 100, 200, 300, 400)}'
    found = infer_steps(profile(f'plane 1 "/device:TPU:0"\n{later}\n{runs}'))
    assert (found.evidence.event, found.evidence.coverage) == ("m", pytest.approx(480 / 900))
    # Wherever the recording begins.
    late = infer_steps(profile(f'plane 1 "/device:TPU:0"\nline 3 "XLA Modules"\n{each("m", 80, 1000, 1100, 1200)}'))
    assert (late.evidence.coverage, late.evidence.occurrences) == (1.0, 3)


def test_three_runs_are_enough_and_too_many_are_none(monkeypatch):
    monkeypatch.setattr(inferred, "MAX_RUNS", 4)
    for count, found in ((2, False), (3, True), (4, True), (5, False)):
        assert (infer_steps(on_gpu(each("k", 80, *range(0, 100 * count, 100)))) is not None) is found


@pytest.mark.parametrize(
    ("begins", "variation"),
    [((0, 100, 400), 0.5), ((0, 100, 200), 0.0), ((7, 7, 7), None), ((0, 50), 0.0)],
)
def test_variation_is_that_of_the_middle_half(begins, variation):
    assert named_steps(on_host(each("s", 5, *begins)), "s").evidence.variation == variation


def test_instants_at_one_time_cover_nothing():
    assert named_steps(on_host(each("s", 0, 7, 7, 7)), "s").evidence.coverage == 0


def test_the_device_decides_unless_the_host_shows_longer_steps():
    kernels = "\n".join(
        each(f"k{i}", 1 + (i == 1), *(100 * step + 8 * layer + i for step in range(3) for layer in range(12)))
        for i in range(4)
    )
    layers = gpu(kernels)
    assert infer_steps(profile(layers)).evidence.occurrences == 36  # nothing tells that 12 of them are a step
    for calls, found in (
        (each('"PjitFunction(train)"', 5, 0, 100, 200), ("PjitFunction(train)", 3)),
        (each('"PjitFunction(layer)"', 1, *(100 * i + 8 * j for i in range(3) for j in range(12))), ("k1", 36)),
        (each('"PjitFunction(train)"', 5, *range(0, 300, 16)), ("k1", 36)),
        (each('"PjitFunction(train)"', 5, 0), ("k1", 36)),
        (each("poll", 5, *range(0, 300, 60)), ("k1", 36)),
    ):
        steps = infer_steps(profile(f"{layers}\n{host(calls)}"))
        assert (steps.evidence.event, steps.evidence.occurrences) == found


def test_calls_of_an_optimizer_end_steps_of_pytorch():
    def torch(*ends):
        ops = "\n".join(each(f'"aten::op{i}"', 2, *(3 + 7 * i + 50 * j for j in range(12))) for i in range(3))
        return on_host(f'0us +1us "aten::op0"\n{each(chr(34) + "Optimizer.step#SGD.step" + chr(34), 5, *ends)}\n{ops}')

    found = infer_steps(torch(190, 390, 590))
    assert (found.evidence.event, found.evidence.occurrences) == ("Optimizer.step#SGD.step", 3)
    assert (found.begin_ps // US).tolist() == [0, 195, 395]
    assert (found.duration_ps // US).tolist() == [195, 200, 200]
    assert infer_steps(torch(590)) is None  # a single step, whatever repeats inside
    two = infer_steps(torch(290, 590))
    assert (two.begin_ps // US).tolist() == [0, 295]
    # The first is not longer than the longest of the others.
    assert (infer_steps(torch(290, 390, 590)).begin_ps // US).tolist() == [95, 295, 395]


def test_only_the_thread_of_the_program_is_asked():
    program = each('"$train.py:3 step"', 90, 0, 100, 200)
    worker = each("work", 30, *range(0, 300, 30))
    found = infer_steps(on_host(worker, program))
    assert (found.evidence.event, found.evidence.line) == ("$train.py:3 step", "worker")


def test_coverage_is_the_share_of_the_recorded_time_from_the_first_step_to_the_last():
    steps = "".join(f"{at}us +80us s\n" for at in (100, 300, 500))
    text = f'plane 0 "/host:CPU"\nline 1 a\n0us +1us x\n{steps}990us +10us x'
    assert named_steps(profile(text), "s").evidence.coverage == pytest.approx(0.48)


# Periods of work: a repetition inside a step is not the step.


def track(*work: str, **more: bool) -> Track:
    """What runs one after the other, each name separated by spaces, `name:5` five long; else one."""
    names: dict[str, int] = {}
    rows = [one.partition(":") for text in work for one in text.split()]
    name = np.array([names.setdefault(one, len(names)) for one, _, _ in rows], np.int64)
    lasts = np.array([int(length or 1) for _, _, length in rows], np.int64)
    end = np.cumsum(lasts)
    return Track(name, end - lasts, end, lasts, **more)


def spans(of: Track) -> list[tuple[int, int]] | None:
    found = longest_periods(of)
    return None if found is None else list(zip(found.begin_ps.tolist(), found.end_ps.tolist(), strict=True))


LAYERS = "attention:20 mlp:30 " * 12
STEP = f"embed:10 {LAYERS} loss:20 " + "mlp_grad:60 attention_grad:40 " * 12 + "adam:3 " * 30
LENGTH = 10 + 12 * 50 + 20 + 12 * 100 + 90


def test_layers_of_one_step_are_no_steps() -> None:
    assert spans(track(STEP)) is None
    assert spans(track(f"embed:10 {LAYERS} head:20")) is None
    assert spans(track(LAYERS, "head:20")) is None


@pytest.mark.parametrize("steps", [3, 4, 10])
def test_the_parts_are_steps(steps: int) -> None:
    assert spans(track(STEP * steps)) == [(i * LENGTH, (i + 1) * LENGTH) for i in range(steps)]


@pytest.mark.parametrize(
    ("work", "warms_up", "found"),
    [
        # A tenth of the work may come more often, and a hundredth be foreign.
        ("a:2 b:1 a:2 b:1 b:1 a:2 b:1", False, [(0, 3), (3, 7), (7, 10)]),
        ("a:59 b:30 a:59 b:30 b:30 w:3 a:59 b:30", False, [(0, 89), (89, 211), (211, 300)]),
        ("a:59 b:30 a:59 b:30 b:30 w:4 a:59 b:30", False, None),
        ("w:3 a:199 b:100 a:199 b:100 b:100 a:199 b:100", False, [(3, 302), (302, 701), (701, 1000)]),
        ("a:199 b:100 w:3 a:199 b:100 b:100 a:199 b:100", False, [(0, 302), (302, 701), (701, 1000)]),
        # Before the first begin and behind the last one, together, there may be a part of each.
        ("b:10 b:10 a:5 b:10 b:10 b:10 a:5 b:10 b:10 b:10 a:5 b:1 b:10 b:10 b:10 b:10 b:10", False, None),
        ("w:1 " + "a:10 a:10 b:30 " * 3 + "a:10 b:30", False, [(1, 51), (51, 101), (101, 151), (151, 191)]),
        # Nothing runs twice as often as usual.
        ("a:1 b:30 a:1 b:30 b:1", False, None),
        # What is foreign at the end belongs to no part.
        ("a:20 b:1 a:20 b:1 a:20 b:5 b:1 a:20 b:1 a:20 b:1 w:1", False,
         [(0, 21), (21, 42), (42, 68), (68, 89), (89, 110)]),
        # The last part is one if it has nine tenths of the usual work.
        ("a:90 b:10 " * 3 + "a:90", False, [(0, 100), (100, 200), (200, 300), (300, 390)]),
        ("a:89 b:11 " * 3 + "a:89", False, [(0, 100), (100, 200), (200, 300)]),
        # The first part, of four before the last, may have more.
        ("a:20 b:2 c:2 a:20 c:2 " + "a:20 b:2 c:2 " * 4, True,
         [(0, 22), (22, 68), (68, 92), (92, 116), (116, 140)]),
        # What is absent from one of ten is a part of the others.
        ("a:8 b:1 c:1 " * 5 + "a:8 b:1 " + "a:8 b:1 c:1 " * 5, False,
         [*((10 * i, 10 * i + 10) for i in range(5)), (50, 59), *((10 * i + 59, 10 * i + 69) for i in range(5))]),
        # Too much is absent or more often, taken together.
        ("a:1 c:10 c:10 b:1 " * 5 + "a:1 b:1 " + "a:1 c:10 c:10 b:1 " * 4 + "b:1 " * 2 + "a:1 c:10 c:10 b:1 ", False, [
            *((22 * i, 22 * i + 22) for i in range(5)), (110, 112), *((22 * i + 112, 22 * i + 134) for i in range(3)),
            (178, 202), (202, 224)]),
        ("a:1 c:10 c:10 b:1 " * 5 + "a:1 b:1 " + "a:1 c:10 c:10 b:1 " * 4 + "b:1 " * 4 + "a:1 c:10 c:10 b:1 ", False,
         None),
    ],
)  # fmt: skip
def test_parts_at_the_limits(work: str, warms_up: bool, found: list[tuple[int, int]] | None) -> None:
    assert spans(track(work, warms_up=warms_up)) == found


def test_how_often_a_name_runs_is_the_lower_median_of_the_parts() -> None:
    often = (1, 3, 1, 3, 0, 3, 1, 3, 1, 3, 1)
    assert len(spans(track("".join("a:80 " + "c:8 " * count for count in often))) or ()) == 11


def test_the_first_part_of_a_host_has_no_share_in_what_is_foreign() -> None:
    found = longest_periods(track("a:30 d:1 " + "a:30 " * 4, warms_up=True))
    assert found is not None
    assert (found.once.tolist(), found.foreign) == ([0], 0.0)


def test_a_part_is_one_even_if_the_distance_varies_by_half() -> None:
    for last, parts in ((400, [(0, 100), (100, 400), (400, 405)]), (410, None)):
        begin = np.array([0, 100, last])
        assert spans(Track(np.zeros(3, np.int64), begin, begin + 5, np.full(3, 5))) == parts


def test_the_last_part_ends_with_its_own_work() -> None:
    begin, end = np.array([0, 50, 100, 150, 200, 250]), np.array([10, 60, 110, 290, 210, 260])
    of = Track(np.array([0, 1] * 3), begin, end, np.full(6, 10))
    assert spans(of) == [(0, 100), (100, 200), (200, 260)]


def test_what_begins_parts_runs_once_in_each_of_them() -> None:
    names, begin = np.array([0, 1] * 3), np.array([40, 90, 95, 105, 107, 117])
    lasts = np.array([10, 2] * 3)
    found = longest_periods(Track(names, begin, begin + lasts, lasts))
    assert found is not None
    assert (found.once.tolist(), found.begin_ps.tolist()) == ([1], [77, 95, 107])


def test_only_so_many_names_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    logged = track(("forward:400 backward:800 " * 10 + "copy:1 ") * 3)
    for most, parts in ((2, 3), (3, 30)):
        monkeypatch.setattr(inferred, "_MOST_TRIED", most)
        assert len(spans(logged) or ()) == parts


def test_more_names_than_sixteen_bits_count() -> None:
    name = np.arange(70_000)[::-1].copy()
    of = Track(name, name, name, name)
    assert [of.runs_of(i).tolist() for i in (0, 4_000, 69_536, 69_999)] == [[69_999], [65_999], [463], [0]]


def test_two_steps_are_no_repetition() -> None:
    assert spans(track(STEP * 2)) is None


def test_micro_batches_are_parts_of_the_step_that_updates_weights() -> None:
    micro = "load:5 forward:40 backward:80 "
    assert spans(track((micro * 4 + "update:30 ") * 3)) == [(i * 530, (i + 1) * 530) for i in range(3)]
    assert spans(track(micro * 4, "update:30")) is None


def test_a_log_line_every_few_steps_is_a_trace_of_work() -> None:
    step = "forward:400 backward:800 "
    logged = track((step * 10 + "copy:1 ") * 3)
    assert len(spans(logged) or ()) == 30
    assert len(spans(track(("forward:200 backward:299 " * 10 + "copy:10 ") * 3)) or ()) == 30  # just a trace
    # What takes more of the time is a part of a longer step.
    assert len(spans(track((step * 10 + "checkpoint:100 ") * 3)) or ()) == 3


def test_the_last_part_may_be_cut() -> None:
    step = "a:10 b:10 c:10 d:10 "
    assert spans(track(step * 3, "a:10 b:10")) == [(0, 40), (40, 80), (80, 120)]
    # A recording that begins within a step: the first part is that which begins first.
    assert spans(track("c:10 d:10", step * 3)) == [(0, 40), (40, 80), (80, 120)]


def test_what_lies_outside_must_be_alike() -> None:
    step = "a:10 b:10 "
    assert spans(track(step * 5, "evaluate:10")) is None
    assert spans(track("restore:10", step * 5)) is None
    assert spans(track(step * 200, "a:10 " * 30)) == [(20 * i + 10, 20 * i + 30) for i in range(200)]
    assert spans(track(step * 20, "a:10 " * 30)) is None


def test_what_repeats_as_often_before_the_steps_does_not_hide_them() -> None:
    warm_up = "load:1 check:1 log:1 " * 5
    assert spans(track(warm_up, "a:900 b:100 " * 5)) == [(1000 * i + 15, 1000 * i + 1015) for i in range(5)]


def test_parts_may_differ_a_little() -> None:
    # A tenth of the work may come more or less often, or last longer.
    parts = [f"a:{80 + i} b:{5 + 5 * (i == 3)} " + "c:2 " * (4 + i % 2) for i in range(8)]
    assert len(spans(track(*parts)) or ()) == 8
    uneven = ["a:80 " + "c:10 " * (1 + 2 * (i % 3)) for i in range(9)]
    assert spans(track(*uneven)) is None


def test_irregular_begins_are_no_steps() -> None:
    begin = np.array([0, 10, 200, 230, 900], np.int64)
    name = np.zeros(5, np.int64)
    assert longest_periods(Track(name, begin, begin + 5, np.full(5, 5))) is None


def test_the_first_part_of_a_host_may_compile() -> None:
    step = "call ready "
    compiling = track("call ", "lower " * 40, "ready ", step * 5, warms_up=True)
    assert len(spans(compiling) or ()) == 6
    assert spans(track("call ", "lower " * 40, "ready ", step * 5)) is None
    # Of three parts none is an exception.
    assert spans(track("call ", "lower " * 40, "ready ", step * 3, warms_up=True)) is None


def test_begins_are_told_by_what_runs_once_in_each_part() -> None:
    of = track("a:10 b:30 b:30 c:50 " * 4)
    found = longest_periods(of)
    assert found is not None
    assert (found.once.tolist(), found.foreign) == ([0, 2], 0.0)
    assert [of.time_of(name) for name in found.once.tolist()] == [40, 200]


def test_work_that_can_be_divided() -> None:
    of = track("a:100 b:1 b:1 " * 6, "c:1")
    assert [count for count in range(1, 14) if divides(of, count)] == [1, 2, 3, 4, 5, 6, 7]
    # Most of the work comes six times: it is foreign to more than twice as many.
    assert not divides(of, 13)
    assert divides(track("a:10 " * 6, "c:10"), 2) is False
    # A hundredth may be foreign, and a tenth come more often.
    assert [divides(track("a:33 " * 3, f"c:{length}"), 3) for length in (1, 2, 5)] == [True, False, False]
    assert [divides(track("a:17 " * 9, f"b:{length} " * 13), 9) for length in (9, 10)] == [True, False]


def test_without_work() -> None:
    assert longest_periods(track("a")) is None
    assert longest_periods(track("a b c")) is None


@pytest.mark.parametrize("seed", range(60))
def test_steps_of_random_programs(seed: int) -> None:
    """Steps of layers and of what runs once, of which the recording may have cut the first and the last."""
    random_ = random.Random(seed)
    layer = [f"l{i}:{random_.randint(1, 50)}" for i in range(random_.randint(1, 5))]
    once = [f"o{i}:{random_.randint(1, 200)}" for i in range(random_.randint(1, 6))]
    layers, steps = random_.randint(2, 30), random_.choice([1, 2, 3, 4, 7, 12])
    half = len(once) // 2
    step = [*once[:half], *layer * layers, *once[half:]]
    lasts = [int(one.partition(":")[2]) for one in step]
    whole = step * steps
    if steps > 4 and seed % 2:
        whole = whole[random_.randrange(len(step)) : len(whole) - random_.randrange(len(step))]
    found = spans(track(*whole))
    share = sum(int(one.partition(":")[2]) for one in once) / sum(lasts)
    if found is None:
        assert steps < 4 or seed % 2
        return
    if share > FOREIGN or (share > TRACE and steps >= 3):
        assert {end - begin for begin, end in found[1:-1]} <= {sum(lasts)}
        assert all(0.9 * sum(lasts) <= end - begin <= sum(lasts) for begin, end in found)
        assert steps - 2 <= len(found) <= steps


# Events with step numbers mark steps even where no group begins with them, as the batches of Keras 3.


def marking_host(*events, line="main"):
    return profile('plane 0 "/host:CPU"\nline 1 ' + line + "\n" + "\n".join(events))


def batches(*numbers, name='"Profiled batch"', length=80):
    return [f"{100 * i}us +{length}us {name} {{step_num={number}}}" for i, number in enumerate(numbers)]


def test_numbers_times_and_where_they_are():
    found = numbered_steps(marking_host(*batches(9, 10, 12)))
    assert (found.name, found.line, found.number.tolist()) == ("Profiled batch", "main", [9, 10, 12])
    assert (found.begin_ps // US).tolist() == [0, 100, 200]
    assert (found.end_ps // US).tolist() == [80, 180, 280]


def test_keras_with_jax_has_the_number_in_the_name():
    for first in (0, 7):
        named = [f'{100 * i}us +80us "Profiled batch {i + first}"\n{100 * i + 9}us +9us work' for i in range(4)]
        found = numbered_steps(marking_host(*named))
        assert (found.name, found.number.tolist()) == ("Profiled batch", [*range(first, first + 4)])


def test_the_name_and_thread_with_most_numbers_are_chosen_the_first_of_those():
    first = [f"{100 * i}us +40us train {{step_num={i}}}" for i in range(3)]
    second = [f"{100 * i + 50}us +40us eval {{step_num={i}}}" for i in range(3)]
    assert numbered_steps(marking_host(*first, *second)).name == "eval"
    assert numbered_steps(marking_host(*first, *second, "300us +9us train {step_num=3}")).name == "train"


@pytest.mark.parametrize(
    ("events", "steps"),
    [
        (batches(1, 2), None),
        (batches(1, 2, 3), 3),
        (batches(1, 3, 2), None),  # not in turn
        (batches(1, 1, 1), None),
        (batches(1, 2, 3, length=100), 3),
        (batches(1, 2, 3, length=101), None),  # one inside the other
        (["0us +80us f {step_num=1}", "100us +150us f {step_num=2}", "200us +9us f {step_num=3}"], None),
        (batches(1, 2, 3, length=0), None),
        (["0us +80us f", "100us +80us f", "200us +80us f"], None),
        ([*batches(0, 1, 2, length=90), *batches(0, 1, 2, 3, name="other", length=5)], 4),
    ],
)
def test_what_marks_steps(events, steps):
    found = numbered_steps(marking_host(*events))
    assert (None if found is None else len(found.number)) == steps


def test_they_come_before_what_repeats_more_regularly():
    busy = [f"{100 * i}us +100us produce" for i in range(8)]
    uneven = [f"{at}us +{length}us work {{step_num={at}}}" for at, length in ((0, 50), (90, 300), (500, 40))]
    found = infer_steps(marking_host(*uneven, "line 2 other", *busy))
    assert (found.evidence.source, found.evidence.event, found.evidence.occurrences) == ("step number", "work", 3)
    assert (found.duration_ps // US).tolist() == [50, 300, 40]


def test_findings_count_them_as_marked():
    text = cpu("0 9 PjitFunction(f)", "9 500 dot.1", steps=8).replace(" train {_r=1, ", ' "Profiled batch" {')
    assert reason("steps_not_marked", text) == "8 steps are marked."
    waits = cpu("0 400 $queue.py:154 get\n400 20 PjitFunction(f)\n402 5 DevicePut", "420 570 dot.1")
    found = finding("input_bound", waits.replace(" train {_r=1, ", ' "Profiled batch" {'))
    assert found["title"].startswith("Devices wait 40.5% of the step for input")
    assert "Longest time from step to step" not in evidence(found)
