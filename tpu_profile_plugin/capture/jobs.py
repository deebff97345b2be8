"""The captures of this process, running and recent ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.capture.job import Inspect, Job
from tpu_profile_plugin.capture.options import CaptureOptions
from tpu_profile_plugin.capture.wire.addresses import Address
from tpu_profile_plugin.capture.wire.allow import AllowList
from tpu_profile_plugin.capture.wire.dial import resolve
from tpu_profile_plugin.capture.wire.failures import WorkerFailure
from tpu_profile_plugin.errors import BadRequest, NotFound

MAX_JOBS = 50
"""Older captures are dropped from the history."""

MAX_RUNNING = 8
"""The most simultaneous captures."""


class Jobs:
    """Captures by id; thread-safe."""

    def __init__(self, logdir: str, allowed: AllowList, inspect: Inspect | None = None) -> None:
        self.allowed = allowed
        self._logdir = logdir
        self._inspect = inspect
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def start(
        self,
        addresses: Sequence[Address],
        options: CaptureOptions,
        worker_list: bool = False,
        *,
        snapshot: bool = False,
    ) -> Job:
        """Starts a capture or snapshot; raises BadRequest, Forbidden (an address not allowed) or NotAvailable."""
        check_allowed(addresses, self.allowed)
        with self._lock:
            if sum(job.state == "running" for job in self._jobs.values()) >= MAX_RUNNING:
                raise BadRequest(f"{MAX_RUNNING} captures are already running; wait for one to finish, or cancel one.")
        job = Job(
            self._logdir,
            addresses,
            options,
            self.allowed,
            inspect=self._inspect,
            worker_list=worker_list,
            snapshot=snapshot,
        )
        with self._lock:
            self._jobs[job.id] = job
            for old in [other for other in self._jobs.values() if other.state != "running"]:
                if len(self._jobs) <= MAX_JOBS:
                    break
                del self._jobs[old.id]
        return job.start()

    def find(self, job_id: str) -> Job:
        """A capture by its id; raises NotFound."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise NotFound("No such capture; the server may have been restarted.", code="job_not_found")
        return job

    def history(self) -> list[dict[str, Any]]:
        """All captures in the history, newest first."""
        with self._lock:
            jobs = list(self._jobs.values())
        return [job.describe() for job in reversed(jobs)]


def check_allowed(addresses: Sequence[Address], allowed: AllowList) -> None:
    """Raises Forbidden before anything is dialled or recorded. Names that do not resolve are left to the job."""
    for address in addresses:
        try:
            ips = resolve(address)
        except WorkerFailure:
            continue
        allowed.check(address, ips)
