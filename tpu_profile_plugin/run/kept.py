"""Results of per-host steps in a private directory, so that a run of many hosts is read once, also across restarts."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tpu_profile_plugin.cache.codec import Codec, NotStorable
from tpu_profile_plugin.cache.files import FileCache, build_identity
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.system.terminal import LOG as _LOG

_FORMAT = 1
CODEC = Codec("tpu_profile_plugin", ("analysis", "run", "errors"))


class Summaries:
    """One file per host and step, named by the file's identity, the step and the build; a damaged one is a miss.

    Several processes may share the directory; the least recently used files are deleted first.
    """

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._files = FileCache(directory, limit_bytes)
        self._lock = threading.Lock()
        self._writer: ThreadPoolExecutor | None = None
        self._pending: set[Future[None]] = set()

    def has(self, identity: Hashable, step: PerHost[Any]) -> bool:
        """Whether there is a result, which may turn out to be damaged."""
        return self._files.has(_key(identity, _step(step)))

    def get(self, identity: Hashable, step: PerHost[Any]) -> Any:
        """The result of a step; raises KeyError."""
        return self._read(_key(identity, _step(step)))

    def put(self, identity: Hashable, step: PerHost[Any], value: Any) -> None:
        """Writes a result in the background; one that cannot be stored and failures are logged only."""
        self._submit(_key(identity, _step(step)), value)

    def withdraw(self, identity: Hashable) -> None:
        """Deletes all results of a file that changed while it was read, pending ones included."""
        self.flush()
        self._files.delete_all(_host_key(identity))

    def flush(self) -> None:
        """Waits for pending writes."""
        for task in list(self._pending):
            task.result()

    def _read(self, key: str) -> Any:
        try:
            data = self._files.read(key)
        except OSError:
            raise KeyError(key) from None
        try:
            value = CODEC.decode(data)
        except ValueError as error:
            self._files.delete(key)
            raise KeyError(key) from error
        self._files.touch(key)
        return value

    def _submit(self, key: str, value: Any) -> None:
        with self._lock:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "profile-summaries")
            task = self._writer.submit(self._write, key, value)
            self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def _write(self, key: str, value: Any) -> None:
        try:
            data = CODEC.encode(value)
            with self._files.writing(key) as file:
                file.write(data)
        except NotStorable as error:
            _LOG.debug("a summary is not stored: %s", error)
        except OSError as error:
            self._files.log_failure("Summaries of hosts", error)


def _step(step: PerHost[Any]) -> list[str]:
    return [step.name, repr(step.args)]


def _key(identity: Hashable, what: list[str]) -> str:
    return _host_key(identity) + _digest(what)


def _host_key(identity: Hashable) -> str:
    """The beginning of the keys of all results of a file."""
    return _digest([_FORMAT, build_identity(), repr(identity)])


def _digest(facts: list[Any]) -> str:
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()
