"""Calls of a remote store: their time limits, a file in parallel ranges, their errors as messages without secrets.

Threads of calls are bounded. Passwords and tokens in URLs stay out of the logs of the process, those of libraries
included.
"""

from __future__ import annotations

import functools
import logging
import queue
import socket
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from tpu_profile_plugin.errors import ProfileError, StorageFailed

T = TypeVar("T")

RANGE = 8 << 20
"""Bytes per request."""

PARALLEL = 8
"""Requests in flight."""

TIMEOUT_S = 90.0

MOST_SILENT = 32
"""Threads that one store may keep by never answering."""


class SilentThreads:
    """Threads of calls that a store has not answered in time; they end only when it does.

    While there are `MOST_SILENT` of them, further calls of the store are refused, so that a store that never answers
    takes no more threads, however often it is asked.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def add(self, threads: Iterable[threading.Thread]) -> None:
        """Counts threads whose callers have given up waiting."""
        with self._lock:
            self._threads += threads

    def check(self) -> None:
        """Raises TimeoutError if there are too many."""
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) >= MOST_SILENT:
                raise TimeoutError(f"{len(self._threads)} earlier calls have no answer yet")


@functools.cache
def silent_threads(store: str) -> SilentThreads:
    """The one instance for a store, e.g. "s3://bucket"."""
    return SilentThreads()


def with_timeout(seconds: float, call: Callable[[], T], silent: SilentThreads) -> T:
    """The result of `call`, run on a thread; raises TimeoutError after `seconds`, whatever a library does."""
    silent.check()
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=work, name="profile-remote", daemon=True)
    thread.start()
    try:
        return future.result(seconds)
    except FutureTimeout as error:
        silent.add([thread])
        raise TimeoutError(f"no answer within {seconds:g} s") from error


def fetch(fs: Any, path: str, size: int, put: Callable[[int, bytes], None], silent: SilentThreads) -> None:
    """Calls `put(offset, bytes)` for every range, from this thread, in any order.

    Raises what the filesystem raises, ValueError when a range is shorter than requested, TimeoutError when no range
    arrives for `TIMEOUT_S`.
    """
    silent.check()
    starts = deque(range(0, size, RANGE))
    arrived: queue.SimpleQueue[tuple[int, bytes | BaseException]] = queue.SimpleQueue()
    ahead = threading.Semaphore(2 * PARALLEL)  # bounds the ranges that have arrived but are not passed to `put` yet
    stop = threading.Event()

    def work() -> None:
        while True:
            ahead.acquire()
            try:
                if stop.is_set():
                    return
                start = starts.popleft()
            except IndexError:
                return
            try:
                arrived.put((start, fs.cat_file(path, start=start, end=min(start + RANGE, size))))
            except BaseException as error:
                arrived.put((start, error))
                return

    count = len(starts)
    threads = [threading.Thread(target=work, name="profile-fetch", daemon=True) for _ in range(min(PARALLEL, count))]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            start, result = arrived.get(timeout=TIMEOUT_S)
            if isinstance(result, BaseException):
                raise result
            if len(result) != min(RANGE, size - start):
                raise ValueError("the file is shorter than expected")
            put(start, result)
            ahead.release()
    except queue.Empty:
        silent.add(threads)
        raise TimeoutError(f"nothing arrived for {TIMEOUT_S:g} s") from None
    finally:
        stop.set()
        ahead.release(PARALLEL)


# Error classes of the libraries that fsspec uses, by name, because the libraries are optional.
_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "DefaultCredentialsError",
    "RefreshError", "ProfileNotFound", "TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError",
}  # fmt: skip
_NETWORK = {
    "EndpointConnectionError", "ConnectTimeoutError", "ConnectionClosedError", "ProxyConnectionError", "SSLError",
    "TransportError", "ClientConnectorError", "ClientOSError", "ServerDisconnectedError", "ConnectionTimeoutError",
}  # fmt: skip
_MISSING = {"FileNotFoundError", "ParamValidationError", "InvalidBucketName"}
_SLOW = {"TimeoutError", "ReadTimeoutError", "FSTimeoutError", "SocketTimeoutError", "ServerTimeoutError"}
_DENIED = {
    "401", "403", "AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
}  # fmt: skip

_SIGN_IN_HINTS = {
    "s3": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and start TensorBoard again; "
    "for a public bucket set FSSPEC_S3_ANON=true.",
    "gs": "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file, and start "
    "TensorBoard again; for a public bucket set FSSPEC_GS_TOKEN=anon.",
}
_SIGN_IN_HINTS["s3a"], _SIGN_IN_HINTS["gcs"] = _SIGN_IN_HINTS["s3"], _SIGN_IN_HINTS["gs"]


def redacted_url(url: str) -> str:
    """A URL without user, password and query, which may be secrets."""
    if "://" not in url:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.split("://", 1)[0] + "://"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def storage_error(error: BaseException, address: str) -> ProfileError:
    """The ProfileError to show for an error that a remote store raised."""
    if isinstance(error, ProfileError):
        return error
    where, protocol = redacted_url(address), address.split("://", 1)[0]
    chain = list(_chain(error))
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    codes = {str(code) for cause in chain for code in _codes(cause)}
    if names & _CREDENTIALS:
        how = _SIGN_IN_HINTS.get(protocol, "")
        return _failed("storage_credentials", f"{where} needs credentials, and no valid ones were found. {how}", where)
    if codes & _DENIED or any(isinstance(cause, PermissionError) for cause in chain):
        reason = next(iter(sorted(code for code in codes & _DENIED if not code.isdigit())), "access denied")
        how = _SIGN_IN_HINTS.get(protocol, "")
        return _failed(
            "storage_denied", f"Access to {where} was denied with these credentials ({reason}). {how}", where
        )
    if names & _MISSING or codes & {"404", "NoSuchBucket"}:
        return _failed("storage_missing", f"{where} does not exist. Check the names of the bucket and the path.", where)
    if names & _NETWORK or any(isinstance(cause, (ConnectionError, socket.gaierror)) for cause in chain):
        return _failed(
            "storage_unreachable",
            f"{where} cannot be reached. Check the network, and the proxy if there is one.",
            where,
        )
    if names & _SLOW:
        return _failed(
            "storage_slow",
            f"{where} did not respond in time: it is slow, or the network is down. Try again in a moment.",
            where,
        )
    what = ", ".join([type(error).__name__, *sorted(codes)][:3])
    return _failed("storage_failed", f"{where} could not be read ({what}).", where)


def _failed(code: str, message: str, where: str) -> StorageFailed:
    return StorageFailed(message.strip(), code=code, address=where)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _codes(error: Any) -> Iterator[Any]:
    """The codes in errors of S3 and Google: `response["Error"]["Code"]`, `code`, `status`."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        yield response.get("Error", {}).get("Code")
    for name in ("code", "status"):
        code = getattr(error, name, None)
        if isinstance(code, int):
            yield code


