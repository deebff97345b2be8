"""The encoding of MLIR bytecode: numbers, texts, sections. Every read is checked against the end of its section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

MAGIC = b"ML\xefR"
MOST_TEXT = 1 << 25
"""Maximum number of letters of names, and of attributes and types, in one kernel."""
_ALIGNED = 0x80
_NEWEST = 6


class Unreadable(Exception):
    """The bytes are not MLIR bytecode, or use an unsupported part of it."""


class Reader:
    """Reads a part of the bytes in order; raises Unreadable before passing its end."""

    def __init__(self, data: bytes, begin: int = 0, end: int | None = None) -> None:
        self._data = data
        self.at = begin
        self.end = len(data) if end is None else end

    def again(self) -> Reader:
        """Another reader of the remaining bytes; this reader does not move."""
        return Reader(self._data, self.at, self.end)

    @property
    def done(self) -> bool:
        """Whether all bytes were read."""
        return self.at >= self.end

    def byte(self) -> int:
        """One byte."""
        return self.bytes(1)[0]

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        if count > self.end - self.at:
            raise Unreadable(f"{count} bytes do not fit at byte {self.at}")
        self.at += count
        return self._data[self.at - count : self.at]

    def number(self) -> int:
        """A variable-length number: the zeros at the low end of the first byte say how many bytes follow."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return int.from_bytes(self.bytes(8), "little")
        more = (first & -first).bit_length() - 1
        return int.from_bytes(bytes([first]) + self.bytes(more), "little") >> (more + 1)

    def count(self) -> int:
        """A number of entries, each at least one byte long."""
        count = self.number()
        if count > self.end - self.at:
            raise Unreadable(f"{count} entries do not fit at byte {self.at}")
        return count

    def signed(self) -> int:
        """A signed number."""
        encoded = self.number()
        return (encoded >> 1) ^ -(encoded & 1)

    def flagged(self) -> tuple[int, bool]:
        """A number whose lowest bit is a flag."""
        number = self.number()
        return number >> 1, bool(number & 1)

    def text(self) -> str:
        """A text that ends with a zero byte."""
        stop = self._data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise Unreadable(f"a text at byte {self.at} has no end")
        raw = self._data[self.at : stop]
        self.at = stop + 1
        return raw.decode("utf-8", "replace")

    def part(self, length: int) -> Reader:
        """A reader of the next bytes; this reader skips them."""
        begin = self.at
        self.bytes(length)
        return Reader(self._data, begin, begin + length)

    def section(self) -> tuple[int, Reader]:
        """Number and content of the next section."""
        kind = self.byte()
        length = self.number()
        if kind & _ALIGNED:
            alignment = self.number()
            if not alignment or alignment & (alignment - 1):
                raise Unreadable(f"an alignment of {alignment}")
            self.bytes(-self.at % alignment)
        return kind & ~_ALIGNED, self.part(length)


@dataclass(frozen=True, slots=True)
class Module:
    """The tables of a file.

    Attributes:
      version: of the encoding.
      producer: the program that wrote it.
      strings: its texts.
      dialects: names of the dialects.
      ops: per op its full name, and whether it was registered with the writer.
      attributes, types: per entry its dialect, whether it has a form of its own (else it is text), and its bytes.
      properties: per entry its bytes.
      body: the section with the ops.
    """

    version: int
    producer: str
    strings: list[bytes]
    dialects: list[str]
    ops: list[tuple[str, bool]]
    attributes: list[tuple[str, bool, Reader]]
    types: list[tuple[str, bool, Reader]]
    properties: list[Reader]
    body: Reader


_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _BODY, _PROPERTIES = 0, 1, 2, 3, 4, 8
_VERSIONED_DIALECTS, _COUNTED_OPS, _KNOWN_OPS = 1, 4, 5


def read_module(data: bytes) -> Module:
    """The tables of MLIR bytecode; raises Unreadable."""
    reader = Reader(data)
    if reader.bytes(len(MAGIC)) != MAGIC:
        raise Unreadable("no MLIR bytecode")
    version = reader.number()
    if version > _NEWEST:
        raise Unreadable(f"version {version} of the encoding")
    producer = reader.text()
    sections: dict[int, Reader] = {}
    while not reader.done:
        kind, content = reader.section()
        sections[kind] = content
    for kind in (_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _BODY):
        if kind not in sections:
            raise Unreadable(f"section {kind} is missing")
    texts = sections[_STRINGS]
    sizes = [texts.number() for _ in range(texts.count())]
    strings = [texts.bytes(size)[:-1] for size in reversed(sizes)]
    dialects, ops = _read_dialects(sections[_DIALECTS], strings, version)
    attributes, types = _read_entries(sections[_OFFSETS], sections[_ENTRIES], dialects)
    listed = sections.get(_PROPERTIES)
    properties = [listed.part(listed.number()) for _ in range(listed.count())] if listed else []
    return Module(version, producer, strings, dialects, ops, attributes, types, properties, sections[_BODY])


def _read_dialects(reader: Reader, strings: list[bytes], version: int) -> tuple[list[str], list[tuple[str, bool]]]:
    dialects = []
    written = 0
    for _ in range(reader.count()):
        name, versioned = reader.flagged() if version >= _VERSIONED_DIALECTS else (reader.number(), False)
        written = _within_limit(written, len(entry(strings, name)))
        dialects.append(entry(strings, name).decode("utf-8", "replace"))
        if versioned:
            reader.section()
    if version >= _COUNTED_OPS:
        reader.number()
    ops = []
    while not reader.done:
        dialect = entry(dialects, reader.number())
        for _ in range(reader.count()):
            name, known = reader.flagged() if version >= _KNOWN_OPS else (reader.number(), False)
            written = _within_limit(written, len(dialect) + len(entry(strings, name)))
            ops.append((f"{dialect}.{entry(strings, name).decode('utf-8', 'replace')}", known))
    return dialects, ops


def _within_limit(written: int, more: int) -> int:
    """The sum; raises Unreadable beyond the limit, because a long name may be repeated very often."""
    if written + more > MOST_TEXT:
        raise Unreadable(f"more than {MOST_TEXT} letters of names")
    return written + more


_Entries = list[tuple[str, bool, Reader]]


def _read_entries(offsets: Reader, data: Reader, dialects: list[str]) -> tuple[_Entries, _Entries]:
    counts = offsets.count(), offsets.count()
    tables: list[_Entries] = []
    for count in counts:
        table: _Entries = []
        while len(table) < count:
            dialect = entry(dialects, offsets.number())
            group = offsets.count()
            if not group or len(table) + group > count:
                raise Unreadable(f"a group of {group} entries")
            for _ in range(group):
                size, own_form = offsets.flagged()
                table.append((dialect, own_form, data.part(size)))
        tables.append(table)
    return tables[0], tables[1]


def entry(table: list[T], index: int) -> T:
    """An entry of a table by its number."""
    if index >= len(table):
        raise Unreadable(f"entry {index} of {len(table)}")
    return table[index]
