"""The timeline's JSON of several hosts: bounded per track, limited, host after host, without the hosts that fail."""

import gzip
import json
from collections import Counter

import pytest
from builders.answers import run_of
from builders.profiles.many_events import LINES, many_events
from builders.timeline import build_trace, streaming

from tpu_profile_plugin.analysis.timeline import window
from tpu_profile_plugin.compat.xprof import trace_viewer
from tpu_profile_plugin.errors import CorruptProfile, TooLarge
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.tools.time.trace_viewer import trace_events

HOST = 'plane 7 "/host:CPU"\nline 7 "python"\n1us +10us outer\n3us +3us inner\n'
DEVICE = 'plane 0 "/device:TPU:0"\nline 1 "XLA Ops"\n2us +4us fusion\n'
BROKEN = b"\x0a\xff" * 9


def by_track(answer):
    return Counter((event["pid"], event["tid"]) for event in answer["traceEvents"] if event["ph"] == "X")


@pytest.fixture(scope="module")
def many():
    return many_events(LINES * 2000)


def test_resolution_bounds_each_track_of_hosts_that_are_large_together(many, monkeypatch):
    monkeypatch.setattr(window, "FEW_EVENTS", 40_000)
    assert max(by_track(streaming(many)).values()) == 2000, "a single host is shown whole"
    tracks = by_track(streaming(many, many, many, resolution=100))
    assert len(tracks) == 3 * LINES
    # Steps and groups are longer than a hundredth and shown; of the ops, one each hundredth.
    assert max(tracks.values()) <= 100 + 2000 // 11
    assert by_track(streaming(many, many, many, resolution=0)) == dict.fromkeys(tracks, 2000)


def test_hosts_are_the_same_as_each_alone():
    both = streaming(HOST, DEVICE)
    one, other = streaming(HOST), streaming(DEVICE)
    assert both["returnedEventsSize"] == 3
    assert both["fullTimespan"] == [0.001, 0.011]
    assert both["details"] == other["details"]
    assert {event["name"] for event in both["traceEvents"] if event["ph"] == "X"} == {"outer", "inner", "fusion"}
    assert len(both["traceEvents"]) == len(one["traceEvents"]) + len(other["traceEvents"])
    named = streaming(HOST, DEVICE, full_args="1")
    assert [event["name"] for event in named["traceEvents"]] == [event["name"] for event in both["traceEvents"]]


@pytest.mark.parametrize(
    ("params", "most"),
    [({}, "MOST_EVENTS"), ({"full_args": "1"}, "MOST_WITH_ARGS"), ({"format": "pb"}, "MOST_EVENTS")],
)
@pytest.mark.parametrize("texts", [(HOST,), (HOST, HOST)])
def test_an_answer_that_is_too_large_says_what_to_ask(texts, params, most, monkeypatch):
    monkeypatch.setattr(trace_events, most, len(texts) * 2)
    assert build_trace(*texts, **params).body
    monkeypatch.setattr(trace_events, most, len(texts) * 2 - 1)
    with pytest.raises(TooLarge) as caught:
        build_trace(*texts, **params)
    message = caught.value.message
    assert "'start_time_ms'" in message
    assert "'resolution'" in message
    assert ("'hosts'" in message) == (len(texts) > 1)
    assert ("full_args=0" in message) == ("full_args" in params)


@pytest.mark.parametrize("form", ["json", "pb", "columns", "search", "sums", "gaps"])
def test_a_host_that_does_not_decode_is_left_out(form):
    run = run_of(HOST, BROKEN, DEVICE)
    more = {"query": "f"} if form == "search" else {}
    raw = trace_viewer.TOOL.build(run, trace_viewer.TOOL.query({"format": form, **more}))
    assert [(host.host, host.code) for host in run.left_out] == [("h1", "corrupt_profile")]
    if form == "json":
        answer = json.loads(gzip.decompress(raw.body))
        assert answer["returnedEventsSize"] == 3
        assert len({event["pid"] for event in answer["traceEvents"]}) == 2


def test_the_older_form_leaves_it_out_too():
    run = run_of(HOST, BROKEN, DEVICE)
    raw = trace_viewer.LEGACY.build(run, trace_viewer.LEGACY.query({}))
    names = [event.get("name") for event in json.loads(raw.body)["traceEvents"]]
    assert {"outer", "inner", "fusion"} <= set(names)
    assert [host.host for host in run.left_out] == ["h1"]


def test_the_first_error_is_raised_if_no_host_decodes():
    with pytest.raises(CorruptProfile):
        build_trace(BROKEN, BROKEN)


def test_hosts_are_dropped_one_after_the_other(many, monkeypatch):
    monkeypatch.setattr(trace_viewer, "_KEPT_BYTES", 0)
    run, held = run_of(many, many, many), []
    real = HostProfile.drop

    def drop(host):
        real(host)
        held.append(host._cache.bytes())

    monkeypatch.setattr(HostProfile, "drop", drop)
    for host in run.profiles:
        host.size = 1
    trace_viewer.TOOL.build(run, trace_viewer.TOOL.query({}))
    assert held == [0, 0, 0]
