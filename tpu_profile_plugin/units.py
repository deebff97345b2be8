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
