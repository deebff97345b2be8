"""Child processes of this machine that answer requests: both ends of their pipes, and pools of them.

They are separate programs, not forks: a fork of a server with gRPC threads may hang, and multiprocessing's other start
methods would import the server's main module into every child.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO

from tpu_profile_plugin.system.process import ignore_interrupts
from tpu_profile_plugin.system.terminal import LOG as _LOG

_START_S = 60.0
_SILENT_S = 15
"""A process that sends nothing for so many looks, a second apart, is stopped or stuck. Looks are counted, not seconds:
a server that was stopped itself does not end its processes when it continues."""
_LOOK_S = 1.0
_IDLE_SILENT_S = 5.0
_END_S = 3.0
_EXIT_S = 1.0
_WAIT_S = 0.05

_READY = b"ready"
_ALIVE = b""
"""Sent once a second, also during an answer, so that a process that is stopped or stuck is noticed."""
_ALIVE_S = 1.0
_LENGTH = struct.Struct("<Q")

# First removes the working directory from the path, where -c puts it, so that nothing is imported from there.
_BOOT = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import json; sys.path[:] = json.loads(sys.stdin.buffer.raw.readline()); "
    "from tpu_profile_plugin.workers.processes import serve; serve(sys.argv[1])"
)


class WorkerDied(Exception):
    """The process ended during a request, or does not answer: out of memory, killed, stopped, or crashed by a file.

    Attributes:
      status: its exit status, negative for a signal; None if it was ended because it does not answer.
      late: whether it was ended by the time limit of the request.
    """

    def __init__(self, message: str, status: int | None = None, *, late: bool = False) -> None:
        super().__init__(message)
        self.status, self.late = status, late


class WorkerNotStarted(Exception):
    """A process could not be started."""


class Process:
    """A child process and its pipes."""

    def __init__(
        self, module: str, *, environment: Mapping[str, str] | None = None, directory: str | None = None
    ) -> None:
        """Starts it; raises WorkerNotStarted.

        Args:
          module: `prepare()` of this module returns the function from a request to the parts of its answer.
          environment: its variables; by default those of this process.
          directory: its working directory; by default that of this process.
        """
        if not sys.executable:
            raise WorkerNotStarted("no Python interpreter is known")
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-c", _BOOT, module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                close_fds=True,
                env=environment,
                cwd=directory,
            )
        except OSError as error:
            raise WorkerNotStarted(error.strerror or str(error)) from error
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._heard, self._heard_at = 0, time.monotonic()
        threading.Thread(target=self._listen, name="profile-worker", daemon=True).start()
        try:
            path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100 - of texts
            self._pipe(self.process.stdin).write(json.dumps(path).encode() + b"\n")
            self._pipe(self.process.stdin).flush()
            if self._messages.get(timeout=_START_S) != _READY:
                raise EOFError
        except (EOFError, OSError, queue.Empty):
            self.end()
            raise WorkerNotStarted("the process ended immediately, or did not start in time") from None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    @property
    def usable(self) -> bool:
        """Whether the process runs, and was heard of recently."""
        return self.alive and time.monotonic() - self._heard_at < _IDLE_SILENT_S

    def ask(self, request: bytes, limit_s: float) -> bytes:
        """The answer to a request; raises WorkerDied, also after `limit_s`."""
        try:
            _send(self._pipe(self.process.stdin), request)
        except (OSError, ValueError):  # ValueError: `end` closed the pipe
            raise self._died() from None
        deadline, silent, heard = time.monotonic() + limit_s, 0, self._heard
        while (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                answer = self._messages.get(timeout=min(_LOOK_S, left))
                if answer is None:
                    raise self._died()
                return answer
            silent, heard = silent + 1 if self._heard == heard else 0, self._heard
            if silent >= _SILENT_S:
                self.end()
                raise WorkerDied("it stopped or is stuck")
        self.end()
        raise WorkerDied(f"no result within {limit_s:.0f} s", late=True)

    def kill(self) -> None:
        """Ends it at once, from any thread; the thread that asks gets WorkerDied."""
        self.process.kill()

    def end(self) -> None:
        """Kills the process and closes its pipes."""
        self.process.kill()
        self._messages.put(None)
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return  # a disk or network that hangs holds it; closing the pipes would wait, too
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                self._pipe(pipe).close()

    def _died(self) -> WorkerDied:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_EXIT_S)  # so that its own exit status is known
        self.end()
        return WorkerDied(f"exit status {self.process.returncode}", self.process.returncode)

    def _listen(self) -> None:
        """Passes answers on, and None when the process ends."""
        pipe = self._pipe(self.process.stdout)
        try:
            while True:
                message = _receive(pipe)
                self._heard, self._heard_at = self._heard + 1, time.monotonic()
                if message != _ALIVE:
                    self._messages.put(message)
        except (EOFError, OSError, ValueError):  # ValueError: `end` closed the pipe
            self._messages.put(None)

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


_HOSTS = functools.partial(Process, "tpu_profile_plugin.workers.task")


class Workers:
    """A pool of at most `count` processes, started on demand and ended after an idle period; thread-safe."""

    def __init__(self, count: int, idle_s: float = 60.0, start: Callable[[], Process] = _HOSTS) -> None:
        """`start` starts a process, by default one that runs tasks of hosts."""
        self.count = count
        self._idle_s = idle_s
        self._start = start
        self._free = threading.BoundedSemaphore(count)
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def process(self, on_wait: Callable[[], object] | None = None) -> Iterator[Process]:
        """A process for the block, kept for others afterwards; ended if the block raises.

        `on_wait` is called now and then while all are busy, and may raise to stop. Raises WorkerNotStarted.
        """
        while not self._free.acquire(timeout=None if on_wait is None else _WAIT_S):
            if on_wait is not None:
                on_wait()
        try:
            process = self._acquire()
            try:
                yield process
            except BaseException:
                with self._lock:
                    self._busy.discard(process)
                process.end()
                raise
            self._release(process)
        finally:
            self._free.release()

    def execute(self, data: bytes, limit_s: float) -> bytes:
        """The answer of a free process to a request; raises WorkerDied or WorkerNotStarted."""
        with self.process() as process:
            return process.ask(data, limit_s)

    def close(self) -> None:
        """Kills all processes; a later request starts new ones."""
        with self._lock:
            ended, self._idle = [*self._idle, *self._busy], []
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        for process in ended:
            process.end()

    @property
    def alive(self) -> int:
        """The number of live processes."""
        with self._lock:
            return sum(process.alive for process in (*self._idle, *self._busy))

    def _acquire(self) -> Process:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.usable:
                    self._busy.add(process)
                    return process
                process.end()  # it was killed or stopped while idle
        process = self._start()
        with self._lock:
            self._busy.add(process)
        return process

    def _release(self, process: Process) -> None:
        with self._lock:
            self._busy.discard(process)
            self._idle.append(process)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._idle_s, self._end_idle)
            self._timer.daemon = True
            self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            ended, self._idle = self._idle, []
        for process in ended:
            process.end()
        _LOG.debug("ended %d idle worker processes", len(ended))


def serve(module: str) -> None:
    """Answers requests in the child until the parent closes the pipe or dies; then exits, even during an answer."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # printed text must not mix with the answers
    ignore_interrupts()  # Ctrl-C ends the parent, which ends this process
    answer = importlib.import_module(module).prepare()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    sending = threading.Lock()

    def send(*parts: bytes | memoryview) -> None:
        try:
            with sending:
                _send(outgoing, *parts)
        except OSError:
            os._exit(0)  # the parent is gone

    def listen() -> None:
        while True:
            try:
                requests.put(_receive(incoming))
            except (EOFError, OSError):
                os._exit(0)

    def live() -> None:
        while True:
            time.sleep(_ALIVE_S)
            send(_ALIVE)

    threading.Thread(target=listen, daemon=True).start()
    send(_READY)
    threading.Thread(target=live, daemon=True).start()
    while True:
        send(*answer(requests.get()))


def _send(pipe: IO[bytes], *parts: bytes | memoryview) -> None:
    """Writes the parts as one message; raises OSError when the pipe is closed."""
    pipe.write(_LENGTH.pack(sum(map(len, parts))))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Reads one message; raises EOFError when the pipe is closed."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    data = pipe.read(count)
    if len(data) != count:
        raise EOFError
    return data
