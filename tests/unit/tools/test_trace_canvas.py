"""What the timeline page gets: boxes of a window, one event, hits of a search."""

import json

import numpy as np
import pytest
from builders.shown import profile
from builders.timeline import build_trace, canvas, event

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.timeline import tracks as trace_steps
from tpu_profile_plugin.analysis.timeline import window
from tpu_profile_plugin.analysis.timeline.host import host_trace
from tpu_profile_plugin.compat.xprof import trace_viewer
from tpu_profile_plugin.errors import BadRequest, NoData, OutOfRange
from tpu_profile_plugin.tools.time.trace_viewer import canvas as canvas_module

US = 1_000_000

HOST = """
plane 0 "/host:CPU"
  line 7 "python" @1us
    0us +10us outer {n=1}
    2us +3us inner
    5us +0us mark
  line 3 "empty of shown"
    0us +1us MemoryAllocation
plane 1 "/device:TPU:0"
  line 4 "XLA Ops"
    1us +5us op {source_stack="a.py:1\\nb.py:2\\n"}
plane 5 "Task Environment" {profile_start_time=u1700000000000000000}
"""


def test_header():
    header, arrays = canvas(HOST)
    arrays_of_header = header.pop("arrays")
    assert header == {
        "version": 2,
        "full_timespan_ps": [0, 11 * US],
        "window_ps": [0, 11 * US],
        "total_events": 4,
        "truncated": False,
        "time_origin_ns": 1700000000000000000,
        "sections": [
            {
                "pid": 2,
                "name": "/device:TPU:0",
                "host": "h0",
                "sort_index": 2,
                "title": "TPU 0",
                "track_begin": 0,
                "track_end": 1,
            },
            {
                "pid": 701,
                "name": "/host:CPU",
                "host": "h0",
                "sort_index": 701,
                "title": "Host Threads",
                "track_begin": 1,
                "track_end": 3,
            },
        ],
        "tracks": [
            {"pid": 2, "tid": 4, "name": "XLA Ops", "sort_index": 4, "rows": 1, "events": 1, "kind": "events"},
            {"pid": 701, "tid": 3, "name": "empty of shown", "sort_index": 3, "rows": 0, "events": 0, "kind": "events"},
            {
                "pid": 701,
                "tid": 7,
                "name": "python",
                "sort_index": 7,
                "rows": 2,
                "events": 3,
                "kind": "events",
                "main": True,
            },
        ],
        "resolution": 2000,
        "boxes": 4,
        "merged_events": 0,
        "strings": ["op", "outer", "inner", "mark"],
    }
    assert set(arrays_of_header) == set(arrays)


def test_names_of_the_file_in_the_reading_of_xprof():
    header, _ = canvas(HOST, reading="xprof")
    assert [section.get("title") for section in header["sections"]] == [None, None]


def test_boxes_by_track_row_and_begin():
    _, arrays = canvas(HOST)
    assert {name: column.tolist() for name, column in arrays.items()} == {
        "track_start": [0, 1, 1, 4],
        "row": [0, 0, 1, 1],
        "begin_ps": [1 * US, 1 * US, 3 * US, 6 * US],
        "duration_ps": [5 * US, 10 * US, 3 * US, 0],
        "name": [0, 1, 2, 3],
        "count": [1, 1, 1, 1],
        "event": [0, 0, 1, 2],
    }


def test_short_neighbours_are_merged_counted_and_named_by_what_fills_most():
    lines = "\n".join(f"{10 * i}ns +{2 + 7 * (i % 3 == 1)}ns e{i % 3}" for i in range(1000))
    header, arrays = canvas(f'plane 0 "/host:CPU"\nline 1 "a"\n{lines}', resolution=10)
    assert header["merged_events"] == arrays["count"].sum() == 1000
    assert len(arrays["count"]) == 10
    assert [header["strings"][i] for i in arrays["name"]] == ["e1"] * 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The recording's start is known: the axis begins there, however late the first event is.
        ('plane 0 "/host:CPU"\nline 1 "a" @9ms\n0us +1us x\nplane 5 "Task Environment" {profile_start_time=u17}', 0),
        ('plane 0 "/host:CPU"\nline 1 "a" @20us\n0us +25us x', 0),
        # Times that count from anything: a day before the first event is no part of the recording.
        ('plane 0 "/host:CPU"\nline 1 "a" @20us\n0us +15us x', 20 * US),
    ],
)
def test_the_axis_begins_with_the_recording(text, expected):
    assert canvas(text)[0]["full_timespan_ps"][0] == expected


