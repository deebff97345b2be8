"""Launches of which no device event was recorded, and the time that is therefore unknown."""

from __future__ import annotations

import numpy as np
import pytest
from builders.computed import budget, decoded, devices
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, NOT_RECORDED, PARTS
from tpu_profile_plugin.analysis.budget.run_budget import merge_budgets
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans
from tpu_profile_plugin.analysis.devices.unrecorded import (
    Unrecorded,
    _around,
    _most,
    _of_device,
    launches_of_host,
    unknown_time,
    unrecorded,
)

US = 10**6


def profile(calls, kernels, *, steps=1, length=100, devices=1):
    """Calls of the host (us, us long, name, correlation id or None[, thread]), kernels (us, us long, id[, device])."""
    threads: dict[int, list[str]] = {
        1: [f"{i * length}us +{length}us train {{step_num={i}, _r=1}}" for i in range(steps)]
    }
    for at, lasts, name, key, *thread in calls:
        stats = "" if key is None else f" {{correlation_id={key}}}"
        threads.setdefault(thread[0] if thread else 1, []).append(f"{at}us +{lasts}us {name}{stats}")
    lines = ['plane 1 "/host:CPU"']
    for thread, events in threads.items():
        lines += [f"line {thread} thread{thread}", *events]
    for device in range(devices):
        lines += [f'plane {device + 2} "/device:GPU:{device}"', 'line 1 "Stream #1(Compute)"']
        for at, lasts, key, *where in kernels:
            if (where[0] if where else 0) == device:
                lines.append(f"{at}us +{lasts}us k {{correlation_id={key}}}")
    return "\n".join(lines)


def unknown(found, step=0, device=0):
    """What was not recorded of a step, in us; the parts add up to the step."""
    parts = found.time_ps.stacked(PARTS)[step, device]
    assert int(parts.sum()) == int((found.steps.end_ps - found.steps.begin_ps)[step, device])
    return int(parts[NOT_RECORDED]) / US


def launch(at, key, name="cudaLaunchKernel", *thread):
    return (at, 2, name, key, *thread)


def test_all_launches_have_kernels():
    found = budget(profile([launch(2, 1), launch(40, 2)], [(5, 20, 1), (50, 20, 2)]))
    assert unknown(found) == 0
    (lost,) = found.unrecorded
    assert (len(lost), lost.recorded, lost.share) == (0, 2, 1.0)


@pytest.mark.parametrize("key", [None, 99])
@pytest.mark.parametrize("name", ["cudaGraphLaunch", "cuLaunchKernelEx", "hipModuleLaunchKernel"])
def test_from_a_launch_without_kernels_to_the_next_kernel_is_unknown(name, key):
    found = budget(profile([launch(2, 1), launch(30, key, name), launch(40, 2)], [(5, 20, 1), (80, 15, 2)]))
    assert unknown(found) == 80 - 30
    (lost,) = found.unrecorded
    assert (len(lost), lost.graphs, lost.ends_early, lost.begins_late) == (1, int("Graph" in name), False, False)
    # Shares leave it out: 35 us of work in the 50 us that are known.
    merged = merge_budgets([found])
    assert (merged.base_ps, merged.not_recorded_ps, merged.share("compute")) == (50 * US, 50 * US, 0.7)
    assert merged.share("not_recorded") == 0
    assert sum(merged.share(part) for part in CATEGORIES) == pytest.approx(1)


def test_it_ran_behind_what_was_launched_before():
    """Launched while the first kernel runs: from the end of that."""
    assert (
        unknown(budget(profile([launch(2, 1), launch(8, None), launch(40, 2)], [(5, 20, 1), (80, 15, 2)]))) == 80 - 25
    )


def test_it_is_over_when_the_host_has_waited_for_it():
    calls = [launch(2, 1), launch(30, None), (35, 15, "cudaStreamSynchronize", None), launch(70, 2)]
    assert unknown(budget(profile(calls, [(5, 20, 1), (80, 15, 2)]))) == 50 - 30


def test_it_may_run_until_work_of_which_no_launch_is_known():
    assert unknown(budget(profile([launch(2, 1), launch(30, None)], [(5, 20, 1), (80, 20, 77)]))) == 80 - 30


def test_work_that_was_launched_later_ran_later():
    assert unknown(budget(profile([launch(2, 1), launch(40, 2), launch(60, None)], [(5, 20, 1), (50, 45, 2)]))) == 5


def test_launches_that_a_graph_captures_run_nothing():
    calls = [
        launch(2, 1),
        (26, 1, "cudaStreamBeginCapture", None),
        launch(30, None),
        (35, 1, "cudaStreamEndCapture", None),
    ]
    kernels = [(5, 20, 1), (80, 15, 2)]
    assert unknown(budget(profile([*calls, launch(40, 2)], kernels))) == 0
    assert unknown(budget(profile([*calls, launch(38, None), launch(40, 2)], kernels))) == 80 - 38


def test_the_driver_call_within_a_launch_is_the_same_launch():
    calls = [(2, 9, "cudaLaunchKernel", 1), (3, 6, "cuLaunchKernel", 77), launch(40, 2)]
    assert unknown(budget(profile(calls, [(15, 20, 1), (80, 15, 2)]))) == 0


