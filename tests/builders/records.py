"""Riegeli record files for tests, written chunk by chunk: any size, hash or byte may be wrong."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache

from builders.damage.wire import varint

BLOCK, BLOCK_HEADER, CHUNK_HEADER = 1 << 16, 24, 40
_KEY = (0x2F696C6567656952, 0x0A7364726F636572) * 2
_INIT0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
_INIT1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)
_MASK = (1 << 64) - 1


def _rotate32(value: int) -> int:
    return (value >> 32 | value << 32) & _MASK


class _Highway:
    """HighwayHash with 64 bits, as published; slow."""

    def __init__(self) -> None:
        self.mul0, self.mul1 = list(_INIT0), list(_INIT1)
        self.v0 = [a ^ key for a, key in zip(_INIT0, _KEY, strict=True)]
        self.v1 = [a ^ _rotate32(key) for a, key in zip(_INIT1, _KEY, strict=True)]

    def update(self, lanes: Sequence[int]) -> None:
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i in range(4):
            v1[i] = (v1[i] + mul0[i] + lanes[i]) & _MASK
            mul0[i] ^= (v1[i] & 0xFFFFFFFF) * (v0[i] >> 32) & _MASK
            v0[i] = (v0[i] + mul1[i]) & _MASK
            mul1[i] ^= (v0[i] & 0xFFFFFFFF) * (v1[i] >> 32) & _MASK
        for values, to in ((v1, v0), (v0, v1)):
            for low in (0, 2):
                a, b = _zipper(values[low + 1], values[low])
                to[low] = (to[low] + a) & _MASK
                to[low + 1] = (to[low + 1] + b) & _MASK

    def rest(self, data: bytes) -> None:
        """The last bytes, fewer than 32."""
        size, tail = len(data), len(data) & 3
        self.v0 = [(value + (size << 32) + size) & _MASK for value in self.v0]
        turned = []
        for value in self.v1:
            low, high = value & 0xFFFFFFFF, value >> 32
            halves = [(half << size | half >> (32 - size)) & 0xFFFFFFFF if size else half for half in (low, high)]
            turned.append(halves[0] | halves[1] << 32)
        self.v1 = turned
        packet = bytearray(32)
        packet[: size & ~3] = data[: size & ~3]
        left = data[size & ~3 :]
        if size & 16:
            packet[28:32] = data[size - 4 : size]
        elif tail:
            packet[16], packet[17], packet[18] = left[0], left[tail >> 1], left[tail - 1]
        self.update(struct.unpack("<4Q", packet))

    def finish(self) -> int:
        for _ in range(4):
            self.update([_rotate32(self.v0[i]) for i in (2, 3, 0, 1)])
        return (self.v0[0] + self.v1[0] + self.mul0[0] + self.mul1[0]) & _MASK


def _zipper(high: int, low: int) -> tuple[int, int]:
    h, w = high.to_bytes(8, "little"), low.to_bytes(8, "little")
    first = bytes([w[3], h[4], w[2], w[5], h[6], w[1], h[7], w[0]])
    second = bytes([h[3], w[4], h[2], h[5], h[1], w[6], h[0], w[7]])
    return int.from_bytes(first, "little"), int.from_bytes(second, "little")


@lru_cache(256)
def digest(data: bytes) -> int:
    """The hash of headers and data."""
    state = _Highway()
    whole = len(data) & ~31
    for at in range(0, whole, 32):
        state.update(struct.unpack_from("<4Q", data, at))
    if len(data) > whole:
        state.rest(data[whole:])
    return state.finish()


def brotli(data: bytes) -> bytes:
    """A Brotli stream that stores the data without compressing them."""
    out = b""
    for at in range(0, len(data), 1 << 16):
        part = data[at : at + (1 << 16)]
        # Not the last one; length - 1 in four nibbles; stored. One bit before the first means a window of 64 KiB.
        bits = (len(part) - 1) * 8 | 1 << 19
        out += (bits << 1 if at == 0 else bits).to_bytes(3, "little") + part
    return out + b"\x03" if out else b"\x06"


def zstd(data: bytes) -> bytes:
    """A Zstandard frame of raw blocks."""
    out = struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(data))
    parts = [data[at : at + (1 << 17)] for at in range(0, len(data), 1 << 17)] or [b""]
    for i, part in enumerate(parts):
        out += (len(part) * 8 | (i == len(parts) - 1)).to_bytes(3, "little") + part
    return out


def snappy(data: bytes) -> bytes:
    """Snappy's block format with literals only."""
    out = varint(len(data))
    for at in range(0, len(data), 1 << 16):
        part = data[at : at + (1 << 16)]
        out += bytes([61 << 2]) + (len(part) - 1).to_bytes(2, "little") + part
    return out


