"""Answers kept by content: in memory, bounded by bytes, and in a private directory that may be deleted any time."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import struct
import tempfile
import threading
import zlib
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tpu_profile_plugin.server.answer import Body

_LOG = logging.getLogger("tpu_profile_plugin")
_MAGIC = b"TPR1"
_HEAD = struct.Struct("<4sI")


class MemoryStore:
    """Least recently used answers go first."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._bodies: OrderedDict[str, Body] = OrderedDict()

    def get(self, key: str) -> Body | None:
        """The answer under a key, None when it is not kept."""
        with self._lock:
            body = self._bodies.get(key)
            if body is not None:
                self._bodies.move_to_end(key)
            return body

    def put(self, key: str, body: Body) -> None:
        """Keeps an answer, unless it alone would fill more than half of the store."""
        with self._lock:
            self._bodies.pop(key, None)
            if body.size * 2 > self._limit:
                return
            self._bodies[key] = body
            total = sum(kept.size for kept in self._bodies.values())
            while total > self._limit:
                total -= self._bodies.popitem(last=False)[1].size

    def size(self) -> int:
        """Bytes kept now."""
        with self._lock:
            return sum(kept.size for kept in self._bodies.values())


class DiskStore:
    """One file per answer, written aside and renamed; a file that does not check out is a miss."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._directory = directory
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._unpruned: int | None = None
        self._writer: ThreadPoolExecutor | None = None
        self._pending: set[Future[None]] = set()

    def get(self, key: str) -> Body | None:
        """The answer under a key, None when there is none or it is damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        body = _unpack(data)
        with contextlib.suppress(OSError):
            os.utime(path) if body is not None else path.unlink()
        return body

    def put(self, key: str, body: Body) -> None:
        """Writes an answer in the background; failing to write is not an error."""
        with self._lock:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "profile-cache")
            task = self._writer.submit(self._write, key, body)
            self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def flush(self) -> None:
        """Waits until everything is written."""
        for task in list(self._pending):
            task.result()

    def _write(self, key: str, body: Body) -> None:
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_packed_head(body))
                    file.write(body.plain)
                Path(aside).replace(path)
            except BaseException:
                Path(aside).unlink(missing_ok=True)
                raise
            self._prune(len(body.plain))
        except OSError as error:
            _LOG.info("the result cache cannot be written: %s", error)

    def _prune(self, added: int) -> None:
        """Deletes the answers not used for longest; looks at the whole directory only now and then."""
        unpruned = self._limit if self._unpruned is None else self._unpruned + added
        if unpruned * 16 < self._limit:
            self._unpruned = unpruned
            return
        self._unpruned = 0
        files = []
        for path in self._directory.glob("*/*"):
            with contextlib.suppress(OSError):
                facts = path.stat()
                files.append((facts.st_mtime, facts.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, key: str) -> Path:
        return self._directory / key[:2] / key


def _packed_head(body: Body) -> bytes:
    facts = {
        "type": body.content_type,
        "length": len(body.plain),
        "crc": zlib.crc32(body.plain),
        "headers": body.headers,
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
            return Body(plain, str(facts["type"]), tuple((str(k), str(v)) for k, v in facts["headers"]))
    except (struct.error, ValueError, KeyError, TypeError):
        pass
    return None


def default_directory() -> Path:
    """The user's private cache directory for answers."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("tpu-profile-plugin", appauthor=False)) / "results"
