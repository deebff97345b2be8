"""Undoes what is around a format, piece by piece and within limits: gzip, Zstandard, text in UTF-16."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Generator, Iterable, Iterator
from itertools import chain

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
    return data[:4].tobytes().startswith((_GZIP, _ZSTD))


class Damaged(CorruptProfile):
    """A compressed file ends early or is damaged, behind what was decompressed."""


class Pieces(Iterator[U8]):
    """The content of a compressed file in pieces of about 1 MiB, as far as it can be read.

    Raises CorruptProfile if the file is too large; `details["offset"]` of errors counts decompressed bytes.

    Attributes:
      damage: why the content ends early; None if it does not, or not yet.
    """

    def __init__(self, data: U8) -> None:
        self._data = data
        self._limit = min(MAX_BYTES, BASE_BYTES + MAX_RATIO * len(data))
        self.damage: CorruptProfile | None = None
        # The last four bytes of gzip hold the decompressed size: a file that will be rejected is not kept in memory.
        if data[:2].tobytes() == _GZIP and int.from_bytes(data[-4:].tobytes(), "little") > self._limit:
            for _ in self._pieces():
                pass
            self.damage = None
        self._rest = self._pieces()

    def __next__(self) -> U8:
        return next(self._rest)

    def _pieces(self) -> Iterator[U8]:
        size = 0
        try:
            for piece in _members(self._data):
                size += len(piece)
                if size > self._limit:
                    raise CorruptProfile(
                        f"the compressed file of {len(self._data)} bytes decompresses to more than "
                        f"{self._limit >> 20} MiB",
                        offset=self._limit,
                    )
                yield piece
        except Damaged as damage:
            self.damage = damage
        if not size and self.damage is None:
            self.damage = CorruptProfile("the compressed file is empty", offset=0)


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
        elif data[at : at + _BLANK].tobytes().lstrip().startswith((b"{", b"[")):
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
        raise Damaged(f"the compressed file is damaged: {error}", offset=size) from None
    if not decompressor.eof:
        raise Damaged("the compressed file is truncated", offset=size)
    return at - len(decompressor.unused_data)


def _unpacked(data: U8) -> Iterator[U8]:
    size = 0
    try:
        reader = _native.ZstdReader(data)
        while len(piece := reader.read(_PIECE)):
            size += len(piece)
            yield piece
    except _native.DecodeError as error:
        raise Damaged(f"the compressed file is damaged: {error.args[0]}", offset=size) from None


def joined(parts: Iterable[U8]) -> U8:
    """All pieces as one array, read-only."""
    content = bytearray()
    for part in parts:
        content += part.data
    return byte_array(content)


_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_utf16(content: U8) -> bool:
    """Whether the content begins with the byte order mark of UTF-16; no profile of another format does."""
    return content[:2].tobytes() in _MARKS


def as_utf8(pieces: Iterable[U8]) -> Iterator[U8]:
    """The pieces of a content, in UTF-8 if they are text in UTF-16; what is none is replaced."""
    rest = iter(pieces)
    first = next(rest, None)
    if first is None:
        return
    if not is_utf16(first):
        yield from chain([first], rest)
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for piece in chain([first], rest):
        if text := decoder.decode(piece.tobytes()):
            yield byte_array(text.encode("utf-8", "replace"))
    if text := decoder.decode(b"", final=True):
        yield byte_array(text.encode())
