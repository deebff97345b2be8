"""How far answers that take long have come, for a page that waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Progress:
    """Work under way, by the key of its answer; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, int]] = {}

    @contextmanager
    def watching(self, key: str) -> Iterator[Callable[[int, int], None]]:
        """Gives what to tell the number of finished hosts and of all; forgotten when the context ends."""

        def tell(done: int, total: int) -> None:
            with self._lock:
                self._counts[key] = (done, total)

        try:
            yield tell
        finally:
            with self._lock:
                self._counts.pop(key, None)

    def of(self, key: str) -> tuple[int, int] | None:
        """Finished hosts and all of them; None when nothing is under way or it has not come to the hosts yet."""
        with self._lock:
            return self._counts.get(key)
