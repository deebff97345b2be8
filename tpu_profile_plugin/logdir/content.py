"""Caches local copies of remote files by address and version, so that each version is fetched from the store once."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.logdir.files import mapped
from tpu_profile_plugin.system.files import reserve

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

Put = Callable[[int, bytes], None]
"""Called with an offset in the file and the bytes at that offset."""


def version_key(address: str, size: int, mtime_ns: int, tag: str) -> str | None:
    """The cache key of one version of a remote file; None if the store reports neither tag nor modification time."""
    if not tag and not mtime_ns:
        return None
    facts = "\0".join((address, str(size), str(mtime_ns), tag))
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


class ContentCache:
    """Copies in a private directory, bounded in bytes; may be shared by processes and deleted at any time.

    `location` is the directory and the bound, for opening the same cache in another process; None without a directory.
    Files that cannot be cached (no directory, disk full, no permission) are read into memory, each time anew.
    """

    def __init__(self, directory: Path | None, limit_bytes: int) -> None:
        """Does no I/O. Without a directory or with a limit of 0 bytes, nothing is cached."""
        self._files = FileCache(directory, limit_bytes) if directory is not None and limit_bytes > 0 else None
        self.location = None if self._files is None else (str(directory), limit_bytes)
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def get(self, key: str | None, size: int, fetch: Callable[[Put], None]) -> Bytes:
        """The file's bytes, read-only, from the cache; on a miss, `fetch` is called with a function that stores bytes.

        Threads that request the same file wait for the one that fetches it. `fetch` raises ProfileError, never OSError.
        """
        store = self._files
        if store is None or key is None or size == 0 or size * 2 > store.limit:
            return _in_memory(size, fetch)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            cached = self._lookup(store, key, size)
            if cached is None and self._store(store, key, size, fetch):
                cached = self._lookup(store, key, size)
        with self._lock:
            self._locks.pop(key, None)
        return cached if cached is not None else _in_memory(size, fetch)

    def _lookup(self, store: FileCache, key: str, size: int) -> Bytes | None:
        try:
            with store.open(key) as file:
                data = mapped(file, size)
        except OSError:
            return None
        if data is None:
            store.delete(key)
        else:
            store.touch(key)
        return data

    def _store(self, store: FileCache, key: str, size: int, fetch: Callable[[Put], None]) -> bool:
        """Writes the file into the cache; returns False on OSError, which `fetch` itself does not raise."""

        def put(offset: int, data: bytes) -> None:
            file.seek(offset)
            file.write(data)

        try:
            with store.writing(key) as file:
                reserve(file.fileno(), size)  # so that a full disk is noticed before anything is fetched
                fetch(put)
        except OSError as error:
            store.log_failure("Copies of remote files", error)
            return False
        return True


def _in_memory(size: int, fetch: Callable[[Put], None]) -> Bytes:
    import numpy as np

    data = np.empty(size, np.uint8)

    def put(offset: int, part: bytes) -> None:
        data[offset : offset + len(part)] = np.frombuffer(part, np.uint8)

    if size:
        fetch(put)
    data.flags.writeable = False
    return data
