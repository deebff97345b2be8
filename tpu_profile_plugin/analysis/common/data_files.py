"""Data tables of the package: text files beside the module that reads them."""

from __future__ import annotations

from pathlib import Path


def rows(module: str, name: str) -> list[list[str]]:
    """The words of each line of the file `name` beside a module (`__file__`); empty lines and comments are skipped."""
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]