COMPRESS = {0: lambda data: data, ord("b"): brotli, ord("z"): zstd, ord("s"): snappy}


def packed(kind: int, data: bytes) -> bytes:
    """Compressed data behind their size; as they are without compression."""
    return data if kind == 0 else varint(len(data)) + COMPRESS[kind](data)


def simple(records: Sequence[bytes], kind: int = ord("b")) -> bytes:
    """The data of a simple chunk."""
    sizes = packed(kind, b"".join(varint(len(record)) for record in records))
    return bytes([kind]) + varint(len(sizes)) + sizes + packed(kind, b"".join(records))


def header(chunk_type: str, records: int, decoded: int, data: bytes, size: int | None = None) -> bytes:
    """A chunk header that matches its hash."""
    length = len(data) if size is None else size
    body = struct.pack("<QQQQ", length, digest(data), records << 8 | ord(chunk_type), decoded)
    return struct.pack("<Q", digest(body)) + body


class RecordFile:
    """The bytes of a file so far; `begins` are where its chunks begin."""

    def __init__(self, before: bytes = b"") -> None:
        """`before` is a complete file whose size is a multiple of the block size."""
        self.data = bytearray(before)
        self.begins: list[int] = []
        self.add("s", 0, 0, b"")

    def add(self, chunk_type: str, records: int, decoded: int, data: bytes) -> None:
        """Appends a chunk."""
        whole = header(chunk_type, records, decoded, data) + data
        begin = len(self.data)
        end = begin + len(whole)
        for boundary in range((begin + BLOCK - 1) // BLOCK * BLOCK, 1 << 60, BLOCK):
            if boundary >= end:
                break
            end += BLOCK_HEADER
        self.begins.append(begin)
        while whole:
            self._open_block(begin, end)
            room = BLOCK - len(self.data) % BLOCK
            self.data += whole[:room]
            whole = whole[room:]

    def _open_block(self, begin: int, end: int) -> None:
        if len(self.data) % BLOCK == 0:
            body = struct.pack("<QQ", len(self.data) - begin, end - len(self.data))
            self.data += struct.pack("<Q", digest(body)) + body

    def records(self, records: Sequence[bytes], kind: int = ord("b")) -> None:
        """Appends a simple chunk of records."""
        self.add("r", len(records), sum(map(len, records)), simple(records, kind))

    def pad(self) -> bytes:
        """Fills the block with a padding chunk and returns the file."""
        left = -len(self.data) % BLOCK
        if left:
            left += BLOCK if left < CHUNK_HEADER else 0
            self.add("p", 0, 0, bytes(left - CHUNK_HEADER - (BLOCK_HEADER if left > BLOCK else 0)))
        return bytes(self.data)


def appended(spaces: Iterable[bytes], kind: int = ord("b")) -> bytes:
    """A file as profilers write it: every part a complete file of one record, padded to whole blocks."""
    whole = b""
    for space in spaces:
        file = RecordFile(whole)
        file.records([space], kind)
        whole = file.pad()
    return whole
