"""Units used across the package: times are integer picoseconds until they are shown."""

from __future__ import annotations

KILO = 1_000
MEGA = 1_000_000
GIGA = 1_000_000_000
TERA = 1_000_000_000_000

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
PS_PER_S = 1_000_000_000_000
NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
US_PER_MS = 1_000
MS_PER_S = 1_000

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

_SIZES = (("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1))
_TIMES = (("s", PS_PER_S), ("ms", PS_PER_MS), ("us", PS_PER_US), ("ns", PS_PER_NS))


def duration(ps: float) -> str:
    """A time in the largest unit in which it is at least 1, with four digits."""
    unit, size = next((step for step in _TIMES if ps >= step[1]), _TIMES[-1])
    return f"{ps / size:.4g} {unit}"


def size(count: float) -> str:
    """A number of bytes in the largest unit in which it is at least 1, with four digits."""
    unit, step = next((one for one in _SIZES if count >= one[1]), _SIZES[-1])
    return f"{count / step:.4g} {unit}"
