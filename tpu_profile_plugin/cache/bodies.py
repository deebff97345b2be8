"""Bodies of answers, plain and compressed, and where they are kept by content key: in memory and on disk."""

from __future__ import annotations

import gzip
import struct
import threading
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.cache.memory import LruCache
from tpu_profile_plugin.system.process import available_cores
from tpu_profile_plugin.units import MIB

_SMALLEST = 1024
_COMPRESSIBLE = ("text/", "application/json", "application/javascript", "image/svg+xml")
_LARGE = 64 * 1024
_PIECE = MIB
_WINDOW = 1 << 15
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_MAGIC = b"TPR3"
_HEAD = struct.Struct("<4sI")
_TYPE = struct.Struct("<I")


class Body:
    """Bytes and their gzip form; the missing form is made on first use and kept.

    Attributes:
      stable: False when files changed while the answer was computed; the answer must not be cached.
      complete: False when a missing host may come back; the answer must not be cached.
      kept: False when it is not worth its room in memory.
      content_type: media type.
      headers: names and texts sent with the bytes; never kept on disk.
    """

    def __init__(
        self,
        plain: bytes | None,
        content_type: str,
        headers: tuple[tuple[str, str], ...] = (),
        packed: bytes | None = None,
    ) -> None:
        """Takes the plain form, or None with the gzip form as `packed`."""
        self.stable = True
        self.complete = True
        self.kept = True
        self.content_type = content_type
        self.headers = headers
        self._plain = plain
        self._packed = packed
        self._lock = threading.Lock()

    @property
    def plain(self) -> bytes:
        """The bytes as they are."""
        with self._lock:
            if self._plain is None:
                self._plain = gzip.decompress(self._packed or b"")
            return self._plain

    @property
    def size(self) -> int:
        """Memory held, in bytes."""
        forms = {id(form): len(form) for form in (self._plain, self._packed) if form is not None}
        return sum(forms.values())

    def packed(self) -> bytes | None:
        """The gzip form; None where compression is not worth it."""
        with self._lock:
            plain = self._plain
            if plain is None:
                return self._packed
            if self._packed is None:
                if len(plain) < _SMALLEST or not self.content_type.startswith(_COMPRESSIBLE):
                    return None
                packed = compress(plain)
                self._packed = packed if len(packed) < len(plain) else plain
            return None if self._packed is plain else self._packed


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
    return b"".join((_GZIP_HEAD, *pieces, tail))


def _deflate(plain: memoryview, start: int, end: int) -> bytes:
    """Deflate blocks for plain[start:end], continuing the previous block with its last 32 KiB as dictionary."""
    dictionary = plain[max(0, start - _WINDOW) : start]
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=dictionary)
    body = packer.compress(plain[start:end])
    return body + packer.flush(zlib.Z_FINISH if end == len(plain) else zlib.Z_SYNC_FLUSH)


class MemoryStore(LruCache[Body]):
    """Answers in memory; one that would fill more than half of the store is not kept."""

    def __init__(self, limit_bytes: int) -> None:
        # Answers grow when their other form is made.
        super().__init__(limit_bytes, lambda _, body: body.size, most_bytes=limit_bytes // 2, growing=True)


class DiskStore:
    """One file per answer, without headers; a damaged file, or one that another user could have written, is a miss."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._files = FileCache(directory, limit_bytes)
        self._lock = threading.Lock()
        self._writer: ThreadPoolExecutor | None = None
        self._pending: set[Future[None]] = set()

    def get(self, key: str) -> Body | None:
        """The answer under a key; None on a miss."""
        try:
            data = self._files.read(key)
        except OSError:
            return None
        body = _unpack(data)
        if body is None:
            self._files.delete(key)
        else:
            self._files.touch(key)
        return body

    def put(self, key: str, body: Body) -> None:
        """Writes an answer in the background; failures are logged only."""
        with self._lock:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "profile-cache")
            task = self._writer.submit(self._write, key, body)
            self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def flush(self) -> None:
        """Waits for pending writes."""
        for task in list(self._pending):
            task.result()

    def _write(self, key: str, body: Body) -> None:
        try:
            with self._files.writing(key) as file:
                file.writelines(_packed(body))
        except OSError as error:
            self._files.log_failure("Answers", error)


def _packed(body: Body) -> tuple[bytes, bytes]:
    """Magic and CRC-32 of all that follows: length of the media type, the type, the bytes."""
    kind = body.content_type.encode()
    facts = _TYPE.pack(len(kind)) + kind
    return _HEAD.pack(_MAGIC, zlib.crc32(body.plain, zlib.crc32(facts))) + facts, body.plain


def _unpack(data: bytes) -> Body | None:
    """None if a bit of the data is wrong."""
    try:
        magic, checksum = _HEAD.unpack_from(data)
        (length,) = _TYPE.unpack_from(data, _HEAD.size)
    except struct.error:
        return None
    if magic != _MAGIC or checksum != zlib.crc32(memoryview(data)[_HEAD.size :]):
        return None
    begin = _HEAD.size + _TYPE.size
    return Body(data[begin + length :], data[begin : begin + length].decode())
