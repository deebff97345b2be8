"""Names that the Python scripts import from the package and from the builders of tests exist."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
OURS = ("tpu_profile_plugin", "builders")


def python_scripts() -> Iterator[Path]:
    for file in sorted(SCRIPTS.rglob("*")):
        if file.suffix == ".py" or (file.is_file() and file.read_bytes().startswith(b"#!/usr/bin/env python3")):
            yield file


def exists(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def test_imports() -> None:
    missing = [
        f"{file.relative_to(SCRIPTS)}:{node.lineno}: {node.module}.{alias.name}"
        for file in python_scripts()
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS
        for alias in node.names
        if not exists(node.module, alias.name)
    ]
    assert not missing, "\n".join(missing)
