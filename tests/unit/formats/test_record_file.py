"""Record files: what profilers write, damaged parts, limits."""

import struct

import numpy as np
import pytest
from builders import records
from builders.records import BLOCK, RecordFile, appended, brotli, header
from builders.xspace_text import build

from tpu_profile_plugin import columns
from tpu_profile_plugin.columns import load_lazily, load_metadata, peek
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import Skipped, unpack

HOST = build(
    """
plane 1 "/host:CPU"
  line 7 "python" @1000ns
    0us +10us step {step_num=1}
"""
)
DEVICE = build(
    """
plane 2 "/device:TPU:0"
  line 1 "XLA Ops" @2000ns
    1us +5us fusion.1 {flops=123}
"""
)
LATER = build(
    """
plane 2 "/device:TPU:0"
  line 1 "XLA Ops" @9000ns
    0us +3us copy.2 {bytes=7}
    4us +2us fusion.1 {flops=124}
"""
)


def load(data):
    return columns.load(unpack(data).space)


def events(data):
    """Every event as (plane, line, begin in ns, name)."""
    return [
        (plane.name, plane.lines.name[line], int(plane.events.begin_ps[i]) // 1000, plane.event_metadata.names[row])
        for plane in load(data).planes
        for line in range(len(plane.lines.id))
        for i in range(plane.lines.event_start[line], plane.lines.event_start[line + 1])
        for row in [plane.events.metadata[i]]
    ]


WHOLE = [
    ("/host:CPU", "python", 1000, "step"),
    ("/device:TPU:0", "XLA Ops", 3000, "fusion.1"),
    ("/device:TPU:0", "XLA Ops", 9000, "copy.2"),
    ("/device:TPU:0", "XLA Ops", 13000, "fusion.1"),
]


@pytest.mark.parametrize("kind", [0, ord("b"), ord("z"), ord("s")], ids=["none", "brotli", "zstd", "snappy"])
def test_every_compression(kind):
    assert events(appended([HOST, DEVICE, LATER], kind)) == WHOLE
    one_chunk = RecordFile()
    one_chunk.records([HOST, DEVICE, LATER], kind)
    assert events(bytes(one_chunk.data)) == WHOLE


def test_every_way_to_read():
    data = appended([HOST, DEVICE, LATER])
    data = unpack(data).space
    assert [plane.name for plane in peek(data).planes] == ["/host:CPU", "/device:TPU:0"]
    assert [plane.name for plane in load_lazily(data).planes] == ["/host:CPU", "/device:TPU:0"]
    assert load_metadata(data).planes == ()
    assert load(appended([HOST])).data.tobytes() == HOST
    assert unpack(HOST)[0].tobytes() == HOST


def test_a_file_without_records_is_empty():
    assert load(bytes(RecordFile().data)).planes == ()
    assert load(appended([b""])).planes == ()


def test_chunks_across_blocks():
    """Chunks of one and a half blocks, and one that begins at each place near the end of a block."""
    for size in (BLOCK - 200, BLOCK - 80, BLOCK - 41, BLOCK - 40, BLOCK - 24, 3 * BLOCK // 2):
        file = RecordFile()
        file.records([b"\x1a" + records.varint(size) + b"w" * size], 0)
        file.records([HOST], 0)
        assert events(bytes(file.data)) == WHOLE[:1], size


def test_other_chunks_are_ignored():
    file = RecordFile()
    file.add("m", 0, 20, b"metadata of the records")
    file.records([HOST])
    file.add("x", 0, 0, b"of the future")
    assert unpack(bytes(file.data))[1] == ()
    assert events(bytes(file.data)) == WHOLE[:1]


def test_a_damaged_chunk_is_left_out_and_the_next_one_read():
    data = bytearray(appended([HOST, DEVICE, LATER]))
    data[BLOCK + 64 + 60] ^= 1
    found, skipped = unpack(bytes(data))[:2]
    assert events(found) == [WHOLE[0], *WHOLE[2:]]
    assert [(part.offset, part.reason) for part in skipped] == [(BLOCK + 64, "the data do not match their hash")]
    assert 40 < skipped[0].bytes < 200


def test_behind_a_damaged_header_reading_goes_on_at_the_next_block():
    data = bytearray(appended([HOST, DEVICE, LATER]))
    data[BLOCK + 64 + 3] ^= 1
    found, skipped = unpack(bytes(data))[:2]
    assert events(found) == [WHOLE[0], *WHOLE[2:]]
    wanted = Skipped(BLOCK + 64, BLOCK - 64, "a chunk header does not match its hash")
    assert skipped == (wanted,)


def test_a_damaged_begin_of_the_file():
    data = bytes(64) + appended([HOST, DEVICE])[64:]
    assert events(data) == [WHOLE[1]]
    assert [(part.offset, part.bytes) for part in unpack(data)[1]] == [(0, BLOCK)]


def test_a_file_that_ends_early():
    whole = appended([HOST, DEVICE])
    for size in (BLOCK + 30, BLOCK + 64 + 20, BLOCK + 64 + 60):
        found, skipped = unpack(whole[:size])[:2]
        assert events(found) == WHOLE[:1]
        assert [part.reason for part in skipped] == ["the file ends inside a chunk"]
        assert skipped[0].offset + skipped[0].bytes == size


def test_every_byte_may_be_damaged():
    file = RecordFile()
    file.records([HOST], 0)
    begin = len(file.data)
    file.records([DEVICE], ord("z"))
    file.records([LATER])
    for at in range(begin, len(file.data)):
        data = bytearray(file.data)
        data[at] ^= 0x55
        found, [part] = unpack(bytes(data))[:2]
        assert part.offset <= at < part.offset + part.bytes
        assert events(found)[:1] == WHOLE[:1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"q\x01\x01\x05", "compression type 0x71 is not supported (none, brotli, zstd and snappy are)"),
        (b"b\x02\x05\x06" + b"\x05\x06", "the Brotli data do not decompress"),
        (b"\x00\x01\x07" + HOST, "the sizes of its records do not add up"),
        (
            b"\x00" + records.varint(len(records.varint(len(HOST) - 4))) + records.varint(len(HOST) - 4) + HOST[:-4],
            "a record is not an XSpace: length past the end of XSpace",
        ),
    ],
    ids=["compression", "brotli", "sizes", "record"],
)
def test_chunks_that_cannot_be_read(data, reason):
    file = RecordFile()
    size = len(HOST) - 4 if reason.startswith("a record") else len(HOST)
    file.add("r", 1, size, data)
    with pytest.raises(CorruptProfile) as error:
        load(bytes(file.data))
    assert reason in error.value.message
    assert error.value.details["offset"] == 64
    file.records([HOST])
    assert events(bytes(file.data)) == WHOLE[:1]


