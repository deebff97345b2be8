"""Damage in the text of a trace costs what is damaged, and is told: in events, header, encoding and compression."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from builders.kineto import Event, event, kernel, launch, op, trace
from builders.spaces import events, loaded, plane

from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.formats.format import Skipped

BASE = 1_700_000_000_000_000_000
MARK = event("python_function", "MARK", 5, 1)


def around(middle: Event | None = None, indent: int | None = None) -> str:
    """A trace with four launches of kernels, and perhaps an event in their middle."""
    found: list[Event] = []
    for i in range(4):
        found += [op(f"aten::op{i}", 10 * i, 5), launch(10 * i + 1, i + 1), kernel(f"k{i}", 10 * i + 2, 5, i + 1)]
    found[6:6] = [] if middle is None else [middle]
    return json.dumps(json.loads(trace(*found)), indent=indent)


def damaged(new: str, old: str = '"MARK"', indent: int | None = None) -> bytes:
    """The trace with other text for a part of its middle event."""
    text = around(MARK, indent)
    assert text.count(old) >= 1
    at = text.index(old, text.index("k1"))
    return (text[:at] + new + text[at + len(old) :]).encode("utf-8", "surrogatepass")


def whole_event(new: str) -> bytes:
    """The trace with other text for its middle event."""
    return damaged(new, json.dumps(MARK))


def found_in(text: bytes) -> tuple[list[str], list[str], int]:
    """Names of kernels, names of what is on the host beside them, and the time at which the host begins."""
    space = loaded(text)
    own = [name for name, *_ in events(space, "/device:GPU:0")]
    host = [name for name, *_ in events(space, "/host:CPU")]
    (begin,) = set(plane(space, "/host:CPU").lines.timestamp_ns.tolist())
    return own, [name for name in host if not name.startswith(("aten::op", "cuda"))], begin


def codes(text: bytes) -> list[str]:
    return [part.code for part in unpack(text).skipped]


@pytest.mark.parametrize("indent", [None, 1, 0])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"say"x.py(12): run"', '$say"x.py:12 run'),
        ('"print("a", end="")"', 'print("a", end="")'),
        ('"f("', 'f("'[:-1]),
        ('"{"a": 1, "b": [2]}"', '{"a": 1, "b": [2]}'),
        ('"C:\\Users\\me\\train.py(40): main"', "$C:\\Users\\me\\train.py:40 main"),
        ('"D:\\data\\"', "D:\\data\\"),
        ('"a\x01b"', "a\ufffdb"),
        ('"a\nb"', "a\ufffdb"),
        ('"\\udcff"', "\ufffd"),
    ],
)
def test_a_name_is_repaired_where_it_is_plain(text: str, name: str, indent: int | None) -> None:
    found = damaged(text, indent=indent)
    assert found_in(found)[:2] == (["k0", "k1", "k2", "k3"], [name])


@pytest.mark.parametrize(
    ("text", "kept", "code"),
    [
        ("N/A", True, "repaired_events"), ("None", True, "repaired_events"), ("nan", False, "repaired_events"),
        ("-nan(ind)", False, "repaired_events"), ("!", False, "damaged_events"), ("", False, "damaged_events"),
        ("0x7f", False, "damaged_events"),
    ],
)  # fmt: skip
def test_a_value_of_an_event_that_is_no_json(text: str, kept: bool, code: str) -> None:
    """A word for no value is none; what cannot be read costs the event, and so does a duration that is no number."""
    found = damaged(f'"dur": {text},', old='"dur": 1,')
    own, host, begin = found_in(found)
    assert (own, host, begin) == (["k0", "k1", "k2", "k3"], ["MARK"] * kept, BASE)
    assert codes(found) == [code]


@pytest.mark.parametrize("text", ["N/A", "0x7f", "", "not known", "None"])
def test_an_argument_that_is_no_json_costs_itself(text: str) -> None:
    found = damaged(f'{{"context": {text}, "x": 2}}', old="{}")
    assert found_in(found)[:2] == (["k0", "k1", "k2", "k3"], ["MARK"])
    assert codes(found) == ["repaired_events"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (json.dumps(MARK)[:-1], "damaged_events"),
        (json.dumps(MARK)[:40], "damaged_events"),
        (json.dumps(MARK)[:-2] + '"a": [1, 2', "damaged_events"),
        (json.dumps(MARK) + "}", "stray_text"),
        (json.dumps(MARK).replace('"', "'"), "damaged_events"),
        (json.dumps(MARK).replace('"MARK"', '"MARK'), "damaged_events"),
        (json.dumps(MARK).replace('"MARK"', 'MARK"'), "damaged_events"),
        (json.dumps(MARK).replace("{}", '{"a": ' + "[" * 300 + "]" * 300 + "}"), "damaged_events"),
        ("17", "stray_text"),
        ("INFO 2025 [rank0] done", "stray_text"),
        ("\0" * 50, "stray_text"),
    ],
)
def test_what_cannot_be_repaired_costs_itself(text: str, code: str) -> None:
    own, _, begin = found_in(whole_event(text))
    assert (own, begin) == (["k0", "k1", "k2", "k3"], BASE)
    assert codes(whole_event(text)) == [code]


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize(
    "value",
    [
        "N/A",
        "!",
        "[1, 2",
        '["INFO {"event_id": 5, "stream": 7}"]',
        '{"a": }',
        '{"a": 1',
        '"C:\\Users"',
        '"a\x01"',
        "a b", '"abc', '"a"b"',
    ],
)  # fmt: skip
def test_a_damaged_value_of_the_header_costs_itself(value: str, behind: bool) -> None:
    bad = f'"bad": {value}, '
    place = '"baseTimeNanoseconds"' if behind else '"deviceProperties"'
    own, _, begin = found_in(around().replace(place, bad + place).encode())
    assert (own, begin) == (["k0", "k1", "k2", "k3"], BASE)


def test_what_was_repaired_is_told() -> None:
    found = damaged('"say"x"')
    at = found.index(b'x"')
    assert unpack(found).skipped == (
        Skipped(
            found.index(b'{"ph": "X", "cat": "python_function"'),
            0,
            f"An event was repaired at byte {at:,}: expected `,` or `}}`.",
            "repaired_events",
        ),
    )


def test_two_processes_that_write_one_file_both_count() -> None:
    """The first has written half, the second writes over it, and the first goes on behind the second's end."""
    first, second = around(), around().replace("k0", "l0").replace("k1", "l1").replace('"pid": 10', '"pid": 11')
    cut = first.index('"aten::op2"')
    interleaved = (first[:cut] + second + first[cut:]).encode()
    names = [name for name, *_ in events(loaded(interleaved), "/device:GPU:0")]
    assert {"k0", "k1", "l0", "l1", "k2", "k3"} <= set(names)
    assert "damaged_events" in codes(interleaved)


