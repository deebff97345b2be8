"""Which format a file is read as: its content decides, not its name or its compression."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from builders.records import appended
from builders.xspace_text import build

from tpu_profile_plugin import columns, formats, suffixes
from tpu_profile_plugin.columns.arrays import byte_array
from tpu_profile_plugin.formats import FORMATS, Format, format_of, unpack
from tpu_profile_plugin.logdir.names import host_and_kind

SPACE = build('plane 1 "/host:CPU"\n  line 7 "python"\n    0us +10us step')
TRACE = {"displayTimeUnit": "ns", "traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "step"}]}
KINETO = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": TRACE["traceEvents"]}
TEXT = json.dumps(TRACE).encode()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (SPACE, "XSpace"),
        (b"", "XSpace"),
        (b"neither of them", "XSpace"),
        (appended([SPACE]), "record file"),
        (TEXT, "trace-event JSON"),
        (json.dumps(TRACE["traceEvents"]).encode(), "trace-event JSON"),
        (json.dumps(KINETO).encode(), "PyTorch trace"),
        (b"\n" + json.dumps(KINETO, indent=2).encode(), "PyTorch trace"),
        (b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"', "PyTorch trace"),
        (b"\n{\x12\x79" + b"n" * 121, "XSpace"),
    ],
)
def test_the_content_tells_the_format(content: bytes, name: str) -> None:
    assert format_of(byte_array(content)).name == name


def test_profiles_of_two_hosts_in_one_file_are_not_one() -> None:
    first, second = (
        build(f'plane 1 "/host:CPU"\n  line 7 "python"\n    0us +10us of_{name}\nhost {name}') for name in "ab"
    )
    made = unpack(first + second)
    assert made.space.tobytes() == first
    (part,) = made.skipped
    assert (part.offset, part.bytes, part.code) == (len(first), len(second), "other_host")
    assert part.reason == "they are the profile of b, behind that of a; put each into a file of its own"
    assert not unpack(first).skipped
    assert not unpack(first + first).skipped  # of one host, as profilers append planes
    for end in range(len(first) + 1, len(first + second)):
        assert len(unpack((first + second)[:end]).space) in (len(first), end)


@pytest.mark.parametrize("content", [SPACE, appended([SPACE]), TEXT], ids=["XSpace", "records", "JSON"])
def test_any_format_may_be_compressed(content: bytes) -> None:
    plain, compressed = unpack(content).space, unpack(gzip.compress(content)).space
    assert compressed.tobytes() == plain.tobytes()
    (plane,) = columns.load(compressed).planes
    assert plane.event_metadata.names == ["step"]


def test_an_xspace_is_not_copied() -> None:
    data = np.frombuffer(SPACE, np.uint8)
    space = unpack(data).space
    assert np.shares_memory(space, data)
    assert not space.flags.writeable


def test_a_further_format_is_told_from_its_kin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another trace-event JSON, with a mark in its first bytes."""
    other = Format("other", lambda content: b'"mark"' in content[:4096].tobytes(), FORMATS[-1].read)
    monkeypatch.setattr(formats, "FORMATS", (other, *FORMATS))
    marked = json.dumps({"mark": 1, **TRACE}).encode()
    assert format_of(byte_array(marked)) is other
    assert format_of(byte_array(TEXT)).name == "trace-event JSON"
    assert unpack(gzip.compress(marked)).space.tobytes() == marked


def test_a_logdir_lists_files_of_all_suffixes() -> None:
    kinds = {suffix: host_and_kind(f"host{suffix}") for suffix in (*suffixes.PROFILES, suffixes.TRACE_JSON)}
    assert {suffix for suffix, kind in kinds.items() if kind == ("host", "xplane")} == set(suffixes.PROFILES)
    assert kinds[suffixes.TRACE_JSON] == ("host", "trace.json.gz")
