"""Floats as MLIR writes them: six digits if they are exact, otherwise all digits that the type may need."""

from __future__ import annotations

from fractions import Fraction

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
