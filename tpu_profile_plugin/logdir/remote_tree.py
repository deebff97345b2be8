"""The directories and relevant files of an object store, built from recursive listings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tpu_profile_plugin.logdir.files import FileStat
from tpu_profile_plugin.logdir.names import is_relevant, is_xplane
from tpu_profile_plugin.units import NS_PER_S

_TIMES = ("mtime", "LastModified", "updated", "last_modified", "modified", "timeModified", "created")
_TAGS = ("etag", "ETag", "generation", "md5Hash")

Info = Mapping[str, Any]


@dataclass(slots=True)
class Directory:
    """Names of the sub-directories, stats of the relevant files.

    `listed_at`: when this directory alone was last listed, or that failed; `seen_at`: when it was last listed.
    """

    directories: set[str] = field(default_factory=set)
    files: dict[str, FileStat] = field(default_factory=dict)
    listed_at: float = float("-inf")
    seen_at: float = float("-inf")


class Tree:
    """Directories by path, without leading and trailing slashes."""

    def __init__(self, root: str) -> None:
        self._root = root.strip("/")
        self._directories: dict[str, Directory] = {}
        self.objects = 0

    def copy(self) -> Tree:
        """A copy that can be modified while other threads read this tree."""
        other = Tree(self._root)
        other._directories = {
            path: replace(directory, directories=set(directory.directories))
            for path, directory in self._directories.items()
        }
        other.objects = self.objects
        return other

    def get(self, path: str) -> Directory | None:
        """A directory by path; None if it does not exist."""
        return self._directories.get(path.strip("/"))

    def replace_subtree(self, path: str, infos: Iterable[Info]) -> int:
        """Replaces everything at and below `path` by a recursive listing of it; returns the number of entries."""
        path = path.strip("/")
        below = path + "/" if path else ""
        for old in [known for known in self._directories if known == path or known.startswith(below)]:
            del self._directories[old]
        parent, _, name = path.rpartition("/")
        if path != self._root and parent in self._directories:
            self._directories[parent].directories.discard(name)
        count = 0
        for info in infos:
            count += 1
            full_name = str(info["name"])
            if not (full_name.strip("/") + "/").startswith(below):
                continue
            if info.get("type") == "directory" or full_name.endswith("/"):
                self._directory_at(full_name.strip("/"))
            else:
                parent, _, name = full_name.strip("/").rpartition("/")
                directory = self._directory_at(parent)
                if is_relevant(name):
                    directory.files[name] = file_stat(info)
        return count

    def profile_directories(self) -> list[str]:
        """The topmost directories that hold sessions, or profiles themselves."""
        topmost: list[str] = []
        for path in sorted(self._directories):
            inside = topmost and path.startswith(topmost[-1] + "/")
            if not inside and (
                f"/{path}".endswith("/plugins/profile") or any(map(is_xplane, self._directories[path].files))
            ):
                topmost.append(path)
        return topmost

    def _directory_at(self, path: str) -> Directory:
        """The directory at `path`, created with its parents if missing."""
        directory = known = self._directories.get(path)
        if directory is None:
            directory = self._directories[path] = Directory()
        while known is None and path != self._root and "/" in path:
            path, _, name = path.rpartition("/")
            known = self._directories.get(path)
            self._directories.setdefault(path, Directory()).directories.add(name)
        return directory


def file_stat(info: Info) -> FileStat:
    """Size, modification time and content tag from an fsspec entry."""
    tag = next((str(info[key]) for key in _TAGS if info.get(key)), "")
    time = next((time_ns(info[key]) for key in _TIMES if info.get(key)), 0)
    return FileStat(int(info.get("size") or 0), time, tag)


def time_ns(value: Any) -> int:
    """A time in one of the forms that filesystems use as ns since 1970; 0 for any other form."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime):
        return int(value.timestamp() * NS_PER_S)
    return int(value * NS_PER_S) if isinstance(value, (int, float)) else 0