RECTANGLE = """
plane 0 "/host:CPU"
  line 7 "python"
    0us +100us outer
    10us +30us inner
    15us +5us leaf
    50us +20us inner
    200us +40us outer
  line 9 "other"
    0us +7us inner
"""


def added(*texts, **params):
    """The rows of `format=sums`: name, count, wall, self, min, max, times in us."""
    answer = build_trace(*texts, format="sums", **params).value
    times = ("wall_ps", "self_ps", "min_ps", "max_ps")
    return [(row["name"], row["count"], *(row[key] // US for key in times)) for row in answer["rows"]], answer


def test_a_rectangle_has_wall_time_self_time_and_count_per_name():
    rows, answer = added(RECTANGLE, areas="701.7.0.2,701.9.0.0")
    assert rows == [("outer", 2, 140, 90, 40, 100), ("inner", 3, 57, 52, 7, 30), ("leaf", 1, 5, 5, 5, 5)]
    assert (answer["events"], answer["self_ps"], answer["names"]) == (6, 147 * US, 3)
    late = added(RECTANGLE, areas="701.7.1.1", start_time_ms=0.045, end_time_ms=0.3)[0]
    assert late == [("inner", 1, 20, 20, 20, 20)]
    assert added(RECTANGLE, areas="701.7.0.2", limit=1)[0] == [("outer", 2, 140, 90, 40, 100)]
    assert added(RECTANGLE, areas="")[0] == added(RECTANGLE, areas="701.8.0.0")[0] == []


def test_a_rectangle_over_hosts_adds_up():
    rows, _ = added(RECTANGLE, RECTANGLE, areas="1701.9.0.0,2701.7.1.9")
    assert rows == [("inner", 3, 57, 52, 7, 30), ("leaf", 1, 5, 5, 5, 5)]


def test_so_many_areas_at_most(monkeypatch):
    monkeypatch.setattr(canvas_module, "MOST_AREAS", 2)
    two = "701.7.0.2,701.9.0.4294967295"
    assert len(added(RECTANGLE, areas=two)[0]) == 3
    with pytest.raises(BadRequest, match="areas"):
        added(RECTANGLE, areas=f"{two},701.8.0.0")


@pytest.mark.parametrize("areas", ["701.7", "701.7.0.x", "701.7.0.-1", "701.7.0.99999999999", "1.1.1.4294967296"])
def test_areas_that_are_none(areas):
    with pytest.raises(BadRequest, match="areas"):
        added(RECTANGLE, areas=areas)


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        ({"tf_Compute/-12": 900, "python": 5}, "python"),
        ({"python": 5, "python3.11": 90}, "python3.11"),
        ({"python": 500, "main/3116817": 9}, "main/3116817"),
        ({"MainThread": 0, "python3": 1}, "python3"),
        ({"pythonic": 5, "domain": 7}, None),
    ],
)
def test_the_main_thread_is_marked(threads, expected):
    lines = "".join(
        f'  line {i} "{name}"\n' + "".join(f"    {k}us +1us x\n" for k in range(count))
        for i, (name, count) in enumerate(threads.items())
    )
    text = f'plane 0 "/host:CPU"\n{lines}plane 1 "/device:TPU:0"\n  line 1 "python"\n    0us +1us x\n'
    tracks = canvas(text)[0]["tracks"]
    assert [t["name"] for t in tracks if t.get("main")] == ([] if expected is None else [expected])


def test_hosts_are_kept_apart():
    header, arrays = canvas(HOST, HOST, start_time_ms=0, end_time_ms=0.001)
    assert [(s["pid"], s["host"], s["track_begin"], s["track_end"]) for s in header["sections"]] == [
        (1002, "h0", 0, 1),
        (1701, "h0", 1, 3),
        (2002, "h1", 3, 4),
        (2701, "h1", 4, 6),
    ]
    assert [t["pid"] for t in header["tracks"]] == [1002, 1701, 1701, 2002, 2701, 2701]
    assert header["window_ps"] == [0, 1 * US]
    assert arrays["track_start"].tolist() == [0, 1, 1, 2, 3, 3, 4]


def test_counters_are_tracks_with_samples():
    text = """
    plane 0 "/device:TPU:0"
      line 1 "XLA Ops"
        0us +100us op
      line 2 "_counters_"
        10us +0us "hbm bytes" {value=5}
        50us +0us "hbm bytes" {value=9}
        51us +0us "hbm bytes" {value=3}
        90us +0us "hbm bytes" {value=4}
    """
    header, arrays = canvas(text, resolution=10, start_time_ms=0.02, end_time_ms=0.1)
    track = header["tracks"][1]
    assert (track["kind"], track["unit"], track["min"], track["max"], track["events"]) == ("counter", "bytes", 3, 9, 4)
    assert arrays["counter_start"].tolist() == [0, 0, 3]
    assert arrays["counter_begin_ps"].tolist() == [10 * US, 50 * US, 90 * US]
    assert arrays["counter_value"].tolist() == [5, 9, 4]
    assert arrays["counter_low"].tolist() == [5, 3, 4]
    assert arrays["counter_count"].tolist() == [1, 2, 1]
    assert arrays["track_start"].tolist() == [0, 1, 1]


def test_steps_of_the_host_are_the_ruler():
    steps = "\n".join(f"{10 * i}us +8us train {{_r=1, step_num={i}}}" for i in range(4))
    header, arrays = canvas(f'plane 0 "/host:CPU"\nline 1 "a"\n{steps}', start_time_ms=0.009, end_time_ms=0.025)
    names = [header["strings"][i] for i in arrays["step_name"]]
    assert names == ["train 1", "train 2"]
    assert arrays["step_begin_ps"].tolist() == [10 * US, 20 * US]
    assert arrays["step_duration_ps"].tolist() == [8 * US, 8 * US]


def test_one_event():
    found = event(HOST, 701, 7, 1)
    assert found == {
        "name": "inner",
        "long_name": "inner",
        "section": "/host:CPU",
        "track": "python",
        "host": "h0",
        "pid": 701,
        "tid": 7,
        "event": 1,
        "row": 1,
        "begin_ps": 3 * US,
        "duration_ps": 3 * US,
        "args": [],
        "group_id": None,
        "group_name": None,
        "stack": [],
        "ancestors": [{"name": "outer", "row": 0, "event": 0, "begin_ps": 1 * US, "duration_ps": 10 * US}],
        "flows": [],
    }
    assert event(HOST, 1701, 7, 0)["args"] == [{"key": "n", "value": 1, "kind": "int"}]
    assert event(HOST, 2, 4, 0)["stack"] == ["a.py:1", "b.py:2"]


def test_an_event_of_the_first_group():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +9us train {_r=1, step_num=4}'
    found = event(text, 701, 1, 0)
    assert (found["group_id"], found["group_name"]) == (0, "train 4")


def test_without_numbers_no_event_is_meant():
    with pytest.raises(NoData, match="no event -1 on thread -1 of process -1"):
        canvas(HOST, format="event")


def test_a_window_may_begin_long_before_the_trace():
    header, _ = canvas(HOST, start_time_ms=-3, end_time_ms=1)
    assert header["window_ps"] == [-3_000_000_000, 1_000_000_000]
    farthest = 2.0**62 / 1e9  # 64-bit picoseconds with room for sums
    assert canvas(HOST, start_time_ms=-farthest, end_time_ms=farthest)[0]["window_ps"] == [-(2**62), 2**62]
    for beyond in ({"start_time_ms": -farthest * 1.01}, {"end_time_ms": 1e300}):
        with pytest.raises(OutOfRange, match="beyond the longest possible profile"):
            canvas(HOST, **{"start_time_ms": 0, "end_time_ms": 1, **beyond})


@pytest.mark.parametrize("place", [(701, 7, 3), (701, 7, -1), (701, 8, 0), (9, 7, 0), (701, 3, 0)])
def test_events_that_do_not_exist(place):
    with pytest.raises(NoData):
        event(HOST, *place)


def test_flow_ends():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +1us out {_pt=12, _p=7}\nline 2 "b"\n2us +1us in {_ct=12, _c=7}'
    (flow,) = event(text, 701, 1, 0)["flows"]
    assert (flow["category"], flow["direction"]) == ("tpu_launch", "out")
    assert flow["id"].isdigit()
    assert flow["ends"] == [
        {
            "pid": 701,
            "tid": 1,
            "event": 0,
            "row": 0,
            "begin_ps": 0,
            "duration_ps": US,
            "name": "out",
            "direction": "out",
        },
        {
            "pid": 701,
            "tid": 2,
            "event": 0,
            "row": 0,
            "begin_ps": 2 * US,
            "duration_ps": US,
            "name": "in",
            "direction": "in",
        },
    ]


def test_flow_ends_of_a_host_among_others_are_numbered_as_its_events():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +1us out {_pt=12, _p=7}\nline 2 "b"\n2us +1us in {_ct=12, _c=7}'
    (flow,) = event(text, 2701, 1, 0)["flows"]
    assert [(end["pid"], end["tid"]) for end in flow["ends"]] == [(2701, 1), (2701, 2)]


SEARCHED = (
    'plane 0 "/host:CPU"\nline 1 "a"\n3us +1us Copy.2 {k="v1"}\n0us +1us copy.1\n6us +1us other {k=&"Deep", n=42}'
)


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"query": "copy"}, ["copy.1", "Copy.2"]),
        ({"query": "Copy", "case": 1}, ["Copy.2"]),
        ({"query": r"\.[12]$", "regex": "1"}, ["copy.1", "Copy.2"]),
        ({"query": "^C", "regex": "1"}, ["copy.1", "Copy.2"]),
        ({"query": "^C", "regex": "1", "case": 1}, ["Copy.2"]),
        ({"query": "deep", "args": "1"}, ["other"]),
        ({"query": "n: 42", "args": "true"}, ["other"]),
        ({"query": "deep"}, []),
        ({"query": "copy", "whole": 1}, []),
        ({"query": "copy.2", "whole": 1}, ["Copy.2"]),
        ({"query": "copy.2", "whole": 1, "case": 1}, []),
    ],
)
def test_search(params, names):
    header, arrays = canvas(SEARCHED, format="search", **params)
    assert [header["strings"][i] for i in arrays["name"]] == names
    assert header["total_hits"] == len(names)


