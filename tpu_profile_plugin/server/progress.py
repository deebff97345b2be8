"""Progress of running computations, for the waiting page, and the clients that wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tpu_profile_plugin.errors import ProfileError

if TYPE_CHECKING:
    from tpu_profile_plugin.run.hosts import OnProgress


class Abandoned(ProfileError):
    """All clients that waited for the answer have closed their connections."""

    code = "abandoned"

    def __init__(self) -> None:
        super().__init__("The answer was given up because its clients closed their connections.")


class HostsRead(NamedTuple):
    """The numbers of finished and of all hosts of an answer, and the names of the first few that are missing."""

    done: int
    total: int
    missing: Sequence[str]


class Progress:
    """Which hosts have been read, by the key of the answer; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, HostsRead] = {}
        self._clients: dict[str, list[Callable[[], bool]]] = {}

    @contextmanager
    def waiting(self, key: str, gone: Callable[[], bool]) -> Iterator[None]:
        """A client waits for the answer until the context ends; `gone` tells whether it has hung up."""
        with self._lock:
            self._clients.setdefault(key, []).append(gone)
        try:
            yield
        finally:
            with self._lock:
                self._clients[key].remove(gone)
                if not self._clients[key]:
                    del self._clients[key]

    def _abandoned(self, key: str) -> bool:
        with self._lock:
            clients = list(self._clients.get(key, ()))
        return bool(clients) and all(gone() for gone in clients)

    @contextmanager
    def watching(self, key: str) -> Iterator[OnProgress]:
        """Yields a function that records the parts of `HostsRead`, until the context ends.

        It raises Abandoned when all clients have hung up.
        """

        def record(done: int, total: int, missing: Sequence[str]) -> None:
            with self._lock:
                self._read[key] = HostsRead(done, total, missing)
            if done < total and self._abandoned(key):
                raise Abandoned

        try:
            yield record
        finally:
            with self._lock:
                self._read.pop(key, None)

    def of(self, key: str) -> HostsRead | None:
        """What was recorded last; None if the answer is not being computed or no host was started."""
        with self._lock:
            return self._read.get(key)