def test_of_several_devices_the_thread_tells_which():
    calls = [launch(2, 1), launch(40, 2), launch(2, 3, "cudaLaunchKernel", 2), launch(30, None, "cudaLaunchKernel", 2)]
    kernels = [(5, 20, 1, 0), (45, 20, 2, 0), (5, 20, 3, 1)]
    found = budget(profile(calls, kernels, devices=2))
    assert (unknown(found), unknown(found, device=1)) == (0, 100 - 30)


def test_device_events_that_end_early_or_begin_late():
    def steps(kept):
        calls = [launch(100 * i + 2, i) for i in range(20)]
        return budget(profile(calls, [(100 * i + 5, 80, i) for i in kept], steps=20))

    early, late = steps(range(4)), steps(range(16, 20))
    for found, ends, begins, share in ((early, True, False, 4 / 19), (late, False, True, 3 / 19)):
        (lost,) = found.unrecorded
        assert (len(lost), lost.recorded, lost.ends_early, lost.begins_late) == (16, 4, ends, begins)
        assert lost.share == pytest.approx(share)
        assert (len(found.steps), found.steps.without_work) == (4, 16)
        assert merge_budgets([found]).share("compute") == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("lost", "at_end", "is_most"), [(10, 9, True), (10, 8, False), (1, 1, True), (0, 0, False)])
def test_nine_tenths_of_the_lost_launches_lie_at_one_end(lost, at_end, is_most):
    calls = np.arange(lost)
    assert Unrecorded(calls, after=at_end).ends_early is is_most
    assert Unrecorded(calls, before=at_end).begins_late is is_most
    assert not Unrecorded(calls, after=at_end).begins_late


def test_without_a_host_nothing_is_known_to_be_lost():
    text = profile([launch(2, 1)], [(5, 20, 1)])
    assert [len(lost) for lost in unrecorded(decoded(text).space, None, devices(text))] == [0]
    assert unrecorded(decoded(text).space, decoded(text).space.planes[0], []) == []


def test_captures_of_a_thread_are_from_each_begin_to_the_next_end():
    calls = [
        *((10, 1, "cudaGraphLaunch"), (20, 1, "cudaStreamBeginCapture"), (30, 1, "cudaLaunchKernel")),
        *((40, 1, "cudaStreamEndCapture"), (50, 1, "cudaLaunchKernel"), (60, 1, "hipStreamBeginCapture")),
        *((70, 1, "cudaLaunchKernel"), (80, 1, "hipStreamEndCapture"), (90, 1, "cudaLaunchKernel")),
    ]
    events = "\n".join(f"{at}us +{length}us {name}" for at, length, name in calls)
    host = columns(f'plane 1 "/host:CPU"\nline 1 a\n{events}\nline 2 b\n75us +1us cudaLaunchKernel').planes[0]
    at = host.events.begin_ps[launches_of_host(host)] // US
    assert at.tolist() == [10, 50, 90, 75]


def test_calls_around_a_matched_one_and_within_are_the_same_launch():
    line = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    begin = np.array([0, 3, 20, 22, 40, 30, 0, 0, 9])
    end = np.array([9, 5, 30, 25, 41, 31, 0, 9, 12])
    matched = np.array([False, True, True, False, False, False, True, False, False])
    assert _around(line, begin, end, matched).tolist() == [True, True, True, True, False, False, True, True, False]


def test_a_thread_launches_most_on_one_device():
    line, owner = np.array([0, 0, 0, 1, 1, 2, 3]), np.array([0, 0, 1, 1, -1, -1, 0])
    assert _most(line, owner, 5).tolist() == [0, 1, -1, 0, -1]


@pytest.mark.parametrize(
    ("kept", "lost", "expected"),
    [
        ([10, 20, 30], [10, 30, 50], (1, 3, 1, 0, 1.0)),
        ([10, 20, 30], [10, 30], (1, 3, 0, 0, 1.0)),
        ([10, 20, 30], [40, 50], (1, 3, 2, 0, 0.75)),
        ([30, 40], [20, 50, 60], (1, 2, 2, 1, 0.5)),
        ([], [20, 50], (1, 0, 2, 0, 0.0)),
    ],
)
def test_launches_with_and_without_events(kept, lost, expected):
    """The first of each kind is of a graph."""
    begin = np.array([*kept, *lost])
    is_lost, first = np.arange(len(begin)) >= len(kept), np.isin(np.arange(len(begin)), [0, len(kept)])
    found = _of_device(begin, is_lost, ~is_lost, first)
    assert found.launch_ps.tolist() == sorted(lost)
    assert (found.graphs, found.recorded, found.after, found.before, found.share) == expected


def test_work_that_was_launched_after_what_follows_a_gap_ran_behind_it():
    """Starts at 5 and 50, launched at 2 and 40; the lost launch is at 45."""
    gpu = Device("GPU 0", "gpu", 0, 0, (), OpSpans(), starts=np.array([5, 50]))
    idle, none = (np.array([25, 70]), np.array([50, 100])), (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for launched, spans in ((45, [(70, 100)]), (30, [(30, 50)]), (2, []), (90, [(90, 100)])):
        found = unknown_time(idle, gpu, Unrecorded(np.array([launched])), np.array([2, 40]), none)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == spans
