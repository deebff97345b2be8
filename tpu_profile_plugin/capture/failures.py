"""Failures of one worker: a stable code, a message, a remedy, and whether a retry may succeed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.units import GIGA

BUSY = "Another profiling session active"


@dataclass(frozen=True)
class FailureKind:
    """A kind of failure; `todo` is the remedy."""

    code: str
    todo: str
    retry: bool = False


UNRESOLVED = FailureKind("name_unknown", "Check the spelling, or enter the IP address.")
REFUSED = FailureKind(
    "nothing_listens", "Check the port, and that the program has started its profiler server.", retry=True
)
UNREACHED = FailureKind(
    "unreachable", "A firewall or a wrong address may be the cause; try forwarding the port.", retry=True
)
NOT_GRPC = FailureKind("not_grpc", "Another server uses this port. Enter the port of the program's profiler server.")
NOT_PROFILER = FailureKind("not_a_profiler", "Enter the port of the program's profiler server.")
ENDED = FailureKind(
    "connection_lost", "The program probably ended or crashed during the capture: check its output.", retry=True
)
BUSY_KIND = FailureKind("busy", "Wait until the other capture has finished, or stop it.", retry=True)
DEADLINE = FailureKind("deadline", "Capture a shorter profile; a program that hangs does not respond at all.")
EMPTY = FailureKind(
    "empty_trace",
    "Capture while the program is computing; a longer duration or higher tracer levels may help.",
    retry=True,
)
GARBLED = FailureKind("garbled", "The port may belong to another service, or the versions are incompatible.")
TOO_LARGE = FailureKind("too_large", "Capture a shorter profile, or lower the Python and host tracer levels.")
STORED_ELSEWHERE = FailureKind(
    "stored_elsewhere",
    "This is an old profiler server that writes the file itself: capture into a directory that both machines share, "
    "copy the file from the worker, or update the framework there.",
)
NOT_STORED = FailureKind("not_stored", "Check that the log directory is writable and has free space.")
REFUSED_ARGUMENT = FailureKind("refused", "The profiler server rejected an option; the reason is above.")
WORKER_FAILED = FailureKind("worker_failed", "Check the output of the program on the worker.")
NOT_STARTED = FailureKind("not_started", "Start continuous profiling first, and again after a restart of the program.")
NO_CONTINUOUS = FailureKind("no_continuous", "Use a capture, or update the framework: JAX 0.10, TensorFlow 2.21.")
ALREADY_STARTED = FailureKind("already_started", "Take a snapshot, or stop it first.")
CANCELLED = FailureKind("cancelled", "")
FORBIDDEN = FailureKind("forbidden", "")
INTERNAL = FailureKind("internal", "See the log of this server.")


class WorkerFailure(Exception):
    """The reason why one worker returned no profile.

    Attributes:
      kind: the kind of failure.
      grpc_code: the status of the call, e.g. "UNAVAILABLE"; "" without a call.
      details: the worker's own message.
    """

    def __init__(self, kind: FailureKind, message: str, grpc_code: str = "", details: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.grpc_code = grpc_code
        self.details = details

    def describe(self) -> dict[str, Any]:
        return {
            "code": self.kind.code,
            "message": self.message,
            "todo": self.kind.todo,
            "grpc_code": self.grpc_code,
            "details": self.details,
        }


def from_status(code: str, details: str, deadline_s: float, limit_bytes: int) -> WorkerFailure:
    """The failure for the final status of a call.

    Args:
      code: name of the gRPC status, e.g. "UNAVAILABLE".
      details: its text.
      deadline_s: the deadline of the call.
      limit_bytes: the largest response that was accepted.
    """
    text = " ".join(details.split())[:500]

    def failure(kind: FailureKind, message: str) -> WorkerFailure:
        return WorkerFailure(kind, message, code, text)

    if code == "CANCELLED":
        return failure(CANCELLED, "Cancelled.")
    if BUSY.lower() in text.lower() or code == "ALREADY_EXISTS":
        return failure(
            BUSY_KIND, "Another profiling session is active in this program, which can run only one at a time."
        )
    if code == "DEADLINE_EXCEEDED":
        return failure(DEADLINE, f"No response within {deadline_s:.0f} s.")
    if code == "UNAVAILABLE" or (code == "UNKNOWN" and "stream removed" in text.lower()):
        return failure(ENDED, "The connection was lost before the profile arrived.")
    if code == "UNIMPLEMENTED":
        return failure(NOT_PROFILER, "A gRPC server responded, but it is not a profiler server.")
    if code == "RESOURCE_EXHAUSTED" and "larger than" in text.lower():
        return failure(
            TOO_LARGE, f"The profile is larger than {limit_bytes / GIGA:.3g} GB, the limit of what can be received."
        )
    if code == "INTERNAL" and "deserializ" in text.lower():
        return failure(GARBLED, "The response is not that of a profiler server.")
    if code in ("INVALID_ARGUMENT", "OUT_OF_RANGE", "FAILED_PRECONDITION"):
        return failure(REFUSED_ARGUMENT, f"The profiler server rejected the capture: {text or code}.")
    if code in ("PERMISSION_DENIED", "UNAUTHENTICATED"):
        return failure(
            REFUSED_ARGUMENT, f"The server requires credentials, which a profiler server does not: {text or code}."
        )
    return failure(WORKER_FAILED, f"The profiler server failed: {text or code}.")


@contextmanager
def of_continuous() -> Iterator[None]:
    """Statuses that mean something else for the calls of continuous profiling than for a capture."""
    try:
        yield
    except WorkerFailure as failure:
        other = {
            "NOT_FOUND": (NOT_STARTED, "Continuous profiling is not running in this program."),
            "UNIMPLEMENTED": (NO_CONTINUOUS, "This profiler server has no continuous profiling."),
            "ALREADY_EXISTS": (ALREADY_STARTED, "This program records already, continuously or for a capture."),
        }.get(failure.grpc_code)
        if other is None:
            raise
        raise WorkerFailure(*other, failure.grpc_code, failure.details) from failure
