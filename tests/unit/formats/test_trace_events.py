"""Trace-event JSON converted to a profile."""

import gzip
import json

import pytest
from builders.timeline import events, legacy

from tpu_profile_plugin.columns import load, peek
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import packing, unpack

PROFILE = """
plane 3 "/device:TPU:0"
  line 2 "XLA Ops"
    1us +2us op {ratio=0.5d, n=7, big=u18446744073709551615}
    9us +0us mark
  metadata op {hlo_category="fusion"} display="shown"
plane 0 "/host:CPU"
  line 5 "python"
    0us +9us train {_r=1, step_num=4}
    1us +1us inner {text="a \\"b\\" é"}
"""


def packed(value) -> bytes:
    return gzip.compress(json.dumps(value).encode())


def test_saved_trace_json_opens_again():
    first = legacy(PROFILE)
    again = legacy(packed(first))
    assert again == first


def test_events_of_other_programs():
    trace = [
        {"ph": "M", "pid": 9, "name": "process_name", "args": {"name": "worker"}},
        {"ph": "M", "pid": 9, "tid": 1, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "B", "pid": 9, "tid": 1, "ts": 1, "name": "outer"},
        {"ph": "B", "pid": 9, "tid": 1, "ts": 2.25, "name": "inner"},
        {"ph": "E", "pid": 9, "tid": 1, "ts": 3},
        {"ph": "E", "pid": 9, "tid": 1, "ts": 4},
        {"ph": "C", "pid": 9, "ts": 2, "name": "memory", "args": {"bytes": 12.5}},
        {"ph": "s", "pid": 9, "tid": 1, "ts": 2, "id": 4},
        {},
    ]
    found = events(packed(trace))
    assert [(e["name"], e["ph"], e.get("ts"), e.get("dur")) for e in found] == [
        ("memory", "C", None, None),
        ("outer", "X", 1, 3),
        ("inner", "X", 2.25, 0.75),
    ]
    assert found[0]["entries"] == [[2, 12.5]]
    assert [plane.name for plane in peek(unpack(packed(trace)).space).planes] == ["/device:CUSTOM:worker"]


def test_a_trace_without_events_is_an_empty_profile():
    assert load(unpack(packed({"traceEvents": []})).space).planes == ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packed({"traceEvents": []})[:-9], "truncated"),
        (gzip.compress(b""), "empty"),
        (b"\x1f\x8bxxxxxxxxxxxxxx", "damaged"),
        (gzip.compress(b'{"traceEvents": [1'), "unexpected character"),
        (gzip.compress(b'{"traceEvents": [{"name": "a'), "truncated"),
    ],
)
def test_damaged_files_raise_corrupt_profile(data, words):
    with pytest.raises(CorruptProfile, match=words):
        unpack(data)


def test_the_size_is_bounded(monkeypatch):
    monkeypatch.setattr(packing, "MAX_BYTES", 1 << 20)
    with pytest.raises(CorruptProfile, match="decompresses to more"):
        unpack(gzip.compress(bytes(8 << 20)))
