"""The tables of runs as Parquet files in a private directory, made once, for all queries and processes of the user."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from tpu_profile_plugin.cache.files import FileCache, build_identity
from tpu_profile_plugin.errors import QueryStopped
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.losses import known_losses, sentences, unreadable_hosts
from tpu_profile_plugin.run.relations.relation import Relation, frugal
from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.tables.files import write_parquet

_FORMAT = 1
_NOTES = "n"
_MOST_LOSSES = 3


class TableFiles:
    """One file per run and table, named by the identities of the run's profiles and the build.

    Attributes:
      directory: where they are; readable by the user only.
    """

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        """Does no I/O; beyond `limit_bytes`, the least recently used files are deleted."""
        self.directory = directory.absolute()  # other processes have another working directory
        self._files = FileCache(self.directory, limit_bytes)
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
        Raises what reading the profiles raises, and QueryStopped if the directory cannot be written to.
        """
        key = _key(run, relation)
        with self._turn(key, on_rows):
            notes = self._known(key) if relation.lasting else None
            if notes is not None:
                return self._files.path(key), notes, False
            name = f"{key}{uuid.uuid4().hex}"
            try:
                with self._files.writing(name) as file:
                    write_parquet(relation.of(run), file, on_rows)
                notes = _missing(run) if relation.lasting else ()
                if not relation.lasting or any(not host.permanent for host in run.left_out):
                    return self._files.path(name), notes, True
                # Rows first: a file whose notes exist is complete.
                self._files.path(name).replace(self._files.path(key))
                with self._files.writing(key + _NOTES) as file:
                    file.write(json.dumps(notes).encode())
            except FileNotFoundError:
                raise too_small(relation.name) from None
            except OSError as error:
                _LOG.warning("Tables cannot be written to %s: %s", self.directory, error)
                reason = error.strerror or type(error).__name__
                raise QueryStopped(f"The tables of this run cannot be written to the cache: {reason}.") from None
            return self._files.path(key), notes, False

    def drop(self, path: Path) -> None:
        """Deletes a file that is damaged, or holds too little to be kept."""
        self._files.delete(path.name)

    def _known(self, key: str) -> tuple[str, ...] | None:
        """The notes of a complete file; marks it as used."""
        try:
            notes = json.loads(self._files.read(key + _NOTES))
            if not self._files.has(key):
                return None
        except (OSError, ValueError):
            return None
        self._files.touch(key)
        self._files.touch(key + _NOTES)
        return tuple(map(str, notes))

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
