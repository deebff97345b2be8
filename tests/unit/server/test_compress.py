"""Answers of any size come back from their gzip form as they were, whoever unpacks them."""

import gzip
import random
import zlib

import pytest

from tpu_profile_plugin.server.compress import compress

MB = 1 << 20


def text(size: int) -> bytes:
    rnd = random.Random(size)
    line = b",".join(
        b'{"name":"fusion.%d","selfTime":%d}' % (rnd.randrange(99), rnd.randrange(10**9)) for _ in range(999)
    )
    return (line * (size // len(line) + 1))[:size]


@pytest.mark.parametrize("size", [0, 1, 70_000, 2 * MB - 1, 2 * MB, 3 * MB, 3 * MB + 5])
def test_there_and_back(size):
    plain = text(size)
    packed = compress(plain)
    assert gzip.decompress(packed) == plain
    assert compress(plain) == packed


def test_one_member_that_a_browser_reads_to_its_end():
    packed = compress(text(4 * MB))
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert len(reader.decompress(packed)) == 4 * MB
    assert reader.eof
    assert reader.unused_data == b""


def test_pieces_know_what_was_before_them():
    unique = random.Random(1).randbytes(20_000)
    plain = unique * (3 * MB // len(unique))
    assert len(compress(plain)) < 2 * len(gzip.compress(plain, 1))
