"""Compresses answers with gzip; large ones in blocks on all cores."""

from __future__ import annotations

import gzip
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

from tpu_profile_plugin.system.process import available_cores
from tpu_profile_plugin.units import MIB

_LARGE = 64 * 1024
_PIECE = MIB
_WINDOW = 1 << 15
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"


def compress(plain: bytes) -> bytes:
    """The bytes as one gzip member; deterministic."""
    # On our JSON, level 1 takes a third of the time of level 6 for nine tenths of its reduction.
    if len(plain) < 2 * _PIECE:
        return gzip.compress(plain, 1 if len(plain) > _LARGE else 6, mtime=0)
    view = memoryview(plain)
    starts = range(0, len(plain), _PIECE)

    def pack(start: int) -> bytes:
        return _deflate(view, start, min(start + _PIECE, len(plain)))

    with ThreadPoolExecutor(min(available_cores(), len(starts)), "profile-gzip") as pool:
        pieces = list(pool.map(pack, starts))  # zlib releases the GIL
    tail = struct.pack("<II", zlib.crc32(plain), len(plain) & 0xFFFFFFFF)
    return b"".join((_HEAD, *pieces, tail))


def _deflate(plain: memoryview, start: int, end: int) -> bytes:
    """Deflate blocks for plain[start:end], continuing the previous block with its last 32 KiB as dictionary."""
    dictionary = plain[max(0, start - _WINDOW) : start]
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=dictionary)
    body = packer.compress(plain[start:end])
    return body + packer.flush(zlib.Z_FINISH if end == len(plain) else zlib.Z_SYNC_FLUSH)
