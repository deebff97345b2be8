"""Which thread of a host is the program's main thread."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MAIN = re.compile(r"(main|mainthread)(/-?\d+)?", re.IGNORECASE)
_PYTHON = re.compile(r"python[\d.]*(/-?\d+)?", re.IGNORECASE)


def main_thread(names: Sequence[str], events: Sequence[int]) -> int | None:
    """Index of the main thread among threads given by name and number of events; None if no name tells.

    Profilers name a thread as the operating system does: the main thread is called main, or as the program, which is
    the Python interpreter. Threads that Python starts may inherit that name; the one with most events is taken.
    """
    for pattern in (_MAIN, _PYTHON):
        candidates = [i for i, name in enumerate(names) if events[i] and pattern.fullmatch(name)]
        if candidates:
            return max(candidates, key=lambda i: events[i])
    return None
