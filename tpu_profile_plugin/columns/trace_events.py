"""Trace-event JSON, as JAX saves it beside a profile, read as if it were a profile."""

from __future__ import annotations

import zlib

from tpu_profile_plugin import _native
from tpu_profile_plugin.errors import CorruptProfile

GZIP = b"\x1f\x8b"
"""How a compressed file begins; no XSpace begins so."""

LARGEST = 4 << 30
"""Files that unpack to more bytes are refused."""

_STEP = 1 << 20


def space_bytes(data: bytes | memoryview) -> bytes:
    """Bytes of an XSpace with the events of a gzip file of trace-event JSON.

    Raises:
      CorruptProfile: the file is damaged, too large, or holds something else; `details["offset"]` counts in the text.
    """
    try:
        return _native.space_of_trace_events(_unpacked(data))
    except _native.DecodeError as error:
        message, offset = error.args
        raise CorruptProfile(message, offset=offset) from None


def _unpacked(data: bytes | memoryview) -> bytes:
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    parts, size, rest = [], 0, bytes(data)
    try:
        while rest and not unpacker.eof:
            part = unpacker.decompress(rest, _STEP)
            rest = unpacker.unconsumed_tail
            size += len(part)
            if size > LARGEST:
                raise CorruptProfile(f"the compressed trace unpacks to more than {LARGEST >> 30} GiB", offset=0)
            parts.append(part)
    except zlib.error as error:
        raise CorruptProfile(f"the compressed trace is damaged: {error}", offset=size) from None
    if not unpacker.eof:
        raise CorruptProfile("the compressed trace is cut off", offset=size)
    return b"".join(parts)
