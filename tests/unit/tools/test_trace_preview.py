"""The first picture of a large profile: recorded lines, before its timeline is made."""

import numpy as np
import pytest
from builders.answers import run_of
from builders.timeline import read_container
from builders.xspace_text import build

from tpu_profile_plugin.compat.xprof import trace_viewer
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.tools.time.trace_viewer import timelines

HOST = """
plane 0 "/host:CPU"
  line 7 "python" @1us
    0us +10us outer {n=1}
    2us +3us inner
    5us +0us mark
    6us +1us MemoryAllocation
  line 8 "out of order"
    9us +1us late
    3us +2us early
  line 9 "samples"
  line 5 "_counters_"
    1us +0us value {x=1}
plane 1 "/device:TPU:0"
  line 4 "XLA Ops"
    1us +5us op
plane 5 "Task Environment" {profile_start_time=u1700000000000000000}
"""
US = 1_000_000


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(timelines, "LARGE_BYTES", 0)


def columns(run, **params):
    query = trace_viewer.TOOL.query({"format": "columns", **{name: str(value) for name, value in params.items()}})
    return read_container(trace_viewer.TOOL.build(run, query).body)


def test_recorded_lines_come_before_the_timeline():
    run = run_of(HOST)
    header, arrays = columns(run, preview="true")
    assert not timelines.page_timeline_of.is_known(run.profiles[0], 0)
    assert (header["partial"], header["full_timespan_ps"]) == (True, [0, 11 * US])
    assert header["time_origin_ns"] == 1700000000000000000
    facts = [(one["pid"], one["tid"], one["name"], one["rows"], one["events"]) for one in header["tracks"]]
    assert facts == [
        (2, 4, "XLA Ops", 1, 1),
        (701, 7, "python", 2, 3),
        (701, 8, "out of order", 1, 2),
    ]
    assert [section["title"] for section in header["sections"] if section["pid"] == 701] == ["Host Threads"]
    names = [header["strings"][name] for name in arrays["name"]]
    shown = list(zip(names, arrays["row"].tolist(), arrays["begin_ps"].tolist(), arrays["event"].tolist(), strict=True))
    assert shown == [
        ("op", 0, US, 0),
        ("outer", 0, US, 0),
        ("inner", 1, 3 * US, 1),
        ("mark", 1, 6 * US, 2),
        ("early", 0, 3 * US, 0),
        ("late", 0, 9 * US, 1),
    ]


def test_a_window_has_the_boxes_of_the_timeline():
    window = {"start_time_ms": 0.004, "end_time_ms": 0.0095, "resolution": 3}
    (early, boxes), (whole, known) = columns(run_of(HOST), preview="true", **window), columns(run_of(HOST), **window)
    assert "partial" not in whole
    track = [(one["pid"], one["tid"]) for one in whole["tracks"]]
    for at, one in enumerate(early["tracks"]):
        of_whole = track.index((one["pid"], one["tid"]))
        mine, theirs = (slice(*a["track_start"][i : i + 2]) for a, i in ((boxes, at), (known, of_whole)))
        for column in ("row", "begin_ps", "duration_ps", "count", "event"):
            assert np.array_equal(boxes[column][mine], known[column][theirs]), (one["name"], column)


def test_once_the_timeline_is_made_it_answers():
    run = run_of(HOST)
    columns(run)
    assert "partial" not in columns(run, preview="true")[0]


@pytest.mark.parametrize("params", [{}, {"preview": "true", "clocks": "h0:5"}])
def test_without_the_flag_or_with_moved_clocks_the_timeline_answers(params):
    assert "partial" not in columns(run_of(HOST), **params)[0]


def test_small_profiles_have_no_preview(monkeypatch):
    monkeypatch.setattr(timelines, "LARGE_BYTES", 1 << 20)
    assert "partial" not in columns(run_of(HOST), preview="true")[0]


def test_of_several_hosts_those_that_can_be_read_are_shown():
    header, _ = columns(run_of(HOST, HOST, b"\xff" * 40), preview="true")
    assert header["partial"]
    pids = [(section["host"], section["pid"]) for section in header["sections"]]
    assert pids == [("h0", 1002), ("h0", 1701), ("h1", 2002), ("h1", 2701)]


def test_broken_lines_are_refused_with_their_place():
    whole = build(HOST)
    at = whole.index(b"python") + 10
    broken = whole[:at] + b"\xff" * 8 + whole[at + 8 :]
    with pytest.raises(CorruptProfile, match="byte"):
        columns(run_of(broken), preview="true")