def test_the_whole_name_of_an_op_is_what_it_is_called():
    profile = (
        'plane 0 "/host:CPU"\nline 1 "a"\n'
        '0us +1us "%copy = f32[8] copy(%p)"\n2us +1us "%copy.2 = f32[8] copy(%copy)"\n4us +1us "$a.py:3 copy"'
    )
    for query in ("copy", "%copy", "%copy = f32[8] copy(%p)"):
        header, arrays = canvas(profile, format="search", query=query, whole=1)
        assert [header["strings"][i] for i in arrays["name"]] == ["%copy = f32[8] copy(%p)"]
    header, arrays = canvas(profile, format="search", query="a.py:3 copy", whole=1)
    assert [header["strings"][i] for i in arrays["name"]] == ["$a.py:3 copy"]


def test_search_keeps_the_earliest_hits():
    header, arrays = canvas(SEARCHED, SEARCHED, format="search", query="o", limit=3)
    assert (header["total_hits"], header["truncated"]) == (6, True)
    assert arrays["begin_ps"].tolist() == [0, 0, 3 * US]
    assert arrays["track"].tolist() == [0, 1, 0]
    assert arrays["event"].tolist() == [0, 0, 1]


def test_bad_searches_say_why():
    with pytest.raises(BadRequest, match="The regular expression is not valid: unclosed group"):
        canvas(SEARCHED, format="search", query="a(", regex=1)
    for query in ("a{99999999999}", "(?:a{1000}){1000}", "(?<=a)b", "(" * 1000 + ")" * 1000, "(?:" * 5000 + ")" * 5000):
        with pytest.raises(BadRequest, match="regular expression is not valid"):
            canvas(SEARCHED, format="search", query=query, regex=1)
    with pytest.raises(BadRequest, match="query"):
        canvas(SEARCHED, format="search")


