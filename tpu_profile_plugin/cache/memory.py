"""Caches in memory: least recently used values by key, calls in progress, and estimates of the memory of values."""

from __future__ import annotations

import dataclasses
import mmap
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """Values by key, bounded in bytes; the least recently used are dropped first, the newest is kept. Thread-safe."""

    def __init__(
        self,
        limit_bytes: int,
        size: Callable[[Hashable, T], int],
        *,
        most_bytes: int | None = None,
        growing: bool = False,
    ) -> None:
        """`size`: of a key with its value; `most_bytes`: larger values are not kept; `growing`: sizes change."""
        self._limit, self._size, self._most, self._growing = limit_bytes, size, most_bytes, growing
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = self._unmeasured = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    @property
    def bytes(self) -> int:
        """The size of all values, as last measured."""
        return self._bytes

    def get(self, key: Hashable) -> T | None:
        """The value under a key; None on a miss."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: T) -> None:
        """Keeps a value in place of another one under the key."""
        size = self._size(key, value)
        with self._lock:
            self._bytes -= self._values.pop(key, (None, 0))[1]
            if self._most is not None and size > self._most:
                return
            self._values[key] = value, size
            self._bytes += size
            self._unmeasured += 1
            # Measuring all values at each turn would take longer and longer.
            if self._growing and (self._bytes > self._limit or self._unmeasured > len(self._values) // 8):
                self._measure()
            while self._bytes > self._limit and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]

    def _measure(self) -> None:
        for key, (value, _) in self._values.items():
            self._values[key] = value, self._size(key, value)
        self._bytes = sum(size for _, size in self._values.values())
        self._unmeasured = 0


class SingleFlight(Generic[T]):
    """Calls in progress, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Hashable, Future[T]] = {}

    def do(self, key: Hashable, work: Callable[[], T]) -> T:
        """The result of `work`, run by the first caller with this key; later callers wait for it."""
        with self._lock:
            future = self._futures.get(key)
            first = future is None
            if future is None:
                future = self._futures[key] = Future()
        if not first:
            return future.result()
        try:
            result = work()
        except BaseException as error:
            self._remove(key)
            future.set_exception(error)
            raise
        self._remove(key)
        future.set_result(result)
        return result

    def _remove(self, key: Hashable) -> None:
        with self._lock:
            del self._futures[key]


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
    size = _sum({id(member): member for member in sample}.values(), seen)
    return size * len(members) // len(sample) if sample else 0
