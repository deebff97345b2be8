"""The tables of runs as Parquet files in a private directory, made once, for all queries and processes of the user.

Where that directory cannot be written to, tables are kept in a temporary one, or in memory, until the process ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import threading
import time
import uuid
import weakref
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from tpu_profile_plugin.cache.files import FileCache, build_identity
from tpu_profile_plugin.errors import QueryStopped
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.losses import known_losses, sentences, unreadable_hosts
from tpu_profile_plugin.run.relations.relation import Relation, frugal
from tpu_profile_plugin.tables.files import write_parquet

_FORMAT = 2
_NOTES = "n"
_MOST_LOSSES = 3
_REST_S = 60.0
"""How long nothing is written to a directory after that has failed: a full disk takes time to fill up again."""
_IN_MEMORY = ("/dev/shm",)  # noqa: S108 - a directory of its own is made in it
"""Directories of Linux that need no disk."""


class TableFiles:
    """One file per run and table, named by the identities of the run's profiles and the build."""

    def __init__(self, directory: Path | None, limit_bytes: int) -> None:
        """Does no I/O; beyond `limit_bytes`, the least recently used files are deleted.

        Without a directory, tables are temporary.
        """
        # Absolute, because other processes have another working directory.
        self._files = None if directory is None else FileCache(directory.absolute(), limit_bytes)
        self._spare: dict[str | None, FileCache] = {}
        self._temporary: list[str] = []
        self.close = weakref.finalize(self, _remove, self._temporary)
        """Deletes the temporary files, which also end with this object and the process."""
        self._limit = limit_bytes
        self._rests_until = float("-inf")
        self._lock = threading.Lock()
        # Only those in use: names of files change with their runs, without end.
        self._making: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()

    def kept(self, run: RunHosts, relation: Relation) -> bool:
        """Whether there is a file of this table."""
        return self._known(_key(run, relation)) is not None

    def get(
        self, run: RunHosts, relation: Relation, on_rows: Callable[[int], None]
    ) -> tuple[Path, tuple[str, ...], bool]:
        """The file, sentences about what is missing in it, and whether to pass it to `drop` after use.

        Makes the file if there is none: `on_rows` is called with the rows written so far, and may raise to stop.
        Raises what reading the profiles raises, and QueryStopped if the file can be written nowhere.
        """
        key = _key(run, relation)
        with self._turn(key, on_rows):
            known = self._known(key) if relation.lasting else None
            if known is not None:
                return *known, False
            reason = "no temporary directory"
            for files in self._places():
                try:
                    return self._make(files, key, run, relation, on_rows)
                except OSError as error:
                    reason = error.strerror or type(error).__name__
                    files.log_failure("Tables for SQL", error)
                    if files is self._files:
                        self._rests_until = time.monotonic() + _REST_S
            raise QueryStopped(f"The tables of this run can be written neither to the cache nor elsewhere: {reason}.")

    def drop(self, path: Path) -> None:
        """Deletes a file that is damaged, or holds too little to be kept."""
        with contextlib.suppress(OSError):
            path.unlink()

    def damaged(self, paths: Collection[str]) -> list[str]:
        """The kept files whose checksum is wrong; they may have changed while a query read them."""
        of_path = {str(files.path(Path(path).name)): files for path in paths for files in self._caches()}
        return [path for path in paths if Path(path).exists() and _notes(of_path[path], Path(path).name) is None]

    def _make(
        self, files: FileCache, key: str, run: RunHosts, relation: Relation, on_rows: Callable[[int], None]
    ) -> tuple[Path, tuple[str, ...], bool]:
        """As `get`, in one place; raises OSError."""
        name = f"{key}{uuid.uuid4().hex}"
        with files.writing(name) as file:
            write_parquet(relation.of(run), file, on_rows)
        notes = _missing(run) if relation.lasting else ()
        if not relation.lasting or any(not host.permanent for host in run.left_out):
            return files.path(name), notes, True
        # Rows first: a file whose notes exist is complete.
        try:
            seal = files.seal(name)
            files.path(name).replace(files.path(key))
        except FileNotFoundError:
            raise too_small(relation.name) from None
        with files.writing(key + _NOTES) as file:
            file.write(_about(seal, notes))
        return files.path(key), notes, False

    def _known(self, key: str) -> tuple[Path, tuple[str, ...]] | None:
        """A complete file and its notes; marks it as used."""
        for files in self._caches():
            notes = _notes(files, key)
            if notes is not None:
                files.touch(key)
                files.touch(key + _NOTES)
                return files.path(key), notes
        return None

    def _caches(self) -> list[FileCache]:
        """Where files may be."""
        return [*([] if self._files is None else [self._files]), *list(self._spare.values())]

    def _places(self) -> Iterator[FileCache]:
        """Where files may be written: the cache, unless that failed a moment ago, a temporary directory, memory."""
        if self._files is not None and time.monotonic() >= self._rests_until:
            yield self._files
        for parent in (None, *_IN_MEMORY):
            with contextlib.suppress(OSError):
                yield self._spare_in(parent)

    def _spare_in(self, parent: str | None) -> FileCache:
        """A temporary directory, made once; raises OSError."""
        with self._lock:
            if parent not in self._spare:
                self._temporary.append(tempfile.mkdtemp(prefix="tpu_profile_", dir=parent))
                self._spare[parent] = FileCache(Path(self._temporary[-1]), self._limit)
            return self._spare[parent]

    @contextlib.contextmanager
    def _turn(self, key: str, on_wait: Callable[[int], None]) -> Iterator[None]:
        """One thread at a time makes a file; others look again when it is done, or was stopped."""
        with self._lock:
            lock = self._making.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=0.1):
            on_wait(0)
        try:
            yield
        finally:
            lock.release()


def _remove(directories: list[str]) -> None:
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


def _about(seal: str, notes: Sequence[str]) -> bytes:
    """What tells that a file is complete and whole: a checksum of what follows, its seal, and its notes."""
    text = json.dumps([seal, notes]).encode()
    return _checksum(text) + b"\n" + text


def _notes(files: FileCache, key: str) -> tuple[str, ...] | None:
    """The notes of a complete file, all of whose bytes are as they were written."""
    try:
        checksum, _, text = files.read(key + _NOTES).partition(b"\n")
        if checksum != _checksum(text):
            return None
        seal, notes = json.loads(text)
        return tuple(notes) if files.seal(key) == seal else None
    except (OSError, ValueError):
        return None


def _checksum(text: bytes) -> bytes:
    return f"{zlib.crc32(text):08x}".encode()


def _missing(run: RunHosts) -> tuple[str, ...]:
    """Sentences about hosts that are left out, and about what is missing from the others."""
    failed = {problem.host for problem in run.left_out}
    losses = [problem for problem in known_losses(run, unreadable_hosts(frugal(run))) if problem.host not in failed]
    return (*run.warnings, *(f"{run.name}: {text}" for text in sentences(run, losses, _MOST_LOSSES)))


def too_small(table: str) -> QueryStopped:
    """The error of a query whose tables do not fit into the directory together."""
    message = (
        f"The table {table} is deleted while it is used: the cache is too small for these runs, or another program "
        "deletes its files. Choose fewer runs, or ask again."
    )
    return QueryStopped(message, limit="size")


def _key(run: RunHosts, relation: Relation) -> str:
    facts = [
        *(_FORMAT, build_identity(), relation.name, run.name),
        *((host.name, repr(host.identity)) for host in run.profiles),
    ]
    return hashlib.blake2b(json.dumps(facts).encode("utf-8", "replace"), digest_size=16).hexdigest()
