"""Per-host tasks for other processes: a task carries the location of a file, the reply small results."""

from __future__ import annotations

import functools
import pickle
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.logdir import ContentCache, HostFile
from tpu_profile_plugin.logdir.files import file_changed, mapping_faults, read_host
from tpu_profile_plugin.run.host import HostProfile, Origin, PerHost
from tpu_profile_plugin.version import __version__

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir.files import Files

_CACHE_BYTES = 64 << 20
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Task:
    """A request to a worker: the file, the steps to compute, and the version of this package."""

    origin: Origin
    steps: tuple[PerHost[Any], ...]
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a task: a value per step (those after the first may be missing), or the error.

    Attributes:
      values: results in order, up to the first step that failed.
      error: the reason why the first step failed.
      trace: traceback of an unexpected error, for the log.
    """

    values: tuple[Any, ...] = ()
    error: ProfileError | None = None
    trace: str = ""


def pack_task(task: Task) -> bytes:
    """Serializes a task."""
    return pickle.dumps(task, 5)


def prepare() -> Callable[[bytes], tuple[bytes]]:
    """The function of a worker process, see `processes.Process`."""
    return lambda data: (run_task(data),)


def run_task(data: bytes) -> bytes:
    """Runs a packed task and returns its packed reply, which carries the errors that a profile causes."""
    # Only the server that started this process, or its configured cluster, can send tasks.
    task: Task = pickle.loads(data)  # noqa: S301
    if task.version != __version__:
        message = f"The worker has version {__version__} of the plugin, the server {task.version}."
        return pickle.dumps(Reply(error=ProfileError(message)), 5)
    values: list[Any] = []
    before = mapping_faults()
    try:
        host = _host(task.origin)
        for step in task.steps:
            values.append(host.compute(step))
        reply = Reply(tuple(values))
    except Exception as error:
        reply = _failed(values, error)
    if mapping_faults() != before:
        _cache().clear()
        reply = Reply(error=file_changed(task.origin.file.name))
    return pickle.dumps(reply, 5)


def _failed(values: Sequence[Any], error: Exception) -> Reply:
    if values:
        return Reply(tuple(values))  # the requested step succeeded; a failed prefetch is raised when it is needed
    if isinstance(error, ProfileError):
        return Reply(error=error)
    message = "The server failed on this file; see its log for the reason."
    return Reply(error=ProfileError(message), trace=traceback.format_exc())


def _host(origin: Origin) -> HostProfile:
    file, files = origin.file, _files(origin.address, origin.copies)

    def read(file: HostFile) -> Any:
        return read_host(files, file)

    return HostProfile(file, 0, read, _cache(), recorded=origin.recorded)


@functools.cache
def _cache() -> ProfileCache:
    """The columns of the last few files, for consecutive steps of one host."""
    return ProfileCache(_CACHE_BYTES)


def _files(address: str, copies: tuple[str, int] | None) -> Files:
    with _LOCK:
        return _opened(address, copies)


@functools.cache
def _opened(address: str, copies: tuple[str, int] | None) -> Files:
    if address:
        from tpu_profile_plugin.logdir.remote import open_remote

        cache = ContentCache(Path(copies[0]), copies[1]) if copies is not None else None
        return open_remote(address, cache)[0]
    from tpu_profile_plugin.logdir.files import LocalFiles

    return LocalFiles()
