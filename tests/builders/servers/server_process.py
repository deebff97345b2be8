"""A real TensorBoard process for tests: started on a free port of this machine, stopped by its process id."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 200.0


class Server:
    """A client of a running TensorBoard, below /data/plugin/profile."""

    def __init__(self, origin: str, pid: int = 0) -> None:
        self.origin = origin
        self.pid = pid
        self.base = f"{origin}/data/plugin/profile"

    def get(self, route: str, **query: str) -> bytes:
        """The body of one answer, uncompressed; raises urllib's HTTPError for an error status."""
        text = f"?{urllib.parse.urlencode(query)}" if query else ""
        with urllib.request.urlopen(f"{self.base}/{route}{text}", timeout=60) as answer:
            body: bytes = answer.read()
            return body

    def json(self, route: str, **query: str) -> Any:
        """The body of one answer, parsed as JSON."""
        return json.loads(self.get(route, **query))


def free_port() -> int:
    """A free port; none of those that the system gives to connections: it may give one away before a server listens."""
    for port in random.sample(range(20_000, 32_000), 50):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("No port is free.")


@contextmanager
def running_tensorboard(
    logdir: Path | str,
    home: Path,
    python: str = sys.executable,
    flags: tuple[str, ...] = (),
    prefix: tuple[str, ...] = (),
) -> Iterator[Server]:
    """Runs TensorBoard on `logdir` while the context lasts; `home` takes its private cache and its log.

    `prefix` is a command that runs TensorBoard under other conditions, e.g. with fewer rights.
    """
    port = free_port()
    log = home / "tensorboard.log"
    # Isolated (-I), so that the package comes from `python`'s own environment, never from the working directory.
    command = [
        *prefix,
        python,
        "-I",
        "-X",
        "faulthandler",
        "-m",
        "tensorboard.main",
        "--logdir",
        str(logdir),
        "--host",
        "127.0.0.1",
        *flags,
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=home,
            env={**os.environ, "XDG_CACHE_HOME": str(home / "cache")},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            server = Server(f"http://127.0.0.1:{port}", process.pid)
            _wait(server, process, log)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.origin}/data/plugins_listing", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"TensorBoard did not start:\n{log.read_text(errors='replace')[-3000:]}")
