"""Rows of a run's tables."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.run.relations import find
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table


def table(run: Run, name: str) -> Table:
    """All rows of a table of the run."""
    return find(name).of(run).read()


def rows(run: Run, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """The values of some columns, row by row; None where a cell is empty."""
    found = table(run, name)
    return list(zip(*(found.column(id_) for id_ in columns), strict=True))
