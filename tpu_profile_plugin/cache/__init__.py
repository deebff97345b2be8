"""Caches in memory and on disk, bounded in bytes."""

from __future__ import annotations

from typing import NamedTuple


class FileVersion(NamedTuple):
    """What identifies the content of a file: path, size in bytes, modification time in ns, tag of a remote store.

    Attributes:
      read_with: files that it is read with.
    """

    path: str
    size: int
    mtime_ns: int
    tag: str = ""
    read_with: tuple[FileVersion, ...] = ()
