"""Public errors: each has a stable code, an HTTP status and an actionable message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
    """The profile is valid but has no data for this tool; the message says what is missing and how to capture it."""

    code = "no_data"
    status = 404


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
