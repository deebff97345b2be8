"""The data model of a logdir: runs, the files of their hosts, and problems with them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from tpu_profile_plugin.cache import FileVersion
from tpu_profile_plugin.errors import EMPTY_FILE, Forbidden, NoData, ProfileError, StorageFailed
from tpu_profile_plugin.errors import Problem as Problem
from tpu_profile_plugin.units import NS_PER_MS

FileKind = Literal["xplane", "trace.json.gz"]

UNREADABLE = "unreadable_file"
"""The code of a file that is listed and cannot be opened: not permitted, a broken link, or no regular file."""

LOGDIR_IS_FILE = "logdir_is_file"
"""The code of a logdir that is no directory."""

UNREADABLE_DIRECTORY = "unreadable_directory"
"""The code of a run whose directory cannot be listed."""

STORAGE_DENIED = "storage_denied"
"""The code of a run whose directory a remote store denies."""

_SESSION = re.compile(r"(\d{4})[_-](\d{2})[_-](\d{2})[_-](\d{2})[_:-](\d{2})[_:-](\d{2})", re.ASCII)
"""The local time in the name of a session, as profilers write it."""


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file of one host, as it was when the run was listed.

    Attributes:
      host: the host's name.
      path: its path; never sent to a client.
      size: in bytes.
      mtime_ns: modification time, ns since 1970; 0 where the filesystem does not report it.
      kind: the file format.
      name: the file's name without its directory.
      tag: content tag of a remote store, "" for local files.
      problem: a problem found without opening the file.
      captures: traces of the capture of the CUDA graphs that a trace of PyTorch replays; they are read with it.
      ctime_ns: change time of a local file, which no program can set back; no part of its identity, as it tells of
        changed rights and names, too.
    """

    host: str
    path: str
    size: int
    mtime_ns: int
    kind: FileKind
    name: str
    tag: str = ""
    problem: Problem | None = None
    captures: tuple[HostFile, ...] = ()
    ctime_ns: int = field(default=0, compare=False)

    @property
    def identity(self) -> FileVersion:
        """Equal for equal content: path, size, modification time, content tag."""
        read_with = tuple(capture.identity for capture in self.captures)
        return FileVersion(self.path, self.size, self.mtime_ns, self.tag, read_with)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one run: a directory with one profile per host.

    Attributes:
      name: its name in requests, e.g. "train/2026_01_15_10_00_00".
      session: the last part of the name.
      directory: its directory, relative to the logdir.
      hosts: the profiles, in file-name order; a trace.json.gz only where it replaces a profile.
      problems: problems of the run and of its files.
      earlier: whether the directory holds a later recording, which is a run of its own.
    """

    name: str
    session: str
    directory: str
    hosts: tuple[HostFile, ...]
    problems: tuple[Problem, ...] = ()
    earlier: bool = False

    def without_hosts(self) -> ProfileError:
        """The error that says why the run has no host."""
        text = " ".join(problem.message for problem in self.problems) or "This run contains no profile."
        if any(problem.code == STORAGE_DENIED for problem in self.problems):
            return StorageFailed(text, code=STORAGE_DENIED, run=self.name)
        denied = any(problem.code == UNREADABLE_DIRECTORY for problem in self.problems)
        return Forbidden(text, run=self.name) if denied else NoData(text, run=self.name)

    def problems_of(self, hosts: Collection[HostFile]) -> tuple[Problem, ...]:
        """The problems of the run as a whole, and of these of its files."""
        others = {file.name for file in self.hosts} - {file.name for file in hosts}
        return tuple(problem for problem in self.problems if problem.file not in others)

    @property
    def host_names(self) -> tuple[str, ...]:
        return tuple(sorted(file.host for file in self.hosts))

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.hosts)

    @property
    def mtime_ms(self) -> int:
        """The latest modification time of the profiles, ms since 1970; 0 without profiles."""
        return max((file.mtime_ns for file in self.hosts), default=0) // NS_PER_MS

    @property
    def time_ms(self) -> int:
        """When the run was captured, ms since 1970: the time in the session's name, else `mtime_ms`."""
        named = _SESSION.search(self.session)
        if named is not None:
            with contextlib.suppress(ValueError, OverflowError, OSError):  # digits that are no time
                return round(datetime(*map(int, named.groups())).timestamp() * 1000)  # type: ignore[arg-type]
        return self.mtime_ms


def empty_file(name: str, host: str | None = None) -> Problem:
    message = f"{name} is empty (0 bytes): the capture ended before it wrote anything, or is still running."
    return Problem(EMPTY_FILE, message, name, host=host)


def unreadable_directory(what: str, error: OSError) -> str:
    """The reason why a directory cannot be listed."""
    if isinstance(error, PermissionError):
        return f"The server may not read {what}."
    return f"The server cannot read {what}: {error.strerror or type(error).__name__}."
