"""The SQL queries of this process: running ones, and the results of the last few."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError
from tpu_profile_plugin.units import MIB

if TYPE_CHECKING:
    from tpu_profile_plugin.sql import Limits, Query, Result

_LOG = logging.getLogger("tpu_profile_plugin")

MAX_RUNNING = 4
"""The most simultaneous queries."""
MAX_KEPT = 8
"""Queries that have ended; the results of older ones are forgotten, first those that clients have fetched."""
RESULT_BYTES = 64 * MIB
"""The largest result of one query; the kept ones take `MAX_KEPT` times as much at most."""
LEASE_S = 120.0
"""A query whose status is not asked for during this time is cancelled. Browsers let a hidden page ask once a minute."""

_LEAST_LOOK_S = 0.05
_ENDED = ("done", "failed", "cancelled")


class Held:
    """A query with its id.

    Attributes:
      asked: when it was last asked for.
      fetched: whether a client has received its result or its error.
    """

    def __init__(self, query: Query) -> None:
        self.id = secrets.token_urlsafe(12)
        self.query = query
        self.asked = time.monotonic()
        self.fetched = False

    @property
    def ended(self) -> bool:
        """Whether it has a result or an error."""
        return self.query.status().state in _ENDED

    def wait(self, seconds: float) -> None:
        """Waits for the end, but not longer than this."""
        with contextlib.suppress(Exception):  # described below
            self.query.result(seconds)

    def result(self) -> Result:
        """The result, which counts as fetched; raises what the query raises, BadRequest before its end."""
        result = self._result()
        self.fetched = True
        return result

    def _result(self) -> Result:
        try:
            return self.query.result(0)
        except ProfileError:
            raise
        except TimeoutError:
            raise BadRequest("The query has not ended yet.", parameter="query") from None
        except Exception as error:
            _LOG.error("query %s failed", self.id, exc_info=error)
            raise ProfileError("The server failed on this query; see its log for the reason.") from None

    def describe(self) -> dict[str, Any]:
        """Its state as a JSON object."""
        status = self.query.status()
        facts = {
            "query": self.id,
            "state": status.state,
            "progress": status.doing,
            "seconds": round(status.elapsed_s, 3),
            "error": None,
            "rows": None,
            "cut": False,
            "notes": [],
        }
        if status.state not in _ENDED:
            return facts
        try:
            result = self._result()
        except ProfileError as error:
            self.fetched = True
            return {**facts, "error": {"code": error.code, "message": error.message, "details": error.details}}
        return {**facts, "rows": len(result), "cut": result.cut, "notes": list(result.notes)}


class Queries:
    """Queries by id; thread-safe.

    Attributes:
      limits: those of `sql.Limits` that differ from the usual ones.
    """

    def __init__(self, lease_s: float = LEASE_S) -> None:
        self.limits: dict[str, Any] = {"result_bytes": RESULT_BYTES}
        self._lease_s = lease_s
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._timer: threading.Timer | None = None

    def start(self, begin: Callable[[Limits], Query]) -> Held:
        """Starts a query; raises BadRequest if too many are running, and what `begin` raises."""
        from tpu_profile_plugin.sql import Limits

        with self._lock:
            if sum(not held.ended for held in self._held.values()) >= MAX_RUNNING:
                raise BadRequest(f"{MAX_RUNNING} queries are already running; wait for one to end, or cancel one.")
            held = Held(begin(Limits(**self.limits)))
            self._held[held.id] = held
            ended = [other for other in self._held.values() if other is not held and other.ended]
            ended.sort(key=self._is_unfetched)
            for old in ended[: max(0, len(ended) + 1 - MAX_KEPT)]:
                del self._held[old.id]
            if self._timer is None:
                self._watch(self._lease_s)
        return held

    def find(self, query_id: str) -> Held:
        """A query by its id, whose lease begins anew; raises NotFound."""
        with self._lock:
            held = self._held.get(query_id)
        if held is None:
            raise NotFound("The result of this query is no longer kept; run it again.", code="query_not_found")
        held.asked = time.monotonic()
        return held

    def close(self) -> None:
        """Cancels what is running."""
        with self._lock:
            held, self._held = list(self._held.values()), OrderedDict()
        for one in held:
            one.query.cancel()

    def _is_unfetched(self, held: Held) -> bool:
        """Whether no client has fetched the result of a query that has ended, and its lease has not ended."""
        return not held.fetched and time.monotonic() - held.asked < self._lease_s

    def _watch(self, seconds: float) -> None:
        """Looks after queries whose page is gone in so many seconds, on one thread for all of them; needs the lock."""
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        """Cancels them, and looks again when the lease of a running one ends."""
        with self._lock:
            running = [held for held in self._held.values() if not held.ended]
            left = [held.asked + self._lease_s - time.monotonic() for held in running]
            self._timer = None
            if running:
                self._watch(max(_LEAST_LOOK_S, min(left)))
        for held, seconds in zip(running, left, strict=True):
            if seconds <= 0:
                held.query.cancel()
