"""One event with an odd value costs at most itself: the others come out as they are without it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from builders import kineto
from builders.kineto import Event, frame, kernel, launch, memory, op, step, trace
from builders.rings import many
from builders.spaces import events, loaded
from hypothesis import given, settings
from hypothesis import strategies as st

import tpu_profile_plugin
from tpu_profile_plugin.columns import XSpace

VALUES = (
    "null", "true", "false", '""', '"text"', '"7"', '" 7 "', '"1e5"', '"0x10"', '"\\u0000"', '"\\ud83d\\ude00"', '"-"',
    "-1", "-0", "0.5", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e308", "1e-400",
    "1e400", "-1e400", "123456789012345678901234567890", "NaN", "-Infinity", '"NaN"', "[]", "[1, [2]]", "[null]", "{}",
    '{"a": {"b": 1}}', '"[TP00] 5"', '"rank 3"', '"GPU 0"', "N/A",
)  # fmt: skip
FIELDS = ("ts", "dur", "pid", "tid", "name", "cat", "ph", "id", "args")
ARGS = (
    "device", "stream", "correlation", "External id", "Sequence number", "Python id", "Python parent id", "Input Dims",
    "grid", "Bytes", "Addr", "Device Id",
)  # fmt: skip
OTHERS = [
    step(1, 0, 100), op("aten::a", 10, 5), launch(11, 101), kernel("ka", 20, 5, 101), frame("a.py(1): f", 5, 90),
    memory(50, 64, 8, 64), step(2, 100, 100), op("aten::c", 110, 5), launch(111, 103), kernel("kc", 120, 5, 103),
]  # fmt: skip
ODD = {
    "step": step(3, 200, 90), "op": op("aten::odd", 60, 5), "call": launch(62, 109),
    "kernel": kernel("odd", 70, 5, 109), "frame": frame("odd.py(1): g", 61, 2),
    "note": {**kernel("odd", 70, 5, 0), "cat": "gpu_user_annotation"},
    "unknown": {**kernel("odd", 70, 5, 109), "cat": "npu_kernel"},
}  # fmt: skip


def all_events(space: XSpace) -> Counter[str]:
    """Every event with its duration and stats; the time depends on the first one."""
    names = {one.name for one in space.planes if one.name == "/host:CPU" or one.name.startswith("/device:")}
    return Counter(
        json.dumps([name, *event[:1], event[2], event[3]], default=str)
        for name in names
        for event in events(space, name)
    )


def names(space: XSpace) -> Counter[str]:
    """How often there is an event of each name."""
    found = {one.name for one in space.planes if one.name == "/host:CPU" or one.name.startswith("/device:")}
    return Counter(event[0] for name in found for event in events(space, name))


def with_odd(event: Event, field: str, value: str, twice: bool, at: int) -> list[Any]:
    """The events with the one whose field has the value, as text to be put in."""
    own = dict(event["args"] if field in ARGS else event)
    known = own.pop(field, None)
    head = f'"{field}": {json.dumps(known)}, ' if twice and known is not None else ""
    body = "{" + head + f'"{field}": {value}' + (", " + json.dumps(own)[1:] if own else "}")
    text = json.dumps({**event, "args": "ARGS"}).replace('"ARGS"', body) if field in ARGS else body
    return [*OTHERS[:at], text, *OTHERS[at:]]


def text_of(found: list[Any], whole: bytes) -> bytes:
    """A trace like `whole`, with these events."""
    parts = [one if isinstance(one, str) else json.dumps(one) for one in found]
    places = [json.dumps(one) for one in OTHERS]
    begin, end = whole.index(places[0].encode()), whole.index(places[-1].encode()) + len(places[-1].encode())
    return whole[:begin] + ", ".join(parts).encode() + whole[end:]


WHOLE = trace(*OTHERS)
REFERENCE, NAMES = all_events(loaded(WHOLE)), names(loaded(WHOLE))


@settings(max_examples=many(75, 300), deadline=None)
@given(
    st.sampled_from(sorted(ODD)), st.sampled_from(FIELDS + ARGS), st.sampled_from(VALUES), st.booleans(),
    st.integers(1, len(OTHERS) - 1),
)  # fmt: skip
def test_an_odd_value_costs_its_event_at_most(kind: str, field: str, value: str, twice: bool, at: int) -> None:
    space = loaded(text_of(with_odd(ODD[kind], field, value, twice, at), WHOLE))
    if field in ("ts", "dur"):
        assert not NAMES - names(space)
    else:
        assert not REFERENCE - all_events(space)


@settings(max_examples=many(15, 25), deadline=None)
@given(st.sampled_from(sorted(ODD)), st.sampled_from(("pid", "tid", "cat", "args", *ARGS)), st.sampled_from(VALUES))
def test_a_run_with_an_odd_value_is_analysed(kind: str, field: str, value: str) -> None:
    text = text_of(with_odd(ODD[kind], field, value, False, 5), kineto.trace(*OTHERS))
    run = tpu_profile_plugin.open(text).run()
    assert "GPU 0" in [device.name for device in run.budget().devices]
    assert run.document("overview_page")
    assert run.answer("trace_viewer@")


EVENTS = [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "worker"}},
    *({"ph": "X", "pid": 1, "tid": 2, "ts": i, "dur": 1, "name": f"e{i}", "args": {"n": i}} for i in range(3)),
    {"ph": "B", "pid": 1, "tid": 3, "ts": 1, "name": "begun"},
    {"ph": "E", "pid": 1, "tid": 3, "ts": 2},
    {"ph": "C", "pid": 1, "ts": 2, "name": "count", "args": {"v": 1}},
]


def of_worker(space: XSpace) -> Counter[tuple[str, str]]:
    """The events of the process by their thread."""
    found: Counter[tuple[str, str]] = Counter()
    for one in (one for one in space.planes if one.name == "/device:CUSTOM:worker"):
        for line in range(len(one.lines)):
            rows = one.events.metadata[one.lines.event_start[line] : one.lines.event_start[line + 1]]
            found.update((str(one.lines.id[line]), one.event_metadata.names[row]) for row in rows.tolist())
    return found


@settings(max_examples=many(50, 200), deadline=None)
@given(st.sampled_from(FIELDS), st.sampled_from(VALUES), st.integers(1, len(EVENTS)))
def test_an_odd_value_among_trace_events_costs_its_event_at_most(field: str, value: str, at: int) -> None:
    odd = {"ph": "X", "pid": 1, "tid": 2, "ts": 1, "dur": 1, "name": "odd", "args": {"n": 1}}
    parts = [json.dumps(one) for one in EVENTS]
    parts.insert(at, json.dumps({**odd, field: "VALUE"}).replace('"VALUE"', value))
    found = of_worker(loaded(f'{{"traceEvents": [{", ".join(parts)}]}}'.encode()))
    # An odd phase may be the end of what another event has begun.
    assert not of_worker(loaded(json.dumps(EVENTS).encode())) - found
