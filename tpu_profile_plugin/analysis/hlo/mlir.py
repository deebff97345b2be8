"""Kernels in MLIR bytecode, which compilers store in custom calls, as text in the generic form of MLIR.

First the encoding: numbers, texts, sections, every read checked against the end of its section. Then attributes and
types: of the builtin dialect, and entries stored as text. Last the ops: name in quotes, operands, attributes, types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
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
        return self.bytes(1)[0]

    def bytes(self, count: int) -> bytes:
        """The next `count` bytes."""
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
        more = (first ^ (first - 1)).bit_length() - 1
        return int.from_bytes(bytes([first]) + self.bytes(more), "little") >> (more + 1)

    def count(self) -> int:
        """A number of entries, each at least one byte long."""
        count = self.number()
        if count > self.end - self.at:
            raise Unreadable(f"{count} entries do not fit at byte {self.at}")
        return count

    def signed(self) -> int:
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


_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _BODY, _PROPERTY_TABLE = 0, 1, 2, 3, 4, 8
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
    listed = sections.get(_PROPERTY_TABLE)
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
            name, registered = reader.flagged() if version >= _KNOWN_OPS else (reader.number(), False)
            written = _within_limit(written, len(dialect) + len(entry(strings, name)))
            ops.append((f"{dialect}.{entry(strings, name).decode('utf-8', 'replace')}", registered))
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


# Floats as MLIR writes them: six digits if they are exact, otherwise all digits that the type may need.

_FORMATS = {
    "bf16": (8, 7, True), "f16": (5, 10, True), "f32": (8, 23, True), "f64": (11, 52, True), "tf32": (8, 10, True),
    "f8E5M2": (5, 2, True), "f8E4M3": (4, 3, True), "f8E3M4": (3, 4, True), "f8E4M3FN": (4, 3, False),
}  # fmt: skip
"""Bits of the exponent, bits of the fraction, and whether the highest exponent means infinity or NaN."""
_SHORT = 6
_PADDING = 3


def float_text(bits: int, kind: str) -> str:
    """The text of a float from its bits; hexadecimal for infinity, NaN and other types."""
    decoded = _decoded(bits, kind)
    if decoded is None:
        return f"0x{bits:X}"
    negative, significand, power = decoded
    sign = "-" if negative else ""
    short = _text(significand, power, _SHORT, short=True)
    if not significand or _means(short, bits, kind):
        return sign + short
    full = _text(significand, power, 2 + (_FORMATS[kind][1] + 1) * 59 // 196, short=False)
    return sign + full if "." in full else f"0x{bits:X}"


def _decoded(bits: int, kind: str) -> tuple[bool, int, int] | None:
    """Sign, significand and power of two."""
    if kind not in _FORMATS:
        return None
    exponents, fractions, infinite = _FORMATS[kind]
    fraction, exponent = bits & ((1 << fractions) - 1), (bits >> fractions) & ((1 << exponents) - 1)
    highest = exponent == (1 << exponents) - 1
    if highest and (infinite or fraction == (1 << fractions) - 1):
        return None
    bias = (1 << (exponents - 1)) - 1
    hidden = (1 << fractions) if exponent else 0
    return bool(bits >> (exponents + fractions) & 1), fraction | hidden, max(exponent, 1) - bias - fractions


def _means(text: str, bits: int, kind: str) -> bool:
    """Whether a positive decimal number rounds to this float, which is not 0, without its sign."""
    value, wanted = _exact(bits, kind), Fraction(text)
    assert value is not None
    for other in (bits - 1, bits + 1):
        near = _exact(other, kind)
        if near is None:
            continue
        to_near, to_value = abs(wanted - near), abs(wanted - value)
        if to_near < to_value or (to_near == to_value and bits & 1):
            return False
    return True


def _exact(bits: int, kind: str) -> Fraction | None:
    decoded = _decoded(bits, kind)
    return None if decoded is None else Fraction(decoded[1]) * Fraction(2) ** decoded[2]


def _text(significand: int, power: int, precision: int, *, short: bool) -> str:
    """The digits of a positive number. `short`: always with an exponent, filled with zeros to the precision."""
    if not significand:
        return "0." + "0" * precision + "e+00" if short else "0.0"
    digits, exponent = _digits(significand, power, precision)
    first = exponent + len(digits) - 1
    if short:
        rest = digits[1:].ljust(precision, "0")
        return f"{digits[0]}.{rest}e{'+' if first >= 0 else '-'}{abs(first):02}"
    if first < -_PADDING or exponent > _PADDING or len(digits) + exponent > precision:
        return f"{digits[0]}.{digits[1:] or '0'}E{'+' if first >= 0 else '-'}{abs(first)}"
    if exponent >= 0:
        return digits + "0" * exponent
    return f"{digits[: first + 1]}.{digits[first + 1 :]}" if first >= 0 else f"0.{'0' * (-1 - first)}{digits}"


def _digits(significand: int, power: int, precision: int) -> tuple[str, int]:
    """At most so many decimal digits, and the power of ten of the last one.

    As in LLVM, digits far behind them are cut off before rounding.
    """
    zeros = (significand ^ (significand - 1)).bit_length() - 1
    significand, power = significand >> zeros, power + zeros
    exponent = min(power, 0)
    significand = (significand << max(power, 0)) * 5**-exponent
    cut = max((significand.bit_length() - (precision * 196 + 58) // 59) * 59 // 196, 0)
    significand, exponent = significand // 10**cut, exponent + cut
    text = str(significand)
    if len(text) > precision:
        last = len(text) - precision
        number = significand // 10**last + (text[precision] >= "5")
        text, exponent = str(number), exponent + last
    stripped = text.rstrip("0")
    return stripped, exponent + len(text) - len(stripped)


_BUILTIN = "builtin"
MAP = "\x01"
"""Marks the begin and end of affine maps, which the finished text lists at its top."""
_DEEPEST = 32
_DYNAMIC = -(2**63)
_INDEX_BITS = 64
_MOST_BITS = 4096
_MOST_DIMENSIONS = 256
_MOST_NUMBERS = 100_000
"""Maximum number of elements written as numbers, over all constants."""
_MOST_ELEMENTS = 100
"""Longer constants are written as bytes, as MLIR does."""
_FLOATS = {
    3: ("bf16", 16), 4: ("f16", 16), 5: ("f32", 32), 6: ("f64", 64), 7: ("f80", 80), 8: ("f128", 128), 21: ("tf32", 19),
    22: ("f8E5M2", 8), 23: ("f8E4M3", 8), 24: ("f8E4M3FN", 8), 25: ("f8E5M2FNUZ", 8), 26: ("f8E4M3FNUZ", 8),
    27: ("f8E4M3B11FNUZ", 8), 28: ("f8E3M4", 8), 29: ("f4E2M1FN", 4), 30: ("f6E2M3FN", 6), 31: ("f6E3M2FN", 6),
    32: ("f8E8M0FNU", 8),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its text, and of integers and floats the width, of shaped types dimensions and element."""

    text: str
    bits: int = 0
    unsigned: bool = False
    is_float: bool = False
    shape: tuple[int, ...] | None = None
    element: Type | None = None
    inputs: tuple[Type, ...] | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: its text, `short` text without the type for lists, members of a dictionary, bare text."""

    text: str
    short: str = ""
    members: tuple[tuple[str, Attribute], ...] | None = None
    name: str = ""


class Values:
    """The attributes and types of a file, read when they are first used."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._types: dict[int, Type] = {}
        self._attributes: dict[int, Attribute] = {}
        self._depth = 0
        self._length = 0
        self._numbers = 0

    def type(self, number: int) -> Type:
        if number not in self._types:
            dialect, own_form, data = entry(self._module.types, number)
            self._types[number] = self._within(lambda: self._type(dialect, own_form, data.again()))
        self._written(self._types[number].text)
        return self._types[number]

    def attribute(self, number: int) -> Attribute:
        if number not in self._attributes:
            dialect, own_form, data = entry(self._module.attributes, number)
            self._attributes[number] = self._within(lambda: self._attribute(dialect, own_form, data.again()))
        self._written(self._attributes[number].text)
        return self._attributes[number]

    def _within(self, make: Callable[[], T]) -> T:
        """Guards against entries that contain themselves."""
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise Unreadable("attributes within each other")
            return make()
        finally:
            self._depth -= 1

    def _written(self, text: str) -> None:
        """Guards against texts that would grow beyond the limit, before they are joined."""
        self._length += len(text)
        if self._length > MOST_TEXT:
            raise Unreadable(f"more than {MOST_TEXT} letters of attributes and types")

    def _string(self, reader: Reader) -> str:
        return entry(self._module.strings, reader.number()).decode("utf-8", "replace")

    def _listed(self, reader: Reader, read: Callable[[Reader], T]) -> list[T]:
        return [read(reader) for _ in range(reader.count())]

    def _next_type(self, reader: Reader) -> Type:
        return self.type(reader.number())

    def _next(self, reader: Reader) -> Attribute:
        return self.attribute(reader.number())

    def _type(self, dialect: str, own_form: bool, reader: Reader) -> Type:
        if not own_form:
            return Type(reader.text())
        if dialect != _BUILTIN:
            raise Unreadable(f"a type of the dialect {dialect} in a form of its own")
        kind = reader.number()
        if kind == 0:
            width, sign = divmod(reader.number(), 4)
            if width > _MOST_BITS:
                raise Unreadable(f"integers of {width} bits")
            return Type(f"{('', 's', 'u', '?')[sign]}i{width}", width, sign == 2)
        if kind in _FLOATS:
            return Type(*_FLOATS[kind], is_float=True)
        simple = {1: Type("index", _INDEX_BITS), 12: Type("none")}
        if kind in simple:
            return simple[kind]
        if kind == 2:
            inputs, results = (self._listed(reader, self._next_type) for _ in range(2))
            return Type(function_type(inputs, results), inputs=tuple(inputs))
        if kind == 15:
            return Type(f"tuple<{', '.join(part.text for part in self._listed(reader, self._next_type))}>")
        if kind == 9:
            return Type(f"complex<{self._next_type(reader).text}>")
        return self._shaped(kind, reader)

    def _shaped(self, kind: int, reader: Reader) -> Type:
        names = {10: "memref", 11: "memref", 13: "tensor", 14: "tensor", 19: "vector", 20: "vector"}
        unranked = {16: "memref", 17: "memref", 18: "tensor"}
        if kind in unranked:
            space = f", {self._next(reader).text}" if kind == 17 else ""
            return Type(f"{unranked[kind]}<*x{self._next_type(reader).text}{space}>")
        if kind not in names:
            raise Unreadable(f"a builtin type of kind {kind}")
        more = [self._next(reader).text] if kind in (11, 14) else []
        scalable = self._listed(reader, lambda data: bool(data.byte())) if kind == 20 else []
        shape = tuple(self._listed(reader, Reader.signed))
        if len(shape) > _MOST_DIMENSIONS:
            raise Unreadable(f"{len(shape)} dimensions")
        element = self._next_type(reader)
        if kind in (10, 11):
            layout = self._next(reader)
            more = ([] if _is_identity(layout.name, len(shape)) else [layout.text]) + more
        sizes = ["?" if size == _DYNAMIC else str(size) for size in shape]
        scalable += [False] * (len(sizes) - len(scalable))
        dims = "".join(f"[{size}]x" if wide else f"{size}x" for size, wide in zip(sizes, scalable, strict=False))
        return Type(f"{names[kind]}<{', '.join([dims + element.text, *more])}>", shape=shape, element=element)

    def _attribute(self, dialect: str, own_form: bool, reader: Reader) -> Attribute:
        if not own_form:
            text = reader.text().replace(MAP, "")
            return Attribute(f"{MAP}{text}{MAP}" if text.startswith("affine_map<") else text, name=text)
        if dialect != _BUILTIN:
            raise Unreadable(f"an attribute of the dialect {dialect} in a form of its own")
        kind = reader.number()
        made = {
            0: self._array, 1: self._dictionary, 2: self._text, 4: self._symbol, 5: self._nested_symbol,
            8: self._integer, 9: self._float, 17: self._dense_array, 18: self._dense,
        }.get(kind)  # fmt: skip
        if made is not None:
            return made(reader)
        if kind == 3:
            text = quoted(self._string(reader))
            return Attribute(f"{text} : {self._next_type(reader).text}")
        if kind == 6:
            return Attribute(self._next_type(reader).text)
        if kind == 7:
            return Attribute("unit")
        if kind in (10, 11, 12, 13, 14, 15, 22):
            return Attribute("loc")
        raise Unreadable(f"a builtin attribute of kind {kind}")

    def _array(self, reader: Reader) -> Attribute:
        return Attribute(f"[{', '.join(item.short or item.text for item in self._listed(reader, self._next))}]")

    def _dictionary(self, reader: Reader) -> Attribute:
        members = self._listed(reader, lambda data: (self._next(data).name, self._next(data)))
        return Attribute(dictionary(members), members=tuple(members))

    def _text(self, reader: Reader) -> Attribute:
        text = self._string(reader)
        return Attribute(quoted(text), name=text)

    def _symbol(self, reader: Reader) -> Attribute:
        return Attribute(symbol(self._next(reader).name))

    def _nested_symbol(self, reader: Reader) -> Attribute:
        root = symbol(self._next(reader).name)
        return Attribute("::".join([root, *(part.text for part in self._listed(reader, self._next))]))

    def _integer(self, reader: Reader) -> Attribute:
        of = self._next_type(reader)
        text = _integer_text(_bits(reader, of.bits), of)
        return Attribute(text if of.text == "i1" else f"{text} : {of.text}", text if of.text == "i64" else "")

    def _float(self, reader: Reader) -> Attribute:
        of = self._next_type(reader)
        text = float_text(_bits(reader, of.bits), of.text)
        return Attribute(f"{text} : {of.text}", text if of.text == "f64" else "")

    def _dense_array(self, reader: Reader) -> Attribute:
        of = self._next_type(reader)
        size = reader.number()
        data = reader.bytes(reader.number())
        items = self._elements(data, of)
        if len(items) != size:
            raise Unreadable(f"an array of {len(items)} elements, not {size}")
        return Attribute(f"array<{of.text}: {', '.join(items)}>" if items else f"array<{of.text}>")

    def _dense(self, reader: Reader) -> Attribute:
        of = self._next_type(reader)
        data = reader.bytes(reader.number())
        if of.element is None or of.shape is None or not of.element.bits:
            raise Unreadable(f"a constant of type {of.text}")
        width = (of.element.bits + 7) // 8
        total = math.prod(of.shape)
        if len(data) == width and (data in (b"\0", b"\xff") if of.element.bits == 1 else total != 1):
            shown = self._elements(data, of.element)[0]
        elif total > _MOST_ELEMENTS:
            shown = f'"0x{data.hex().upper()}"'
        else:
            packed, total = of.element.bits == 1, max(total, 0)
            items = self._elements(data[: (total + 7) // 8] if packed else data, of.element, packed=packed)[:total]
            if len(items) < total:
                raise Unreadable(f"a constant of {len(items)} elements, not {total}")
            shown = _nested(items, of.shape)
        return Attribute(f"dense<{shown}> : {of.text}")

    def _elements(self, data: bytes, of: Type, *, packed: bool = False) -> list[str]:
        """The numbers of a constant."""
        if packed:
            return ["true" if data[bit // 8] >> (bit % 8) & 1 else "false" for bit in range(8 * len(data))]
        width = (of.bits + 7) // 8
        if not of.bits or len(data) % width:
            raise Unreadable(f"{len(data)} bytes of {of.text}")
        self._numbers += len(data) // width
        if self._numbers > _MOST_NUMBERS:
            raise Unreadable(f"more than {_MOST_NUMBERS} numbers in constants")
        numbers = [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]
        return [float_text(bits, of.text) if of.is_float else _integer_text(bits, of) for bits in numbers]


def _is_identity(layout: str, rank: int) -> bool:
    dims = ", ".join(f"d{dim}" for dim in range(rank))
    return layout == f"affine_map<({dims}) -> ({dims})>"


def _bits(reader: Reader, width: int) -> int:
    """A number of a given width, as its bits."""
    if not width:
        raise Unreadable("a number without a width")
    if width <= 8:
        return reader.byte()
    if width <= 64:
        return reader.signed() & ((1 << width) - 1)
    count = reader.count()
    if count > (width + 63) // 64:
        raise Unreadable(f"{count} words for {width} bits")
    words = [reader.signed() & ((1 << 64) - 1) for _ in range(count)]
    return sum(word << (64 * i) for i, word in enumerate(words)) & ((1 << width) - 1)


def _integer_text(bits: int, of: Type) -> str:
    if of.text == "i1":
        return "true" if bits & 1 else "false"
    bits &= (1 << of.bits) - 1
    return str(bits if of.unsigned or not bits >> (of.bits - 1) else bits - (1 << of.bits))


def _nested(items: list[str], shape: tuple[int, ...]) -> str:
    """The elements in brackets by dimension; a splat element without brackets."""
    if not shape:
        return items[0]
    if items and all(item == items[0] for item in items):
        return items[0]
    for size in reversed(shape):
        items = [f"[{', '.join(items[i : i + size])}]" for i in range(0, len(items), max(1, size))]
    return items[0] if items else ""


def function_type(inputs: list[Type], results: list[Type]) -> str:
    """The text of a function type; one result stands without parentheses."""
    shown = ", ".join(part.text for part in results)
    alone = len(results) == 1 and results[0].inputs is None
    return f"({', '.join(part.text for part in inputs)}) -> {shown if alone else f'({shown})'}"


def dictionary(members: list[tuple[str, Attribute]]) -> str:
    """Named attributes in braces."""
    shown = (bare(name) + ("" if value.text == "unit" else f" = {value.text}") for name, value in members)
    return f"{{{', '.join(shown)}}}"


def bare(name: str) -> str:
    """A name as written in braces: quoted unless it is an identifier."""
    return name if name.replace(".", "_").replace("$", "_").isidentifier() else quoted(name)


def symbol(name: str) -> str:
    """A reference to a symbol."""
    return f"@{bare(name)}"


def quoted(text: str) -> str:
    """A text in quotation marks; unprintable characters become hexadecimal bytes."""
    escaped = "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"
        for byte in text.encode()
    )
    return f'"{escaped}"'


_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USES, _PROPERTIES = (1 << bit for bit in range(7))
_LAZY, _USE_LISTS, _OPTIONAL_LOCATIONS = 2, 3, 4
_DEEPEST_REGION = 64
_MOST = 200_000
"""Maximum number of ops, and of values, in one kernel."""
_NAME = 10
"""Letters counted for the name of a value and its punctuation."""
_MODULE = "builtin.module"


@dataclass(slots=True, eq=False)
class _Value:
    """An argument of a block, or a result; `name` is assigned after reading everything."""

    type: Type
    name: str = ""


@dataclass(slots=True, eq=False)
class _Block:
    arguments: list[_Value] = field(default_factory=list)
    ops: list[_Op] = field(default_factory=list)
    before: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Op:
    name: str
    attributes: Attribute | None = None
    properties: Attribute | str | None = None
    results: list[_Value] = field(default_factory=list)
    operands: list[_Value] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    regions: list[list[_Block]] = field(default_factory=list)


class _Scope:
    """The values that ops may use: the values of all enclosing regions up to an isolated region."""

    def __init__(self) -> None:
        self.values: list[_Value | None] = []
        self.next: list[int] = []

    def push(self, count: int) -> None:
        """Enters a region with this number of values."""
        self.next.append(len(self.values))
        self.values += [None] * count

    def pop(self, count: int) -> None:
        """Leaves the innermost region."""
        self.next.pop()
        del self.values[len(self.values) - count :]

    def define(self, value: _Value) -> None:
        """The next value of the innermost region."""
        index = self.next[-1]
        if index >= len(self.values):
            raise Unreadable("more values than the region declares")
        if (used := self.values[index]) is not None:  # used before it was defined
            used.type = value.type
            value = used
        self.values[index] = value
        self.next[-1] += 1

    def use(self, index: int) -> _Value:
        value = entry(self.values, index)
        if value is None:
            value = self.values[index] = _Value(Type("?"))
        return value


class _Body:
    """Reads the ops."""

    def __init__(self, module: Module, values: Values) -> None:
        self._module, self._values = module, values
        self._count = self._declared = 0
        self._scopes: list[_Scope] = []

    def read(self) -> list[_Op]:
        scope = _Scope()
        scope.push(0)
        self._scopes.append(scope)
        return self._block(self._module.body.again(), 0).ops

    def _block(self, reader: Reader, depth: int) -> _Block:
        if depth > _DEEPEST_REGION:
            raise Unreadable("regions within each other")
        block = _Block()
        count, arguments = reader.flagged()
        if arguments:
            for _ in range(reader.count()):
                block.arguments.append(self._defined(self._argument(reader)))
            if self._module.version >= _USE_LISTS and reader.byte():
                self._uses(reader, len(block.arguments))
        for _ in range(count):
            block.ops.append(self._op(reader, depth))
        return block

    def _argument(self, reader: Reader) -> Type:
        if self._module.version < _OPTIONAL_LOCATIONS:
            argument_type = self._values.type(reader.number())
            reader.number()
            return argument_type
        number, located = reader.flagged()
        if located:
            reader.number()
        return self._values.type(number)

    def _defined(self, type: Type) -> _Value:
        scope = self._scopes[-1]
        scope.define(_Value(type))
        value = scope.values[scope.next[-1] - 1]
        assert value is not None
        return value

    def _op(self, reader: Reader, depth: int) -> _Op:
        self._count += 1
        if self._count > _MOST:
            raise Unreadable(f"more than {_MOST} ops")
        name, registered = entry(self._module.ops, reader.number())
        parts = reader.byte()
        reader.number()  # location
        op = _Op(name)
        if parts & _ATTRIBUTES:
            op.attributes = self._values.attribute(reader.number())
        if parts & _PROPERTIES:
            op.properties = self._properties(entry(self._module.properties, reader.number()), name, registered)
        if parts & _RESULTS:
            types = [self._values.type(reader.number()) for _ in range(reader.count())]
            op.results = [self._defined(type_) for type_ in types]
        if parts & _OPERANDS:
            op.operands = [self._scopes[-1].use(reader.number()) for _ in range(reader.count())]
        if parts & _SUCCESSORS:
            op.successors = [reader.number() for _ in range(reader.count())]
        if parts & _USES:
            self._uses(reader, len(op.results))
        if parts & _REGIONS:
            self._regions(op, reader, depth)
        return op

    def _properties(self, data: Reader, name: str, registered: bool) -> Attribute | str:
        """The attribute of an unregistered op; registered ops have forms of their own."""
        data = data.again()
        if not registered:
            return self._values.attribute(data.number())
        if name != _MODULE:
            return f"{data.end - data.at} bytes"
        given = [(key, data.flagged()) for key in ("sym_name", "sym_visibility")]
        members = [(key, self._values.attribute(number)) for key, (number, present) in given if present]
        return Attribute("", members=tuple(members))

    def _uses(self, reader: Reader, count: int) -> None:
        """Skips the order of uses, which the text does not show."""
        for _ in range(reader.count() if count > 1 else 1):
            if count > 1:
                reader.number()
            for _ in range(reader.flagged()[0]):
                reader.number()

    def _regions(self, op: _Op, reader: Reader, depth: int) -> None:
        count, isolated = reader.flagged()
        if isolated and self._module.version >= _LAZY:
            reader = reader.section()[1]
        for _ in range(count):
            if isolated:
                self._scopes.append(_Scope())
            op.regions.append(self._region(reader, depth + 1))
            if isolated:
                self._scopes.pop()

    def _region(self, reader: Reader, depth: int) -> list[_Block]:
        blocks = reader.count()
        if not blocks:
            return []
        values = reader.count()
        self._declared += values
        if self._declared > _MOST:
            raise Unreadable(f"more than {_MOST} values")
        self._scopes[-1].push(values)
        region = [self._block(reader, depth) for _ in range(blocks)]
        self._scopes[-1].pop(values)
        for index, block in enumerate(region):
            for target in {target for op in block.ops for target in op.successors}:
                entry(region, target).before.append(index)
        return region


def generic_text(data: bytes) -> str:
    """The text of MLIR bytecode; raises Unreadable."""
    module = read_module(data)
    ops = _Body(module, Values(module)).read()
    if (letters := _letters(ops)) > MOST_TEXT:
        raise Unreadable(f"{letters} letters of names and types")
    for op in ops:
        _name_values(op.regions, 0, 0)
    return _with_maps("\n".join(line for op in ops for line in _lines(op, "")))


def _letters(ops: Iterable[_Op]) -> int:
    """Number of letters that the names and types of ops take in the text, repetitions included."""
    letters = 0
    for op in ops:
        letters += len(op.name) + sum(_NAME + len(value.type.text) for value in (*op.operands, *op.results))
        for block in (block for blocks in op.regions for block in blocks):
            letters += sum(_NAME + len(value.type.text) for value in block.arguments) + _letters(block.ops)
    return letters


def _with_maps(text: str) -> str:
    """The text with affine maps replaced by names, and the maps listed at the top."""
    parts = text.split(MAP)
    names = {affine: f"#map{number or ''}" for number, affine in enumerate(dict.fromkeys(parts[1::2]))}
    parts[1::2] = [names[affine] for affine in parts[1::2]]
    return "".join([*(f"{name} = {affine}\n" for affine, name in names.items()), *parts])


def summary(data: bytes) -> str:
    """Producer, dialects and names of ops of MLIR bytecode whose ops cannot be read; raises Unreadable."""
    module = read_module(data)
    ops = sorted(name for name, _ in module.ops)
    head = f"// MLIR bytecode, version {module.version}, of {module.producer}"
    return "\n".join([head, f"// Dialects: {', '.join(module.dialects)}", *(f"// Op: {name}" for name in ops)])


def _name_values(regions: Iterable[list[_Block]], values: int, arguments: int) -> None:
    """Names values as MLIR does: each region continues the numbers of the enclosing region."""
    for blocks in regions:
        value, argument = values, arguments
        for number, block in enumerate(blocks):
            for defined in block.arguments:
                if number:
                    defined.name, value = f"%{value}", value + 1
                else:
                    defined.name, argument = f"%arg{argument}", argument + 1
            for op in block.ops:
                for result, defined in enumerate(op.results):
                    defined.name = f"%{value}#{result}" if len(op.results) > 1 else f"%{value}"
                value += bool(op.results)
        for block in blocks:
            for op in block.ops:
                _name_values(op.regions, value, argument)


def _lines(op: _Op, indent: str) -> Iterable[str]:
    if op.name == _MODULE and len(op.regions) == 1 and len(op.regions[0]) <= 1:
        yield from _module_lines(op, indent)
        return
    head = indent
    if op.results:
        name = op.results[0].name.partition("#")[0]
        head += f"{name} = " if len(op.results) == 1 else f"{name}:{len(op.results)} = "
    head += f'"{op.name}"({", ".join(operand.name or "%?" for operand in op.operands)})'
    if op.successors:
        head += f"[{', '.join(f'^bb{block}' for block in op.successors)}]"
    if isinstance(op.properties, Attribute):
        head += f" <{op.properties.text}>"
    elif op.properties is not None:
        head += f" /* properties: {op.properties} in the op's own form */"
    for region, blocks in enumerate(op.regions):
        yield head + (" ({" if region == 0 else ", {")
        for number, block in enumerate(blocks):
            if number or block.arguments:
                arguments = ", ".join(f"{value.name}: {value.type.text}" for value in block.arguments)
                yield f"{indent}^bb{number}{f'({arguments})' if arguments else ''}:{_before(block) if number else ''}"
            for inner in block.ops:
                yield from _lines(inner, indent + "  ")
        head = f"{indent}}}"
    head += ")" if op.regions else ""
    members = list(op.attributes.members or ()) if op.attributes else []
    head += f" {dictionary(members)}" if members else ""
    yield f"{head} : {function_type([value.type for value in op.operands], [value.type for value in op.results])}"


def _before(block: _Block) -> str:
    names = ", ".join(f"^bb{earlier}" for earlier in block.before)
    if not names:
        return "  // no predecessors"
    return f"  // pred: {names}" if len(block.before) == 1 else f"  // {len(block.before)} preds: {names}"


def _module_lines(op: _Op, indent: str) -> Iterable[str]:
    members = [*((op.attributes.members if op.attributes else None) or ())]
    if isinstance(op.properties, Attribute):
        members = [*(op.properties.members or ()), *members]
    named = dict(members)
    name = f" {symbol(named['sym_name'].name)}" if "sym_name" in named else ""
    rest = [(key, value) for key, value in members if key != "sym_name"]
    yield f"{indent}module{name}{f' attributes {dictionary(rest)}' if rest else ''} {{"
    for block in op.regions[0]:
        for inner in block.ops:
            yield from _lines(inner, indent + "  ")
    yield f"{indent}}}"
