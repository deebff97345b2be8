"""Worker processes of this machine, started on demand and stopped after an idle period.

They are separate programs that communicate over pipes, not forks: a fork of a server with gRPC threads may hang, and
multiprocessing's other start methods would import the server's main module into every worker.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import subprocess
import sys
import threading
import time
from typing import IO

from tpu_profile_plugin.workers.worker import ALIVE, READY, receive, send

_LOG = logging.getLogger("tpu_profile_plugin")
_START_S = 60.0
_SILENT_S = 15
"""A worker that sends nothing for so many looks, a second apart, is stopped or stuck. Looks are counted, not seconds:
a server that was stopped itself does not end its workers when it continues."""
_LOOK_S = 1.0
_IDLE_SILENT_S = 5.0
_END_S = 3.0

# First removes the working directory from the path, where -c puts it, so that nothing is imported from there.
_BOOT = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import json; sys.path[:] = json.loads(sys.stdin.buffer.raw.readline()); "
    "from tpu_profile_plugin.workers.worker import main; main()"
)


class WorkerDied(Exception):
    """The process ended during a task, or does not answer: out of memory, killed, stopped, or crashed by a file."""


class WorkerNotStarted(Exception):
    """A worker process could not be started."""


class _Worker:
    """One process and its pipes."""

    def __init__(self) -> None:
        if not sys.executable:
            raise WorkerNotStarted("no Python interpreter is known")
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-c", _BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=True
            )
        except OSError as error:
            raise WorkerNotStarted(str(error)) from error
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._heard, self._heard_at = 0, time.monotonic()
        threading.Thread(target=self._listen, name="profile-worker", daemon=True).start()
        try:
            self._pipe(self.process.stdin).write(json.dumps(sys.path).encode() + b"\n")
            self._pipe(self.process.stdin).flush()
            if self._messages.get(timeout=_START_S) != READY:
                raise EOFError
        except (EOFError, OSError, queue.Empty):
            self.end()
            raise WorkerNotStarted("the process ended immediately, or did not start in time") from None

    @property
    def usable(self) -> bool:
        """Whether the process runs, and was heard of recently."""
        return self.process.poll() is None and time.monotonic() - self._heard_at < _IDLE_SILENT_S

    def execute(self, data: bytes, limit_s: float) -> bytes:
        """Runs a packed task and returns its packed reply; raises WorkerDied, also after `limit_s`."""
        try:
            send(self._pipe(self.process.stdin), data)
        except OSError:
            raise self._died() from None
        deadline, silent, heard = time.monotonic() + limit_s, 0, self._heard
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                reply = self._messages.get(timeout=_LOOK_S)
                if reply is None:
                    raise self._died()
                return reply
            silent, heard = silent + 1 if self._heard == heard else 0, self._heard
            if silent >= _SILENT_S:
                self.end()
                raise WorkerDied("it stopped or is stuck")
        self.end()
        raise WorkerDied(f"no result within {limit_s:.0f} s")

    def _died(self) -> WorkerDied:
        self.end()
        return WorkerDied(f"exit status {self.process.returncode}")

    def _listen(self) -> None:
        """Passes replies on, and None when the process ends."""
        pipe = self._pipe(self.process.stdout)
        try:
            while True:
                message = receive(pipe)
                self._heard, self._heard_at = self._heard + 1, time.monotonic()
                if message != ALIVE:
                    self._messages.put(message)
        except (EOFError, OSError, ValueError):  # ValueError: `end` closed the pipe
            self._messages.put(None)

    def end(self) -> None:
        """Kills the process."""
        self.process.kill()
        self._messages.put(None)
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return  # a disk or network that hangs holds it; closing the pipes would wait, too
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                self._pipe(pipe).close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


class Workers:
    """A pool of at most `count` processes; thread-safe."""

    def __init__(self, count: int, idle_s: float = 60.0) -> None:
        self.count = count
        self._idle_s = idle_s
        self._free = threading.BoundedSemaphore(count)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._timer: threading.Timer | None = None

    def execute(self, data: bytes, limit_s: float) -> bytes:
        """Runs a packed task on a free worker and returns its packed reply; raises WorkerDied or WorkerNotStarted."""
        with self._free:
            worker = self._acquire()
            try:
                reply = worker.execute(data, limit_s)
            except BaseException:
                with self._lock:
                    self._busy.discard(worker)
                worker.end()
                raise
            self._release(worker)
            return reply

    def close(self) -> None:
        """Kills all workers; a later task starts new ones."""
        with self._lock:
            ended, self._idle = [*self._idle, *self._busy], []
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        for worker in ended:
            worker.end()

    @property
    def alive(self) -> int:
        """The number of live processes."""
        with self._lock:
            return sum(worker.process.poll() is None for worker in (*self._idle, *self._busy))

    def _acquire(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.usable:
                    self._busy.add(worker)
                    return worker
                worker.end()  # it was killed or stopped while idle
        worker = _Worker()
        with self._lock:
            self._busy.add(worker)
        return worker

    def _release(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            self._idle.append(worker)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._idle_s, self._end_idle)
            self._timer.daemon = True
            self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            ended, self._idle = self._idle, []
        for worker in ended:
            worker.end()
        _LOG.debug("ended %d idle worker processes", len(ended))
