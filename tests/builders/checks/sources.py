"""The package's source as trees, parsed once for all tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import tpu_profile_plugin

PACKAGE = Path(tpu_profile_plugin.__file__).parent


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file of the package: one object for all callers, not to be modified."""
    return ast.parse(path.read_text("utf-8"))
