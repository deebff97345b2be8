"""Decompresses gzip files of any format, within limits."""

from __future__ import annotations

import zlib

from tpu_profile_plugin.columns.arrays import U8, byte_array
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.units import MIB

MAX_BYTES = 4 << 30
"""Files that decompress to more bytes are rejected."""

BASE_BYTES, MAX_RATIO = 16 << 20, 100
"""Files that decompress to over BASE_BYTES + MAX_RATIO * their size are rejected; traces compress 10 to 40 times."""

_MAGIC = b"\x1f\x8b"
"""The first bytes of a gzip file; no profile begins with them."""

_CHUNK = MIB


def is_gzip(data: U8) -> bool:
    """Whether the bytes are a gzip file."""
    return data[:2].tobytes() == _MAGIC


def decompressed(data: U8) -> U8:
    """The content of a gzip file.

    Raises:
      CorruptProfile: the file is damaged, empty or too large; `details["offset"]` counts decompressed bytes.
    """
    limit = min(MAX_BYTES, BASE_BYTES + MAX_RATIO * len(data))
    # The last four bytes hold the decompressed size: a file that will be rejected is not kept in memory.
    claimed = int.from_bytes(data[-4:].tobytes(), "little")
    if claimed > limit:
        _inflate(data, limit, keep=False)
    content = _inflate(data, limit, keep=True)
    if not content:
        raise CorruptProfile("the compressed file is empty", offset=0)
    return byte_array(content)


def _inflate(data: U8, limit: int, *, keep: bool) -> bytearray:
    decompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text, size, rest = bytearray(), 0, data.tobytes()
    try:
        while rest and not decompressor.eof:
            chunk = decompressor.decompress(rest, _CHUNK)
            rest = decompressor.unconsumed_tail
            size += len(chunk)
            if size > limit:
                raise CorruptProfile(
                    f"the compressed file of {len(data)} bytes decompresses to more than {limit >> 20} MiB",
                    offset=limit,
                )
            if keep:
                text += chunk
    except zlib.error as error:
        raise CorruptProfile(f"the compressed file is damaged: {error}", offset=size) from None
    if not decompressor.eof:
        raise CorruptProfile("the compressed file is truncated", offset=size)
    return text
