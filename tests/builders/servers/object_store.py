"""Object stores on this machine that count their requests: moto's S3 server and a Google Cloud Storage emulator.

Each is a process of its own, so that it can be stopped, frozen and ended like a network that fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUCKET = "bucket"
START_SECONDS = 200.0


class ObjectStore:
    """A running store; `environ` configures the client libraries for it."""

    def __init__(self, kind: str, process: subprocess.Popen[bytes], port: int) -> None:
        self.kind = kind
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    @property
    def environ(self) -> dict[str, str]:
        if self.kind == "gs":
            return {
                "STORAGE_EMULATOR_HOST": self.url,
                "FSSPEC_GS_TOKEN": "anon",
                "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
                "NO_PROXY": "127.0.0.1",
            }
        keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
        return {"AWS_ENDPOINT_URL": self.url, "NO_PROXY": "127.0.0.1", **keys}

    def put(self, key: str, data: bytes) -> None:
        """Stores an object."""
        if self.kind == "gs":
            path = f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={urllib.request.quote(key, safe='')}"
            self._ask("POST", path, data)
        else:
            self._ask("PUT", f"/{BUCKET}/{urllib.request.quote(key)}", data)

    def delete(self, key: str) -> None:
        """Removes an object."""
        quoted = urllib.request.quote(key, safe="")
        self._ask("DELETE", f"/storage/v1/b/{BUCKET}/o/{quoted}" if self.kind == "gs" else f"/{BUCKET}/{quoted}")

    def counts(self) -> dict[str, int]:
        """Since the last `reset`: requests by kind ("list", "look", "read", "other") and "bytes" of files sent."""
        counts: dict[str, int] = json.loads(self._ask("GET", "/_counts"))
        return counts

    def reset(self) -> None:
        """Resets the counts."""
        self._ask("GET", "/_reset")

    def freeze(self) -> None:
        """Makes the store accept connections without ever responding."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Ends `freeze`."""
        self.process.send_signal(signal.SIGCONT)

    def deny(self, denied: bool = True) -> None:
        """Makes an S3 store answer 403 to all requests, or no longer."""
        self._ask("GET", "/_deny" if denied else "/_allow")

    def end(self) -> None:
        """Stops the store: connections are refused."""
        self.process.kill()
        self.process.wait()

    def _ask(self, method: str, path: str, data: bytes | None = None, kind: str = "application/octet-stream") -> bytes:
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Content-Type", kind)
        if method != "GET" and self.kind == "s3":
            request.add_header(
                "Authorization", "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request"
            )
        with urllib.request.urlopen(request, timeout=30) as answer:
            body: bytes = answer.read()
            return body


@contextmanager
def running_store(kind: str, home: Path, delay_s: float = 0.0, speed: float = 0.0) -> Iterator[ObjectStore]:
    """A store ("s3" or "gs") with an empty bucket while the context lasts; its log goes to `home`.

    An S3 store can be as far away as a real one: `delay_s` before each answer, `speed` bytes per second and connection.
    """
    told = home / f"{kind}.port"
    with (home / f"{kind}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), kind, str(told), str(delay_s), str(speed)],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=home,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not told.exists():
            assert process.poll() is None, (home / f"{kind}.log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the object store did not start"
            time.sleep(0.05)
        store = ObjectStore(kind, process, int(told.read_text()))
        if kind == "gs":
            store._ask("POST", "/storage/v1/b", json.dumps({"name": BUCKET}).encode(), "application/json")
        else:
            store._ask("PUT", f"/{BUCKET}")
        store.reset()
        yield store
    finally:
        process.kill()
        process.wait()


class Count:
    """Counts requests by kind, and handles `/_counts`, `/_reset`, `/_deny` and `/_allow`.

    Attributes:
      denies: whether other requests are to be refused.
    """

    denies = False

    def __init__(self, kind_of: Callable[[str, str], str]) -> None:
        self._kind_of = kind_of
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def asked(self, method: str, target: str) -> str:
        kind = self._kind_of(method, target)
        with self._lock:
            self._counts[kind] += 1
        return kind

    def sent(self, kind: str, size: int) -> None:
        with self._lock:
            self._counts["bytes"] += size if kind == "read" else 0

    def answer(self, target: str) -> bytes | None:
        with self._lock:
            if target.startswith("/_reset"):
                self._counts.clear()
                return b"{}"
            if target.startswith(("/_deny", "/_allow")):
                self.denies = target.startswith("/_deny")
                return b"{}"
            return json.dumps(self._counts).encode() if target.startswith("/_counts") else None


def _kind_of_s3(method: str, target: str) -> str:
    path, _, query = target.partition("?")
    if "list-type" in query:
        return "list"
    whole = path.strip("/").count("/") >= 1
    return {"GET": "read", "HEAD": "look"}.get(method, "other") if whole else "other"


def _kind_of_gs(method: str, target: str) -> str:
    path, _, query = target.partition("?")
    if method != "GET":
        return "other"
    if path.endswith("/o"):
        return "list"
    if "/o/" in path:
        return "read" if "alt=media" in query or path.startswith("/download") else "look"
    return "other"


def _serve_s3(told: Path, delay_s: float, speed: float) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    app = DomainDispatcherApplication(create_backend_app)
    count = Count(_kind_of_s3)

    def counting(environ: dict[str, Any], start_response: Any) -> Any:
        target = f"{environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}"
        own = count.answer(target)
        if own is not None:
            start_response("200 OK", [("Content-Type", "application/json")])
            return [own]
        kind = count.asked(environ["REQUEST_METHOD"], target)
        if count.denies:
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"]
        parts = list(app(environ, start_response))
        size = sum(map(len, parts))
        count.sent(kind, size)
        time.sleep(delay_s + (size / speed if speed else 0.0))
        return parts

    server = make_server("127.0.0.1", 0, counting, threaded=True, request_handler=MotoRequestHandler)
    _tell(told, server.server_port)
    server.serve_forever()


def _serve_gs(told: Path) -> None:
    from functools import partial
    from http.server import ThreadingHTTPServer

    from gcp_storage_emulator.server import RequestHandler
    from gcp_storage_emulator.storage import Storage

    count = Count(_kind_of_gs)

    class Counting(RequestHandler):
        def handle_one_request(self) -> None:
            self.kind = ""
            super().handle_one_request()

        def parse_request(self) -> bool:
            if not super().parse_request():
                return False
            own = count.answer(self.path)
            if own is not None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(own)
                return False
            kind = count.asked(self.command, self.path)
            write = self.wfile.write

            def counted(data: bytes) -> int:
                if not data.startswith(b"HTTP/"):
                    count.sent(kind, len(data))
                return write(data)

            self.wfile.write = counted  # type: ignore[method-assign]
            return True

    storage = Storage(use_memory_fs=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Counting, storage))
    _tell(told, server.server_port)
    server.serve_forever()


def _tell(told: Path, port: int) -> None:
    aside = told.with_suffix(".new")
    aside.write_text(str(port))
    aside.rename(told)


if __name__ == "__main__":
    os.environ.setdefault("MOTO_S3_CUSTOM_ENDPOINTS", "")
    if sys.argv[1] == "gs":
        _serve_gs(Path(sys.argv[2]))
    else:
        _serve_s3(Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
