"""Local paths in the syntax of the operating system: file URLs, equal directories, names that a file may have."""

from __future__ import annotations

import os
import re
from types import ModuleType

_SCHEME = "file://"
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)

_flavour: ModuleType = os.path
"""`posixpath` or `ntpath`."""


def local(path: str) -> str:
    """The path of a `file://` URL, on Windows also of `file:///C:/logs`; any other path as it is."""
    if not path.startswith(_SCHEME):
        return path
    inner = path.removeprefix(_SCHEME)
    return inner[1:] if _windows() and re.match(r"/[A-Za-z]:", inner) else inner


def absolute(path: str) -> str:
    """The path from the root, with `~` expanded; links stay."""
    return str(_flavour.abspath(_flavour.expanduser(local(path))))


def is_absolute(path: str) -> bool:
    """Whether a path is independent of the working directory (and, on Windows, of the current drive)."""
    return bool(_flavour.isabs(path)) and (not _windows() or bool(_flavour.splitdrive(path)[0]))


def comparable(path: str) -> str:
    """A form with resolved links that is equal for equal directories; Windows ignores case."""
    return str(_flavour.normcase(_flavour.realpath(local(path))))


def is_inside(path: str, root: str) -> bool:
    """Whether `path` is `root` or below it; both are results of `comparable`."""
    return path == root or path.startswith(root.rstrip(_flavour.sep) + _flavour.sep)


def last_part(path: str) -> str:
    """The name of a file or directory, whichever separators its path has."""
    slashes = path.replace(_flavour.sep, "/").rstrip("/")
    return slashes.rpartition("/")[2]


def writable_name(name: str) -> str:
    """A name of safe characters as the system accepts it: Windows reserves names of devices, and drops final dots."""
    if not _windows():
        return name
    name = name.rstrip(". ")
    return f"_{name}" if not name or _RESERVED.match(name) else name


def printable(text: str) -> str:
    """A file name for clients: lone surrogates, Python's form of invalid Unicode, are replaced.

    Outside of Windows these are bytes that are not UTF-8, each of which becomes one replacement character or part of
    one. On Windows they are halves of UTF-16 pairs.
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _windows() -> bool:
    return bool(_flavour.sep == "\\")
