"""Chooses where per-host steps run: threads, worker processes or a Dask cluster; retries when a worker dies."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Sequence
from typing import Protocol, TypeVar

from tpu_profile_plugin.errors import Forbidden, NotFound, WorkerLost
from tpu_profile_plugin.run.host import HostExecutor, HostProfile, LocalThreads, PerHost
from tpu_profile_plugin.system.process import available_cores, free_memory
from tpu_profile_plugin.workers.cluster import Cluster, SchedulerUnreachable
from tpu_profile_plugin.workers.processes import WorkerDied, WorkerNotStarted, Workers
from tpu_profile_plugin.workers.task import Reply, Task, pack_task

T = TypeVar("T")
_LOG = logging.getLogger("tpu_profile_plugin")

MIN_HOSTS = 4
MIN_BYTES = 512 << 20
HOST_BYTES = 4 << 20
"""Worker processes pay off from this many hosts and bytes on: starting one takes about a third of a second of a core.
Every host costs as much as HOST_BYTES in addition to its file, most of it under the GIL."""
_MEMORY_PER_FILE_BYTE = 3
_ATTEMPTS = 2


class _Remote(Protocol):
    """Runs tasks in other processes."""

    def execute(self, data: bytes) -> bytes:
        """Runs a packed task and returns its packed reply."""


class Executor:
    """Chooses a `HostExecutor` per step. Workers are started on first use."""

    def __init__(self, chosen: str = "", *, workers: int = 0) -> None:
        """Starts nothing yet.

        Args:
          chosen: "processes", "threads", the address of a Dask scheduler such as tcp://host:8786, or "" for processes
            if a run is large and threads if not.
          workers: the most worker processes; 0: one per core.
        """
        self._chosen = chosen
        cores = available_cores()
        self._local = LocalThreads(min(8, cores))
        self._workers = Workers(workers or cores)
        self._multiple = (workers or cores) > 1
        self._cluster = Cluster(chosen) if "://" in chosen else None

    def choose(self, hosts: Sequence[HostProfile]) -> HostExecutor:
        """The executor for a step over these hosts."""
        remote_hosts = sum(host.origin is not None for host in hosts)
        if self._chosen == "threads" or remote_hosts < 2:
            return self._local
        processes = RemoteWorkers(self._workers, self._local, _fitting(self._workers.count, hosts), _ATTEMPTS)
        if self._cluster is not None and self._cluster.reachable():
            # Dask retries by itself, and blames a worker's death on all of its tasks: our own processes then determine
            # which host caused it.
            return RemoteWorkers(self._cluster, processes, self._cluster.width(), 0)
        large = len(hosts) >= MIN_HOSTS and sum(host.size + HOST_BYTES for host in hosts) >= MIN_BYTES
        if self._chosen == "processes" or self._cluster is not None or (self._multiple and large):
            return processes
        return self._local

    def close(self) -> None:
        """Stops the workers."""
        self._workers.close()
        if self._cluster is not None:
            self._cluster.close()


class RemoteWorkers:
    """Runs steps in worker processes; `fallback` runs them if no worker is available or it cannot access the file."""

    def __init__(self, remote: _Remote, fallback: HostExecutor, width: int, attempts: int) -> None:
        """Raises WorkerLost after `attempts` deaths per host; with 0, `fallback` computes the host after the first."""
        self._remote = remote
        self._fallback = fallback
        self._width = width
        self._attempts = attempts

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """The number of hosts to compute at a time."""
        return min(self._width, len(hosts))

    def compute(self, host: HostProfile, step: PerHost[T]) -> T:
        """Computes the step in a worker; raises its ProfileError, or WorkerLost if the workers died."""
        if host.origin is None:
            return self._fallback.compute(host, step)
        steps = (step, *(more for more in step.prefetch if not host.has(more)))
        try:
            reply, size = self._execute(host, pack_task(Task(host.origin, steps)))
        except (WorkerNotStarted, SchedulerUnreachable) as error:
            _LOG.warning("no worker for host %s (%s); reading it in the server", host.name, error)
            return self._fallback.compute(host, step)
        except WorkerLost:
            if self._attempts:
                raise
            return self._fallback.compute(host, step)
        if reply.trace:
            _LOG.error("host %s failed in a worker:\n%s", host.name, reply.trace)
        if isinstance(reply.error, (NotFound, Forbidden)):
            return self._fallback.compute(host, step)  # another machine may lack access to the file
        if reply.error is not None:
            raise reply.error
        for computed, value in zip(steps, reply.values, strict=False):
            host.store(computed, value, size // len(reply.values))
        result: T = reply.values[0]
        return result

    def _execute(self, host: HostProfile, data: bytes) -> tuple[Reply, int]:
        """The reply and its size in bytes; raises WorkerLost."""
        for attempt in range(1, max(1, self._attempts) + 1):
            try:
                packed = self._remote.execute(data)
                reply: Reply = pickle.loads(packed)  # noqa: S301 - from our own workers
                return reply, len(packed)
            except WorkerDied as error:
                _LOG.warning("a worker died with host %s (%s), attempt %d", host.name, error, attempt)
        raise WorkerLost(
            f"Reading {host.file} crashed its worker process twice: it ran out of memory, or the file is damaged in an "
            "unexpected way.",
            file=host.file,
        )


def _fitting(count: int, hosts: Sequence[HostProfile]) -> int:
    """The number of workers that can hold one file each in half of the free memory."""
    largest = max(host.size for host in hosts)
    free = free_memory()
    if not free or not largest:
        return count
    return max(1, min(count, free // 2 // (_MEMORY_PER_FILE_BYTE * largest)))
