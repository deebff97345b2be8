"""Threads for several pieces of one analysis: its heavy parts run without the GIL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tpu_profile_plugin.system.process import available_cores

S = TypeVar("S")
T = TypeVar("T")
_MAX_THREADS = 8


def map_threads(fn: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """`fn` of every item, in order, on at most one thread per core; raises the first error."""
    items = list(items)
    threads = min(len(items), available_cores(), _MAX_THREADS)
    if threads < 2:
        return [fn(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fn, items))
