"""Text of the user's source files, below one directory that the operator or the user named.

A requested path is never joined to the directory. It is looked up among the files that a walk of the directory found,
by the parts that its end has in common with theirs. Symbolic links are neither followed nor listed, hidden
directories and files that are no source are not listed, and a file is opened part by part without following links.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tpu_profile_plugin.errors import Forbidden, NotAvailable, NotFound
from tpu_profile_plugin.system.files import CAN_OPEN_BELOW, opened_below

SUFFIXES = frozenset(
    (
        *(".py", ".pyi", ".pyx", ".ipynb", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu", ".cuh"),
        *(".rs", ".go", ".java", ".jl", ".js", ".ts", ".scala", ".swift", ".mojo"),
    )
)
"""Files with other endings are not served."""
MOST_FILES = 100_000
"""Files listed at most; a larger tree is listed in part."""
MOST_BYTES = 4 << 20
"""Larger files are refused."""
_STALE_S = 10.0
"""Age of the listing after which a file that is not in it is looked for again."""

OFF = "This server shows no source files: start it with --profile_source_root DIR to show those below DIR."


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file: its parts below the root, and its text."""

    parts: tuple[str, ...]
    text: str


class SourceRoot:
    """The source files below a directory; thread-safe. `root` is "" if the operator named none."""

    def __init__(self, root: str) -> None:
        self._root = str(Path(root).expanduser().resolve()) if root else ""
        self._lock = threading.Lock()
        self._by_name: dict[str, list[tuple[str, ...]]] = {}
        self._listed = -_STALE_S

    @property
    def path(self) -> str:
        """The directory, absolute; "" for none."""
        return self._root

    def read(self, path: str) -> SourceText:
        """The listed file whose end agrees best with a recorded path.

        Raises NotFound (codes source_root_off, source_not_found, source_ambiguous), Forbidden for a file that is
        linked, too large or no text, NotAvailable on systems that cannot open it safely.
        """
        if not self._root:
            raise NotFound(OFF, code="source_root_off")
        if not CAN_OPEN_BELOW:
            raise NotAvailable("Source files are shown on Linux and macOS only: paste the text of the file.")
        parts = self._look_up(path)
        return SourceText(parts, self._text(parts))

    def _look_up(self, path: str) -> tuple[str, ...]:
        wanted = tuple(part for part in path.replace("\\", "/").split("/") if part)
        if not wanted or ".." in wanted or "\0" in path:
            raise NotFound(f"{path[:200]!r} names no source file.", code="source_not_found")
        candidates = self._files(wanted[-1])
        shared = {parts: _common_end(parts, wanted) for parts in candidates}
        most = max(shared.values(), default=0)
        best = [parts for parts, count in shared.items() if count == most]
        if not best:
            raise NotFound(f"No file below the source root is called {wanted[-1][:200]!r}.", code="source_not_found")
        if len(best) > 1:
            named = ", ".join("/".join(parts) for parts in best[:3])
            raise NotFound(f"{len(best)} files below the source root may be it: {named}.", code="source_ambiguous")
        return best[0]

    def _files(self, name: str) -> list[tuple[str, ...]]:
        with self._lock:
            if name not in self._by_name and time.monotonic() - self._listed >= _STALE_S:
                self._by_name = _listing(self._root)
                self._listed = time.monotonic()
            return self._by_name.get(name, [])

    def _text(self, parts: tuple[str, ...]) -> str:
        shown = "/".join(parts)
        try:
            with opened_below(self._root, parts) as file:
                facts = os.fstat(file)
                if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
                    raise Forbidden(f"{shown} is linked from elsewhere or is no regular file.")
                if facts.st_size > MOST_BYTES:
                    raise Forbidden(f"{shown} is larger than {MOST_BYTES >> 20} MiB.")
                data = _read(file)
        except OSError:
            raise NotFound(f"{shown} can no longer be read below the source root.", code="source_not_found") from None
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Forbidden(f"{shown} is no UTF-8 text.") from None


def _listing(root: str) -> dict[str, list[tuple[str, ...]]]:
    """Source files below the root by name, as their parts."""
    found: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    count = 0
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one != "__pycache__")
        here = Path(folder)
        above = here.relative_to(root).parts
        for name in sorted(files):
            path = here / name
            if path.suffix.lower() not in SUFFIXES or name.startswith(".") or path.is_symlink():
                continue
            found[name].append((*above, name))
            count += 1
            if count >= MOST_FILES:
                return dict(found)
    return dict(found)


def _common_end(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many last parts two paths share."""
    count = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        count += 1
    return count


def _read(file: int) -> bytes:
    """All bytes, at most one more than allowed."""
    chunks, left = [], MOST_BYTES
    while left > 0 and (chunk := os.read(file, left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)
