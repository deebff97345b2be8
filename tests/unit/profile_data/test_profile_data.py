"""`ProfileData` gives what JAX 0.10.2 gives for the same bytes (the literals), and exact times beside it."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.xspace_text import build

import tpu_profile_plugin as tp
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NotAvailable, NotFound, OutOfRange
from tpu_profile_plugin.profile_data import ProfileLine

SMALL = """
plane 3 /device:TPU:0 {peak=0.5, unit=&"GB"}
line 7 "XLA Ops" @1700000000000001ns "shown"
999 +1999 fusion {flops=5, program=u18446744073709551615, name="über", ratio=1.5, where=&"hbm", raw=0x616263}
1700 +300 copy
metadata fusion {of_metadata=1}
line 8 Steps
x7 +12345 fusion
plane /host:CPU
"""
BIG = 2**53


def times(text: str) -> list[tuple[float, float, float]]:
    """Begin, duration and end of all events, as objects and as columns."""
    found = []
    for plane in tp.ProfileData.from_text_proto(text).planes:
        for line in plane.lines:
            events = [(event.start_ns, event.duration_ns, event.end_ns) for event in line.events]
            columns = (line.columns.start_ns, line.columns.duration_ns, line.columns.end_ns)
            assert events == list(zip(*(column.tolist() for column in columns), strict=True))
            found += events
    return found


def lines(text: str) -> list[ProfileLine]:
    return [line for plane in tp.ProfileData(build(text)).planes for line in plane.lines]


def test_planes_lines_events_and_stats_as_jax_gives_them() -> None:
    data = tp.ProfileData.from_serialized_xspace(build(SMALL))
    device, host = data.planes
    assert (device.name, device.id, host.name) == ("/device:TPU:0", 3, "/host:CPU")
    assert list(device.stats) == [("peak", 0.5), ("unit", "GB")]
    assert repr(device) == "<ProfilePlane '/device:TPU:0'>"
    assert list(host.lines) == []
    ops, steps = device.lines
    assert (ops.name, ops.id, len(ops), steps.name) == ("XLA Ops", 7, 2, "Steps")
    fusion, copy = ops.events
    assert (fusion.name, copy.name) == ("fusion", "copy")
    assert (fusion.start_ns, fusion.duration_ns, fusion.end_ns) == (1700000000000001.0, 1.0, 1700000000000002.0)
    assert list(fusion.stats) == [
        ("flops", 5),
        ("program", 2**64 - 1),
        ("name", "über"),
        ("ratio", 1.5),
        ("where", "hbm"),
        ("raw", "abc"),
    ]
    assert list(copy.stats) == []
    (sums,) = steps.events
    assert (sums.start_ns, sums.duration_ns, list(sums.stats)) == (0.0, 12.0, [])
    found = data.find_plane_with_name("/host:CPU")
    assert found is not None
    assert found.name == "/host:CPU"
    assert data.find_plane_with_name("other") is None


def test_picoseconds_are_exact() -> None:
    (ops, _) = lines(SMALL)
    fusion, copy = ops.events
    begin = 1700000000000001 * 1000 + 999
    assert (fusion.start_ps, fusion.duration_ps, fusion.end_ps) == (begin, 1999, begin + 1999)
    assert (copy.start_ps, copy.row) == (begin + 701, 1)
    assert ops.columns.start_ps.tolist() == [begin, begin + 701]
    assert ops.columns.duration_ps.tolist() == [1999, 300]
    assert ops.columns.offset_ps.tolist() == [999, 1700]
    assert ops.columns.name.tolist() == ["fusion", "copy"]
    assert repr(copy) == f"<ProfileEvent 'copy', start_ps={begin + 701}, duration_ps=300>"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # Truncated towards zero.
        ("timestamp_ns: -7 events { offset_ps: -1 duration_ps: -1999 }", (-7.0, -1.0, -8.0)),
        ("events { offset_ps: -1000 duration_ps: -999 }", (-1.0, 0.0, -1.0)),
        # The begin is a sum of integers, the end one of doubles.
        (f"timestamp_ns: {BIG + 1} events {{ offset_ps: 1000 duration_ps: 1000 }}", (BIG + 2.0, 1.0, BIG + 4.0)),
        (f"timestamp_ns: {BIG + 1} events {{ offset_ps: 2000 duration_ps: 3000 }}", (BIG + 4.0, 3.0, BIG + 8.0)),
        (f"timestamp_ns: {BIG + 1} events {{ duration_ps: 2000 }}", (float(BIG), 2.0, BIG + 2.0)),
        # Steps of 256 ns since 1970.
        ("timestamp_ns: 1700000000000000001 events { offset_ps: 999 duration_ps: 1999 }", (1.7e18, 1.0, 1.7e18)),
        # Sums that do not fit 64 bits wrap around.
        (
            f"timestamp_ns: {2**63 - 1} events {{ offset_ps: {2**63 - 1} duration_ps: {2**63 - 1} }}",
            (-9.214148664817921e18, 9223372036854776.0, -9.204925292781066e18),
        ),
        (
            f"timestamp_ns: {-(2**63)} events {{ offset_ps: {-(2**63)} duration_ps: {-(2**63)} }}",
            (9.214148664817921e18, -9223372036854776.0, 9.204925292781066e18),
        ),
        # Events that count occurrences have no offset.
        ("timestamp_ns: 5 events { num_occurrences: 2 duration_ps: 1500 }", (5.0, 1.0, 6.0)),
    ],
)
def test_nanoseconds_equal_those_of_jax_bit_for_bit(line: str, expected: tuple[float, float, float]) -> None:
    assert times(f"planes {{ lines {{ {line} }} }}") == [expected]
    other = "lines { timestamp_ns: 3 events { offset_ps: 1000 } }"  # where times count from differs with far lines
    assert times(f"planes {{ {other} lines {{ {line} }} }}") == [(4.0, 0.0, 4.0), expected]


def test_times_that_do_not_fit_are_exact_only_as_objects() -> None:
    far = "planes { lines { timestamp_ns: 9223372036854775807 events { offset_ps: 1000 duration_ps: 1 } } }"
    (line,) = next(tp.ProfileData.from_text_proto(far).planes).lines
    (event,) = line.events
    assert event.start_ps == (2**63 - 1) * 1000 + 1000
    assert line.columns.offset_ps.tolist() == [1000]
    with pytest.raises(OutOfRange, match="offset_ps"):
        line.columns.start_ps  # noqa: B018
    wraps = "planes { lines { timestamp_ns: 9223372036854775 events { offset_ps: 9223372036854775807 } } }"
    (line,) = next(tp.ProfileData.from_text_proto(wraps).planes).lines
    assert next(line.events).start_ps == 9223372036854775 * 1000 + 2**63 - 1
    with pytest.raises(OutOfRange):
        line.columns.start_ps  # noqa: B018


def test_what_is_missing_reads_as_in_jax() -> None:
    data = tp.ProfileData.from_text_proto(
        r"""
        planes { lines { display_name: "d" events { metadata_id: 2 } events { metadata_id: 5 } events { }
            events { metadata_id: 1
                stats { metadata_id: 1 ref_value: 3 } stats { metadata_id: 1 ref_value: 7 }
                stats { metadata_id: 2 int64_value: 4 }
                stats { metadata_id: 0 int64_value: 8 } stats { metadata_id: 7 str_value: "x" } stats { metadata_id: 1 }
                stats { metadata_id: 1 double_value: nan } stats { metadata_id: 1 bytes_value: "\377" } } }
          event_metadata { key: 1 value { id: 9 name: "first" } } event_metadata { key: 1 value { name: "again" } }
          event_metadata { key: 2 value { display_name: "shown" } }
          stat_metadata { key: 1 value { name: "one" } } stat_metadata { key: 2 value { } }
          stat_metadata { key: 3 value { id: 8 name: "three" } }
          stats { metadata_id: 6 int64_value: 1 } stats { metadata_id: 1 str_value: "" } }
        planes { name: "twice" id: 1 } planes { name: "twice" id: 2 }"""
    )
    plane = next(data.planes)
    assert (plane.name, list(plane.stats)) == ("", [(None, None), ("one", "")])
    (line,) = plane.lines
    assert line.name == ""
    assert [event.name for event in line.events] == ["", "", "", "again"]
    stats = list(list(line.events)[3].stats)
    assert stats[:6] == [("one", "three"), ("one", ""), ("", 4), (None, None), (None, None), (None, None)]
    assert math.isnan(number(stats[6][1]))
    assert stats[7] == ("one", b"\xff")  # JAX raises UnicodeDecodeError here
    twice = data.find_plane_with_name("twice")
    assert twice is not None
    assert twice.id == 1


def number(value: Any) -> float:
    return float(value)


def test_a_line_longer_than_a_block_keeps_names_stats_and_rows() -> None:
    count = 9000
    rows = "\n".join(f"{i * 1000} +1 {'odd' if i % 2 else 'even'} {{i={i}}}" for i in range(count))
    (_, line) = lines(f"plane p\nline other\n0 +1 x {{i=-1}}\nline l @1ns\n{rows}")
    events = list(line.events)
    assert [event.start_ns for event in events] == [1.0 + i for i in range(count)]
    assert {event.name for event in events[1::2]} == {"odd"}
    assert [value for event in events for _, value in event.stats] == list(range(count))
    assert list(events[700].stats) == [("i", 700)]
    assert [event.row for event in events[:2]] == [1, 2]


def test_profiles_come_from_files_bytes_and_texts(tmp_path: Path) -> None:
    raw = build(SMALL)
    (tmp_path / "h.xplane.pb").write_bytes(raw)
    (tmp_path / "h.xplane.pb.gz").write_bytes(gzip.compress(raw))
    sources = [
        tp.ProfileData.from_file(tmp_path / "h.xplane.pb"),
        tp.ProfileData.from_file(str(tmp_path / "h.xplane.pb.gz")),
        tp.ProfileData(bytearray(raw)),
        tp.ProfileData.from_serialized_xspace(np.frombuffer(raw, np.uint8)),
    ]
    assert [bytes(source.serialized) for source in sources] == [raw] * 4
    text = 'planes { name: "x" }'
    assert tp.ProfileData.text_proto_to_serialized_xspace(text) == b"\n\x03\x12\x01x"
    assert repr(tp.ProfileData.from_text_proto(text)) == "<ProfileData: x>"
    assert list(tp.ProfileData(b"").planes) == []


def test_what_is_no_profile_is_refused_by_our_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.xplane.pb").write_bytes(b"\xff" * 9)
    with pytest.raises(NotFound, match=r"no file gone\.pb"):
        tp.ProfileData.from_file(tmp_path / "gone.pb")
    with pytest.raises(CorruptProfile) as corrupt:
        tp.ProfileData.from_file(tmp_path / "bad.xplane.pb")
    assert corrupt.value.details["file"] == "bad.xplane.pb"
    with pytest.raises(BadRequest, match="as bytes, not as str"):
        tp.ProfileData("h.xplane.pb")  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="text form"):
        tp.ProfileData.from_text_proto("planez {")
    with pytest.raises(NotAvailable, match="from_serialized_xspace"):
        tp.ProfileData.from_raw_cpp_ptr(object())
    broken = build(SMALL).replace(b"\x18\xcf\x0f", b"\x18\xcf\xff")  # the duration does not end
    plane = next(tp.ProfileData(broken).planes)
    with pytest.raises(CorruptProfile):
        plane.lines  # noqa: B018
