"""Attributes and types of MLIR bytecode as text: of the builtin dialect, and entries stored as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from tpu_profile_plugin.analysis.hlo.mlir.reader import MOST_TEXT, Module, Reader, Unreadable, entry

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
    """Whether a decimal number rounds to this float."""
    exponents, fractions, _ = _FORMATS[kind]
    magnitude = bits & ((1 << (exponents + fractions)) - 1)
    value, wanted = _exact(magnitude, kind), Fraction(text)
    for other in (magnitude - 1, magnitude + 1):
        near = _exact(other, kind) if other >= 0 else None
        if value is None or near is None:
            continue
        half = abs(near - value) / 2
        beyond = (wanted - value) * (1 if near > value else -1)
        if beyond > half or (beyond == half and magnitude & 1):
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
    if first < -_PADDING or exponent > _PADDING or (exponent >= 0 and len(digits) + exponent > precision):
        return f"{digits[0]}.{digits[1:] or '0'}E{'+' if first >= 0 else '-'}{abs(first)}"
    if exponent >= 0:
        return digits + "0" * exponent
    return f"{digits[: first + 1]}.{digits[first + 1 :]}" if first >= 0 else f"0.{'0' * (-1 - first)}{digits}"


def _digits(significand: int, power: int, precision: int) -> tuple[str, int]:
    """At most so many decimal digits, and the power of ten of the last one.

    As in LLVM, digits far behind them are cut off before rounding.
    """
    zeros = (significand & -significand).bit_length() - 1
    significand, power = significand >> zeros, power + zeros
    exponent = min(power, 0)
    significand = significand << power if power > 0 else significand * 5**-power
    cut = (significand.bit_length() - (precision * 196 + 58) // 59) * 59 // 196
    if cut > 0:
        significand, exponent = significand // 10**cut, exponent + cut
    text = str(significand)
    if len(text) > precision:
        last = len(text) - precision
        number = significand // 10**last + (text[precision] >= "5")
        text, exponent = str(number), exponent + last
    stripped = text.rstrip("0")
    return stripped, exponent + len(text) - len(stripped)


T = TypeVar("T")
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
        """The type of a number."""
        if number not in self._types:
            dialect, own_form, data = entry(self._module.types, number)
            self._types[number] = self._within(lambda: self._type(dialect, own_form, data.again()))
        self._written(self._types[number].text)
        return self._types[number]

    def attribute(self, number: int) -> Attribute:
        """The attribute of a number."""
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
            return Type(f"tuple<{', '.join(one.text for one in self._listed(reader, self._next_type))}>")
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
        scalable = self._listed(reader, lambda one: bool(one.byte())) if kind == 20 else []
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
        return Attribute(f"[{', '.join(one.short or one.text for one in self._listed(reader, self._next))}]")

    def _dictionary(self, reader: Reader) -> Attribute:
        members = self._listed(reader, lambda one: (self._next(one).name, self._next(one)))
        return Attribute(dictionary(members), members=tuple(members))

    def _text(self, reader: Reader) -> Attribute:
        text = self._string(reader)
        return Attribute(quoted(text), name=text)

    def _symbol(self, reader: Reader) -> Attribute:
        return Attribute(symbol(self._next(reader).name))

    def _nested_symbol(self, reader: Reader) -> Attribute:
        root = symbol(self._next(reader).name)
        return Attribute("::".join([root, *(one.text for one in self._listed(reader, self._next))]))

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
            return ["true" if data[at // 8] >> (at % 8) & 1 else "false" for at in range(8 * len(data))]
        width = (of.bits + 7) // 8
        if not of.bits or len(data) % width:
            raise Unreadable(f"{len(data)} bytes of {of.text}")
        self._numbers += len(data) // width
        if self._numbers > _MOST_NUMBERS:
            raise Unreadable(f"more than {_MOST_NUMBERS} numbers in constants")
        numbers = [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
        return [float_text(one, of.text) if of.is_float else _integer_text(one, of) for one in numbers]


def _is_identity(layout: str, rank: int) -> bool:
    dims = ", ".join(f"d{at}" for at in range(rank))
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
    return sum(word << (64 * at) for at, word in enumerate(words)) & ((1 << width) - 1)


def _integer_text(bits: int, of: Type) -> str:
    if of.text == "i1":
        return "true" if bits & 1 else "false"
    bits &= (1 << of.bits) - 1
    return str(bits if of.unsigned or not bits >> (of.bits - 1) else bits - (1 << of.bits))


def _nested(items: list[str], shape: tuple[int, ...]) -> str:
    """The elements in brackets by dimension; a splat element without brackets."""
    if not shape:
        return items[0]
    if items and all(one == items[0] for one in items):
        return items[0]
    for size in reversed(shape):
        items = [f"[{', '.join(items[at : at + size])}]" for at in range(0, len(items), max(1, size))]
    return items[0] if items else ""


def function_type(inputs: list[Type], results: list[Type]) -> str:
    """The text of a function type; one result stands without parentheses."""
    shown = ", ".join(one.text for one in results)
    alone = len(results) == 1 and results[0].inputs is None
    return f"({', '.join(one.text for one in inputs)}) -> {shown if alone else f'({shown})'}"


def dictionary(members: list[tuple[str, Attribute]]) -> str:
    """Named attributes in braces."""
    shown = (name if one.text == "unit" else f"{name} = {one.text}" for name, one in ((bare(n), o) for n, o in members))
    return f"{{{', '.join(shown)}}}"


def bare(name: str) -> str:
    """A name as written in braces: quoted unless it is an identifier."""
    return name if name.replace(".", "_").replace("$", "_").isidentifier() else quoted(name)


def symbol(name: str) -> str:
    """A reference to a symbol."""
    return f"@{name if name.replace('.', '_').replace('$', '_').isidentifier() else quoted(name)}"


def quoted(text: str) -> str:
    """A text in quotation marks; unprintable characters become hexadecimal bytes."""
    escaped = "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"
        for byte in text.encode()
    )
    return f'"{escaped}"'
