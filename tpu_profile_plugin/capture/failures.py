"""What can go wrong with one worker: a stable code, a sentence, what to do, and whether trying again makes sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BUSY = "Another profiling session active"


@dataclass(frozen=True)
class Kind:
    """One way to fail; `todo` says what to do about it."""

    code: str
    todo: str
    retry: bool = False


UNRESOLVED = Kind("name_unknown", "Check the spelling, or enter the IP address.")
REFUSED = Kind("nothing_listens", "Check the port, and that the program has started its profiler server.", retry=True)
UNREACHED = Kind("unreachable", "A firewall or a wrong address may be the reason; try a port forwarding.", retry=True)
NOT_GRPC = Kind(
    "not_grpc", "Another server has this port. Enter the port that the program gave to its profiler server."
)
NOT_PROFILER = Kind("not_a_profiler", "Enter the port that the program gave to its profiler server.")
ENDED = Kind(
    "connection_lost", "The program most likely ended or crashed during the capture: look at its output.", retry=True
)
BUSY_KIND = Kind("busy", "Wait until the other capture has ended, or end it.", retry=True)
DEADLINE = Kind("deadline", "Take a shorter profile; a program that hangs does not answer at all.")
EMPTY = Kind(
    "empty_trace",
    "Capture while the program is computing: a longer duration helps, and so do higher levels.",
    retry=True,
)
GARBLED = Kind("garbled", "The port may belong to another service, or the two versions do not fit.")
TOO_LARGE = Kind("too_large", "Take a shorter profile, or lower the Python and host tracer levels.")
STORED_ELSEWHERE = Kind(
    "stored_elsewhere",
    "This is an old profiler server that writes the file itself: capture into a directory that both machines share, "
    "or copy the file from the worker, or update the framework there.",
)
NOT_STORED = Kind("not_stored", "Check that the log directory can be written to and has space left.")
REFUSED_ARGUMENT = Kind("refused", "The profiler server did not accept an option; the reason is above.")
WORKER_FAILED = Kind("worker_failed", "Look at the output of the program on the worker.")
CANCELLED = Kind("cancelled", "")
FORBIDDEN = Kind("forbidden", "")
INTERNAL = Kind("internal", "The log of this server says why.")


class WorkerFailure(Exception):
    """Why one worker gave no profile.

    Attributes:
      kind: which failure.
      grpc_code: the status of the call, e.g. "UNAVAILABLE"; "" when there was none.
      details: the worker's own words.
    """

    def __init__(self, kind: Kind, message: str, grpc_code: str = "", details: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.grpc_code = grpc_code
        self.details = details

    def describe(self) -> dict[str, Any]:
        """The failure as JSON."""
        return {
            "code": self.kind.code,
            "message": self.message,
            "todo": self.kind.todo,
            "grpc_code": self.grpc_code,
            "details": self.details,
        }


def from_status(code: str, details: str, deadline_s: float, limit_bytes: int) -> WorkerFailure:
    """The failure that a call's final status means.

    Args:
      code: name of the gRPC status, e.g. "UNAVAILABLE".
      details: its text.
      deadline_s: the deadline that the call had.
      limit_bytes: the largest answer that was accepted.
    """
    text = " ".join(details.split())[:500]

    def failure(kind: Kind, message: str) -> WorkerFailure:
        return WorkerFailure(kind, message, code, text)

    if code == "CANCELLED":
        return failure(CANCELLED, "Cancelled.")
    if BUSY.lower() in text.lower() or code == "ALREADY_EXISTS":
        return failure(BUSY_KIND, "Another profiling session is active in this program; it can run one at a time.")
    if code == "DEADLINE_EXCEEDED":
        return failure(DEADLINE, f"No answer within {deadline_s:.0f} s.")
    if code == "UNAVAILABLE" or (code == "UNKNOWN" and "stream removed" in text.lower()):
        return failure(ENDED, "The connection was lost before the profile arrived.")
    if code == "UNIMPLEMENTED":
        return failure(NOT_PROFILER, "A gRPC server answers, but it is not a profiler server.")
    if code == "RESOURCE_EXHAUSTED" and "larger than" in text.lower():
        return failure(
            TOO_LARGE, f"The profile is larger than {limit_bytes / 1e9:.3g} GB, the most that can be received."
        )
    if code == "INTERNAL" and "deserializ" in text.lower():
        return failure(GARBLED, "The answer is not one of a profiler server.")
    if code in ("INVALID_ARGUMENT", "OUT_OF_RANGE", "FAILED_PRECONDITION"):
        return failure(REFUSED_ARGUMENT, f"The profiler server refused the capture: {text or code}.")
    if code in ("PERMISSION_DENIED", "UNAUTHENTICATED"):
        return failure(
            REFUSED_ARGUMENT, f"The server wants credentials, which a profiler server does not: {text or code}."
        )
    return failure(WORKER_FAILED, f"The profiler server failed: {text or code}.")
