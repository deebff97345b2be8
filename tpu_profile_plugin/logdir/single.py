"""What is no directory as a logdir of one run with one host: a file, or the bytes of a profile."""

from __future__ import annotations

import abc
import functools
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.logdir import names
from tpu_profile_plugin.logdir.files import LocalFiles, read_host
from tpu_profile_plugin.logdir.model import HostFile, Problem, RunFiles, empty_file
from tpu_profile_plugin.logdir.scan import RunLocation, Scan
from tpu_profile_plugin.system import paths

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_HOST = "host"


class SingleRun(abc.ABC):
    address: str | None = None
    """Other processes do not read it."""

    def __init__(self, path: str) -> None:
        self.path = path

    @abc.abstractmethod
    def newest(self) -> RunFiles:
        """The run; raises NotFound."""

    @abc.abstractmethod
    def read(self, file: HostFile) -> Bytes:
        """The bytes of its host."""

    @property
    def absolute_path(self) -> str:
        return self.path

    def newest_first(self) -> list[RunFiles]:
        return [self.newest()]

    runs = newest_first

    def has_runs(self) -> bool:
        try:
            return bool(self.newest().hosts)
        except NotFound:
            return False

    def scan(self) -> Scan:
        """The run as the result of a walk, or why there is none."""
        now = time.monotonic()
        try:
            name = self.newest().name
        except NotFound as error:
            return Scan({}, 0, now, now, (Problem(error.code, error.message),))
        return Scan({name: RunLocation(name, ".", self.absolute_path)}, 0, now, now)

    def run(self, name: str) -> RunFiles:
        run = self.newest()
        if run.name == name:
            return run
        raise NotFound(f"{self.path} is a single file, so there is no run {name!r} to choose.", code="run_not_found")

    def labels(self, run: RunFiles) -> bytes:
        """A single file has no labels."""
        return b""

    def names(self) -> list[str]:
        return [self.newest().name]


class SingleFile(SingleRun):
    """A file as a logdir of one run."""

    @property
    def absolute_path(self) -> str:
        return paths.absolute(self.path)

    def newest(self) -> RunFiles:
        file = Path(self.path)
        try:
            status = file.stat()
        except OSError:
            raise NotFound(f"There is no file {file.name}.") from None
        named = names.host_and_kind(file.name)
        host = named[0] if named else file.name.removesuffix(".pb").removesuffix(".riegeli") or _HOST
        problem = None if status.st_size else empty_file(file.name)
        entry = HostFile(
            host,
            str(file),
            status.st_size,
            status.st_mtime_ns,
            "xplane",
            file.name,
            problem=problem,
            ctime_ns=status.st_ctime_ns,
        )
        problems = () if problem is None else (problem,)
        return RunFiles(file.parent.name or file.name, file.parent.name, "", (entry,), problems)

    def read(self, file: HostFile) -> Bytes:
        return read_host(LocalFiles(), file)


class Memory(SingleRun):
    """The bytes of a profile as a logdir of one run; they must not change."""

    def __init__(self, data: Bytes, host: str = "") -> None:
        super().__init__("memory")
        self._data, self._host = data, names.printable(host) or _HOST

    def newest(self) -> RunFiles:
        file = HostFile(self._host, self.path, len(self._data), 0, "xplane", self.path, self._tag)
        return RunFiles(self.path, self.path, "", (file,))

    def read(self, file: HostFile) -> Bytes:
        return self._data

    @functools.cached_property
    def _tag(self) -> str:
        """What tells these bytes from others in caches: their digest."""
        return hashlib.sha256(self._data.data).hexdigest()


def is_local_file(path: str) -> bool:
    """Whether a path names a file of this machine, which is no logdir."""
    return "://" not in path and Path(path).is_file()
