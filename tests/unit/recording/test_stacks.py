"""Functions of sampled stacks: where they begin and end between samples, among the events of the thread."""

from __future__ import annotations

import sys
import time
from types import CodeType

import pytest

from tpu_profile_plugin.recording import stacks
from tpu_profile_plugin.recording.stacks import Sample, Sampler, Span, functions


def code(name: str) -> CodeType:
    return compile(f"def {name}(): pass", f"/home/me/{name}.py", "exec").co_consts[0]


MAIN, STEP, SAVE, LOG = map(code, ("main", "step", "save", "log"))


def told(samples: list[tuple[int, tuple[CodeType, ...]]], events: list[tuple[int, int]]) -> list[tuple[str, int, int]]:
    """Functions, without the place where they are defined, by begin."""
    found = functions([Sample(*one) for one in samples], [Span("", *one) for one in events])
    assert all(one.name.startswith("$") and ".py:1 " in one.name for one in found)
    return sorted(
        ((one.name.rpartition(" ")[2], one.begin, one.end) for one in found), key=lambda one: (one[1], -one[2])
    )


def test_without_events_functions_begin_and_end_amid_two_samples() -> None:
    samples = [(100, (MAIN,)), (110, (MAIN, STEP)), (120, (MAIN, STEP, SAVE)), (130, (MAIN, LOG)), (140, ())]
    assert told(samples, []) == [("main", 100, 140), ("step", 105, 125), ("save", 115, 125), ("log", 125, 140)]
    assert told([], []) == []


def test_the_same_function_in_another_call_is_another() -> None:
    samples = [(0, (MAIN, SAVE)), (10, (MAIN, STEP, SAVE)), (20, ())]
    assert told(samples, []) == [("main", 0, 20), ("save", 0, 5), ("step", 5, 20), ("save", 5, 20)]


def test_names_have_file_and_first_line() -> None:
    assert functions([Sample(0, (MAIN,)), Sample(20, ())], []) == [Span("$main.py:1 main", 0, 20)]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/usr/lib/python3/dist-packages/keras/src/layers/layer.py", "dist-packages/keras/src/layers/layer.py"),
        ("/env/site-packages/a/site-packages/b.py", "site-packages/b.py"),
        ("/env/site-packages/tensorflow/python/framework/ops.py", "ops.py"),
        ("/usr/lib/python3.12/json/decoder.py", "decoder.py"),
        ("<string>", "<string>"),
    ],
)
def test_files_of_packages_have_their_directories(file: str, name: str) -> None:
    function = compile("def f(): pass", file, "exec").co_consts[0]
    assert functions([Sample(0, (function,)), Sample(20, ())], []) == [Span(f"${name}:1 f", 0, 20)]


@pytest.mark.parametrize(
    ("events", "step", "save"),
    [
        pytest.param([(112, 118)], (105, 135), (112, 125), id="the nearest end of an event"),
        pytest.param([(111, 116)], (105, 135), (116, 125), id="its other end"),
        pytest.param([(114, 116), (116, 118)], (105, 135), (114, 125), id="of two events"),
        pytest.param([(103, 116)], (103, 135), (116, 125), id="two functions"),
        pytest.param([(118, 125)], (105, 135), (115, 125), id="within the function"),
        pytest.param([(90, 150)], (105, 135), (115, 125), id="around all"),
        pytest.param([(90, 150), (112, 118)], (105, 135), (112, 125), id="within another event"),
        pytest.param([(116, 134)], (105, 135), (116, 125), id="an event that goes on after it encloses the function"),
        pytest.param([(106, 122)], (105, 135), (115, 122), id="a function in an event ends with it"),
        pytest.param([(108, 121), (121, 137)], (105, 137), (115, 121), id="a function around events ends after them"),
    ],
)
def test_functions_and_events_are_nested(
    events: list[tuple[int, int]], step: tuple[int, int], save: tuple[int, int]
) -> None:
    samples = [(100, (MAIN,)), (110, (MAIN, STEP)), (120, (MAIN, STEP, SAVE)), (130, (MAIN, STEP)), (140, (MAIN,))]
    found = told([*samples, (150, ())], events)
    assert found == [("main", min(100, events[0][0]), 150), ("step", *step), ("save", *save)]


def test_a_function_in_two_samples_is_called_twice_if_an_event_around_it_ends_between_them() -> None:
    """`step` is around both events, `save` in each of them, from what comes before it in the first one on."""
    steps, other = [(100, 200), (205, 300)], [(110, 120)]
    samples = [(90, (MAIN, STEP)), (115, (MAIN, STEP)), (125, (MAIN, STEP, SAVE)), (195, (MAIN, STEP, SAVE))]
    samples += [(210, (MAIN, STEP, SAVE)), (290, (MAIN, STEP, SAVE)), (310, (MAIN,)), (320, ())]
    assert told(samples, [*steps, *other]) == [
        ("main", 90, 320), ("step", 90, 300), ("save", 120, 200), ("save", 205, 300)
    ]  # fmt: skip
    # Nothing is known of the call that follows in no event.
    between = [*samples[:4], (202, (MAIN, STEP, SAVE)), (203, (MAIN, STEP, LOG)), (310, (MAIN,)), (320, ())]
    assert [one for one in told(between, steps[:1]) if one[0] == "save"] == [("save", 120, 200), ("save", 200, 202)]


def test_functions_that_run_when_sampling_begins_and_ends_are_around_all_events() -> None:
    assert told([(100, (MAIN,)), (110, ())], [(95, 97), (98, 103), (108, 112)]) == [("main", 95, 112)]


def test_functions_end_with_the_last_of_the_most_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "MOST", 2)
    sampler = Sampler()
    sampler._sampling.join()
    sampler.stop()
    assert [bool(one.calls) for one in sampler.samples] == [True, True, False, False]
    assert all(one.end <= sampler.samples[2].ns for one in functions(sampler.samples, []))


def test_the_thread_that_starts_sampling_is_sampled() -> None:
    usual = sys.getswitchinterval()
    sampler = Sampler()
    try:
        begin = time.perf_counter_ns()
        while not sampler.samples:
            sum(range(1000))  # holds the lock
    finally:
        sampler.stop()
    assert sys.getswitchinterval() == usual
    first, last = sampler.samples[0], sampler.samples[-1]
    assert begin - 10**9 < first.ns <= last.ns
    assert last.calls == ()
    assert sys._getframe().f_code in first.calls
