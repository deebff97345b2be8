"""The version of the package, which everything may import."""

from __future__ import annotations

__version__ = "0.2.0"
