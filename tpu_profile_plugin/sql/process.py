"""The processes that run statements, seen from the program that asks: started on demand, kept warm, killed at once."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tpu_profile_plugin.errors import QueryStopped
from tpu_profile_plugin.sql.worker import raise_error
from tpu_profile_plugin.workers.worker import READY, receive, send

_COUNT = 2
_IDLE_S = 120.0
_END_S = 1.0
# First removes the working directory from the path, where -c puts it, so that nothing is imported from there.
_BOOT = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import json; sys.path[:] = json.loads(sys.stdin.buffer.raw.readline()); "
    "from tpu_profile_plugin.sql.worker import main; main()"
)
_NEEDED = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "SYSTEMROOT", "TZ")
"""Variables that a Python program may need to start; others, which may hold secrets, are not passed on."""


class ProcessDied(Exception):
    """The process ended during a request, by its limits or because it was killed.

    Attributes:
      status: its exit status, negative for a signal.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"exit status {status}")
        self.status = status


class Process:
    """One process and its pipes."""

    def __init__(self) -> None:
        """Starts it; raises QueryStopped if that fails."""
        environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
        # Arrow's own allocator takes memory by the GiB, which counts against the limit before it is used.
        environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                close_fds=True,
                env=environment,
                cwd=Path(sys.executable).anchor or None,
            )
        except OSError as error:
            raise QueryStopped(f"The process for queries could not be started: {error.strerror}.") from None
        try:
            path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100 - of texts
            self._pipe(self._process.stdin).write(json.dumps(path).encode() + b"\n")
            self._pipe(self._process.stdin).flush()
            if receive(self._pipe(self._process.stdout)) != READY:
                raise EOFError
        except (EOFError, OSError):
            self.end()
            raise QueryStopped("The process for queries ended at its start; its messages are above.") from None

    @property
    def number(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; raises ProcessDied, and the error that the answer describes."""
        try:
            send(self._pipe(self._process.stdin), json.dumps(request).encode())
            answer: dict[str, Any] = json.loads(self.more())
        except OSError:
            raise ProcessDied(self.end()) from None
        if "error" in answer:
            raise_error(answer["error"])
        return answer

    def more(self) -> bytes:
        """A further message of the answer; raises ProcessDied."""
        try:
            return receive(self._pipe(self._process.stdout))
        except (EOFError, OSError, ValueError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)  # so that its own exit status is known
            raise ProcessDied(self.end()) from None

    def kill(self) -> None:
        """Ends it at once, from any thread; the thread that asks gets ProcessDied."""
        self._process.kill()

    def end(self) -> int:
        """Kills it if it runs, closes the pipes and returns its exit status."""
        self._process.kill()
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                self._pipe(pipe).close()
        return status

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


class Processes:
    """At most `count` processes; idle ones are kept for a while, because starting one takes half a second."""

    def __init__(self, count: int = _COUNT, idle_s: float = _IDLE_S) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def one(self, wait: threading.Event) -> Iterator[Process]:
        """A process for the block, kept for others afterwards if it still runs.

        Raises QueryStopped if `wait` is set before a process is free.
        """
        while not self._free.acquire(timeout=0.05):
            if wait.is_set():
                raise QueryStopped("The query was cancelled.", limit="cancelled")
        try:
            process = self._acquired()
            try:
                yield process
            finally:
                self._release(process)
        finally:
            self._free.release()

    def close(self) -> None:
        """Ends idle processes."""
        with self._lock:
            ended, self._idle = self._idle, []
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        for process in ended:
            process.end()

    def _acquired(self) -> Process:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    return process
                process.end()  # it was killed while idle; closes its pipes
        return Process()

    def _release(self, process: Process) -> None:
        if not process.alive:
            process.end()
            return
        with self._lock:
            self._idle.append(process)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._idle_s, self.close)
            self._timer.daemon = True
            self._timer.start()
