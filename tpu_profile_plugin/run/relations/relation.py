"""What a table of a run is: its name, columns and rows, over all hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.common import frugal
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.stream import TableStream
from tpu_profile_plugin.tables.table import Table


@dataclass(frozen=True)
class Relation:
    """A table.

    Attributes:
      name: its name in SQL and of its Parquet file.
      summary: one sentence on its rows.
      columns: the declarations, `run` and `host` first.
      batches: its rows in tables of at most a few million rows each, one host after the other; nothing for a run that
        has none. Raises what reading a host raises; hosts that fail among others are left out (`RunHosts.left_out`).
      lasting: whether the same files give the same rows later.
    """

    name: str
    summary: str
    columns: tuple[Column, ...]
    batches: Callable[[RunHosts], Iterator[Table]]
    lasting: bool = True

    def of(self, run: RunHosts) -> TableStream:
        """The table of a run."""
        return TableStream(self.columns, lambda: self.batches(frugal(run)), self.name)
