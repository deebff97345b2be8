"""Names that the Python scripts import from the package and from the builders of tests exist."""

from __future__ import annotations

import ast
import importlib
import operator
import re
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


def test_modules_that_are_named_as_texts() -> None:
    """Pairs of module and function, or a module alone."""
    missing = []
    for file in python_scripts():
        for node in ast.walk(ast.parse(file.read_bytes())):
            texts = [part.value for part in getattr(node, "elts", [node]) if isinstance(part, ast.Constant)]
            if not texts or not isinstance(texts[0], str) or not re.fullmatch(r"tpu_profile_plugin(\.\w+)+", texts[0]):
                continue
            try:
                found = importlib.import_module(texts[0])
                if len(texts) > 1 and isinstance(node, ast.Tuple):
                    operator.attrgetter(str(texts[1]))(found)
            except (ModuleNotFoundError, AttributeError) as error:
                missing.append(f"{file.relative_to(SCRIPTS)}:{node.lineno}: {error}")
    assert not missing, "\n".join(missing)
