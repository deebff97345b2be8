"""Steps of profiles without markers: guesses with evidence, and named events."""

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.planes import gpu, host, in_each_step, tpu
from builders.shown import profile

from tpu_profile_plugin.analysis.steps import inferred
from tpu_profile_plugin.analysis.steps.inferred import device_busy, infer_steps, named_steps
from tpu_profile_plugin.tools.summary.overview_page import tool as overview_page

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
    instants = named_steps(profile('plane 0 "/host:CPU"\nline 1 a\n0us +0us s\n7us +0us s\n9us +0us s'), "s")
    assert (instants.duration_ps // US).tolist() == [7, 2, 0]


def test_busy_time_counts_overlapping_ops_once():
    text = 'plane 1 "/device:GPU:0"\nline 1 a\n0us +10us k\n20us +10us k\nline 2 b\n5us +10us k\n22us +2us k'
    window = np.array([0, 12, 30]) * US, np.array([8, 25, 40]) * US
    assert (device_busy(profile(text), *window) // US).tolist() == [8, 8, 0]


def test_the_overview_offers_guesses_apart_from_its_tables():
    tables = answer(overview_page.TOOL, repeating(), page=True)
    assert len(tables) == 8
    assert tables[1]["rows"] == []
    guess = tables[7]["inferred_steps"]
    assert guess["evidence"]["event"] == "jit_step(3)"
    assert rows(guess["table"], "stepnum", "stepTimeMs", "deviceBusyMs")[0] == ["0", 0.1, 0.06]
    assert guess["statistics"]["count"] == 5
    assert len(answer(overview_page.TOOL, repeating())) == 7
    marked = 'plane 0 "/host:CPU"\nline 1 a\n0us +10us train {_r=1, step_num=0}\n1us +5us work'
    assert answer(overview_page.TOOL, marked, page=True)[7]["inferred_steps"] is None
    named = answer(overview_page.TOOL, marked, page=True, step_event="work")[7]["inferred_steps"]
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


def test_only_the_thread_of_the_program_is_asked():
    program = each('"$train.py:3 step"', 90, 0, 100, 200)
    worker = each("work", 30, *range(0, 300, 30))
    found = infer_steps(on_host(worker, program))
    assert (found.evidence.event, found.evidence.line) == ("$train.py:3 step", "worker")


def test_coverage_is_the_share_of_the_recorded_time_from_the_first_step_to_the_last():
    steps = "".join(f"{at}us +80us s\n" for at in (100, 300, 500))
    text = f'plane 0 "/host:CPU"\nline 1 a\n0us +1us x\n{steps}990us +10us x'
    assert named_steps(profile(text), "s").evidence.coverage == pytest.approx(0.48)
