"""Decompresses gzip and Zstandard files of any format, piece by piece and within limits."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterable, Iterator

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8, byte_array
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.units import MIB

MAX_BYTES = 4 << 30
"""Files that decompress to more bytes are rejected."""

BASE_BYTES, MAX_RATIO = 16 << 20, 100
"""Files that decompress to over BASE_BYTES + MAX_RATIO * their size are rejected; traces compress 10 to 40 times."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed files; no profile begins with them."""

_PIECE, _READ = MIB, MIB // 16
_BLANK = 256
"""A text begins after fewer blanks than this."""


def is_compressed(data: U8) -> bool:
    """Whether the bytes are a gzip or Zstandard file."""
    return data[:4].tobytes().startswith((_GZIP, _ZSTD))


def pieces(data: U8) -> Iterator[U8]:
    """The content of a compressed file in pieces of about 1 MiB.

    Raises:
      CorruptProfile: the file is damaged, empty or too large; `details["offset"]` counts decompressed bytes.
    """
    limit = min(MAX_BYTES, BASE_BYTES + MAX_RATIO * len(data))
    # The last four bytes of gzip hold the decompressed size: a file that will be rejected is not kept in memory.
    if data[:2].tobytes() == _GZIP and int.from_bytes(data[-4:].tobytes(), "little") > limit:
        for _ in _bounded(data, limit):
            pass
    yield from _bounded(data, limit)


def _bounded(data: U8, limit: int) -> Iterator[U8]:
    size = 0
    for piece in _members(data):
        size += len(piece)
        if size > limit:
            raise CorruptProfile(
                f"the compressed file of {len(data)} bytes decompresses to more than {limit >> 20} MiB",
                offset=limit,
            )
        yield piece
    if not size:
        raise CorruptProfile("the compressed file is empty", offset=0)


def _members(data: U8) -> Iterator[U8]:
    """The content of gzip files one after the other, then perhaps one Zstandard file or plain texts."""
    at = 0
    while at < len(data):
        head = data[at : at + 4].tobytes()
        if head.startswith(_GZIP):
            at += yield from _inflated(data[at:])
            continue
        if head.startswith(_ZSTD):
            yield from _unpacked(data[at:])
        elif data[at : at + _BLANK].tobytes().lstrip().startswith(b"{"):
            yield from (data[begin : begin + _PIECE] for begin in range(at, len(data), _PIECE))
        return


def _inflated(data: U8) -> Generator[U8, None, int]:
    """The content of the gzip file that begins here; its length is returned."""
    decompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    size, at, rest = 0, 0, b""
    try:
        while not decompressor.eof and (rest or at < len(data)):
            if not rest:
                rest = data[at : at + _READ].tobytes()
                at += len(rest)
            piece = decompressor.decompress(rest, _PIECE)
            rest = decompressor.unconsumed_tail
            size += len(piece)
            yield byte_array(piece)
    except zlib.error as error:
        raise CorruptProfile(f"the compressed file is damaged: {error}", offset=size) from None
    if not decompressor.eof:
        raise CorruptProfile("the compressed file is truncated", offset=size)
    return at - len(decompressor.unused_data)


def _unpacked(data: U8) -> Iterator[U8]:
    size = 0
    try:
        reader = _native.ZstdReader(data)
        while len(piece := reader.read(_PIECE)):
            size += len(piece)
            yield piece
    except _native.DecodeError as error:
        raise CorruptProfile(f"the compressed file is damaged: {error.args[0]}", offset=size) from None


def joined(parts: Iterable[U8]) -> U8:
    """All pieces as one array, read-only."""
    content = bytearray()
    for part in parts:
        content += part.data
    return byte_array(content)
