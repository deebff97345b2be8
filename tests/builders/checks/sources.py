"""The package's source as trees, parsed once for all tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import tpu_profile_plugin

PACKAGE = Path(tpu_profile_plugin.__file__).parent


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file of the package, which nobody may change."""
    return ast.parse(path.read_text("utf-8"))
