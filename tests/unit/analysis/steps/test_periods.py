"""Periods of work: a repetition inside a step is not the step."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tpu_profile_plugin.analysis.steps.inferred import FOREIGN, TRACE, Track, divides, longest_periods


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
