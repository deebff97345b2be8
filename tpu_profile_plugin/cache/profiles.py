"""An in-memory cache of decoded columns and values derived from them, bounded in bytes, with LRU eviction."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tpu_profile_plugin.cache import FileVersion
from tpu_profile_plugin.cache.memory import size_of
from tpu_profile_plugin.errors import in_file
from tpu_profile_plugin.system.name_cache import name_bytes

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import XSpace
    from tpu_profile_plugin.columns.arrays import U8
    from tpu_profile_plugin.formats import Unpacked

    ReadFile: TypeAlias = Callable[[], U8]

_CONTENT, _SPACE, _METADATA = object(), object(), ("metadata",)
_SMALL_FRACTION = 256
"""Entries below this fraction (1/256) of the limit are small."""
_FEW_FRACTION = 4
"""Small entries are few, and evicted last, while together they take at most this fraction (1/4) of the limit."""
_REST_FRACTION = 4
"""What is not in the entries counts for at most this fraction (1/4) of the limit, to leave room for columns."""
_ENTRY_BYTES = 1536
"""Memory of an entry itself, with its keys and locks: thousands of outdated files have little else."""
_LARGE_FRACTION = 4
"""Columns above this fraction (1/4) of the limit are large, see `ProfileCache.release`."""


class _Entry:
    """The cached values of one file by key, with a lock per value (each is computed once) and its size in bytes.

    What values share counts for the first: `counted` holds the ids of the objects that the sizes are of.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[Hashable, Any] = {}
        self.locks: dict[Hashable, threading.RLock] = {}
        self.sizes: dict[Hashable, int] = {}
        self.bytes = 0
        self.counted: set[int] = set()

    def drop(self, names: Collection[str]) -> None:
        """Drops the values under these keys, and under tuples that begin with one of them."""
        for key in list(self.values):
            if (key[0] if isinstance(key, tuple) else key) in names:
                del self.values[key]

    def measured(self) -> dict[Hashable, int]:
        """The size of each value."""
        self.counted = set()
        return {key: size_of(value, self.counted) for key, value in self.values.items()}

    def measured_with(self, key: Hashable) -> dict[Hashable, int]:
        """The size of a new value; of all, because values grow, whenever their number is a power of two."""
        count = len(self.values)
        return {key: size_of(self.values[key], self.counted)} if count & (count - 1) else self.measured()

    def lock_of(self, key: Hashable) -> threading.RLock:
        with self.lock:
            return self.locks.setdefault(key, threading.RLock())


def _path_of(identity: Hashable) -> Hashable:
    """What all versions of one file, or of several, have in common; None if there is no file in the identity."""
    if isinstance(identity, FileVersion):
        return identity.path
    if not isinstance(identity, tuple):
        return None
    parts = tuple(map(_path_of, identity))
    return tuple(part or whole for part, whole in zip(parts, identity, strict=True)) if any(parts) else None


