"""A worker process, started by `processes`: runs tasks from its standard input until that is closed."""

from __future__ import annotations

import os
import queue
import struct
import threading
import time
from typing import IO

from tpu_profile_plugin.system.process import ignore_interrupts

READY = b"ready"
ALIVE = b""
"""Sent once a second, also during a task, so that a process that is stopped or stuck is noticed."""
_ALIVE_S = 1.0
_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], data: bytes) -> None:
    """Writes one message; raises OSError when the pipe is closed."""
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Reads one message; raises EOFError when the pipe is closed."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    data = pipe.read(count)
    if len(data) != count:
        raise EOFError
    return data


def main() -> None:
    """Runs tasks until the parent closes the pipe or dies; then exits immediately, even during a task."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # printed text must not mix with the replies
    ignore_interrupts()  # Ctrl-C ends the server, which ends this process
    from tpu_profile_plugin.workers.task import run_task

    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    answers = _Answers(outgoing)
    threading.Thread(target=_listen, args=(incoming, tasks), daemon=True).start()
    answers.send(READY)
    threading.Thread(target=_live, args=(answers,), daemon=True).start()
    while True:
        answers.send(run_task(tasks.get()))


class _Answers:
    """Sends whole messages from several threads; ends the process when the parent is gone."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        try:
            with self._lock:
                send(self._pipe, data)
        except OSError:
            os._exit(0)


def _live(answers: _Answers) -> None:
    while True:
        time.sleep(_ALIVE_S)
        answers.send(ALIVE)


def _listen(incoming: IO[bytes], tasks: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            tasks.put(receive(incoming))
        except (EOFError, OSError):
            os._exit(0)
