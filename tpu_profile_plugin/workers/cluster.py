"""A Dask cluster, by the address of its scheduler; only this module needs the package `distributed`.

Tasks consist of builtins, text and bytes: workers and schedulers without this package refuse them with an ordinary
error and keep running. Every wait is bounded; a cluster that fails is left alone for half a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tpu_profile_plugin.logdir.remote_calls import SilentThreads, redacted_url, with_timeout
from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.version import __version__
from tpu_profile_plugin.workers.processes import WorkerDied, WorkerNotStarted

T = TypeVar("T")
_CONNECT_S = 5
_ANSWER_S = 5.0
_LOOK_S = 0.5
_RETRY_S = 30.0
_MAX_TASKS = 128
_SILENT_S = 10.0
"""A worker without a heartbeat for so long does not answer: Dask itself waits for five minutes."""
_EMPTY_S = 5.0
"""A cluster may be without workers for so long, as one that died is started again."""
_TURN_S = 1.0

_RUN = "__import__('importlib').import_module('tpu_profile_plugin.workers.task').run_task(data)"
_VERSION = "__import__('importlib').import_module('tpu_profile_plugin.version').__version__"


class SchedulerUnreachable(WorkerNotStarted):
    """The scheduler does not respond, or has no workers that can compute our tasks."""


class _Unusable(Exception):
    """The scheduler or a worker did not answer in time, or no worker can compute our tasks."""


class Cluster:
    """A connection to a scheduler, opened on first use and again some time after it was lost. Thread-safe."""

    def __init__(self, address: str) -> None:
        self.name = redacted_url(address)
        self._address = address
        self._opening = threading.Lock()
        self._lock = threading.Lock()
        self._client: Any = None
        self._state = _State()
        self._failed_at: float | None = None
        self._reason = ""
        self._silent = SilentThreads()

    @property
    def reason(self) -> str:
        """Why the cluster cannot be used, after `reachable` was False or `execute` failed."""
        return self._reason

    def reachable(self) -> bool:
        """Whether there is a scheduler with workers of our version; a failure is logged and holds for half a minute."""
        with self._opening:
            if self._failed_at is not None and time.monotonic() - self._failed_at < _RETRY_S:
                return False
            self._failed_at = None
            client = self._client
            try:
                if client is None or client.status != "running":
                    client = self._connected()
                self._state.update(self._members(client), None)
                self._probe(client)
                self._state.check_usable()
            except Exception as error:  # the library raises whatever its network stack does
                self._fail(client, str(error) or type(error).__name__)
                return False
            return True

    def width(self) -> int:
        """The number of tasks to submit at a time: two per worker thread, one running and one queued."""
        return max(1, min(_MAX_TASKS, 2 * self._state.threads))

    def execute(self, data: bytes, limit_s: float) -> bytes:
        """Runs a packed task and returns its packed reply; the scheduler moves tasks of dead workers to others.

        Raises WorkerDied when the scheduler gives up on the task or its worker is silent, SchedulerUnreachable when the
        cluster fails, at once for all of its tasks, or the task takes longer than `limit_s`.
        """
        with self._lock:
            client = self._client
        if client is None:
            raise SchedulerUnreachable(self._reason)
        future = None
        try:
            # Not pure: the file at the same path may have changed.
            future = client.submit(eval, _RUN, {"data": data}, pure=False, workers=self._state.wanted())
            return self._wait(client, future, time.monotonic() + limit_s)
        except (WorkerDied, SchedulerUnreachable):
            raise
        except _Unusable as error:
            raise self._fail(client, str(error)) from error
        except (Exception, asyncio.CancelledError) as error:
            if future is not None and future.status == "error":  # KilledWorker, or the task failed to start
                raise WorkerDied(f"{type(error).__name__}: {error}"[:500]) from error
            raise self._fail(client, f"{type(error).__name__}: {error}"[:500]) from error
        finally:
            if future is not None:
                future.release()

    def close(self) -> None:
        """Closes the connection; the cluster keeps running."""
        self._drop(self._client)

    def _wait(self, client: Any, future: Any, deadline: float) -> bytes:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while True:
            if done.wait(_LOOK_S):
                reply: bytes = future.result(timeout=_ANSWER_S)
                return reply
            self._look(client, future.key)
            if time.monotonic() > deadline:
                raise self._fail(client, "it did not compute a host in time; its workers are busy, or the file hangs")

    def _look(self, client: Any, key: str) -> None:
        """Raises unless the cluster works on the task; asks the scheduler at most once in a while for all threads."""
        if self._client is not client:
            raise SchedulerUnreachable(self._reason)
        if client.status != "running":
            raise self._fail(client, "the connection to the scheduler was lost")
        with self._state.turn() as due:
            if self._client is not client:
                raise SchedulerUnreachable(self._reason)  # another thread noticed it during this one's wait
            if due:
                self._state.update(self._members(client), self._bounded(client.processing))
        self._state.check_usable()
        silent = self._state.silent_worker_of(key)
        if silent is not None:
            raise WorkerDied(f"worker {silent} does not answer")

    def _probe(self, client: Any) -> None:
        """Asks workers that are new for their version of this package, by builtins alone."""
        unknown = self._state.unknown()
        if unknown:
            # Each worker's event loop answers, also while it computes something else.
            found = self._bounded(lambda: client.run(eval, _VERSION, workers=unknown, on_error="return"))
            self._state.probed(found, __version__)

    def _members(self, client: Any) -> Any:
        every = {"n_workers": -1} if "n_workers" in inspect.signature(client.scheduler_info).parameters else {}
        return self._bounded(lambda: client.scheduler_info(**every))

    def _bounded(self, call: Callable[[], T]) -> T:
        try:
            return with_timeout(_ANSWER_S, call, self._silent)
        except TimeoutError as error:
            raise _Unusable(f"the scheduler or a worker gave no answer within {_ANSWER_S:g} s") from error

    def _connected(self) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            raise SchedulerUnreachable("the package is missing: pip install 'tpu-profile-plugin[cluster]'") from error
        self._drop(self._client)
        client = with_timeout(
            2 * _CONNECT_S,
            lambda: Client(self._address, timeout=_CONNECT_S, set_as_default=False),  # type: ignore[no-untyped-call,unused-ignore]
            self._silent,
        )
        with self._lock:
            self._client, self._state = client, _State()
        return client

    def _fail(self, client: Any, reason: str) -> SchedulerUnreachable:
        """Marks the cluster as failed, once for all threads that notice it; returns the error to raise."""
        with self._lock:
            first = self._failed_at is None and self._client is client
            if first:
                self._failed_at = time.monotonic()
                self._reason = reason
        if first:
            self._drop(client)
            _LOG.warning("cannot use the Dask scheduler %s, computing on this machine: %s", self.name, reason)
        return SchedulerUnreachable(self._reason)

    def _drop(self, client: Any) -> None:
        """Forgets the connection and closes it in the background: closing may wait for the scheduler."""
        with self._lock:
            if self._client is client:
                self._client = None
        if client is not None:
            threading.Thread(target=_close, args=(client,), name="profile-cluster", daemon=True).start()


def _close(client: Any) -> None:
    try:
        client.close(timeout=1)
    except (Exception, asyncio.CancelledError):
        _LOG.debug("closing the connection to the scheduler failed", exc_info=True)


@dataclass(slots=True)
class _Member:
    """A worker: its threads, its last heartbeat by the scheduler's clock, and when that changed by our clock."""

    threads: int
    seen: float
    heard_at: float

    @property
    def silent(self) -> bool:
        return time.monotonic() - self.heard_at > _SILENT_S


class _State:
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
        """Raises _Unusable if no worker can be used."""
        with self._lock:
            now = time.monotonic()
            if self._usable():
                self._empty_since = None
                return
            refusals = [reason for address in self._members if (reason := self._refused.get(address)) is not None]
            if len(refusals) == len(self._members) and refusals:
                raise _Unusable(refusals[0])
            if self._empty_since is None:
                self._empty_since = now
            if not self._places or now - self._empty_since > _EMPTY_S:
                raise _Unusable("none of its workers answers" if self._members else "it has no workers")

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