def test_a_shorter_text_over_a_longer_one_leaves_the_end_of_that() -> None:
    longer = around(indent=1)
    shorter = json.dumps({"schemaVersion": 1, "traceEvents": [op("aten::first", 1, 2)]}, indent=1)
    found = (shorter + longer[len(shorter) :]).encode()
    own, host, _ = found_in(found)
    assert (own, host) == (["k0", "k1", "k2", "k3"], ["aten::first:PyTorch"])
    assert codes(found) == ["stray_text"]


@pytest.mark.parametrize("encode", ["utf-16", "utf-8-sig", "utf-16-be"])
def test_other_encodings_are_read(encode: str) -> None:
    mark = b"\xfe\xff" if encode == "utf-16-be" else b""
    text = mark + around().replace("k0", "k\u00e90").encode(encode)
    for data in (text, gzip.compress(text)):
        made = unpack(data)
        assert made.space.tobytes() == unpack(around().replace("k0", "k\u00e90").encode()).space.tobytes()
        assert made.skipped == ()


def blocks(content: bytes, size: int) -> bytes:
    """A Zstandard frame of raw blocks."""
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    heads = [(len(part) * 8 + (i == len(parts) - 1)).to_bytes(3, "little") for i, part in enumerate(parts)]
    frame = b"".join(head + part for head, part in zip(heads, parts, strict=True))
    return b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little") + frame


@pytest.mark.parametrize("compress", [gzip.compress, lambda text: blocks(text, 200)], ids=["gzip", "Zstandard"])
def test_a_compressed_text_that_is_cut_off_is_shown_so_far(compress: Any) -> None:
    packed = compress(around().encode())
    own, _, _ = found_in(packed[: len(packed) * 3 // 4])
    assert own[:1] == ["k0"]
    (part,) = unpack(packed[: len(packed) * 3 // 4]).skipped
    assert part.code == "cut_off"
    assert "compressed file is" in part.reason


def test_a_compressed_text_whose_check_sum_is_missing_is_whole() -> None:
    (part,) = unpack(gzip.compress(around().encode())[:-8]).skipped
    size = len(around().encode())
    assert part.sentence == f"The compressed file is truncated, behind byte {size:,} of its content."
    assert found_in(gzip.compress(around().encode())[:-8]) == found_in(around().encode())


def test_a_compressed_file_of_another_kind_is_refused_if_it_is_cut_off() -> None:
    with pytest.raises(CorruptProfile, match="the compressed file is truncated"):
        unpack(gzip.compress(b"\n\x02\x08\x01" * 100)[:-4])


EVENTS = [{"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": f"e{i}", "args": {"n": i}} for i in range(5)]


@pytest.mark.parametrize("form", ['{{"traceEvents": {}, "displayTimeUnit": "ns"}}', "{}"])
@pytest.mark.parametrize(
    ("new", "left", "code"),
    [
        ('"e"2"', {"e0", "e1", 'e"2', "e3", "e4"}, "repaired_events"),
        ('"C:\\Users"', {"e0", "e1", "C:\\Users", "e3", "e4"}, "repaired_events"),
        ("e2", {"e0", "e1", "e3", "e4"}, "damaged_events"),
        ('"e2', {"e0", "e1", "e3", "e4"}, "damaged_events"),
    ],
)
def test_trace_events_survive_a_damaged_one(form: str, new: str, left: set[str], code: str) -> None:
    text = form.format(json.dumps(EVENTS)).replace('"e2"', new).encode()
    (own,) = loaded(text).planes
    assert set(own.event_metadata.names) == left
    assert codes(text) == [code]


def test_trace_events_that_are_cut_off_are_shown_so_far() -> None:
    text = json.dumps({"traceEvents": EVENTS}).encode()
    cut = text.index(b'"e3"')
    (own,) = loaded(text[:cut]).planes
    assert own.event_metadata.names == ["e0", "e1", "e2"]
    assert codes(text[:cut]) == ["cut_off"]