def test_transposed_chunks_are_named():
    file = RecordFile()
    file.records([HOST])
    file.add("t", 1, 10, b"\x00\x00")
    [part] = unpack(bytes(file.data))[1]
    assert part.reason == 'transposed chunks are not supported (write the file without "transpose")'


def test_decompression_is_bounded():
    """A meta-block of Brotli that repeats one byte is ten thousand times larger than its stream."""
    bomb = brotli(b"a" * 100)
    file = RecordFile()
    file.records([HOST])
    claimed = 1 << 40
    for body in (bomb, b"\x00"):
        sizes = records.packed(ord("b"), records.varint(claimed))
        file.add("r", 1, claimed, b"b" + records.varint(len(sizes)) + sizes + records.varint(claimed) + body)
    found, skipped = unpack(bytes(file.data))[:2]
    assert found.tobytes() == HOST
    assert {part.reason for part in skipped} == {"the file decompresses to more than 16 MiB"}


def test_sizes_beyond_the_file_are_not_allocated():
    file = RecordFile()
    file.records([HOST])
    for size in (1 << 33, 1 << 62, (1 << 64) - 1):
        data = bytes(file.data) + header("r", 1, size, b"", size)
        found, skipped = unpack(data)[:2]
        assert found.tobytes() == HOST
        assert [(part.offset, part.bytes) for part in skipped] == [(len(file.data), 40)]


def test_hostile_block_headers():
    """Distances to before the file and behind it lead nowhere."""
    for previous, following in ((1 << 63, 1), (0, 1 << 63), ((1 << 64) - 1, (1 << 64) - 1), (BLOCK * 9, 40)):
        data = bytearray(appended([HOST, DEVICE, LATER]))
        body = struct.pack("<QQ", previous, following)
        data[BLOCK : BLOCK + 24] = struct.pack("<Q", records.digest(body)) + body
        data[64] ^= 1  # the first chunk's header
        assert events(bytes(data))[-2:] == WHOLE[2:]


def test_many_damaged_parts_are_counted():
    data = np.frombuffer(appended([HOST] * 70), np.uint8).copy()
    data[BLOCK + 64 + 60 :: BLOCK] ^= 1
    skipped = unpack(data.tobytes())[1]
    assert len(skipped) == 64
    assert skipped[-1].bytes > 3 * skipped[0].bytes
