"""Keeps passwords and tokens in URLs of remote stores out of the logs of the process, those of libraries included."""

from __future__ import annotations

import functools
import logging
import threading
import traceback
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_SHORTEST = 4
_HIDDEN = "***"
_lock = threading.Lock()
_secrets: set[str] = set()


def hide_in_logs(url: str) -> None:
    """Replaces the password and the values of the query of a URL in every log record from now on.

    Libraries write the URL, or a part of it as a bucket's name, into messages and tracebacks of their own loggers.
    """
    found = _secrets_of(url)
    if not found:
        return
    with _lock:
        if not _secrets:
            logging.setLogRecordFactory(functools.partial(_record, logging.getLogRecordFactory()))
        _secrets.update(found)


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
