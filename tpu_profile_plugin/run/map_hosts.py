"""Runs a per-host step over all hosts of a run; hosts that fail are left out and described."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar

from tpu_profile_plugin.errors import CorruptProfile, ProfileError
from tpu_profile_plugin.run.host import HostExecutor, HostProfile, PerHost

T = TypeVar("T")
_LOG = logging.getLogger("tpu_profile_plugin")


@dataclass(frozen=True, slots=True)
class LeftOutHost:
    """A host that is missing from an answer over several hosts.

    Attributes:
      host, file: names of the host and its file.
      code, message, offset: the error; `offset` is None if it does not refer to a byte.
      permanent: retrying fails in the same way, because the file is corrupt.
    """

    host: str
    file: str
    code: str
    message: str
    offset: int | None = None
    permanent: bool = False

    def describe(self) -> dict[str, Any]:
        """The host as a JSON object."""
        description: dict[str, Any] = {"host": self.host, "file": self.file, "code": self.code, "message": self.message}
        return description if self.offset is None else {**description, "offset": self.offset}

    @property
    def sentence(self) -> str:
        """A sentence for the diagnostics of a tool."""
        return f"Host {self.host} is left out: {self.message}"


@dataclass(frozen=True, slots=True)
class HostFailure:
    """Takes the place of a result in the return value of `map_hosts`: the error and its description."""

    error: Exception
    about: LeftOutHost


def left_out(host: HostProfile, error: Exception) -> LeftOutHost:
    """Describes a host whose step failed; an unexpected error is logged with its traceback."""
    if not isinstance(error, ProfileError):
        _LOG.error("host %s failed", host.name, exc_info=error)
        return LeftOutHost(
            host.name, host.file, "internal", "Internal error while processing this file; see the server log."
        )
    offset = error.details.get("offset")
    return LeftOutHost(host.name, host.file, error.code, error.message, offset, isinstance(error, CorruptProfile))


def empty_host(host: HostProfile) -> LeftOutHost:
    """Describes a host whose file has no bytes."""
    message = f"{host.file} is empty (0 bytes): the capture ended before it wrote anything, or is still running."
    return LeftOutHost(host.name, host.file, "empty_file", message, permanent=True)


def map_hosts(
    hosts: Sequence[HostProfile], step: PerHost[T], executor: HostExecutor, on_progress: Callable[[int, int], None]
) -> list[T | HostFailure]:
    """The result of a step for every host, or its failure, in the order of the hosts.

    Args:
      hosts: at least one.
      step: what to compute.
      executor: what computes it.
      on_progress: called with (hosts finished, hosts in all). An exception from it ends the round: hosts that have
        not begun are not started.
    """
    on_progress(0, len(hosts))
    pool = ThreadPoolExecutor(max(1, min(executor.width(hosts), len(hosts))), "profile-hosts")
    try:
        futures = [pool.submit(host.compute, step, executor) for host in hosts]
        for count, _ in enumerate(as_completed(futures), 1):
            on_progress(count, len(hosts))
        outcomes: list[T | HostFailure] = []
        for host, future in zip(hosts, futures, strict=True):
            outcome: T | HostFailure = _outcome(host, future)
            outcomes.append(outcome)
        return outcomes
    finally:
        pool.shutdown(cancel_futures=True)


def _outcome(host: HostProfile, future: Future[T]) -> T | HostFailure:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Exception):
        return HostFailure(error, left_out(host, error))
    raise error