def test_a_search_ends_soon_whatever_the_expression():
    # An engine that goes back and tries again needs longer than the age of the universe for this name.
    slow = f'plane 0 "/host:CPU"\nline 1 "a"\n0us +1us {"a" * 200}'
    header, _ = canvas(slow, format="search", query="(.+)+~", regex=1)
    assert header["total_hits"] == 0


def test_overlapping_steps_end_on_the_ruler_where_the_next_begins():
    begin, duration = np.array([30, 0, 10, 10]), np.array([5, 15, 50, 3])
    found = trace_steps._disjoint(begin, duration, ["c", "a", "b", "short"])
    assert found.names == ("a", "b", "c")
    assert found.begin_ps.tolist() == [0, 10, 30]
    assert found.duration_ps.tolist() == [10, 20, 5]


@pytest.mark.parametrize(("more", "kept_closer"), [(-1, False), (0, True), (1, True)])
def test_large_answers_for_a_window_are_not_kept_in_memory(more, kept_closer, monkeypatch):
    for params, kept in (
        ({}, True),
        ({"start_time_ms": 0}, kept_closer),
        ({"end_time_ms": 0.005}, kept_closer),
        ({"start_time_ms": 0, "end_time_ms": 0.005}, kept_closer),
    ):
        size = len(build_trace(HOST, **params).body)
        monkeypatch.setattr(trace_viewer, "_LARGEST_KEPT", size + more)
        raw = build_trace(HOST, **params)
        assert (raw.memory, raw.disk) == (kept, False), params


