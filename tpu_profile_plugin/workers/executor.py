"""Chooses where per-host steps run: threads, worker processes or a Dask cluster; retries when a worker dies."""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tpu_profile_plugin.errors import Forbidden, NotFound, WorkerLost
from tpu_profile_plugin.run.host import Engine, HostExecutor, HostProfile, LocalThreads, Origin, PerHost
from tpu_profile_plugin.system.process import available_cores, free_memory
from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.units import MIB
from tpu_profile_plugin.workers.processes import WorkerDied, WorkerNotStarted, Workers
from tpu_profile_plugin.workers.task import Reply, Task, pack_task

if TYPE_CHECKING:
    from tpu_profile_plugin.workers.cluster import Cluster

T = TypeVar("T")

MIN_HOSTS = 4
MIN_BYTES = 512 << 20
HOST_BYTES = 4 << 20
"""Worker processes pay off from this many hosts and bytes on: starting one takes about a third of a second of a core.
Every host costs as much as HOST_BYTES in addition to its file, most of it under the GIL."""
_MEMORY_PER_FILE_BYTE = 3
_ATTEMPTS = 2
_LIMIT_S = 60.0
_LIMIT_S_PER_MIB = 1.0
"""A host may take so long in another process: a hundred times longer than on a slow disk."""
_AS_CHOSEN = "As the option --profile_executor says."
_SMALL = f"The run is small: fewer than {MIN_HOSTS} hosts, or less than {MIN_BYTES >> 20} MiB."
_LARGE = f"The run is large: at least {MIN_HOSTS} hosts, and {MIN_BYTES >> 20} MiB."
_HERE_ALONE = "Other processes cannot open its files."


class _Remote(Protocol):
    """Runs tasks in other processes."""

    def execute(self, data: bytes, limit_s: float) -> bytes:
        """Runs a packed task and returns its packed reply, within `limit_s`."""


def _cluster(address: str) -> Cluster:
    # asyncio, which it imports, takes a twentieth of the time of the first call in a script.
    from tpu_profile_plugin.workers.cluster import Cluster

    return Cluster(address)


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
        self._cores = available_cores()
        self._workers = Workers(workers or self._cores)
        self._multiple = (workers or self._cores) > 1
        self._cluster = _cluster(chosen) if "://" in chosen else None

    def choose(self, hosts: Sequence[HostProfile]) -> HostExecutor:
        """The executor for a step over these hosts."""
        remote_hosts = sum(host.origin is not None for host in hosts)
        if self._chosen == "threads":
            return self._threads(_AS_CHOSEN)
        if remote_hosts < 2:
            return self._threads("There is one host to read." if len(hosts) < 2 else _HERE_ALONE)
        if self._cluster is not None:
            if not self._cluster.reachable():
                return self._processes(hosts, self._cluster_failed(), fallback=True)
            # Dask retries by itself, and blames a worker's death on all of its tasks: our own processes then determine
            # which host caused it.
            engine = Engine("cluster", f"As the option --profile_executor says: {self._cluster.name}.")
            processes = self._processes(hosts, "")
            return RemoteWorkers(self._cluster, processes, self._cluster.width(), 0, engine)
        large = len(hosts) >= MIN_HOSTS and sum(host.size + HOST_BYTES for host in hosts) >= MIN_BYTES
        if self._chosen == "processes":
            return self._processes(hosts, _AS_CHOSEN)
        if large and self._multiple:
            return self._processes(hosts, _LARGE)
        return self._threads("The server may use one core." if large else _SMALL)

    def _threads(self, reason: str) -> HostExecutor:
        return LocalThreads(min(8, self._cores), reason)

    def _processes(self, hosts: Sequence[HostProfile], reason: str, *, fallback: bool = False) -> RemoteWorkers:
        width = _fitting(self._workers.count, hosts)
        engine = Engine("processes", reason, fallback)
        return RemoteWorkers(self._workers, self._threads("No worker process could start."), width, _ATTEMPTS, engine)

    def _cluster_failed(self) -> str:
        assert self._cluster is not None
        return f"The Dask scheduler {self._cluster.name} cannot be used: {self._cluster.reason}."

    def close(self) -> None:
        """Stops the workers."""
        self._workers.close()
        if self._cluster is not None:
            self._cluster.close()


class _NotThere(Exception):
    """A worker cannot compute a step; the message is the reason."""


