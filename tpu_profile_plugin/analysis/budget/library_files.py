"""Python files of frameworks and of Python itself: their frames say little about the program that is profiled.

Profiles hold no directories, only names of files. `library_files.txt` leaves out names that programs use as well
(train.py, utils.py, ...); for some of those it lists functions that only the frameworks have.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_GENERATED = ("gen_", "__autograph_generated_file")
"""Begins of names of files that TensorFlow generates, in its package and while it runs."""


@cache
def _functions() -> dict[str, frozenset[str]]:
    """Functions of a framework by file; an empty set stands for all functions of the file."""
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    entries = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {file: frozenset(functions.split()) for file, _, functions in entries}


def is_library(file: str, function: str) -> bool:
    """Whether a function of a file belongs to a framework or to Python."""
    functions = _functions().get(file)
    return file.startswith(_GENERATED) or (functions is not None and (not functions or function in functions))