@pytest.mark.parametrize(("serial", "found"), [(-1, 0), (0, 1), (1, 1), (2, 0), (255, 0), (256, 0), (1 << 70, 0)])
def test_one_event_among_equal_ones_by_its_number(serial, found):
    space = profile('plane 1 "/device:GPU:0"\nline 1 a\n5us +2us x\n5us +2us x\n5us +2us y')
    trace = host_trace(space, preprocess(space))
    events_found = window.exactly(trace, "x", 5 * US, 2 * US, serial, 0)
    assert (0 if events_found is None else len(events_found)) == found


@pytest.mark.parametrize(("most", "steps"), [(1, False), (2, True), (3, True)])
def test_a_ruler_has_so_many_steps_at_most(most, steps, monkeypatch):
    monkeypatch.setattr(window, "MOST_STEPS", most)
    text = 'plane 1 "/device:TPU:0"\nline 1 Steps\n0us +10us "0"\n20us +10us "1"\n90us +1us "2"'
    _, arrays = canvas(text, start_time_ms=0, end_time_ms=0.04)
    assert ("step_begin_ps" in arrays, "step_name" in arrays) == (steps, steps)


def test_a_window_without_steps_has_no_ruler():
    text = 'plane 1 "/device:TPU:0"\nline 1 Steps\n0us +10us "0"\nline 2 "XLA Ops"\n50us +10us x'
    assert "step_begin_ps" in canvas(text)[1]
    assert "step_begin_ps" not in canvas(text, start_time_ms=0.04, end_time_ms=0.06)[1]


def test_the_events_of_a_window_for_other_viewers():
    text = 'plane 1 "/host:CPU"\nline 1 python\n0us +5us train {step=7}\n6us +2us other'
    trace = json.loads(build_trace(text, format="events", start_time_ms=0, end_time_ms=0.0055).body)
    shown = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    assert [(event["name"], event["ts"], event["dur"], event["args"]["step"]) for event in shown] == [
        ("train", 0, 5, 7)
    ]
    names = {event["args"]["name"] for event in trace["traceEvents"] if event.get("name") == "thread_name"}
    assert names == {"python"}
