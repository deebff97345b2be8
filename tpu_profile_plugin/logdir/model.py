"""The things a logdir is made of: runs, the files of their hosts, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

FileKind = Literal["xplane", "trace.json.gz"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a person should know about a run, a file or the logdir.

    Attributes:
      code: stable identifier, lower_snake_case.
      message: what is wrong and what to do; contains no path of the server.
      file: the file's name, if it is about one file.
      offset: the byte at which decoding failed, if it did.
    """

    code: str
    message: str
    file: str | None = None
    offset: int | None = None

    def describe(self) -> dict[str, Any]:
        """The problem as JSON."""
        facts: dict[str, Any] = {"code": self.code, "message": self.message, "file": self.file}
        if self.offset is not None:
            facts["offset"] = self.offset
        return facts


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file of one host, as it was when the run was looked up.

    Attributes:
      host: the host's name.
      path: where it lies; never shown to a client.
      size: in bytes.
      mtime_ns: time of the last change, ns since 1970; 0 where the filesystem does not tell.
      kind: what the file holds.
      name: the file's name without its directory.
      tag: a content tag of remote stores, "" for local files.
      problem: what is wrong with the file, seen without opening it.
    """

    host: str
    path: str
    size: int
    mtime_ns: int
    kind: FileKind
    name: str
    tag: str = ""
    problem: Problem | None = None

    @property
    def identity(self) -> Hashable:
        """Equal for equal content: path, size, time of change, content tag."""
        return (self.path, self.size, self.mtime_ns, self.tag)


@dataclass(frozen=True, slots=True)
class Run:
    """One capture: a directory with one profile file per host.

    Attributes:
      name: what clients call it, e.g. "train/2026_01_15_10_00_00".
      session: the last part of the name.
      directory: its directory, relative to the logdir.
      hosts: the profiles, in file-name order.
      others: files of other kinds that are recognised, in file-name order.
      problems: what is wrong with the run; problems of a file are on the file as well.
    """

    name: str
    session: str
    directory: str
    hosts: tuple[HostFile, ...]
    others: tuple[HostFile, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts' names, sorted."""
        return tuple(sorted(file.host for file in self.hosts))

    @property
    def bytes(self) -> int:
        """The profiles' sizes together."""
        return sum(file.size for file in self.hosts)

    @property
    def mtime_ms(self) -> int:
        """When the youngest profile was last changed, ms since 1970; 0 without one."""
        return max((file.mtime_ns for file in self.hosts), default=0) // 1_000_000