_SHORTEST = 4
_HIDDEN = "***"
_lock = threading.Lock()
_secrets: set[str] = set()


def hide_in_logs(url: str) -> None:
    """Replaces the password and the values of the query of a URL in every log record from now on.

    Libraries write the URL, or a part of it as a bucket's name, into messages and tracebacks of their own loggers.
    """
    secrets = _secrets_of(url)
    if not secrets:
        return
    with _lock:
        if not _secrets:
            logging.setLogRecordFactory(functools.partial(_record, logging.getLogRecordFactory()))
        _secrets.update(secrets)


def _secrets_of(url: str) -> set[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return {url}
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    values = [value for _, value in parse_qsl(parts.query)]
    long = {text for text in (password, unquote(password), *values) if len(text) >= _SHORTEST}
    # A short one would be found within words.
    return long | ({f":{password}@"} if password else set())


def _record(make: Any, *args: Any, **kwargs: Any) -> logging.LogRecord:
    record: logging.LogRecord = make(*args, **kwargs)
    try:
        message = record.getMessage()
    except Exception:
        return record  # the handler reports the malformed call
    hidden = _hide(message)
    if hidden != message:
        record.msg, record.args = hidden, ()
    if record.exc_info and record.exc_info[1] is not None:
        text = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
        hidden = _hide(text)
        if hidden != text:
            record.exc_text, record.exc_info = hidden, None
    return record


def _hide(text: str) -> str:
    for secret in list(_secrets):
        text = text.replace(secret, _HIDDEN)
    return text
