"""Texts of many rows as codes into a list of distinct texts: a million names cost no million objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from tpu_profile_plugin.columns.arrays import I32, Bools

D = TypeVar("D", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Coded:
    """The texts of a column; `==` and `!=` compare each row with a text, and NumPy takes it for an array of objects.

    Attributes:
      codes: int32[n], position in `texts`; -1 for an empty cell.
      texts: the texts, all different; they may hold some that no row uses. `of` takes equal ones too.
    """

    codes: I32
    texts: Sequence[str]

    dtype: ClassVar[np.dtype[Any]] = np.dtype(object)
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, codes: np.ndarray[Any, np.dtype[Any]], texts: Sequence[str], *, empty: bool = True) -> Coded:
        """Texts that may be equal; with `empty`, a row without letters is an empty cell."""
        numbers: dict[str, int] = {}
        of_text = [-1 if empty and not text else numbers.setdefault(text, len(numbers)) for text in texts]
        if of_text == list(range(len(texts))):
            return cls(codes.view(np.int32) if codes.dtype == np.uint32 else codes.astype(np.int32, copy=False), texts)
        if not numbers:
            return cls(np.broadcast_to(np.int32(-1), len(codes)), ())
        return cls(np.array([*of_text, -1], np.int32)[codes], tuple(numbers))  # -1 is the last

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> str | None: ...

    @overload
    def __getitem__(self, rows: slice | np.ndarray[Any, np.dtype[Any]]) -> Coded: ...

    def __getitem__(self, rows: int | np.integer[Any] | slice | np.ndarray[Any, np.dtype[Any]]) -> Coded | str | None:
        if isinstance(rows, (int, np.integer)):
            code = int(self.codes[rows])
            return None if code < 0 else self.texts[code]
        return Coded(self.codes[rows], self.texts)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> Bools:  # type: ignore[override]
        """Which rows have this text (None: are empty), or the same text as the row of another column."""
        if isinstance(other, Coded):
            equal: Bools = np.asarray(self) == np.asarray(other)
            return equal
        if other is None:
            return self.codes < 0
        same_text: Bools = self.codes == next((i for i, text in enumerate(self.texts) if text == other), -2)
        return same_text

    def __ne__(self, other: object) -> Bools:  # type: ignore[override]
        return ~(self == other)

    def tolist(self) -> list[str | None]:
        """One text per row, None for an empty cell."""
        texts = [*self.texts, None]  # -1 is the last
        return [texts[code] for code in self.codes.tolist()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        texts = np.array([*self.texts, None], object)
        return texts[self.codes]


def coded(texts: Iterable[str | None], *, empty: bool = True) -> Coded:
    """One text per row; None is an empty cell, with `empty` a text without letters too."""
    numbers: dict[str, int] = {}
    codes = [-1 if text is None or (empty and not text) else numbers.setdefault(text, len(numbers)) for text in texts]
    return Coded(np.array(codes, np.int32), tuple(numbers))


def same(text: str, rows: int) -> Coded:
    """A text repeated in all rows, without memory for each."""
    return Coded(np.broadcast_to(np.int32(0), rows), (text,))


def empty(rows: int) -> Coded:
    """Empty cells, which take no memory."""
    return Coded(np.broadcast_to(np.int32(-1), rows), ())


def joined(parts: Sequence[Coded]) -> Coded:
    """One or more columns below each other."""
    codes, texts = together(parts)
    return Coded(below(codes), texts)


def below(parts: Sequence[np.ndarray[Any, np.dtype[D]]]) -> np.ndarray[Any, np.dtype[D]]:
    """One or more arrays below each other; it takes no memory if they hold one value that takes none."""
    rows = sum(map(len, parts))
    if rows and all(is_constant(part) and part[0].tobytes() == parts[0][0].tobytes() for part in parts):
        return np.broadcast_to(parts[0][0], rows)
    return np.concatenate(parts)


def is_constant(values: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Whether an array is one value that stands for all rows (`numpy.broadcast_to`)."""
    return values.strides == (0,) and len(values) > 0


def together(parts: Sequence[Coded], texts: Sequence[str] = ()) -> tuple[list[I32], Sequence[str]]:
    """The codes of each part, of one or more, for one list of different texts, which begins with `texts`."""
    numbers = {text: number for number, text in enumerate(texts)}
    codes: list[I32] = []
    for part in parts:
        of_text = [numbers.setdefault(text, len(numbers)) for text in part.texts]
        unchanged = of_text == list(range(len(of_text)))
        if unchanged:
            codes.append(part.codes)
        elif is_constant(part.codes):
            codes.append(np.broadcast_to(np.int32(of_text[part.codes[0]] if part.codes[0] >= 0 else -1), len(part)))
        else:
            codes.append(np.array([*of_text, -1], np.int32)[part.codes])
    if len(parts) == 1 and len(numbers) == len(parts[0].texts):
        return codes, parts[0].texts
    return codes, tuple(numbers)
