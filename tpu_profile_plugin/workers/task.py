"""Per-host tasks for other processes: a task carries the location of a file, the reply small results."""

from __future__ import annotations

import functools
import pickle
import threading
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
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
    """A request to a worker: the file, the steps to compute in this order, and the version of this package."""

    origin: Origin
    steps: tuple[PerHost[Any], ...]
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a task, or the error.

    Attributes:
      values: results up to the first step that failed, with those of the steps that they are made of.
      error: the reason why the first step failed.
      trace: traceback of an unexpected error, for the log.
    """

    values: dict[PerHost[Any], Any] = field(default_factory=dict)
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
    computed = _Computed()
    reply = Reply(computed.values)
    before = mapping_faults()
    try:
        host = _host(task.origin, computed)
        for step in task.steps:
            computed.values[step] = host.compute(step)
    except Exception as error:
        if task.steps[0] not in computed.values:  # another one that failed is raised when it is needed
            reply = _failed(error)
    if mapping_faults() != before:
        _cache().clear()
        reply = Reply(error=file_changed(task.origin.file.name))
    return pickle.dumps(reply, 5)


def _failed(error: Exception) -> Reply:
    if isinstance(error, ProfileError):
        return Reply(error=error)
    message = "The server failed on this file; see its log for the reason."
    return Reply(error=ProfileError(message), trace=traceback.format_exc())


class _Computed:
    """Takes what is computed during a visit, also steps within steps; it has nothing to give."""

    def __init__(self) -> None:
        self.values: dict[PerHost[Any], Any] = {}

    def has(self, identity: Hashable, step: PerHost[Any]) -> bool:
        return False

    def get(self, identity: Hashable, step: PerHost[Any]) -> Any:
        raise KeyError(step)

    def put(self, identity: Hashable, step: PerHost[Any], value: Any) -> None:
        self.values[step] = value

    def withdraw(self, identity: Hashable) -> None:
        self.values.clear()


def _host(origin: Origin, computed: _Computed) -> HostProfile:
    file, files = origin.file, _files(origin.address, origin.copies)

    def read(file: HostFile) -> Any:
        return read_host(files, file)

    return HostProfile(file, 0, read, _cache(), recorded=origin.recorded, kept=computed)


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
