"""Texts of many rows as codes into a list of distinct texts: what a column of a million names costs no million objects for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from tpu_profile_plugin.columns.arrays import I32


@dataclass(frozen=True, eq=False)
class Coded:
    """The texts of a column.

    Attributes:
      codes: int32[n], position in `texts`; -1 for an empty cell.
      texts: the texts; they may hold some that no row uses.
    """

    codes: I32
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, rows: int) -> str | None: ...

    @overload
    def __getitem__(self, rows: slice | np.ndarray[Any, np.dtype[Any]]) -> Coded: ...

    def __getitem__(self, rows: int | slice | np.ndarray[Any, np.dtype[Any]]) -> Coded | str | None:
        if isinstance(rows, (int, np.integer)):
            code = int(self.codes[rows])
            return None if code < 0 else self.texts[code]
        return Coded(self.codes[rows], self.texts)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        """One text per row, None for an empty cell."""
        texts = [*self.texts, None]  # -1 is the last
        return [texts[code] for code in self.codes.tolist()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        texts = np.array([*self.texts, None], object)
        return texts[self.codes]


def same(text: str, rows: int) -> Coded:
    """The same text in all rows."""
    return Coded(np.zeros(rows, np.int32), (text,))
