"""Encodes values as bytes and decodes them: plain data, arrays, our own dataclasses; reading executes no stored code.

Layout: magic, CRC-32 of all that follows, length of the JSON text, the JSON text, the bytes of the arrays one after
another. The text is [names of classes, node]; in a node a list is [kind, ...] and everything else stands for itself.
Objects that occur more than once are stored once.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import json
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

_MAGIC = b"TPS2"
_HEAD = struct.Struct("<4sI")
_LENGTH = struct.Struct("<Q")
_PLAIN = frozenset((int, float, bool, str, type(None)))
_DTYPE = re.compile(r"[<>|=][biufcSU]\d{1,5}")
_SEQUENCES: dict[type, str] = {tuple: "t", list: "l", set: "s", frozenset: "f"}
_MAPPINGS: dict[type, str] = {dict: "d", Counter: "c"}
_DAMAGES = (
    ImportError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    struct.error,
)


class NotStorable(ValueError):
    """The value has a part of a type that is not permitted."""


class Codec:
    """Encodes and decodes values whose dataclasses, named tuples and enumerations are defined in certain rooms."""

    def __init__(self, package: str, rooms: Sequence[str]) -> None:
        """`rooms`: packages and modules inside `package` whose classes are permitted; importing them has no effects."""
        self._package = package
        self._permitted = re.compile(rf"({'|'.join(rooms)})(\.\w+)*:[A-Za-z]\w*(\.[A-Za-z]\w*)*")
        self.resolve = functools.cache(self._resolve)

    def encode(self, value: Any) -> bytes:
        """The bytes of a value; raises NotStorable."""
        writer = _Writer(self.name_of)
        try:
            text = json.dumps([writer.names, writer.node(value)], separators=(",", ":")).encode()
        except RecursionError as error:
            raise NotStorable("nested too deeply") from error
        rest = b"".join([_LENGTH.pack(len(text)), text, *writer.blobs])
        return _HEAD.pack(_MAGIC, zlib.crc32(rest)) + rest

    def decode(self, data: bytes) -> Any:
        """The value; raises ValueError for bytes that are damaged or not of this format."""
        try:
            magic, checksum = _HEAD.unpack_from(data)
            rest = memoryview(data)[_HEAD.size :]
            if magic != _MAGIC or checksum != zlib.crc32(rest):
                raise ValueError("damaged")
            (length,) = _LENGTH.unpack_from(rest)
            rest = rest[_LENGTH.size :]
            names, node = json.loads(bytes(rest[:length]))
            return _Reader([self.resolve(name) for name in names], rest[length:]).value(node)
        except _DAMAGES as error:
            raise ValueError(f"not a stored value: {error}") from error

    def name_of(self, kind: type) -> str:
        """The name of a permitted class; raises NotStorable."""
        name = f"{kind.__module__.removeprefix(self._package + '.')}:{kind.__qualname__}"
        if not self._permitted.fullmatch(name):
            raise NotStorable(f"{kind.__module__}.{kind.__qualname__}")
        return name

    def _resolve(self, name: str) -> tuple[type, tuple[str, ...]]:
        """The class of a permitted name, imported on first use, and its fields; raises KeyError."""
        if not self._permitted.fullmatch(name):
            raise KeyError(name)
        module, _, qualified = name.partition(":")
        kind: Any = importlib.import_module(f"{self._package}.{module}")
        for part in qualified.split("."):
            kind = getattr(kind, part)
        if not isinstance(kind, type) or kind.__module__ != f"{self._package}.{module}":
            raise KeyError(name)
        return kind, fields_of(kind)


@functools.cache
def fields_of(kind: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass or named tuple; none for an enumeration. Raises NotStorable for others."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    if issubclass(kind, enum.Enum):
        return ()
    raise NotStorable(kind.__qualname__)


class _Writer:
    """Makes the nodes of one value; gathers the names of its classes and the bytes of its arrays."""

    def __init__(self, name_of: Callable[[type], str]) -> None:
        self.blobs: list[bytes] = []
        self.names: list[str] = []
        self._name_of = name_of
        self._numbers: dict[int, int] = {}
        self._classes: dict[type, int] = {}

    def node(self, value: Any) -> Any:
        """The value as JSON; objects are numbered when they are complete."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        number = self._numbers.get(id(value))
        if number is not None:
            return ["r", number]
        node = self._compound(value, kind)
        self._numbers[id(value)] = len(self._numbers)
        return node

    def _compound(self, value: Any, kind: type) -> list[Any]:
        if kind in _SEQUENCES:
            return [_SEQUENCES[kind], *self._members(value)]
        if kind in _MAPPINGS:
            return [_MAPPINGS[kind], *self._members([part for pair in value.items() for part in pair])]
        if kind is bytes:
            self.blobs.append(value)
            return ["b", len(value)]
        if kind is np.ndarray and value.dtype.hasobject:
            return ["O", list(value.shape), *self._members(value.ravel().tolist())]
        if kind is np.ndarray or isinstance(value, np.generic):
            if not _DTYPE.fullmatch(value.dtype.str):
                raise NotStorable(f"array of {value.dtype}")
            self.blobs.append(value.tobytes())
            return ["a" if kind is np.ndarray else "n", value.dtype.str, *value.shape]
        return self._instance(value, kind)

    def _instance(self, value: Any, kind: type) -> list[Any]:
        number = self._classes.get(kind)
        if number is None:
            self.names.append(self._name_of(kind))
            number = self._classes[kind] = len(self._classes)
        if isinstance(value, enum.Enum):
            if kind.__members__.get(value.name) is not value:  # type: ignore[attr-defined]
                raise NotStorable(f"a combination of {kind.__qualname__}")
            return ["e", number, value.name]
        return ["o", number, *self._members([getattr(value, field) for field in fields_of(kind)])]

    def _members(self, values: Collection[Any]) -> Iterable[Any]:
        return values if _PLAIN.issuperset(map(type, values)) else map(self.node, values)


