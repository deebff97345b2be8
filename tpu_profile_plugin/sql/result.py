"""The result of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tpu_profile_plugin.tables.column import Array, Column
from tpu_profile_plugin.tables.table import Table


class Result:
    """Rows of a query; behaves as a `Table`.

    Attributes:
      statement: the SQL.
      cut: whether rows beyond the limit were dropped.
      notes: sentences about what is missing, such as rows beyond the limit, hosts and runs that cannot be read.
      elapsed_s: how long the query took, in seconds.
    """

    statement: str
    cut: bool
    notes: tuple[str, ...]
    elapsed_s: float

    @property
    def table(self) -> Table:
        """The rows as a `Table`; values other than numbers, texts and booleans are texts."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns; one that has the id of a column of a table has its label, unit and sentence."""
        return self.table.columns

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table)

    def __getitem__(self, id_: str) -> Array:
        return self.table[id_]

    def to_arrow(self) -> Any:
        """A pyarrow.Table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Needs pandas."""
        raise NotImplementedError

    def to_csv(self) -> str:
        """Comma-separated text with a header."""
        raise NotImplementedError

    def to_parquet(self) -> bytes:
        """A Parquet file."""
        raise NotImplementedError
