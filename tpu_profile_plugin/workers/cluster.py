"""A Dask cluster, by the address of its scheduler; only this module needs the package `distributed`.

Tasks consist of builtins, text and bytes: workers and schedulers without this package refuse them with an ordinary
error and keep running. Every wait is bounded; a cluster that fails is left alone for half a minute.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tpu_profile_plugin.logdir.remote_calls import SilentThreads, with_timeout
from tpu_profile_plugin.logdir.remote_errors import redacted_url
from tpu_profile_plugin.version import __version__
from tpu_profile_plugin.workers.cluster_state import ClusterState, SchedulerUnreachable, WorkersGone
from tpu_profile_plugin.workers.processes import WorkerDied

T = TypeVar("T")
_LOG = logging.getLogger("tpu_profile_plugin")
_CONNECT_S = 5
_ANSWER_S = 5.0
_LOOK_S = 0.5
_RETRY_S = 30.0
_MAX_TASKS = 128

_RUN = "__import__('importlib').import_module('tpu_profile_plugin.workers.task').run_task(data)"
_VERSION = "__import__('importlib').import_module('tpu_profile_plugin.version').__version__"


class _NoAnswer(Exception):
    """The scheduler or a worker did not answer a question in time."""


class Cluster:
    """A connection to a scheduler, opened on first use and again some time after it was lost. Thread-safe."""

    def __init__(self, address: str) -> None:
        self.name = redacted_url(address)
        self._address = address
        self._opening = threading.Lock()
        self._lock = threading.Lock()
        self._client: Any = None
        self._state = ClusterState()
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
        except (WorkersGone, _NoAnswer) as error:
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
            raise _NoAnswer(f"the scheduler or a worker gave no answer within {_ANSWER_S:g} s") from error

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
            self._client, self._state = client, ClusterState()
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
