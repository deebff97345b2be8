"""Stores the files of a capture: the session directory appears in the logdir together with its first file."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tpu_profile_plugin.capture import failures
from tpu_profile_plugin.capture.addresses import safe_name
from tpu_profile_plugin.capture.failures import WorkerFailure
from tpu_profile_plugin.errors import NotAvailable
from tpu_profile_plugin.logdir.logdir import LABELS
from tpu_profile_plugin.logdir.remote import is_remote, open_remote
from tpu_profile_plugin.suffixes import XPLANE
from tpu_profile_plugin.system.files import move_exclusively, rename, sync_directory
from tpu_profile_plugin.system.paths import local

STAGING = ".capture-"
"""Prefix of the names, beside `plugins/profile`, of directories with incomplete files."""

_ABANDONED_S = 24 * 3600
_lock = threading.Lock()
_taken: set[tuple[str, str]] = set()


def session_name(requested: str | None = None) -> str:
    """The requested name with safe characters only, or the local time in the format of profilers."""
    return safe_name(requested, "session") if requested else time.strftime("%Y_%m_%d_%H_%M_%S")


class _Session(ABC):
    """Where the files of one capture are stored, under a name that no other capture has.

    Attributes:
      root: the repository root in requests to workers.
      name: the session's name.
    """

    _poll_s = 0.1

    def __init__(self, root: str, requested: str | None) -> None:
        """Chooses a name that is not used yet."""
        self.root = root
        self._first = session_name(requested)
        self.name = self._free_name()

    @abstractmethod
    def hosts_stored(self) -> dict[str, int]:
        """Every profile in the session's directory: host -> bytes."""

    @abstractmethod
    def _exists(self, name: str) -> bool:
        """Whether there is a session with this name."""

    @abstractmethod
    def label(self, labels: Mapping[str, str]) -> None:
        """Writes labels of the run beside its profiles; raises OSError."""

    def find_stored(self, hosts: Iterable[str], wait_s: float = 3.0) -> dict[str, int]:
        """Files that workers wrote themselves, host -> bytes; waits up to `wait_s` until they are visible."""
        expected = set(hosts)
        deadline = time.monotonic() + wait_s
        while True:
            stored = {host: size for host, size in self.hosts_stored().items() if host in expected}
            if len(stored) == len(expected) or time.monotonic() > deadline:
                return stored
            time.sleep(self._poll_s)

    def path_of(self, host: str) -> str:
        """The path of a host's profile below the logdir."""
        return f"plugins/profile/{self.name}/{host}{XPLANE}"

    def _free_name(self) -> str:
        with _lock:
            name, count = self._first, 1
            while (self.root, name) in _taken or self._exists(name):
                count += 1
                name = f"{self._first}_{count}"
            _taken.add((self.root, name))
            return name


class LocalSession(_Session):
    """A session below a local directory.

    A file is written under a temporary name outside of `plugins/profile`, synced, renamed; then its directory is
    renamed to the session's name. So no session is visible without its file and no file half-written, even if this
    process is killed.
    """

    def __init__(self, logdir: str, requested: str | None = None, hosts: Iterable[str] = ()) -> None:
        """Chooses an unused name, writes nothing yet; raises NotAvailable if the logdir is not writable."""
        base = Path(local(logdir)).expanduser().absolute()
        self._plugins = base / "plugins"
        self._root = self._plugins / "profile"
        self._hosts = frozenset(hosts)
        self._ours = False
        self._storing = threading.Lock()
        _check_writable(self._root)
        super().__init__(str(self._root), requested)

    def store(self, host: str, data: bytes | memoryview) -> str:
        """Writes one host's profile and returns its path below the logdir; raises WorkerFailure."""
        file_name = host + XPLANE
        staging = self._plugins / f"{STAGING}{secrets.token_hex(6)}"
        try:
            staging.mkdir(parents=True)
            self._sweep()
            part = staging / f"{file_name}.part"
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            rename(part, staging / file_name)
            with self._storing:
                self._publish(staging, file_name)
            sync_directory(self._root / self.name)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            message = f"The profile was received, but cannot be stored: {reason}."
            raise WorkerFailure(failures.NOT_STORED, message) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return self.path_of(host)

    def hosts_stored(self) -> dict[str, int]:
        with contextlib.suppress(OSError):
            files = [entry for entry in (self._root / self.name).iterdir() if entry.name.endswith(XPLANE)]
            return {entry.name[: -len(XPLANE)]: entry.stat().st_size for entry in sorted(files)}
        return {}

    def read(self, host: str) -> bytes:
        return (self._root / self.name / (host + XPLANE)).read_bytes()

    def label(self, labels: Mapping[str, str]) -> None:
        (self._root / self.name / LABELS).write_text(json.dumps(dict(labels)))

    def _publish(self, staging: Path, file_name: str) -> None:
        """Makes the complete file visible, without ever replacing an existing one."""
        self._root.mkdir(parents=True, exist_ok=True)
        while True:
            target = self._root / self.name
            if not target.exists():
                try:
                    rename(staging, target)
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                        raise
                else:
                    self._ours = True
                    return
            elif self._is_ours() and move_exclusively(staging / file_name, target / file_name):
                return
            # Another process took this name, or this host's file already exists.
            self.name, self._ours = self._free_name(), False

    def _is_ours(self) -> bool:
        """Whether the session's directory belongs to this capture: created here, or by one of its workers."""
        return self._ours or any(host in self._hosts for host in self.hosts_stored())

    def _exists(self, name: str) -> bool:
        return (self._root / name).exists()

    def _sweep(self) -> None:
        """Removes directories of captures that were killed more than a day ago."""
        for entry in self._plugins.glob(f"{STAGING}*"):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime > _ABANDONED_S:
                    shutil.rmtree(entry, ignore_errors=True)


