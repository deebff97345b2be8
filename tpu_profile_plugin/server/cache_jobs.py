"""Computes answers of a run in advance on request (`/generate_cache`), one after another, and tells how far it is."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tpu_profile_plugin.errors import NotAvailable, NotFound, ProfileError
from tpu_profile_plugin.server.query import Query
from tpu_profile_plugin.server.warming import lower_priority

_LOG = logging.getLogger("tpu_profile_plugin")

DEFAULT_TOOLS = ("overview_page", "trace_viewer@")
"""As in XProf."""

MAX_WAITING = 8
MAX_KEPT = 50

Ask = Callable[[Query], object]


@dataclass
class Step:
    """One answer: the parameters that select it, and how it went."""

    parameters: dict[str, str]
    state: str = "waiting"
    seconds: float = 0.0
    error: str | None = None

    def describe(self) -> dict[str, Any]:
        """The step as JSON; `host` is null for all hosts."""
        return {
            "tool": self.parameters["tag"],
            "host": self.parameters.get("host"),
            "state": self.state,
            "seconds": round(self.seconds, 3),
            "error": self.error,
        }


@dataclass
class CacheJob:
    """The answers of one request; `state` is waiting, running or done."""

    run: str
    steps: list[Step]
    skipped: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "waiting"

    def describe(self) -> dict[str, Any]:
        """The job as JSON; `done` counts failed steps as well."""
        return {
            "job": self.id,
            "run": self.run,
            "state": self.state,
            "done": sum(step.state in ("done", "failed") for step in self.steps),
            "total": len(self.steps),
            "steps": [step.describe() for step in self.steps],
            "skipped": list(self.skipped),
        }


class CacheJobs:
    """Jobs by id; one thread of the lowest priority works on them, and ends when there are none."""

    def __init__(self, ask: Ask) -> None:
        """`ask` computes one answer, raising ProfileError; it leaves it in the caches."""
        self._ask = ask
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, CacheJob] = OrderedDict()
        self._waiting: deque[CacheJob] = deque()
        self._working = False

    def start(self, job: CacheJob) -> CacheJob:
        """Queues a job; raises NotAvailable if too many wait."""
        with self._lock:
            if len(self._waiting) >= MAX_WAITING:
                raise NotAvailable(f"{MAX_WAITING} requests wait already; try again when one is done.")
            self._waiting.append(job)
            self._jobs[job.id] = job
            for old in [known for known in self._jobs.values() if known.state == "done"]:
                if len(self._jobs) <= MAX_KEPT:
                    break
                del self._jobs[old.id]
            if not self._working:
                self._working = True
                threading.Thread(target=self._work, name="profile-cache", daemon=True).start()
        return job

    def find(self, job_id: str) -> CacheJob:
        """A job by its id; raises NotFound."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise NotFound("No such job in this server, which may have been restarted.", code="job_not_found")
        return job

    def _work(self) -> None:
        lower_priority()
        while True:
            with self._lock:
                if not self._waiting:
                    self._working = False
                    return
                job = self._waiting.popleft()
            job.state = "running"
            for step in job.steps:
                self._compute(step)
            job.state = "done"

    def _compute(self, step: Step) -> None:
        began = time.monotonic()
        step.state = "running"
        try:
            self._ask(Query(step.parameters))
            step.state = "done"
        except ProfileError as error:
            step.state, step.error = "failed", error.message
        except Exception:
            _LOG.exception("computing %r in advance failed", step.parameters)
            step.state, step.error = "failed", "The server failed on this answer; see its log for the reason."
        step.seconds = time.monotonic() - began
