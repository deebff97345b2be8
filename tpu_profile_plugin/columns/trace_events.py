"""Trace-event JSON, as JAX saves it beside a profile, read as if it were a profile."""

from __future__ import annotations

import zlib

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.errors import CorruptProfile

GZIP = b"\x1f\x8b"
"""How a compressed file begins; no XSpace begins so."""

LARGEST = 4 << 30
"""Files that unpack to more bytes are refused."""

ROOM, RATIO = 16 << 20, 100
"""So are files that unpack to more than so many bytes plus so many times their size; traces pack 10 to 40 times."""

_STEP = 1 << 20


def space_bytes(data: bytes | memoryview) -> bytes:
    """Bytes of an XSpace with the events of a gzip file of trace-event JSON.

    Raises:
      CorruptProfile: the file is damaged, too large, or holds something else; `details["offset"]` counts in the text.
    """
    try:
        return _native.space_of_trace_events(np.frombuffer(_unpacked(data), np.uint8))
    except _native.DecodeError as error:
        message, offset = error.args
        raise CorruptProfile(message, offset=offset) from None


def _unpacked(data: bytes | memoryview) -> bytearray:
    most = min(LARGEST, ROOM + RATIO * len(data))
    # The last four bytes say how much there is: of what will be refused nothing is kept.
    claimed = int.from_bytes(bytes(data[-4:]), "little")
    if claimed > most:
        _unpack(data, most, keep=False)
    return _unpack(data, most, keep=True)


def _unpack(data: bytes | memoryview, most: int, *, keep: bool) -> bytearray:
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text, size, rest = bytearray(), 0, bytes(data)
    try:
        while rest and not unpacker.eof:
            part = unpacker.decompress(rest, _STEP)
            rest = unpacker.unconsumed_tail
            size += len(part)
            if size > most:
                raise CorruptProfile(
                    f"the compressed trace of {len(data)} bytes unpacks to more than {most >> 20} MiB", offset=most
                )
            if keep:
                text += part
    except zlib.error as error:
        raise CorruptProfile(f"the compressed trace is damaged: {error}", offset=size) from None
    if not unpacker.eof:
        raise CorruptProfile("the compressed trace is cut off", offset=size)
    return text
