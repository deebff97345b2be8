"""Columns become the messages that protobuf itself would write."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies

from tpu_profile_plugin.protos import message, tag
from tpu_profile_plugin.tools.fleet.megascale_stats.messages import Packed, Rows, varint, varint_sizes

NUMBERS = strategies.integers(0, 2**64 - 1) | strategies.integers(0, 300)
ROWS = strategies.lists(
    strategies.tuples(NUMBERS, strategies.lists(NUMBERS, max_size=3), strategies.text(max_size=200)), max_size=8
)


def values(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.uint64)


@given(ROWS)
def test_rows_are_read_back(rows: list[tuple[int, list[int], str]]) -> None:
    flows = [(row, flow) for row, (_, numbers, _) in enumerate(rows) for flow in numbers]
    at = np.array([row for row, _ in flows], np.int64)
    event = Rows(len(rows))
    event.varint(tag("perfetto.protos.TrackEvent", "track_uuid"), values([number for number, _, _ in rows]))
    event.fixed64(tag("perfetto.protos.TrackEvent", "flow_ids"), values([flow for _, flow in flows]), at)
    notes = Rows(len(flows))
    notes.varint(tag("perfetto.protos.DebugAnnotation", "uint_value"), values([flow for _, flow in flows]))
    event.bytes(tag("perfetto.protos.TrackEvent", "debug_annotations"), notes.packed(), at)
    named = Rows(len(rows))
    texts = Packed.of([text.encode() for _, _, text in rows])
    named.bytes(tag("perfetto.protos.TrackDescriptor", "name"), texts)
    packet = Rows(len(rows))
    packet.bytes(tag("perfetto.protos.TracePacket", "track_event"), event.packed())
    packet.bytes(tag("perfetto.protos.TracePacket", "track_descriptor"), named.packed())
    file = Rows(len(rows))
    file.bytes(tag("perfetto.protos.Trace", "packet"), packet.packed())
    read = message("perfetto.protos.Trace").FromString(file.packed().data.tobytes())
    assert [
        (
            one.track_event.track_uuid,
            list(one.track_event.flow_ids),
            [note.uint_value for note in one.track_event.debug_annotations],
            one.track_descriptor.name,
        )
        for one in read.packet
    ] == [(number, numbers, numbers, text) for number, numbers, text in rows]


def test_rows_without_a_field_stay_empty() -> None:
    rows = Rows(3)
    rows.varint(8, np.array([5, 300]), np.array([0, 2]))
    packed = rows.packed()
    assert (packed.size.tolist(), packed.data.tolist()) == ([2, 0, 3], [8, 5, 8, 0xAC, 2])


def test_negative_numbers_have_ten_bytes() -> None:
    rows = Rows(1)
    rows.varint(8, np.array([-1]))
    assert rows.packed().data.tobytes() == b"\x08" + b"\xff" * 9 + b"\x01"


@given(NUMBERS)
def test_sizes_are_those_of_the_bytes(number: int) -> None:
    assert varint_sizes(values([number])).tolist() == [len(varint(number))]
