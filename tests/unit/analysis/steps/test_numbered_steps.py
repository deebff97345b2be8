"""Events with step numbers mark steps even where no group begins with them, as the batches of Keras 3."""

from __future__ import annotations

import pytest
from builders.profiles.planted import US, cpu, evidence, finding, reason
from builders.shown import profile

from tpu_profile_plugin.analysis.steps.inferred import infer_steps, numbered_steps


def host(*events, line="main"):
    return profile('plane 0 "/host:CPU"\nline 1 ' + line + "\n" + "\n".join(events))


def batches(*numbers, name='"Profiled batch"', length=80):
    return [f"{100 * i}us +{length}us {name} {{step_num={number}}}" for i, number in enumerate(numbers)]


def test_numbers_times_and_where_they_are():
    found = numbered_steps(host(*batches(9, 10, 12)))
    assert (found.name, found.line, found.number.tolist()) == ("Profiled batch", "main", [9, 10, 12])
    assert (found.begin_ps // US).tolist() == [0, 100, 200]
    assert (found.end_ps // US).tolist() == [80, 180, 280]


def test_keras_with_jax_has_the_number_in_the_name():
    found = numbered_steps(host(*(f'{100 * i}us +80us "Profiled batch {i + 7}"' for i in range(4))))
    assert (found.name, found.number.tolist()) == ("Profiled batch", [7, 8, 9, 10])


@pytest.mark.parametrize(
    ("events", "steps"),
    [
        (batches(1, 2), None),
        (batches(1, 2, 3), 3),
        (batches(1, 3, 2), None),  # not in turn
        (batches(1, 1, 1), None),
        (batches(1, 2, 3, length=100), 3),
        (batches(1, 2, 3, length=101), None),  # one inside the other
        (batches(1, 2, 3, length=0), None),
        (["0us +80us f", "100us +80us f", "200us +80us f"], None),
        ([*batches(0, 1, 2, length=90), *batches(0, 1, 2, 3, name="other", length=5)], 4),
    ],
)
def test_what_marks_steps(events, steps):
    found = numbered_steps(host(*events))
    assert (None if found is None else len(found.number)) == steps


def test_they_come_before_what_repeats_more_regularly():
    busy = [f"{100 * i}us +100us produce" for i in range(8)]
    uneven = [f"{at}us +{length}us work {{step_num={at}}}" for at, length in ((0, 50), (90, 300), (500, 40))]
    found = infer_steps(host(*uneven, "line 2 other", *busy))
    assert (found.evidence.source, found.evidence.event, found.evidence.occurrences) == ("step number", "work", 3)
    assert (found.duration_ps // US).tolist() == [50, 300, 40]


def test_findings_count_them_as_marked():
    text = cpu("0 9 PjitFunction(f)", "9 500 dot.1", steps=8).replace(" train {_r=1, ", ' "Profiled batch" {')
    assert reason("steps_not_marked", text) == "8 steps are marked."
    waits = cpu("0 400 $queue.py:154 get\n400 20 PjitFunction(f)\n402 5 DevicePut", "420 570 dot.1")
    found = finding("input_bound", waits.replace(" train {_r=1, ", ' "Profiled batch" {'))
    assert found["title"].startswith("Devices wait 40.5% of the step for input")
    assert "Longest time from step to step" not in evidence(found)