class _Reader:
    """Makes the value of a node; the bytes of arrays are taken in the order in which they were written."""

    def __init__(self, classes: Sequence[tuple[type, tuple[str, ...]]], blobs: memoryview) -> None:
        self._classes = classes
        self._blobs = blobs
        self._at = 0
        self._known: list[Any] = []
        self._makers: dict[str, Callable[[list[Any]], Any]] = {
            **{letter: functools.partial(self._sequence, kind) for kind, letter in _SEQUENCES.items()},
            **{letter: functools.partial(self._mapping, kind) for kind, letter in _MAPPINGS.items()},
            **{"b": self._bytes, "a": self._array, "n": self._number, "O": self._objects},
            **{"e": self._member, "o": self._object},
        }

    def value(self, node: Any) -> Any:
        """The value that a node stands for; raises one of `_DAMAGES`."""
        if type(node) is not list:
            return node
        kind, *rest = node
        if kind == "r":
            return self._known[rest[0]]
        made = self._makers[kind](rest)
        self._known.append(made)
        return made

    def _values(self, nodes: list[Any]) -> list[Any]:
        return [self.value(node) for node in nodes] if list in set(map(type, nodes)) else nodes

    def _sequence(self, kind: Callable[[list[Any]], Any], nodes: list[Any]) -> Any:
        return kind(self._values(nodes))

    def _mapping(self, kind: Callable[[dict[Any, Any]], Any], nodes: list[Any]) -> Any:
        flat = self._values(nodes)
        return kind(dict(zip(flat[::2], flat[1::2], strict=True)))

    def _take(self, count: int) -> memoryview:
        taken = self._blobs[self._at : self._at + count]
        if count < 0 or len(taken) != count:
            raise ValueError("too short")
        self._at += count
        return taken

    def _bytes(self, nodes: list[Any]) -> bytes:
        return bytes(self._take(nodes[0]))

    def _array(self, nodes: list[Any]) -> Any:
        text, *shape = nodes
        if not _DTYPE.fullmatch(text) or not all(size >= 0 for size in shape):
            raise ValueError("not an array")
        dtype = np.dtype(text)
        made: np.ndarray[Any, Any] = np.frombuffer(self._take(dtype.itemsize * math.prod(shape)), dtype).reshape(shape)
        return made.copy()

    def _number(self, nodes: list[Any]) -> Any:
        return self._array(nodes)[()]

    def _objects(self, nodes: list[Any]) -> Any:
        shape, *members = nodes
        made: np.ndarray[Any, Any] = np.empty(len(members), object)
        made[:] = self._values(members)
        return made.reshape(shape)

    def _member(self, nodes: list[Any]) -> Any:
        kind, name = nodes
        members: Any = getattr(self._classes[kind][0], "__members__", {})
        return members[name]

    def _object(self, nodes: list[Any]) -> Any:
        """An instance without calling its constructor, whose work is in the fields."""
        kind, fields = self._classes[nodes[0]]
        values = self._values(nodes[1:])
        if issubclass(kind, tuple):
            return tuple.__new__(kind, values)
        made = object.__new__(kind)
        for name, value in zip(fields, values, strict=True):
            object.__setattr__(made, name, value)
        return made
