"""Public errors: each has a stable code, an HTTP status and an actionable message; and problems, which end nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

EMPTY_FILE = "empty_file"
"""The code of the problem of a file without a byte."""


class ProfileError(Exception):
    """Base class of all errors that may be shown to users.

    Attributes:
      code: stable machine-readable identifier, lower_snake_case.
      status: HTTP status of the answer.
      details: JSON-serializable facts, never paths of the server.
    """

    code = "internal"
    status = 500

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class BadRequest(ProfileError):
    """A parameter is missing or malformed."""

    code = "bad_request"
    status = 400


class OutOfRange(ProfileError):
    """A numeric parameter is outside its valid range, e.g. a time beyond 53 days."""

    code = "out_of_range"
    status = 422


class Forbidden(ProfileError):
    """The request is not allowed, e.g. from a foreign origin or for a directory outside the allowed roots."""

    code = "forbidden"
    status = 403


class NotFound(ProfileError):
    """A run, tool, host, module or file does not exist."""

    code = "not_found"
    status = 404

    def __init__(self, message: str, *, code: str = "not_found", **details: Any) -> None:
        super().__init__(message, **details)
        self.code = code


class CorruptProfile(ProfileError):
    """The bytes of a profile do not decode; `details` has the file's name and the byte offset."""

    code = "corrupt_profile"
    status = 422


@contextmanager
def in_file(name: str) -> Iterator[None]:
    """A context that adds the file name to a CorruptProfile without one."""
    try:
        yield
    except CorruptProfile as error:
        error.details.setdefault("file", name)
        raise


class NoData(ProfileError):
    """The profile is valid but has no data for this tool; the message says what is missing and how to capture it.

    Attributes:
      reason: the code of what is missing, as `analysis/common/reasons.py` lists them; "" for other reasons.
    """

    code = "no_data"
    status = 404
    reason = ""


class TooLarge(ProfileError):
    """The answer would be larger than a server or browser can hold; the message says what to ask instead."""

    code = "too_large"
    status = 422


class FileChanged(ProfileError):
    """A file changed while it was read, usually because it is still being written."""

    code = "file_changed"
    status = 503


class WorkerLost(ProfileError):
    """A worker process died while reading a file, and again on a retry."""

    code = "worker_died"
    status = 500


class StorageFailed(ProfileError):
    """A request to a remote store failed; the code tells why, the message has the store's address."""

    code = "storage_failed"
    status = 502

    def __init__(self, message: str, *, code: str = "storage_failed", **details: Any) -> None:
        super().__init__(message, **details)
        self.code = code


class NotAvailable(ProfileError):
    """This installation does not support the request; the message says what is needed."""

    code = "not_available"
    status = 501


class MissingPackage(NotAvailable, ImportError):
    """An optional package is not installed; the message says how to install it."""

    code = "missing_package"


class WrongMethod(ProfileError):
    """The route exists, but not for this HTTP method; `allow` lists its methods."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, message: str, *, allow: str) -> None:
        super().__init__(message, allow=allow)
        self.allow = allow


class QueryRefused(BadRequest):
    """A SQL statement is not allowed: it is no query, or reads something other than the tables of profiles."""

    code = "query_refused"


class QueryFailed(BadRequest):
    """A SQL statement cannot be run; `details` has `line` and `column`, counted from 1, where they are known."""

    code = "query_failed"


class QueryStopped(ProfileError):
    """A SQL query was cancelled, or reached a limit of time, memory or size."""

    code = "query_stopped"
    status = 422


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a run, a file or the logdir, or was left out, cut or damaged, while the rest is shown.

    Attributes:
      code: stable identifier, lower_snake_case.
      message: a sentence: what is wrong; contains no path of the server.
      file: the file's name, if the problem is about one file.
      offset: the byte offset at which the damage begins, if it is known.
      remedy: a sentence: what to do about it; "" if `message` says so, or nothing is known.
      host: the host whose data it is about; None for the whole run.
      count: number of events, bytes or parts that were left out, if that is known.
    """

    code: str
    message: str
    file: str | None = None
    offset: int | None = None
    remedy: str = ""
    host: str | None = None
    count: int | None = None

    @classmethod
    def of(cls, error: ProfileError, file: str, host: str) -> Problem:
        """Why the file of a host cannot be read."""
        details = error.details
        return cls(error.code, error.message, file, details.get("offset"), str(details.get("remedy", "")), host)

    @property
    def permanent(self) -> bool:
        """Whether reading the same file again fails in the same way."""
        return self.code in (CorruptProfile.code, EMPTY_FILE)

    @property
    def sentence(self) -> str:
        """The message with the file or host, the byte and the remedy, as far as the message does not name them."""
        where = self.file or self.host or ""
        place = "" if where in self.message else f"{where}: "
        message = self.message
        if self.offset is not None:
            message = message.removesuffix(f" at byte {self.offset}")  # as the decoder ends them
            named = re.search(rf"\b({self.offset}|{self.offset:,})\b", message)
            message += "" if named else f" (byte {self.offset:,})"
        end = "" if message.endswith((".", "!", "?")) or (message.endswith(")") and not self.remedy) else "."
        return f"{place}{message}{end}{' ' if self.remedy else ''}{self.remedy}"

    def describe(self, *, with_host: bool = True) -> dict[str, Any]:
        """The problem as JSON; `host`, `offset` and `remedy` only if they are known."""
        host = {"host": self.host} if with_host and self.host is not None else {}
        facts: dict[str, Any] = {**host, "file": self.file, "code": self.code, "message": self.message}
        more = {"offset": self.offset, "remedy": self.remedy or None}
        return facts | {name: value for name, value in more.items() if value is not None}
