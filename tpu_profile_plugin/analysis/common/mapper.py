"""Mapper of an analysis over independent parts; the caller chooses the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or a function like it."""
S = TypeVar("S")
T = TypeVar("T")


def both(mapper: Mapper, first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """The results of two independent pieces of an analysis; `mapper` works on them."""
    result, other = mapper(lambda make: make(), (first, second))
    return result, other
