"""Python files of frameworks and of Python itself: their frames say little about the program that is profiled.

Profiles of XLA's profilers hold no directories, only names of files; PyTorch's hold paths, from which directories of
packages are left out. `library_files.txt` leaves out names that programs use as well
(train.py, utils.py, ...); for some of those it lists functions that only the frameworks have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tpu_profile_plugin.analysis.common.data_files import rows

_GENERATED = ("gen_", "__autograph_generated_file")
"""Begins of names of files that TensorFlow generates, in its package and while it runs."""


@cache
def _functions() -> dict[str, frozenset[str]]:
    """Functions of a framework by file; an empty set stands for all functions of the file."""
    return {file: frozenset(functions) for file, *functions in rows(__file__, "library_files.txt")}


@cache
def _packages() -> tuple[str, ...]:
    """Directories of packages, as PyTorch's profiler writes them: relative to where Python found them."""
    return tuple(file for file in _functions() if file.endswith("/"))


def is_library(file: str, function: str) -> bool:
    """Whether a function of a file belongs to a framework or to Python."""
    if "/" in file:
        return file.startswith(_packages()) or _INSTALLED.search(file) is not None
    functions = _functions().get(file)
    return file.startswith(_GENERATED) or (functions is not None and (not functions or function in functions))


_INSTALLED = re.compile(r"(?:^|/)(?:site|dist)-packages/|/lib(?:64)?/python\d|^<")
"""Paths of packages and of Python itself."""


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Names of files by the paths that programs were traced from: of the user's code, and of packages only."""

    own: frozenset[str] = frozenset()
    installed: frozenset[str] = frozenset()


NO_FILES = SourceFiles()


def source_files(paths: Iterable[str]) -> SourceFiles:
    """The names of these files."""
    own: set[str] = set()
    installed: set[str] = set()
    for path in filter(None, paths):
        (installed if _INSTALLED.search(path) else own).add(path.rpartition("/")[2])
    return SourceFiles(frozenset(own), frozenset(installed - own))
