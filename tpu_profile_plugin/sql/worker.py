"""The process in which statements run: reads requests from its standard input until that is closed.

A request is JSON, the answer too; the rows of a result follow as a stream of Arrow. The process has no secrets of its
parent, may write no file, and ends when it takes too much memory or processor time.
"""

from __future__ import annotations

import functools
import json
import os
import queue
import threading
import traceback
from typing import IO, Any

from tpu_profile_plugin.errors import ProfileError, QueryFailed, QueryRefused, QueryStopped
from tpu_profile_plugin.sql.limits import Limits
from tpu_profile_plugin.system import limits as system
from tpu_profile_plugin.system.process import ignore_interrupts
from tpu_profile_plugin.units import GIB
from tpu_profile_plugin.workers.worker import READY, receive, send

MEMORY_EXIT = 83
"""Exit status of a process that has taken too much memory."""
_ERRORS = {each.code: each for each in (QueryRefused, QueryFailed, QueryStopped)}
_UNEXPECTED = "The query failed for an unexpected reason, which the log of this program has."
_OVERHEAD_BYTES = GIB
"""Memory of the program itself, and of what DuckDB does not count."""


def main() -> None:
    """Answers requests until the parent closes the pipe or dies; then exits immediately, even during a statement."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # printed text must not mix with the answers
    ignore_interrupts()
    system.write_no_files()
    import duckdb  # noqa: F401 - takes longest, before the first request
    import pyarrow  # noqa: F401

    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, requests), daemon=True).start()
    guard = system.MemoryGuard(lambda: os._exit(MEMORY_EXIT))
    try:
        send(outgoing, READY)
        while True:
            for part in _answer(json.loads(requests.get()), guard):
                send(outgoing, part)
    except OSError:
        os._exit(0)  # the parent is gone


def _listen(incoming: IO[bytes], requests: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            requests.put(receive(incoming))
        except (EOFError, OSError):
            os._exit(0)


def _answer(request: dict[str, Any], guard: system.MemoryGuard) -> list[Any]:
    """The messages of the answer: JSON, and for rows Arrow."""
    limits = Limits(**request["limits"])
    guard.limit(limits.memory_bytes + _OVERHEAD_BYTES)
    # Several threads compute; the parent's clock ends the process earlier as a rule.
    system.limit_processor_time(3 * limits.seconds + 2)
    try:
        if request["do"] == "check":
            return [_json(_checked(request, limits))]
        from tpu_profile_plugin.sql import engine

        with engine.translated(request["statement"]):
            facts, rows = engine.run(request["statement"], request["files"], request["empty"], limits)
            return [_json(facts), _arrow(rows)]
    except ProfileError as error:
        return [_json({"error": _described(error, request.get("files", {}))})]
    except Exception:
        traceback.print_exc()  # for the log of the parent
        return [_json({"error": {"code": QueryFailed.code, "message": _UNEXPECTED, "details": {}}})]


def _described(error: ProfileError, files: dict[str, list[str]]) -> dict[str, Any]:
    """The error without paths of this machine; `details` names a table whose file cannot be read."""
    message, details = error.message, dict(error.details)
    for name, paths in files.items():
        for path in paths:
            if path in message:
                message, details["table"] = message.replace(path, name), name
    return {"code": error.code, "message": message, "details": details}


def _checked(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    from tpu_profile_plugin.sql.check import check
    from tpu_profile_plugin.sql.engine import translated

    with translated(request["statement"]):
        checked = check(_parser(limits.memory_bytes), request["statement"], request["tables"])
    runs = {name: None if named is None else sorted(named) for name, named in checked.runs.items()}
    return {"statement": checked.statement, "tables": {name: runs.get(name) for name in sorted(checked.tables)}}


@functools.lru_cache(1)
def _parser(memory_bytes: int) -> Any:
    """An empty, closed database, which parses statements."""
    from tpu_profile_plugin.sql.engine import connect, lock

    connection = connect(memory_bytes)
    lock(connection)
    return connection


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _arrow(rows: Any) -> memoryview:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return memoryview(sink.getvalue())


def raise_error(described: dict[str, Any]) -> None:
    """Raises the error of an answer, in the parent."""
    raise _ERRORS.get(described["code"], QueryFailed)(described["message"], **described["details"])