class RemoteWorkers:
    """Runs steps in worker processes; `fallback` runs them if no worker is available or it cannot access the file."""

    def __init__(
        self, remote: _Remote, fallback: HostExecutor, width: int, attempts: int, engine: Engine | None = None
    ) -> None:
        """Raises WorkerLost after `attempts` deaths per host; with 0, `fallback` computes the host after the first."""
        self._remote = remote
        self._fallback = fallback
        self._width = width
        self._attempts = attempts
        self._engine = engine or Engine("processes")
        self._lock = threading.Lock()
        self._told = False

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """The number of hosts to compute at a time."""
        return min(self._width, len(hosts))

    def compute(self, host: HostProfile, step: PerHost[T], needs: Sequence[PerHost[Any]] = ()) -> T:
        """Computes the steps in a worker; raises its ProfileError, or WorkerLost if the workers died."""
        if host.origin is None:
            return self._fallback.compute(host, step)
        try:
            with host.visit():
                if not host.in_memory(step):
                    return self._visit(host, step, needs)
        except _NotThere as reason:
            return self._instead(host, step, str(reason))  # not during the visit: it may wait for other steps
        return host.compute(step)

    def _visit(self, host: HostProfile, step: PerHost[T], needs: Sequence[PerHost[Any]]) -> T:
        """Computes the steps in a worker; raises _NotThere if that is to be done here instead."""
        assert host.origin is not None
        steps = (step, *(need for need in dict.fromkeys(needs) if need != step and not host.has(need)))
        try:
            reply, size = self._execute(host, host.origin, steps)
        except WorkerNotStarted as error:
            self._tell(host, error)
            raise _NotThere(f"{self._where} failed: {error}.") from error
        except WorkerLost as error:
            if self._attempts:
                raise
            raise _NotThere(f"A worker of {self._where} died or did not answer.") from error
        if reply.trace:
            _LOG.error("host %s failed in a worker:\n%s", host.name, reply.trace)
        if isinstance(reply.error, (NotFound, Forbidden)):  # another machine may lack access to the file
            raise _NotThere(f"A worker of {self._where} cannot read the file: {reply.error.message}")
        if reply.error is not None:
            raise reply.error
        host.engines[self._engine] = None
        for computed, value in reply.values.items():
            host.store(computed, value, size // len(reply.values))
        result: T = reply.values[step]
        return result

    @property
    def _where(self) -> str:
        return "the Dask cluster" if self._engine.name == "cluster" else "this machine"

    def _instead(self, host: HostProfile, step: PerHost[T], reason: str) -> T:
        """Computes a host by the fallback, and notes why there."""
        reason = reason[0].upper() + reason[1:]
        before = set(host.engines)
        try:
            return self._fallback.compute(host, step)
        finally:
            for engine in [engine for engine in host.engines if engine not in before]:
                del host.engines[engine]
                host.engines[replace(engine, reason=reason, fallback=True)] = None

    def _tell(self, host: HostProfile, error: Exception) -> None:
        """Logs the first of the hosts that find no worker; the others fail for the same reason."""
        with self._lock:
            first, self._told = not self._told, True
        level = logging.WARNING if first else logging.DEBUG
        _LOG.log(level, "no worker for host %s (%s); reading it in the server", host.name, error)

    def _execute(self, host: HostProfile, origin: Origin, steps: tuple[PerHost[Any], ...]) -> tuple[Reply, int]:
        """The reply and its size in bytes; raises WorkerLost. After a death only the first step is tried again."""
        limit_s = _LIMIT_S + _LIMIT_S_PER_MIB * host.size / MIB
        for attempt in range(1, max(1, self._attempts) + 1):
            try:
                task = Task(origin, steps if attempt == 1 else steps[:1])
                packed = self._remote.execute(pack_task(task), limit_s)
                reply: Reply = pickle.loads(packed)  # noqa: S301 - from our own workers
                return reply, len(packed)
            except WorkerDied as error:
                _LOG.warning("a worker died with host %s (%s), attempt %d", host.name, error, attempt)
        raise WorkerLost(
            f"Reading {host.file} crashed its worker process twice, or took too long: it ran out of memory, the disk "
            "hangs, or the file is damaged in an unexpected way.",
            file=host.file,
        )


def _fitting(count: int, hosts: Sequence[HostProfile]) -> int:
    """The number of workers that can hold one file each in half of the free memory."""
    largest = max(host.size for host in hosts)
    free = free_memory()
    if not free or not largest:
        return count
    return max(1, min(count, free // 2 // (_MEMORY_PER_FILE_BYTE * largest)))