class ProfileCache:
    """A cache of decoded files; an entry is evicted as a whole, columns and derived values together.

    The identity of a file includes its size and modification time, so a changed file is a different entry, which takes
    the place of the one before.
    """

    def __init__(self, limit_bytes: int, load: Callable[[Any], XSpace] | None = None) -> None:
        """Keeps about `limit_bytes`; the most recently used entry stays whatever its size. `load` is for tests."""
        self._limit = limit_bytes
        self._load = load
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._newest: dict[Hashable, Hashable] = {}
        self._total = 0  # a running sum: adding up thousands of entries at every insertion is slow

    def content(self, identity: Hashable, read: ReadFile, file: str) -> Unpacked:
        """A file as an XSpace, cached if it has another format: its facts, metadata and columns are all made of it."""
        from tpu_profile_plugin.formats import is_converted, unpack

        with self._lock:
            entry = self._entries.get(identity)
        if entry is not None and _CONTENT in entry.values:
            known: Unpacked = entry.values[_CONTENT]
            return known
        with in_file(file):
            data = read()
            if not is_converted(data):
                return unpack(data)

            def convert() -> Unpacked:
                made = unpack(data)
                _release_pages(data)
                return made

            made: Unpacked = self.derived(identity, _CONTENT, convert, alone=True)
            return made

    def space(self, identity: Hashable, read: ReadFile, file: str, *, as_recorded: bool = False) -> XSpace:
        """The columns of a file, decoded on first use."""
        space = self.lazy(identity, read, file, as_recorded=as_recorded)
        space.decode()
        return space

    def lazy(self, identity: Hashable, read: ReadFile, file: str, *, as_recorded: bool = False) -> XSpace:
        """The columns of a file, with each plane decoded on first access.

        Times are mended unless `as_recorded` (see `load_lazily`); the two have different identities.
        """
        space: XSpace = self.derived(identity, _SPACE, lambda: self._open(identity, read, file, as_recorded))
        return space

    def metadata(self, identity: Hashable, read: ReadFile, file: str) -> XSpace:
        """The columns of a file's metadata planes alone, decoded on first use."""
        space: XSpace = self.derived(identity, _METADATA, lambda: self._open_metadata(identity, read, file))
        return space

    def derived(
        self,
        identity: Hashable,
        key: Hashable,
        make: Callable[[], Any],
        *,
        alone: bool = False,
    ) -> Any:
        """The value cached under `key` for a file, computed by `make` once even if several threads request it.

        `alone` measures only this value, which shares little with the other values of the file.
        """
        entry = self._entry(identity)
        if key in entry.values:
            return entry.values[key]
        with entry.lock_of(key):
            if key in entry.values:
                return entry.values[key]
            value = make()
            if key in entry.values:
                return entry.values[key]  # `make` has stored it itself
            with self._lock:
                entry.values[key] = value
                self._resize(identity, entry, {key: size_of(value)} if alone else entry.measured_with(key))
                evicted = self._evict(keep=identity)
            self._release_memory(evicted)
            return value

    def store(self, identity: Hashable, key: Hashable, value: Any, size: int) -> None:
        """Caches a value of known size, in bytes; `derived` takes it even while it waits to make the value itself."""
        entry = self._entry(identity)
        with self._lock:
            entry.values[key] = value
            self._resize(identity, entry, {key: size})
            evicted = self._evict(keep=identity)
        self._release_memory(evicted)

    def lock(self, identity: Hashable, key: Hashable) -> threading.RLock:
        """A lock of a file, for work that several threads should not do at once."""
        return self._entry(identity).lock_of(key)

    def has(self, identity: Hashable, key: Hashable) -> bool:
        """Whether a value is cached under `key` for a file."""
        with self._lock:
            entry = self._entries.get(identity)
        return entry is not None and key in entry.values

    def held(self, identity: Hashable) -> tuple[Any, ...]:
        """The values that are cached for a file at the moment."""
        with self._lock:
            entry = self._entries.get(identity)
            return () if entry is None else tuple(entry.values.values())

    def discard(self, identity: Hashable) -> None:
        """Drops the entry of a file."""
        with self._lock:
            entry = self._entries.pop(identity, None)
            self._total -= entry.bytes if entry is not None else 0
        if entry is not None and entry.bytes >= self._limit // _SMALL_FRACTION:
            del entry
            self._release_memory(True)

    def release(self, identity: Hashable, *names: str, least: int | None = None) -> None:
        """Drops the columns of a file, and the values under `names` as `forget` does, if the columns are large.

        Large means at least `least` bytes, or a quarter of the cache's limit if that is less. They are decoded again on
        the next access; the other values of the file stay.
        """
        with self._lock:
            entry = self._entries.get(identity)
            space = entry.values.get(_SPACE) if entry is not None else None
            large = self._limit // _LARGE_FRACTION if least is None else min(least, self._limit // _LARGE_FRACTION)
            if entry is None or space is None or entry.sizes[_SPACE] < large:
                return
            space.unload()
            entry.drop(names)
            self._resize(identity, entry, entry.measured())
        self._release_memory(True)

    def forget(self, identity: Hashable, *names: str) -> None:
        """Drops the values of a file under these keys, and under tuples that begin with one of them."""
        with self._lock:
            entry = self._entries.get(identity)
            if entry is None:
                return
            entry.drop(names)
            self._resize(identity, entry, entry.measured())

    def bytes(self) -> int:
        """The current size, in bytes."""
        with self._lock:
            return self._total

    def clear(self) -> None:
        """Drops all entries."""
        with self._lock:
            self._entries.clear()
            self._newest.clear()
            self._total = 0

    def _open(self, identity: Hashable, read: ReadFile, file: str, as_recorded: bool) -> XSpace:
        with in_file(file):
            if self._load is not None:
                return self._load(read())
            from tpu_profile_plugin.columns import DecodeHooks, load_lazily

            content = self.content(identity, read, file)
            data = content.space
            hooks = DecodeHooks(file, lambda: self._grown(identity, data))
            space = load_lazily(data, hooks=hooks, reading="recorded" if as_recorded else "mended")
            return replace(space, impossible=(*content.impossible, *space.impossible))

    def _open_metadata(self, identity: Hashable, read: ReadFile, file: str) -> XSpace:
        from tpu_profile_plugin.columns import load_metadata

        with in_file(file):
            return load_metadata(self.content(identity, read, file).space)

    def _grown(self, identity: Hashable, data: Any) -> None:
        """Updates the size of an entry after more of its file was decoded."""
        _release_pages(data)
        with self._lock:
            entry = self._entries.get(identity)
            if entry is None or _SPACE not in entry.values:
                return
            # The columns are the first value but the bytes that they refer to: shared arrays count for them.
            counted: set[int] = set()
            known = [key for key in (_CONTENT, _SPACE) if key in entry.values]
            self._resize(identity, entry, {key: size_of(entry.values[key], counted) for key in known})
            entry.counted |= counted
            evicted = self._evict(keep=identity)
        self._release_memory(evicted)

    def _entry(self, identity: Hashable) -> _Entry:
        with self._lock:
            entry = self._entries.get(identity)
            if entry is None:
                entry = self._entries[identity] = _Entry()
                path = _path_of(identity)
                before = self._newest.get(path)
                if path is not None and before != identity:
                    self._newest[path] = identity
                    changed = self._entries.pop(before, None)
                    self._total -= changed.bytes if changed is not None else 0
            self._entries.move_to_end(identity)
            return entry

    def _resize(self, identity: Hashable, entry: _Entry, sizes: dict[Hashable, int]) -> None:
        """Stores the sizes of values and updates the total, unless the entry was dropped in the meantime."""
        before = entry.bytes
        entry.sizes = {key: sizes.get(key, entry.sizes.get(key, 0)) for key in entry.values}
        entry.bytes = sum(entry.sizes.values())
        if self._entries.get(identity) is entry:
            self._total += entry.bytes - before

    def _evict(self, keep: Hashable) -> bool:
        """Evicts the least recently used entries until the rest fits; returns whether any was evicted.

        A few small entries (summaries of hosts) go last: recomputing them decodes their file again, and they free
        little. Many small entries, such as those of outdated files, would leave no room for columns.
        """
        rest = name_bytes() + _ENTRY_BYTES * len(self._entries)
        limit = self._limit - min(rest, self._limit // _REST_FRACTION)
        if self._total <= limit:
            return False
        before = len(self._entries)
        small = self._limit // _SMALL_FRACTION
        in_small = sum(entry.bytes for entry in self._entries.values() if entry.bytes < small)
        for min_bytes in (small, 0) if in_small <= self._limit // _FEW_FRACTION else (0,):
            for identity in list(self._entries):
                if self._total <= limit:
                    break
                if identity != keep and self._entries[identity].bytes >= min_bytes:
                    self._total -= self._entries.pop(identity).bytes
        return len(self._entries) < before

    def _release_memory(self, evicted: bool) -> None:
        """Returns the memory of evicted entries to the operating system, which the allocator would otherwise retain."""
        if evicted and self._load is None:
            from tpu_profile_plugin import columns

            columns.give_back_memory()


def _release_pages(data: Any) -> None:
    """Drops the resident pages of a mapped file; the few that are read again come from the page cache."""
    owner = data
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    if hasattr(owner, "release_pages"):  # the native core's mapped file
        owner.release_pages()
