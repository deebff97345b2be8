"""Calls of a remote store with a time limit: single ones, and a file in parallel ranges. Their threads are bounded."""

from __future__ import annotations

import functools
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

T = TypeVar("T")

RANGE = 8 << 20
"""Bytes per request."""

PARALLEL = 8
"""Requests in flight."""

TIMEOUT_S = 90.0

MOST_SILENT = 32
"""Threads that one store may keep by never answering."""


class SilentThreads:
    """Threads of calls that a store has not answered in time; they end only when it does.

    While there are `MOST_SILENT` of them, further calls of the store are refused, so that a store that never answers
    takes no more threads, however often it is asked.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def add(self, threads: Iterable[threading.Thread]) -> None:
        """Counts threads whose callers have given up waiting."""
        with self._lock:
            self._threads += threads

    def check(self) -> None:
        """Raises TimeoutError if there are too many."""
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) >= MOST_SILENT:
                raise TimeoutError(f"{len(self._threads)} earlier calls have no answer yet")


@functools.cache
def silent_threads(store: str) -> SilentThreads:
    """The one instance for a store, e.g. "s3://bucket"."""
    return SilentThreads()


def with_timeout(seconds: float, call: Callable[[], T], silent: SilentThreads) -> T:
    """The result of `call`, run on a thread; raises TimeoutError after `seconds`, whatever a library does."""
    silent.check()
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=work, name="profile-remote", daemon=True)
    thread.start()
    try:
        return future.result(seconds)
    except FutureTimeout as error:
        silent.add([thread])
        raise TimeoutError(f"no answer within {seconds:g} s") from error


def fetch(fs: Any, path: str, size: int, put: Callable[[int, bytes], None], silent: SilentThreads) -> None:
    """Calls `put(offset, bytes)` for every range, from this thread, in any order.

    Raises what the filesystem raises, ValueError when a range is shorter than requested, TimeoutError when no range
    arrives for `TIMEOUT_S`.
    """
    silent.check()
    starts = deque(range(0, size, RANGE))
    arrived: queue.SimpleQueue[tuple[int, bytes | BaseException]] = queue.SimpleQueue()
    ahead = threading.Semaphore(2 * PARALLEL)  # bounds the ranges that have arrived but are not passed to `put` yet
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
    threads = [threading.Thread(target=work, name="profile-fetch", daemon=True) for _ in range(min(PARALLEL, count))]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            start, result = arrived.get(timeout=TIMEOUT_S)
            if isinstance(result, BaseException):
                raise result
            if len(result) != min(RANGE, size - start):
                raise ValueError("the file is shorter than expected")
            put(start, result)
            ahead.release()
    except queue.Empty:
        silent.add(threads)
        raise TimeoutError(f"nothing arrived for {TIMEOUT_S:g} s") from None
    finally:
        stop.set()
        ahead.release(PARALLEL)
