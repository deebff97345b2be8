"""The allocator of the C library: few areas of memory, so that a server of many threads does not grow."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

_LEAST = 2
_M_ARENA_MAX = -8
"""The name of the limit, from glibc's malloc.h."""
_CHOSEN = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Variables by which the operator has chosen already."""


def few_areas(count: int | None = None) -> None:
    """Lets glibc's threads share `count` areas, by default one for each core; other allocators are left as they are.

    By default it makes eight for each core. Objects that live long, as cached answers, come from all of them; what is
    freed around them can hardly be given back, and each area grows to the most that its threads ever needed at once.
    """
    if sys.platform != "linux" or any(name in os.environ for name in _CHOSEN):
        return
    with contextlib.suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        if library.gnu_get_libc_version:
            library.mallopt(_M_ARENA_MAX, count or max(_LEAST, os.cpu_count() or 0))
