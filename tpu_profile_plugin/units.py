"""Units used across the package: times are integer picoseconds until they are shown."""

from __future__ import annotations

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
PS_PER_S = 1_000_000_000_000

MIB = 1 << 20
GIB = 1 << 30
