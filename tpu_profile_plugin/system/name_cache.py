"""Caches of what names in profiles mean: of all profiles of the process, bounded in bytes, in the memory budget."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LIMIT_BYTES = 8 << 20
"""Of one cache. One that is full is emptied: names of the current profiles come back with the next call."""
_VALUE_BYTES = 200

_caches: list[_Names] = []


class _Names:
    """The values of a function by name, with the approximate size of both."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.bytes = 0

    def put(self, name: str, value: object) -> None:
        # Values hold at most parts of their name.
        size = 2 * sys.getsizeof(name) + _VALUE_BYTES
        if self.bytes + size > LIMIT_BYTES:
            self.values, self.bytes = {}, 0
        self.bytes += size
        self.values[name] = value


def cached_by_name(function: Callable[[str], T]) -> Callable[[str], T]:
    """Caches a pure function of a name that a profile contains; names may be long, and different in each profile."""
    names = _Names()
    _caches.append(names)

    @functools.wraps(function)
    def cached(name: str) -> T:
        try:
            return names.values[name]  # type: ignore[return-value]
        except KeyError:
            value = function(name)
            names.put(name, value)
            return value

    return cached


def name_bytes() -> int:
    """Memory of all caches, in bytes."""
    return sum(names.bytes for names in _caches)
