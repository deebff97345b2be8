"""Threads for several pieces of one analysis: its heavy parts run without the GIL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tpu_profile_plugin.system.process import available_cores

S = TypeVar("S")
T = TypeVar("T")
_MAX_THREADS = 8
_LEAST_BYTES = 8 << 20
"""Of a profile; with fewer, threads take longer to start than they save."""


def map_threads(fn: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """`fn` of every item, in order, on at most one thread per core; raises the first error."""
    items = list(items)
    threads = min(len(items), available_cores(), _MAX_THREADS)
    if threads < 2:
        return [fn(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fn, items))


def threads_for(size: int) -> Callable[[Callable[[S], T], Iterable[S]], Iterable[T]]:
    """`map_threads` for the analysis of a profile of `size` bytes; `map` for a small one, or on one core."""
    return map_threads if size >= _LEAST_BYTES and available_cores() > 1 else map
