"""A Dask scheduler and workers as processes of this machine, which tests stop and kill."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[2]
_WITHOUT_PACKAGE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tpu_profile_plugin":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
_MAIN = "import sys; sys.argv[0] = 'dask'; from dask.__main__ import main; main()"


class DaskProcesses:
    """A scheduler with workers of one thread; `end` kills all of them."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"
        )
        log = self._directory / "0.log"
        self._logs = {self.scheduler.pid: log}
        try:
            self.address = self._wait_for(log, r"Scheduler at:\s+(tcp://\S+)")
        except AssertionError:
            self.end()  # there is no object on which the caller could
            raise

    def workers(self, count: int, *, with_package: bool = True) -> list[subprocess.Popen[bytes]]:
        """Starts workers and waits until the scheduler knows them."""
        started = []
        for _ in range(count):
            log = self._directory / f"{len(self._started)}.log"
            flags = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
            started.append(self._start("worker", self.address, *flags, with_package=with_package))
            self._logs[started[-1].pid] = log
        for process in started:
            self._wait_for(self._logs[process.pid], r"Registered to:\s+(\S+)")
        return started

    def log_of(self, process: subprocess.Popen[bytes]) -> str:
        """What a process has printed."""
        return self._logs[process.pid].read_text()

    def end(self) -> None:
        """Kills all processes."""
        self.end_workers()
        self._kill(self.scheduler)

    def end_workers(self) -> None:
        """Kills all workers."""
        for process in self._started[1:]:
            self._kill(process)

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def _start(self, *command: str, with_package: bool = True) -> subprocess.Popen[bytes]:
        custom = self._directory / "custom"
        path = [str(TESTS)]
        if not with_package:
            custom.mkdir(exist_ok=True)
            (custom / "sitecustomize.py").write_text(_WITHOUT_PACKAGE)
            path.insert(0, str(custom))
        number = len(self._started)
        with (self._directory / f"{number}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, *command],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            )
        self._started.append(process)
        return process

    @staticmethod
    def _wait_for(log: Path, pattern: str) -> str:
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline:
            found = re.search(pattern, log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(log.read_text())
