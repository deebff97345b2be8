"""Constants of HLO programs as text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.hlo.shapes import type_name

_MOST = 10
"""Maximum number of elements of constants that are written out."""
_DEEPEST = 16
"""Maximum number of dimensions of constants that are written out."""
_ELSEWHERE = "{...}"
_REPEATED = frozenset(("pred", "s32", "s64", "u32", "u64", "f32", "f64", "c64", "c128"))
"""Types with elements in a repeated field; elements of other types are raw bytes."""
_RAW = {"u8": "u1", "s8": "i1", "u16": "<u2", "s16": "<i2", "f16": "<f2", "bf16": "<u2"}
_DIGITS = {"f32": (6, 9), "c64": (6, 9), "f64": (15, 17), "c128": (15, 17), "f16": (5,), "bf16": (4,)}
"""Numbers of significant digits to try for a float: the first that reads back as the same value, else the last."""
_MINI = re.compile(r"f[48]e(\d)m(\d)(b11)?(fn)?(u?z?)")
"""Floats of 8 and 4 bits: exponent and mantissa bits, special bias, missing infinities, missing negative zero."""


def literal_text(literal: Any) -> str:
    """A LiteralProto, e.g. `1` or `{1, 2}` or `{ { 1, 2 }, { 3, 4 } }`; `{...}` when it is large or unknown."""
    sizes, kind = list(literal.shape.dimensions), type_name(literal.shape.element_type)
    count = math.prod(sizes)
    if not 0 <= count <= _MOST or len(sizes) > _DEEPEST or (len(sizes) > 1 and not count):
        return _ELSEWHERE
    values = _values(literal, kind, count)
    texts = None if values is None else [_text(value, kind, scalar=not sizes) for value in values]
    if texts is None or len(texts) != count:
        return _ELSEWHERE
    if not sizes:
        return texts[0]
    return _nested(texts, sizes, _offsets(sizes, literal.shape.layout.minor_to_major), outermost=True)


def _offsets(sizes: Sequence[int], minor_first: Sequence[int]) -> Sequence[int]:
    """Distance in elements from one index of each dimension to the next, as the elements lie in the message."""
    order = minor_first if sorted(minor_first) == list(range(len(sizes))) else range(len(sizes))[::-1]
    offsets, step = [0] * len(sizes), 1
    for dimension in order:
        offsets[dimension] = step
        step *= sizes[dimension]
    return offsets


def _nested(
    texts: Sequence[str], sizes: Sequence[int], offsets: Sequence[int], base: int = 0, *, outermost: bool
) -> str:
    places = [base + i * offsets[0] for i in range(sizes[0])]
    if len(sizes) == 1:
        inside = ", ".join(texts[place] for place in places)
        return f"{{{inside}}}" if outermost or len(places) < 2 else f"{{ {inside} }}"
    rows = (_nested(texts, sizes[1:], offsets[1:], place, outermost=False) for place in places)
    return f"{{ {', '.join(rows)} }}"


def _values(literal: Any, kind: str, count: int) -> Sequence[Any] | None:
    """The elements of a small constant; None for unknown types and for elements that do not fit the shape."""
    if kind in _REPEATED:
        values = list(getattr(literal, f"{kind}s")[: 2 * _MOST + 2])
        return list(zip(values[::2], values[1::2], strict=False)) if kind.startswith("c") else values
    raw: bytes = getattr(literal, f"{kind}s", b"")
    if element := _RAW.get(kind):
        if len(raw) != count * np.dtype(element).itemsize:
            return None
        numbers: Any = np.frombuffer(raw, element)
        return list((numbers.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else numbers)
    if len(raw) != count:
        return None
    if small_float := _MINI.fullmatch(kind):
        exponent, mantissa = int(small_float[1]), int(small_float[2])
        bias = 11 if small_float[3] else (1 << exponent - 1) - (0 if small_float[5] == "uz" else 1)
        return [_mini(bits, exponent, mantissa, bias, finite=bool(small_float[4]), kind=small_float[5]) for bits in raw]
    if width := re.fullmatch(r"([su])([124])", kind):
        half = 1 << int(width[2]) - 1
        return [bits - 2 * half if width[1] == "s" and bits >= half else bits for bits in raw]
    return None


def _mini(bits: int, exponent: int, mantissa: int, bias: int, *, finite: bool, kind: str) -> float:
    """Value of a float of few bits; `finite` and `kind` determine the bit patterns of NaN."""
    if kind == "u":  # unsigned powers of two
        return math.nan if bits == 255 else 2.0 ** (bits - 127)
    top, fraction = (1 << exponent) - 1, (1 << mantissa) - 1
    sign, power, part = bits >> exponent + mantissa & 1, bits >> mantissa & top, bits & fraction
    if kind == "uz" and sign and not power and not part:
        return math.nan
    if not finite and power == top:
        return math.nan if part else -math.inf if sign else math.inf
    if finite and not kind and exponent + mantissa == 7 and power == top and part == fraction:
        return math.nan
    value = (part / (fraction + 1) + (power > 0)) * 2.0 ** (max(power, 1) - bias)
    return -value if sign else value


def _text(value: Any, kind: str, *, scalar: bool) -> str:
    if kind == "pred":
        return str(bool(value)).lower() if scalar else str(int(value))
    if isinstance(value, tuple):
        return f"({', '.join(_float(part, _DIGITS[kind]) for part in value)})"
    if isinstance(value, int | np.integer):
        return str(value)
    mini = _MINI.fullmatch(kind)
    return _float(value, _DIGITS.get(kind) or (math.ceil(1 + (int(mini[2]) + 1) * math.log10(2)) if mini else 9,))


def _float(value: float, digits: Sequence[int]) -> str:
    short = f"{value:.{digits[0]}g}"
    single = digits[-1] == 9
    same = np.float32(short) == np.float32(value) if single else float(short) == value
    return short if same or len(digits) == 1 or math.isnan(value) else f"{value:.{digits[-1]}g}"
