"""Reads one remote file in ranges, several at a time, and never waits for ever."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

RANGE = 8 << 20
PARALLEL = 8
PATIENCE_S = 90.0


def fetch(fs: Any, path: str, size: int, put: Callable[[int, bytes], None], *, patience_s: float = PATIENCE_S) -> None:
    """Hands every range to `put`, from this thread, in any order.

    Raises what the filesystem raises, ValueError when a range is shorter than it should be, TimeoutError when no range
    arrives for `patience_s`.
    """
    starts = deque(range(0, size, RANGE))
    arrived: queue.SimpleQueue[tuple[int, bytes | BaseException]] = queue.SimpleQueue()
    ahead = threading.Semaphore(2 * PARALLEL)  # bounds what has arrived and is not handed over yet
    stop = threading.Event()

    def work() -> None:
        while True:
            ahead.acquire()
            try:
                if stop.is_set():
                    return
                start = starts.popleft()
            except IndexError:
                return
            try:
                arrived.put((start, fs.cat_file(path, start=start, end=min(start + RANGE, size))))
            except BaseException as error:
                arrived.put((start, error))
                return

    count = len(starts)
    for _ in range(min(PARALLEL, count)):
        threading.Thread(target=work, name="profile-fetch", daemon=True).start()
    try:
        for _ in range(count):
            start, got = _next(arrived, patience_s)
            if isinstance(got, BaseException):
                raise got
            if len(got) != min(RANGE, size - start):
                raise ValueError("the file is shorter than it was")
            put(start, got)
            ahead.release()
    finally:
        stop.set()
        ahead.release(PARALLEL)


def _next(arrived: queue.SimpleQueue[tuple[int, bytes | BaseException]], patience_s: float) -> Any:
    try:
        return arrived.get(timeout=patience_s)
    except queue.Empty:
        raise TimeoutError(f"nothing arrived for {patience_s:g} s") from None
