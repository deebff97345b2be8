"""Time at barriers, and the default answer of the tool, which has the numbers of XProf."""

from __future__ import annotations

import pytest
from builders.answers import answer
from builders.planes import tpu
from builders.profiles.planted import evidence, finding, reason
from builders.shown import profile

from tpu_profile_plugin.analysis.communication.barriers import (
    BarrierTime,
    _complete,
    _outliers,
    barrier_time,
    barriers,
    may_have_barriers,
)
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.tools import registry


def barriers_of(percents, name="", longs=None):
    """Steps of 1000 us with a barrier of so many percent at the begin of each; `longs`: other lengths of the steps."""
    lengths = longs or [1000] * len(percents)
    ops, steps, at = [], [], 100
    for step, (length, percent) in enumerate(zip(lengths, percents, strict=True)):
        steps.append(f"{at} {length} {step} {{_ct=9, _c={step}}}")
        begin, barrier, end = at * 10**6, round(length * percent * 10_000), (at + length) * 10**6
        for op, first, last in (("%barrier-cores.1", begin, begin + barrier), ("%fusion.1", begin + barrier, end)):
            stats = f"device_offset_ps=u{first}, device_duration_ps=u{last - first}"
            ops.append(f"{first}ps +{last - first}ps {op} {{{stats}}}")
        at += length + 100
    return f"host {name or 'h'}\n" + tpu("\n".join(ops), steps="\n".join(steps))


def suggestion(*hosts):
    """Rule and text of the default answer; None if there is none."""
    found = answer(registry.find("smart_suggestion"), *hosts)["suggestions"]
    return (found[0]["ruleName"], found[0]["suggestionText"]) if found else None


def time_of(text):
    space = profile(text)
    return barrier_time(space, preprocess(space), "file")


def test_barriers_of_a_host_are_those_of_its_cores():
    """In the second core's longer barrier, which comes first, less of the time of the cores is one."""
    first = barriers_of([50, 20, 30], name="h1")
    second = barriers_of([0.5, 10, 70]).partition("\n")[2].replace("TPU:0", "TPU:1").replace("plane 0", "plane 1")
    found = time_of(f"{first}\n{second}")
    us = 10**6
    assert (found.hostname, found.longest) == ("h1", (2300 * us, 3000 * us))
    assert found.shares == (pytest.approx(0.2), pytest.approx(0.1))
    assert found.by_step == (pytest.approx(0.15),)
    assert time_of(barriers_of([70, 20, 30])).longest == (100 * us, 800 * us)
    # XProf reads only unsigned durations.
    signed = time_of(first.replace("device_duration_ps=u", "device_duration_ps="))
    assert (signed.shares, signed.longest) == ((), (0, 0))


def test_only_tpus_have_barriers():
    assert may_have_barriers(profile(barriers_of([50])))
    assert not may_have_barriers(profile(barriers_of([50]).replace("TPU:0", "GPU:0")))
    assert not may_have_barriers(profile(barriers_of([50]).replace("barrier-cores", "other")))


@pytest.mark.parametrize(
    ("lengths", "steps"),
    [((100, 1), [3, 4]), ((101, 1), [3]), ((1, 100), [3, 4]), ((1, 101), [4]), ((5, 5, 5), [4]), ((5,), [3])],
)
def test_incomplete_steps_do_not_count(lengths, steps):
    by_step = dict(enumerate(lengths, 3))
    assert _complete(list(by_step), by_step) == steps


@pytest.mark.parametrize(
    ("percents", "outliers"),
    [
        ((10, 10, 10.0, 10.000001), []),
        ((10, 10, 10.0, 10.00001), ["3"]),
        ((10, 11, 12, 50), ["3"]),
        ((10, 11, 12, 16), []),
        ((10, 50), []),
    ],
)
def test_hosts_far_from_the_median(percents, outliers):
    assert [name for name, _ in _outliers({str(i): one for i, one in enumerate(percents)})] == outliers


@pytest.mark.parametrize(("percent", "fires"), [(9.9, False), (10.1, True), (40, True)])
def test_the_threshold(percent, fires):
    found = suggestion(barriers_of([percent] * 4))
    assert (found is not None) == fires
    assert (finding("barrier", barriers_of([percent] * 4)) is not None) == fires
    if found:
        assert found[0] == "BarrierCoresRule"
        assert f"{percent:.1f}% of each step" in found[1]


def test_the_first_and_the_last_of_three_steps_do_not_count():
    assert "20.0% of each step" in suggestion(barriers_of([50, 20, 50]))[1]
    assert "35.0% of each step" in suggestion(barriers_of([50, 20]))[1]


def test_of_two_steps_a_very_short_one_does_not_count():
    assert "30.0% of each step" in suggestion(barriers_of([30, 90], longs=[100_000, 500]))[1]
    assert "30.0% of each step" in suggestion(barriers_of([90, 30], longs=[500, 100_000]))[1]
    assert "60.0% of each step" in suggestion(barriers_of([30, 90], longs=[100_000, 1100]))[1]


def test_hosts_that_differ_are_named():
    alike = [barriers_of([15 + i / 20] * 4, name=f"worker{i}") for i in range(3)]
    found = suggestion(*alike, barriers_of([40] * 4, name="worker<3>"))
    assert "<li>Host <b>worker&lt;3&gt;</b> average barrier-cores time fraction: <b>40.0%</b></li>" in found[1]
    assert "worker0" not in found[1]
    one = finding("barrier", *alike, barriers_of([40] * 4, name="w3"))
    assert (
        one["title"] == "TensorCores wait at barriers 19.4% of the time from step to step; w3 differs from the others"
    )
    assert evidence(one)["At barriers on w3, of the step"] == 40.0


@pytest.mark.parametrize(
    ("percents", "outliers"),
    [
        ([15, 40], []),
        ([15, 15, 15], []),
        ([15, 15, 15.01], [2]),
        ([15, 15.05, 40], [2]),
        ([15, 20, 40], []),
        ([15, 15.3, 15.6, 2], [3]),
    ],
)
def test_outliers_by_the_median_absolute_deviation(percents, outliers):
    found = barriers([BarrierTime(f"h{i}", (one / 100,), (one / 100,), (0, 0)) for i, one in enumerate(percents)])
    assert [name for name, _ in found.outliers] == [f"h{i}" for i in outliers]


def test_durations_that_stand_for_none():
    text = barriers_of([20] * 4)
    assert suggestion(text.replace("device_duration_ps=u200000000}", "device_duration_ps=u1250}")) is None
    assert suggestion(text.replace("device_duration_ps=u200000000}", "other=1}")) is None


def test_no_barriers():
    assert suggestion('plane 1 "/host:CPU"\nline 1 main\n0us +5us a') is None
    assert reason("barrier", barriers_of([5] * 4).replace("barrier-cores", "copy")) == (
        "No barriers of TensorCores recorded."
    )