class RemoteSession(_Session):
    """A session on an fsspec filesystem; object stores show an object only when it is complete."""

    _poll_s = 0.5

    def __init__(self, logdir: str, requested: str | None = None, fs: Any = None) -> None:
        """Chooses an unused name; raises NotAvailable when the filesystem cannot be opened."""
        path = logdir
        if fs is None:
            files, path = open_remote(logdir)
            fs = files._fs
        self._fs = fs
        self._root = f"{path.rstrip('/')}/plugins/profile"
        super().__init__(f"{logdir.rstrip('/')}/plugins/profile", requested)

    def store(self, host: str, data: bytes | memoryview) -> str:
        file_name = host + XPLANE
        try:
            self._fs.makedirs(f"{self._root}/{self.name}", exist_ok=True)
            self._fs.pipe_file(f"{self._root}/{self.name}/{file_name}", bytes(data))
        except Exception as error:  # a filesystem may raise anything
            message = f"The profile was received, but cannot be stored: {type(error).__name__}."
            raise WorkerFailure(failures.NOT_STORED, message, details=str(error)[:500]) from error
        return self.path_of(host)

    def hosts_stored(self) -> dict[str, int]:
        try:
            self._fs.invalidate_cache()
            infos = self._fs.ls(f"{self._root}/{self.name}", detail=True)
        except OSError:
            return {}
        names = {str(info["name"]).rsplit("/", 1)[-1]: int(info.get("size") or 0) for info in infos}
        return {name[: -len(XPLANE)]: size for name, size in sorted(names.items()) if name.endswith(XPLANE)}

    def read(self, host: str) -> bytes:
        data: bytes = self._fs.cat_file(f"{self._root}/{self.name}/{host}{XPLANE}")
        return data

    def label(self, labels: Mapping[str, str]) -> None:
        try:
            self._fs.pipe_file(f"{self._root}/{self.name}/{LABELS}", json.dumps(dict(labels)).encode())
        except Exception as error:  # a filesystem may raise anything
            raise OSError(errno.EIO, type(error).__name__) from error

    def _exists(self, name: str) -> bool:
        return bool(self._fs.exists(f"{self._root}/{name}"))


Session = LocalSession | RemoteSession


def open_session(logdir: str, requested: str | None = None, hosts: Iterable[str] = ()) -> Session:
    """A new session in a logdir; raises NotAvailable if there is no logdir or it is not writable."""
    if not logdir:
        raise NotAvailable("There is no log directory to store a profile in: start TensorBoard with --logdir.")
    return RemoteSession(logdir, requested) if is_remote(logdir) else LocalSession(logdir, requested, hosts)


def _check_writable(directory: Path) -> None:
    """Raises NotAvailable, before a program is profiled, if the result could not be stored."""
    existing = directory
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise NotAvailable("This server cannot write to the log directory, so no profile can be stored.")
