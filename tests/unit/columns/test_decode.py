"""Decoded columns compared with google.protobuf."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import xspace_text
from builders.checks import slow_decoder
from builders.fuzzing.random_spaces import shuffled, spaces
from builders.messages import XSpace
from builders.rings import many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tpu_profile_plugin import columns
from tpu_profile_plugin.errors import CorruptProfile

_SETTINGS = settings(
    max_examples=many(37, 150), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def expected(data: bytes) -> dict[str, Any]:
    return slow_decoder.with_missing(slow_decoder.decode(data))


@_SETTINGS
@given(spaces(), st.integers(0, 4))
def test_random_spaces_written_by_protobuf(space: Any, threads: int) -> None:
    data = space.SerializeToString()
    assert slow_decoder.plain(columns.load(data, threads=threads)) == expected(data)


@settings(_SETTINGS, max_examples=many(15, 60))
@given(st.data())
def test_fields_in_any_order_with_unknown_fields(draw: st.DataObject) -> None:
    data = draw.draw(shuffled(draw.draw(spaces()).SerializeToString()))
    assert slow_decoder.plain(columns.load(data)) == expected(data)


def test_real_profiles(real_profiles: list[Path]) -> None:
    for path in real_profiles:
        data = path.read_bytes()
        assert slow_decoder.plain(columns.load(data, threads=2)) == expected(data), path.name


def test_one_line_of_many_chunks_does_not_depend_on_threads() -> None:
    space = XSpace()
    plane = space.planes.add(name="p")
    line = plane.lines.add(timestamp_ns=3)
    for i in range(150_000):
        event = line.events.add(metadata_id=i % 7, offset_ps=i, duration_ps=i % 3)
        if i % 5 == 0:
            event.stats.add(metadata_id=i % 2, int64_value=-i)
    data = space.SerializeToString()
    first = columns.load(data, threads=1).planes[0]
    assert first.events.begin_ps.tolist() == [3000 + i for i in range(150_000)]
    assert first.event_metadata.id[first.events.metadata].tolist() == [i % 7 for i in range(150_000)]
    assert first.events.stats.value.view(np.int64).tolist() == [-i for i in range(0, 150_000, 5)]
    other = columns.load(data, threads=3).planes[0]
    for name in ("metadata", "begin_ps", "duration_ps"):
        assert np.array_equal(getattr(first.events, name), getattr(other.events, name))
    for name in ("start", "key", "kind", "value"):
        assert np.array_equal(getattr(first.events.stats, name), getattr(other.events.stats, name))


def test_timestamps_whose_picoseconds_overflow_count_from_the_origin() -> None:
    epoch = 1_700_000_000_000_000_000
    text = f"plane p\nline a @{epoch + 5}ns\n 7 +1 e\nline b @{epoch}ns\n 8 +1 e\nline c @2ns\n 9 +1 e"
    space = columns.load(xspace_text.build(text))
    assert space.origin_ns == epoch
    assert space.planes[0].events.begin_ps.tolist() == [5007, 8, 2009]


def test_a_file_of_more_than_four_gigabytes(tmp_path: Path) -> None:
    """A sparse file: an unknown field with a hole as its value, then a plane."""
    plane = xspace_text.build('plane 3 "far away"\nline l @1ns\n 2 +3 event {key="text"}')
    hole = 2**32 + 12_345
    path = tmp_path / "big.xplane.pb"
    with path.open("wb") as file:
        length, rest = b"", hole
        while rest >= 0x80:
            length, rest = length + bytes([rest & 0x7F | 0x80]), rest >> 7
        file.write(b"\xfa\x07" + length + bytes([rest]))
        file.seek(hole, 1)
        file.write(plane)
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    space = columns.load(data)
    found = space.planes[0]
    assert (found.name, found.event_metadata.names, found.events.begin_ps.tolist()) == ("far away", ["event"], [1002])
    assert space.blob(int(found.events.stats.value[0])) == b"text"
    assert int(found.events.stats.value[0]) > 2**32
    with pytest.raises(CorruptProfile) as error:
        columns.load(np.frombuffer(data, np.uint8)[:-1])
    assert error.value.details["offset"] > 2**32


def test_planes_selected_by_prefix_or_predicate_keep_their_index() -> None:
    data = xspace_text.build("plane a\nline x\n 1 +1 e\nplane b\nplane ab\nline y\n 2 +1 e")
    assert [(p.name, p.index) for p in columns.load(data, planes=["a"]).planes] == [("a", 0), ("ab", 2)]
    assert [p.name for p in columns.load(data, planes=lambda name: "b" in name).planes] == ["b", "ab"]
    assert columns.load(data, planes=[]).planes == ()
    assert [len(p.lines) for p in columns.load(data, events=False).planes] == [0, 0, 0]


def test_arrays_are_read_only_and_counted() -> None:
    space = columns.load(xspace_text.build("plane a {x=1}\nline x\n 1 +1 e {y=2}"))
    plane = space.planes[0]
    for array in (space.data, plane.events.begin_ps, plane.events.stats.value, plane.stats.key, plane.lines.id):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert 100 < space.nbytes < 1000


@pytest.mark.parametrize("convert", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)])
def test_every_bytes_type(convert: Any) -> None:
    space = columns.load(convert(xspace_text.build('host "h"\nplane a')))
    assert (space.hostnames, space.planes[0].name) == (("h",), "a")


def test_empty_bytes_are_an_empty_space() -> None:
    assert columns.load(b"").planes == ()
    assert columns.peek(b"").planes == ()


def test_names_that_are_not_utf8_are_replaced() -> None:
    data = xspace_text.build("plane XYZ").replace(b"XYZ", b"X\xff\xe2")
    assert columns.load(data).planes[0].name == b"X\xff\xe2".decode(errors="replace")
