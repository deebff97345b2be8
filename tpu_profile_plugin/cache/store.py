"""Caches of answers by content key: in memory, and in a private directory that may be deleted at any time."""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.cache.files import FileCache

_MAGIC = b"TPR2"
_HEAD = struct.Struct("<4sI")


class MemoryStore:
    """Answers in memory, bounded in bytes; the least recently used are evicted first."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._bodies: OrderedDict[str, Body] = OrderedDict()
        self._total = self._unmeasured = 0

    def get(self, key: str) -> Body | None:
        """The answer under a key; None on a miss."""
        with self._lock:
            body = self._bodies.get(key)
            if body is not None:
                self._bodies.move_to_end(key)
            return body

    def put(self, key: str, body: Body) -> None:
        """Stores an answer, unless it would fill more than half of the store."""
        with self._lock:
            self._bodies.pop(key, None)
            if body.size * 2 > self._limit:
                return
            self._bodies[key] = body
            self._total += body.size
            self._unmeasured += 1
            # Answers grow when their other form is made, but measuring all at each turn would take longer and longer.
            if self._total > self._limit or self._unmeasured > len(self._bodies) // 8:
                self._measure()

    def _measure(self) -> None:
        self._total = sum(body.size for body in self._bodies.values())
        self._unmeasured = 0
        while self._total > self._limit:
            self._total -= self._bodies.popitem(last=False)[1].size


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
                file.write(_packed_head(body))
                file.write(body.plain)
        except OSError as error:
            self._files.log_failure("Answers", error)


def _packed_head(body: Body) -> bytes:
    facts = {
        "type": body.content_type,
        "length": len(body.plain),
        "crc": zlib.crc32(body.plain),
    }
    text = json.dumps(facts).encode()
    return _HEAD.pack(_MAGIC, len(text)) + text


def _unpack(data: bytes) -> Body | None:
    try:
        magic, length = _HEAD.unpack_from(data)
        start = _HEAD.size + length
        facts = json.loads(data[_HEAD.size : start])
        plain = data[start:]
        if magic == _MAGIC and facts["length"] == len(plain) and facts["crc"] == zlib.crc32(plain):
            return Body(plain, str(facts["type"]))
    except (struct.error, ValueError, KeyError, TypeError):
        pass
    return None
