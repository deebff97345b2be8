"""One worker of a capture: its address, state and result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.capture.wire.addresses import Address
from tpu_profile_plugin.capture.wire.client import ProfilerClient
from tpu_profile_plugin.capture.wire.failures import WorkerFailure


@dataclass
class Worker:
    """The state and result of one worker.

    Attributes:
      state: waiting, connecting, recording, receiving, done, failed or cancelled.
      host: the name of its file, without suffix.
      attempt: number of the current attempt, from 1.
      seconds: duration of the last attempt.
      bytes: size of the stored profile.
      events: number of events; None if they were not counted.
      file: path of the stored profile below the logdir.
      by_worker: whether the worker wrote the file itself, as old servers do.
      warnings: the profiler's errors and warnings in the profile.
    """

    address: Address
    host: str
    state: str = "waiting"
    attempt: int = 0
    seconds: float = 0.0
    bytes: int = 0
    events: int | None = None
    file: str | None = None
    by_worker: bool = False
    failure: WorkerFailure | None = None
    warnings: tuple[str, ...] = ()
    began: float = 0.0
    call: Any = None
    client: ProfilerClient | None = None

    def describe(self) -> dict[str, Any]:
        """The worker as JSON."""
        running = self.state in ("connecting", "recording", "receiving")
        return {
            "address": str(self.address),
            "host": self.host,
            "state": self.state,
            "attempt": self.attempt,
            "seconds": round(time.monotonic() - self.began if running else self.seconds, 3),
            "bytes": self.bytes,
            "events": self.events,
            "file": self.file,
            "stored_by_worker": self.by_worker,
            "error": self.failure.describe() if self.failure is not None else None,
            "warnings": list(self.warnings),
        }
