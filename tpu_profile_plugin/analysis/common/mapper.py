"""Mapper of an analysis over independent parts; the caller chooses the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or a function like it."""
