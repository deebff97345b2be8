"""The trace viewer's binding path: pieces with the events that the page shows, and slack of single events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from builders.answers import run_of
from builders.recorded import chosen
from builders.timeline import build_trace, event

from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.figures.path import host_paths

US = 10**6
TEXT = """
plane 1 "/device:GPU:0"
line 1 "Stream #1"
20us +10us a {correlation_id=1}
line 2 "Stream #2"
32us +8us b {correlation_id=2}
plane 2 "/device:GPU:1"
line 1 "Stream #1"
20us +5us a {correlation_id=3}
plane 3 "/host:CPU"
line 1 main
0us +50us train {_r=1, step_num=0}
2us +16us "$train.py:9 load"
18us +1us "PjitFunction(f)"
18us +1us launch {correlation_id=1}
line 9 pool
3us +4us work
"""
ROWS = [
    (0, 2, "Waits for host code", None),
    (2, 16, "Waits for host code", "$train.py:9 load"),
    (18, 1, "Waits for launches", "launch"),
    (19, 1, "Waits for launches", None),
    (20, 10, "Ops", "a"),
    (30, 2, "Unexplained", None),
    (32, 8, "Ops", "b"),
    (40, 10, "Unexplained", None),
]


def path(*texts, **params):
    return build_trace(*texts, format="path", **params).value


def slack(text, pid, tid, index, **params):
    return build_trace(text, format="slack", pid=pid, tid=tid, event=index, **params).value


def pieces(found):
    columns = (found["begin_ps"], found["duration_ps"], found["part"], found["name"])
    return [
        (begin // US, length // US, found["parts"][part]["name"], found["names"][name] if name >= 0 else None)
        for begin, length, part, name in zip(*columns, strict=True)
    ]


def test_pieces_of_the_device_that_works_most():
    found = path(TEXT)
    assert (found["devices"], found["device"]) == (["GPU 0", "GPU 1"], "GPU 0")
    assert pieces(found) == ROWS
    assert found["steps"] == [{"name": "train 0", "begin_ps": 0, "duration_ps": 50 * US}]
    assert [(part["id"], part["ps"] // US) for part in found["parts"]] == [
        ("compute", 18),
        ("idle_host", 18),
        ("idle_launch", 2),
        ("idle_other", 12),
    ]


def test_the_events_of_pieces_are_those_of_the_page():
    found = path(TEXT)
    columns = ("pid", "tid", "event", "row", "event_begin_ps", "event_duration_ps", "name")
    shown = 0
    for pid, tid, index, row, begin, duration, name in zip(*(found[one] for one in columns), strict=True):
        assert (tid >= 0) == (name >= 0)
        if tid >= 0:
            facts = event(TEXT, pid, tid, index)
            assert (facts["name"], facts["row"]) == (found["names"][name], row)
            assert (facts["begin_ps"], facts["duration_ps"]) == (begin, duration)
            shown += 1
    assert shown == 4


def test_another_device_and_a_window():
    assert pieces(path(TEXT, device="GPU 1", start_time_ms=0.021, end_time_ms=0.024)) == [(20, 5, "Ops", "a")]
    with pytest.raises(BadRequest, match="There is no device 'GPU 7'"):
        path(TEXT, device="GPU 7")


def test_times_and_processes_of_several_hosts():
    found = path(TEXT, TEXT, device="h1: GPU 0", clocks=f"h1:{5 * US}")
    assert found["devices"] == ["h0: GPU 0", "h0: GPU 1", "h1: GPU 0", "h1: GPU 1"]
    assert pieces(found) == [(begin + 5, *row) for begin, *row in ROWS]
    assert {pid for pid in found["pid"] if pid >= 0} == {2002, 2701}
    at = found["begin_ps"].index(25 * US)
    assert (found["event_begin_ps"][at], found["steps"][0]["begin_ps"]) == (25 * US, 5 * US)


def test_a_window_of_a_host_whose_clock_is_moved():
    found = path(TEXT, TEXT, device="h1: GPU 0", clocks=f"h1:{5 * US}", start_time_ms=0.026, end_time_ms=0.034)
    assert pieces(found) == [(25, 10, "Ops", "a")]


def test_a_step_that_begins_later():
    found = path(TEXT.replace("0us +50us train", "1us +49us train"))
    assert found["steps"] == [{"name": "train 0", "begin_ps": 1 * US, "duration_ps": 49 * US}]
    assert pieces(found) == [(1, 1, "Waits for host code", None), *ROWS[1:]]


def test_a_host_without_devices_stands_for_one():
    text = TEXT[TEXT.index("plane 3") :]
    found = path(text)
    assert found["device"] == "Host"
    assert (2, 16, "Waits for host code", "$train.py:9 load") in pieces(found)


def test_slack_says_what_it_is_of():
    found = path(TEXT)
    at = [found["names"].index(name) for name in ("$train.py:9 load", "b")]
    load, b = (found["name"].index(name) for name in at)
    answers = [slack(TEXT, *(found[one][row] for one in ("pid", "tid", "event"))) for row in (load, b)]
    assert [(one["bound"], one["ps"], one["path_ps"] // US) for one in answers] == [
        ("exactly", 0, 16),
        ("exactly", 0, 8),
    ]
    moved = path(TEXT, clocks=f"h0:{5 * US}")
    assert moved["begin_ps"][load] == found["begin_ps"][load] + 5 * US
    place = (found[one][load] for one in ("pid", "tid", "event"))
    assert slack(TEXT, *place, clocks=f"h0:{5 * US}") == answers[0]
    # The row of the step, and a thread that nothing is known to wait for.
    assert slack(TEXT, 701, 9, 0)["why"] == "The recording does not tell what waits for events of this row."
    with pytest.raises(NoData, match="There is no event 5 on thread 9 of process 701"):
        slack(TEXT, 701, 9, 5)
    with pytest.raises(BadRequest, match="A single event belongs to one host"):
        build_trace(TEXT, TEXT, format="slack", pid=701, tid=9, event=0)


DEMO = Path(__file__).parents[3] / "demo"
SAMPLES = Path(__file__).parents[4] / "shared/traces/logdir"
FILES = sorted(
    file for logdir in (DEMO, SAMPLES) if logdir.is_dir() for file in logdir.rglob("*.xplane.pb") if chosen(file)
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file).rpartition("/plugins")[0][-40:])
def test_the_pieces_of_recorded_steps_add_up_to_them(file):
    paths = host_paths(run_of(file).profiles[0])
    assert paths.spent is not None
    for device, time in enumerate(paths.spent.devices):
        found, (begin, end) = paths.path(device, (-(2**62), 2**62)), time.windows
        sums = np.zeros(len(begin), np.int64)
        np.add.at(sums, found.step, found.end_ps - found.begin_ps)
        assert sums.tolist() == (end - begin).tolist()
        assert int(sums.sum()) > 0
