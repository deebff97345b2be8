"""Estimates the memory that a value holds, for a bounded cache."""

from __future__ import annotations

import dataclasses
import mmap
import sys
from collections.abc import Iterable, Mapping
from typing import Any

_PLAIN = (int, float, bool, str, bytes, type(None))
_EXACTLY_PLAIN = frozenset(_PLAIN)
_PLAIN_VALUE, _COLUMNS, _MAPPING, _SEQUENCE, _OBJECT = range(5)
"""Method of measuring a value."""
_KINDS: dict[type, int | tuple[str, ...]] = {}
"""By type: the method, or the names of a dataclass's fields."""


def size_of(value: Any, seen: set[int] | None = None) -> int:
    """Bytes held by arrays, containers and dataclasses below `value`.

    Shared objects count once, file mappings do not; a long list is estimated from its first thousand members.

    Args:
      value: anything.
      seen: ids of objects that were counted before, to which those of this value are added.
    """
    return _size(value, set() if seen is None else seen)


def _size(value: Any, seen: set[int]) -> int:
    kind = _KINDS.get(type(value))
    if kind is None:
        kind = _KINDS[type(value)] = _kind(type(value))
    if kind == _PLAIN_VALUE:
        return sys.getsizeof(value)
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(kind, tuple):
        return sys.getsizeof(value, 64) + _sum([getattr(value, name, None) for name in kind], seen)
    if kind == _COLUMNS:
        if hasattr(value, "dtype"):
            return _array_size(value, seen)
        # Columns report their own size; the bytes they were decoded from are added unless they are a file mapping.
        seen.update(id(_owner(array)) for array in getattr(value, "arrays", tuple)())
        return int(value.nbytes) + _size(getattr(value, "data", None), seen)
    if kind == _MAPPING:
        return sys.getsizeof(value) + _members([*value.keys(), *value.values()], seen)
    if kind == _SEQUENCE:
        return sys.getsizeof(value) + _members(list(value), seen)
    fields = list(getattr(value, "__dict__", {}).values())  # another thread may add one
    return sys.getsizeof(value, 64) + _sum(fields, seen)


def _sum(members: Iterable[Any], seen: set[int]) -> int:
    """The size of all; what most are, values of plain types, without a call each."""
    total = 0
    for member in members:
        total += sys.getsizeof(member) if type(member) in _EXACTLY_PLAIN else _size(member, seen)
    return total


def _kind(of: type) -> int | tuple[str, ...]:
    """How the size of a type's values is found; the names of its fields for a dataclass without own `nbytes`."""
    if issubclass(of, _PLAIN):
        return _PLAIN_VALUE
    if hasattr(of, "nbytes"):
        return _COLUMNS
    if issubclass(of, Mapping):
        return _MAPPING
    if issubclass(of, (list, tuple, set, frozenset)):
        return _SEQUENCE
    if dataclasses.is_dataclass(of):
        return tuple(field.name for field in dataclasses.fields(of))
    return _OBJECT


def _array_size(array: Any, seen: set[int]) -> int:
    """The memory of an array, where views count their owner once and file mappings count nothing."""
    owner = _owner(array)
    if owner is array:
        return int(array.nbytes)
    if id(owner) in seen or _is_mapping(owner):
        return 0
    seen.add(id(owner))
    return int(owner.nbytes) if hasattr(owner, "dtype") else int(array.nbytes)


def _owner(array: Any) -> Any:
    """The object that owns the memory of an array."""
    owner = array
    while hasattr(owner, "dtype") and getattr(owner, "base", None) is not None:
        owner = owner.base
    return owner


def _is_mapping(owner: Any) -> bool:
    base = getattr(owner, "obj", owner)  # a memoryview over an mmap
    return isinstance(base, mmap.mmap) or hasattr(
        base, "release_pages"
    )  # the native core's, which is not imported here


def _members(members: list[Any], seen: set[int]) -> int:
    sample = members[:1000]
    size = _sum(sample, seen)
    return size * len(members) // len(sample) if sample else 0
