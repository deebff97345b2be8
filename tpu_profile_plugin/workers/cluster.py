"""A Dask cluster, by the address of its scheduler; only this module needs the package `distributed`."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from tpu_profile_plugin.workers.processes import WorkerDied
from tpu_profile_plugin.workers.task import run_task

_LOG = logging.getLogger("tpu_profile_plugin")
_CONNECT_S = 5
_RETRY_S = 30.0
_MAX_TASKS = 128


class SchedulerUnreachable(Exception):
    """The scheduler does not respond, or has no workers."""


class Cluster:
    """A connection to a scheduler, opened on first use and again after it was lost. Thread-safe."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._client: Any = None
        self._failed_at: float | None = None

    def reachable(self) -> bool:
        """Whether there is a scheduler with workers; a failure is logged and cached for half a minute."""
        with self._lock:
            if self._failed_at is not None and time.monotonic() - self._failed_at < _RETRY_S:
                return False
            try:
                if not self._threads(self._connected()):
                    raise SchedulerUnreachable("it has no workers")
            except Exception as error:  # the library raises whatever its network stack does
                self._failed_at = time.monotonic()
                self._drop()
                _LOG.warning("cannot use the Dask scheduler %s, computing on this machine: %s", self._address, error)
                return False
            self._failed_at = None
            return True

    def width(self) -> int:
        """The number of tasks to submit at a time: two per worker thread, one running and one queued."""
        with self._lock:
            return max(1, min(_MAX_TASKS, 2 * self._threads(self._connected())))

    def execute(self, data: bytes) -> bytes:
        """Runs a packed task and returns its packed reply; the scheduler moves tasks of dead workers to others.

        Raises WorkerDied when the scheduler gives up on the task, SchedulerUnreachable when the connection is lost.
        """
        from distributed.scheduler import KilledWorker

        try:
            with self._lock:
                client = self._connected()
            # Not pure: the file at the same path may have changed.
            reply: bytes = client.submit(run_task, data, pure=False).result()
            return reply
        except KilledWorker as error:
            raise WorkerDied(type(error).__name__) from error
        except Exception as error:  # see `reachable`
            raise SchedulerUnreachable(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Closes the connection; the cluster keeps running."""
        with self._lock:
            self._drop()

    def _connected(self) -> Any:
        if self._client is None or self._client.status != "running":
            try:
                from distributed import Client
            except ImportError as error:
                raise SchedulerUnreachable(
                    "the package is missing: pip install 'tpu-profile-plugin[cluster]'"
                ) from error
            self._client = Client(self._address, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call,unused-ignore]
        return self._client

    @staticmethod
    def _threads(client: Any) -> int:
        return sum(int(count) for count in client.nthreads().values())

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=1)
