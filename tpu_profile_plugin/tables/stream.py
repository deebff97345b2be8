"""`TableStream`: tables with the same columns, made one after the other, such as one per plane and host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Array, Table


class TableStream:
    """A table in parts; nothing is made before it is asked for.

    Attributes:
      columns: the declarations.
      name: id of the table.
    """

    def __init__(self, columns: tuple[Column, ...], make: Callable[[], Iterator[Table]], name: str = "") -> None:
        self.columns, self.name = columns, name
        self._make = make

    def batches(self) -> Iterator[Table]:
        """The parts in order; each is made when it is asked for, and may be forgotten then."""
        return self._make()

    def read(self) -> Table:
        """All parts as one table, made once and kept."""
        raise NotImplementedError

    def __getitem__(self, id_: str) -> Array:
        return self.read()[id_]

    def __len__(self) -> int:
        return len(self.read())

    def to_pandas(self) -> Any:
        """A pandas DataFrame; texts are categories. Needs pandas."""
        raise NotImplementedError

    def to_arrow(self) -> Any:
        """A pyarrow.Table with a chunk per part; numbers are not copied. Needs pyarrow."""
        raise NotImplementedError

    def reader(self) -> Any:
        """A pyarrow.RecordBatchReader that makes the parts while it is read. Needs pyarrow."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol, part by part. Needs pyarrow."""
        return self.reader().__arrow_c_stream__(requested_schema)
