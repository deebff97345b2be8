"""A private directory of files by key: written under a temporary name and renamed, bounded in bytes, multi-process.

The identity of this build is a part of the key of every cached answer.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import IO

import tpu_profile_plugin
from tpu_profile_plugin.system import files as system
from tpu_profile_plugin.system.terminal import LOG as _LOG

_TEMPORARY = ".new-"
_MIN_AGE_S = 10.0
_MOST_SEALS = 4096
_PIECE = 1 << 20
_ABANDONED_S = 24 * 3600.0


class FileCache:
    """Files that may be deleted at any time, also by other programs; the least recently used are evicted first.

    Several processes may share one directory: a file appears under its final name only when it is complete. Temporary
    files of killed processes are deleted by the next process that writes.
    """

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        """Does no I/O; the directory is created by the first write."""
        self._directory = directory
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._unpruned_bytes: int | None = None
        self._warned = False
        self._seals: dict[tuple[int, ...], str] = {}

    @property
    def limit(self) -> int:
        """The most bytes to keep."""
        return self._limit

    def path(self, key: str) -> Path:
        """The path of the file of a key, whether it exists or not."""
        return self._directory / key[:2] / key

    def open(self, key: str) -> FileIO:
        """The file of a key for reading; raises OSError, also where another user could have written it."""
        path = self.path(key)
        try:
            system.check_private(self._directory)
            system.check_private(path.parent)
            return system.open_private(path)
        except PermissionError as error:
            self.log_failure("Files", error)
            raise

    def read(self, key: str) -> bytes:
        """The content of the file of a key; raises OSError as `open`."""
        with self.open(key) as file:
            return file.readall() or b""

    def has(self, key: str) -> bool:
        """Whether `open` succeeds now."""
        with contextlib.suppress(OSError), self.open(key):
            return True
        return False

    def seal(self, key: str) -> str:
        """Size and checksum of the file of a key, which is read if it may have changed since; raises OSError."""
        with self.open(key) as file:
            identity = _identity(os.fstat(file.fileno()))
            if (known := self._seals.get(identity)) is not None:
                return known
            seal = seal_of(file)
            if _identity(os.fstat(file.fileno())) == identity:
                if len(self._seals) >= _MOST_SEALS:
                    self._seals.clear()
                self._seals[identity] = seal
            return seal

    def touch(self, key: str) -> None:
        """Marks the file as recently used."""
        path = self.path(key)
        with contextlib.suppress(OSError):
            seal = self._seals.pop(_identity(path.stat()), None)
            os.utime(path)
            if seal is not None:  # the new time changes no byte
                self._seals[_identity(path.stat())] = seal

    def delete(self, key: str) -> None:
        """Deletes the file of a key, if it exists."""
        with contextlib.suppress(OSError):
            self.path(key).unlink()

    def delete_all(self, beginning: str) -> None:
        """Deletes the files of all keys with this beginning, of at least two characters."""
        for path in self.path(beginning).parent.glob(f"{beginning}*"):
            self.delete(path.name)

    @contextlib.contextmanager
    def writing(self, key: str) -> Iterator[IO[bytes]]:
        """Yields a file to write to, which is stored under `key` if the block raises nothing; raises OSError."""
        system.make_private(self._directory)
        if self._unpruned_bytes is None:
            self._sweep()
        handle, temporary = tempfile.mkstemp(dir=self._directory, prefix=_TEMPORARY)
        try:
            with os.fdopen(handle, "wb") as file:
                system.lock(handle)
                yield file
                file.flush()
                size = os.fstat(handle).st_size
                path = self.path(key)
                system.make_directory(path.parent)
                system.check_private(path.parent)
                system.publish(file, Path(temporary), path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        self._prune(size)

    def log_failure(self, what: str, error: OSError) -> None:
        """Logs, once as a warning, that files cannot be cached; callers continue without the cache."""
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        reason = error.strerror or type(error).__name__
        _LOG.log(level, "%s cannot be cached in %s (%s); continuing without a cache", what, self._directory, reason)

    def _sweep(self) -> None:
        """Deletes temporary files of killed processes; files that a live process is writing are locked."""
        for entry in self._directory.glob(f"{_TEMPORARY}*"):
            with contextlib.suppress(OSError):
                age = abs(time.time() - entry.stat().st_mtime)
                if age > _ABANDONED_S or (age > _MIN_AGE_S and system.may_delete(entry)):
                    entry.unlink()

    def _prune(self, added: int) -> None:
        """Deletes the least recently used files above the limit, once per 1/16 of the limit written."""
        with self._lock:
            unpruned = self._limit if self._unpruned_bytes is None else self._unpruned_bytes + added
            self._unpruned_bytes = unpruned if unpruned * 16 < self._limit else 0
            if self._unpruned_bytes:
                return
            self._sweep()
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


def seal_of(file: FileIO) -> str:
    """Size and checksum of an open file."""
    import numpy as np

    from tpu_profile_plugin._native import checksum

    piece = np.empty(_PIECE, np.uint8)
    size = state = 0
    file.seek(0)
    while read := file.readinto(piece.data) or 0:
        size, state = size + read, checksum(piece[:read], state)
    return f"{size}:{state:08x}"


def _identity(facts: os.stat_result) -> tuple[int, ...]:
    """Another one after each write to a file; the time of its last change cannot be set."""
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def user_directory(name: str) -> Path:
    """A directory of the user's private cache."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("tpu-profile-plugin", appauthor=False)) / name


@functools.cache
def build_identity() -> str:
    """The package version and a digest of its files' sizes and times: answers of other code are never reused."""
    package = Path(tpu_profile_plugin.__file__).parent
    state = hashlib.blake2b(digest_size=8)
    for directory, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if name not in ("static", "__pycache__"))
        for name in sorted(names):
            if name.endswith((".py", ".so", ".pyd")):
                try:
                    status = (Path(directory) / name).stat()
                except OSError:  # the file is being replaced, by a build or a checkout
                    state.update(os.urandom(8))  # the code that this process runs is unknown
                    continue
                state.update(f"{name}:{status.st_size}:{status.st_mtime_ns};".encode())
    return f"{tpu_profile_plugin.__version__}+{state.hexdigest()}"
