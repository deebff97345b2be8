"""What is known of a Dask cluster: its workers, their versions of this package, when each was last heard of."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SILENT_S = 10.0
"""A worker without a heartbeat for so long does not answer: Dask itself waits for five minutes."""
_EMPTY_S = 5.0
"""A cluster may be without workers for so long, as one that died is started again."""
_TURN_S = 1.0


class SchedulerUnreachable(Exception):
    """The scheduler does not respond, or has no workers that can compute our tasks."""


class WorkersGone(Exception):
    """The scheduler has no workers that can compute our tasks."""


@dataclass(slots=True)
class _Member:
    """A worker: its threads, its last heartbeat by the scheduler's clock, and when that changed by our clock."""

    threads: int
    seen: float
    heard_at: float

    @property
    def silent(self) -> bool:
        return time.monotonic() - self.heard_at > SILENT_S


class ClusterState:
    """The workers as the scheduler listed them last; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._asked_at = float("-inf")
        self._members: dict[str, _Member] = {}
        self._refused: dict[str, str | None] = {}
        self._places: dict[str, str] = {}
        self._empty_since: float | None = None

    @property
    def threads(self) -> int:
        """Threads of the workers that can be used."""
        with self._lock:
            return sum(self._members[address].threads for address in self._usable())

    def update(self, info: Mapping[str, Any], processing: Mapping[str, Any] | None) -> None:
        """Takes the answers of the scheduler: `scheduler_info`, and `processing` (worker -> keys) if it was asked."""
        now = time.monotonic()
        with self._lock:
            before, self._members = self._members, {}
            for address, facts in info["workers"].items():
                seen, old = float(facts.get("last_seen", 0)), before.get(address)
                heard_at = old.heard_at if old is not None and old.seen == seen else now
                self._members[address] = _Member(int(facts["nthreads"]), seen, heard_at)
            if processing is not None:
                self._places = {str(key): address for address, keys in processing.items() for key in keys}

    @contextlib.contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether to ask the scheduler now: one thread does at a time, and not more often than once a second."""
        with self._asking:
            due = time.monotonic() - self._asked_at > _TURN_S
            try:
                yield due
            finally:
                if due:
                    self._asked_at = time.monotonic()

    def unknown(self) -> list[str]:
        """Workers that were not probed yet."""
        with self._lock:
            return [address for address in self._members if address not in self._refused]

    def probed(self, versions: Mapping[str, Any], wanted: str) -> None:
        """Takes the versions of this package, or the errors, that workers answered."""
        with self._lock:
            for address, answer in versions.items():
                self._refused[address] = None if answer == wanted else _refusal(answer, wanted)

    def wanted(self) -> list[str] | None:
        """The workers to restrict a task to; None if all of the cluster can compute it."""
        with self._lock:
            usable = self._usable()
            return None if len(usable) == len(self._members) else usable

    def check_usable(self) -> None:
        """Raises WorkersGone if no worker can be used."""
        with self._lock:
            now = time.monotonic()
            if self._usable():
                self._empty_since = None
                return
            refusals = [reason for address in self._members if (reason := self._refused.get(address)) is not None]
            if len(refusals) == len(self._members) and refusals:
                raise WorkersGone(refusals[0])
            if self._empty_since is None:
                self._empty_since = now
            if not self._places or now - self._empty_since > _EMPTY_S:
                raise WorkersGone("none of its workers answers" if self._members else "it has no workers")

    def silent_worker_of(self, key: str) -> str | None:
        """The worker that has the task, if it does not answer."""
        with self._lock:
            address = self._places.get(key)
            member = self._members.get(address or "")
            return address if member is not None and member.silent else None

    def _usable(self) -> list[str]:
        return [
            address
            for address, member in self._members.items()
            if self._refused.get(address) is None and not member.silent
        ]


def _refusal(answer: Any, wanted: str) -> str:
    if isinstance(answer, str):
        return f"its workers have version {answer[:40]} of this package, this machine has {wanted}"
    if isinstance(answer, ImportError):
        return "this package is not installed on its workers: pip install tpu-profile-plugin"
    return f"this package does not load on its workers ({type(answer).__name__})"
