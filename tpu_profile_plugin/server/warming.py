"""Opens the newest session in the background after the list of runs was requested; off unless enabled by a flag."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.server.query import Query

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir import RunFiles

_LOG = logging.getLogger("tpu_profile_plugin")
_LOWEST_PRIORITY = 19
STEPS: tuple[dict[str, str], ...] = (
    {"tag": "overview_page", "extended": "true"},
    {"tag": "op_profile"},
    {"tag": "trace_viewer@", "format": "columns"},
)
"""The tools to request, in order: those opened first most often, which also share most data with the others."""


class Warmer:
    """Requests a few tools as a client would, on a thread of the lowest priority, while the server is idle.

    Each step starts when no request has been active for `rest_s`; once started, it continues at the lowest priority.
    Profiles with more than `limit_bytes` in one file are skipped.
    """

    def __init__(
        self,
        limit_bytes: int,
        newest: Callable[[], RunFiles | None],
        ask: Callable[[Query], object],
        rest_s: float = 0.3,
    ) -> None:
        self._limit, self._newest, self._ask, self._rest_s = limit_bytes, newest, ask, rest_s
        self._lock = threading.Lock()
        self._active_requests = 0
        self._idle = threading.Event()
        self._idle.set()
        self._warmed: Hashable = None
        self._running = False

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """A context for handling a request, during which no step starts."""
        if not self._limit:
            yield
            return
        with self._lock:
            self._active_requests += 1
            self._idle.clear()
        try:
            yield
        finally:
            with self._lock:
                self._active_requests -= 1
                if not self._active_requests:
                    self._idle.set()

    def runs_listed(self) -> None:
        """Starts warming; called after the list of runs was requested."""
        with self._lock:
            if not self._limit or self._running:
                return
            self._running = True
        threading.Thread(target=self._work, name="profile-warming", daemon=True).start()

    def _work(self) -> None:
        try:
            lower_priority()
            self._wait_until_idle()
            run = self._newest()
            if run is None or not run.hosts:
                return
            identity = (run.name, tuple(file.identity for file in run.hosts))
            if identity == self._warmed or run.hosts[0].size > self._limit:
                return
            self._warmed = identity
            host = {"host": run.hosts[0].host}
            for step in STEPS:
                self._wait_until_idle()
                self._ask(Query({"run": run.name, **host, **step}))
        except (ProfileError, OSError) as error:
            _LOG.info("the newest session was not opened in advance: %s", error)
        except Exception:
            _LOG.exception("opening the newest session in advance failed")
        finally:
            self._running = False

    def _wait_until_idle(self) -> None:
        """Waits until no request has been active for `rest_s`."""
        pause = threading.Event()
        while True:
            self._idle.wait()
            if not pause.wait(self._rest_s) and self._idle.is_set():
                return


def lower_priority() -> None:
    """Sets the lowest priority for this thread and those that it starts; only Linux supports that per thread."""
    with contextlib.suppress(AttributeError, OSError):
        if os.uname().sysname == "Linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
