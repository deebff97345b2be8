"""What is no directory as a logdir of one run with one host: a file, or the bytes of a profile."""

from __future__ import annotations

import abc
import functools
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.logdir import names
from tpu_profile_plugin.logdir.files import LocalFiles, read_host
from tpu_profile_plugin.logdir.model import HostFile, RunFiles

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_HOST = "host"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class SingleRun(abc.ABC):
    """A logdir of one run."""

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

    def newest_first(self) -> list[RunFiles]:
        """The run; raises NotFound."""
        return [self.newest()]

    def run(self, name: str) -> RunFiles:
        """The run, if it is called `name`."""
        run = self.newest()
        if run.name == name:
            return run
        raise NotFound(f"{self.path} is a single file, so there is no run {name!r} to choose.", code="run_not_found")

    def names(self) -> Sequence[str]:
        """The name of the run."""
        return [self.newest().name]


class SingleFile(SingleRun):
    """A file as a logdir of one run."""

    def newest(self) -> RunFiles:
        """The run of the file; raises NotFound."""
        file = Path(self.path)
        try:
            status = file.stat()
        except OSError:
            raise NotFound(f"There is no file {file.name}.") from None
        known = names.host_and_kind(file.name)
        host = known[0] if known else file.name.removesuffix(".pb").removesuffix(".riegeli") or _HOST
        entry = HostFile(host, str(file), status.st_size, status.st_mtime_ns, "xplane", file.name)
        return RunFiles(file.parent.name or file.name, file.parent.name, "", (entry,))

    def read(self, file: HostFile) -> Bytes:
        """The bytes of the file."""
        return read_host(LocalFiles(), file)


class Memory(SingleRun):
    """The bytes of a profile as a logdir of one run; they must not change."""

    def __init__(self, data: Bytes, host: str = "") -> None:
        super().__init__("memory")
        self._data, self._host = data, names.printable(host) or _HOST

    def newest(self) -> RunFiles:
        """The run of the bytes."""
        file = HostFile(self._host, self.path, len(self._data), 0, "xplane", self.path, self._tag)
        return RunFiles(self.path, self.path, "", (file,))

    def read(self, file: HostFile) -> Bytes:
        """The bytes."""
        return self._data

    @functools.cached_property
    def _tag(self) -> str:
        """What tells these bytes from others in caches: their digest."""
        return hashlib.sha256(self._data.data).hexdigest()


@contextmanager
def as_logdir(
    path: str, run: str, hosts: Sequence[HostFile], read: Callable[[HostFile], Bytes]
) -> Iterator[tuple[str, str]]:
    """A logdir with a run of `path`, and its name there: bytes and single files are written to a temporary one."""
    if "://" in path or Path(path).is_dir():
        yield path, run
        return
    with tempfile.TemporaryDirectory(prefix="tpu_profile_") as root:
        session = Path(root, "plugins", "profile", _UNSAFE.sub("_", run).strip(".") or "run")
        session.mkdir(parents=True)
        for host in hosts:
            name = Path(host.name).name
            place = session / (name if names.is_xplane(name) else f"{_UNSAFE.sub('_', host.host)}{names.XPLANE}")
            place.write_bytes(read(host).tobytes())
        yield root, session.name
