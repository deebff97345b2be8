"""A scripted profiler server for tests, in this process or as a separate process (`python -m`)."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from builders.damage.wire import text
from builders.logdirs import SMALL
from builders.messages import XSpace
from builders.xspace_text import build
from tpu_profile_plugin.protos import message, method

XSPACE = build(SMALL)
HUGE = int(os.environ.get("FAKE_HUGE_BYTES", "100_000_000"))


def response(xspace: bytes | None, empty_trace: bool = False) -> bytes:
    """A serialized ProfileResponse with exactly these bytes of a profile."""
    kind = message("tensorflow.ProfileResponse")
    held = b"" if xspace is None else text(kind.XSPACE_FIELD_NUMBER, xspace)
    return bytes(kind(empty_trace=empty_trace).SerializeToString()) + held


def large(size: int) -> bytes:
    """An XSpace of about `size` bytes: a small profile and an error text of many letters."""
    return XSPACE + bytes(XSpace(errors=["x" * size]).SerializeToString())


class Fake:
    """The behaviour of the server, and a record of its requests.

    Attributes:
      behaviours: one per Profile call, the last one repeated: ok, empty, busy, hang, garbage, old, lost, large, huge,
        huge_garbage, refuse, crash, no_events, bad_xspace, internal, gated, absent (no such method), no_continuous
        (only captures), or bytes to answer.
      requests, terminated: the received requests.
      continuous: the request with which continuous profiling runs, None while it does not.
      snapshots: the number of snapshots taken; each is answered with the next behaviour (bytes or ok).
    """

    def __init__(self, *behaviours: str | bytes) -> None:
        self.behaviours = list(behaviours) or ["ok"]
        self.requests: list[Any] = []
        self.times: list[float] = []
        self.sessions: list[Any] = []
        self.terminated: list[str] = []
        self.running = 0
        self.cancelled = 0
        self.continuous: Any = None
        self.snapshots = 0
        self.address = ""
        self._ended: set[str] = set()
        self._lock = threading.Lock()

    def profile(self, data: bytes, context: Any) -> bytes:
        request = message("tensorflow.ProfileRequest").FromString(data)
        with self._lock:
            self.requests.append(request)
            self.times.append(time.time())
            behaviour = self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]
        if isinstance(behaviour, bytes):
            return behaviour
        action: Callable[[Any, Any], bytes] = getattr(self, f"_{behaviour}")
        return action(request, context)

    def _record(self, request: Any, context: Any) -> None:
        """Waits like a profiler: for the start, then for the duration; ends early on Terminate."""
        until = max(time.time(), request.opts.start_timestamp_ns / 1e9) + request.opts.duration_ms / 1e3
        while time.time() < until and request.session_id not in self._ended:
            if not context.is_active():
                self.cancelled += 1
                return
            time.sleep(0.005)
        self._ended.discard(request.session_id)

    def _ok(self, request: Any, context: Any) -> bytes:
        self._record(request, context)
        return response(XSPACE)

    def _large(self, request: Any, context: Any) -> bytes:
        return response(large(12_000_000))

    def _huge(self, request: Any, context: Any) -> bytes:
        return response(large(HUGE))

    def _huge_garbage(self, request: Any, context: Any) -> bytes:
        return b"\xff" * HUGE

    def _empty(self, request: Any, context: Any) -> bytes:
        return response(build('plane 1 "/host:metadata"'), empty_trace=True)

    def _no_events(self, request: Any, context: Any) -> bytes:
        return response(build('plane 1 "/host:CPU"\n  line 7 "python" @1000ns'))

    def _garbage(self, request: Any, context: Any) -> bytes:
        return b"\xff" * 50

    def _bad_xspace(self, request: Any, context: Any) -> bytes:
        return response(XSPACE[:-7])

    def _busy(self, request: Any, context: Any) -> bytes:
        context.abort(grpc.StatusCode.INTERNAL, "Another profiling session active.")
        raise AssertionError

    def _internal(self, request: Any, context: Any) -> bytes:
        context.abort(grpc.StatusCode.INTERNAL, "/proc/nope; No such file or directory")
        raise AssertionError

    def _refuse(self, request: Any, context: Any) -> bytes:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad level")
        raise AssertionError

    def _lost(self, request: Any, context: Any) -> bytes:
        context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        raise AssertionError

    def _hang(self, request: Any, context: Any) -> bytes:
        while context.is_active():
            time.sleep(0.01)
        self.cancelled += 1
        return b""

    def _gated(self, request: Any, context: Any) -> bytes:
        """Records until the file in BROWSER_TEST_GATE is deleted, regardless of the duration."""
        gate = Path(os.environ["BROWSER_TEST_GATE"])
        while gate.exists() and context.is_active():
            time.sleep(0.02)
        return response(XSPACE)

    def _crash(self, request: Any, context: Any) -> bytes:
        """Exits during the capture; only for a separate process."""
        threading.Timer(0.2, lambda: os._exit(9)).start()
        return self._hang(request, context)

    def _old(self, request: Any, context: Any) -> bytes:
        """Writes the file itself and returns an empty response, like TensorFlow 2.15."""
        self._record(request, context)
        name = request.host_name.replace(":", "_")
        directory = Path(request.repository_root) / request.session_id
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{name}.xplane.pb").write_bytes(XSPACE)
        return b""

    def _old_elsewhere(self, request: Any, context: Any) -> bytes:
        """Like `_old`, but on a disk that is not shared."""
        return b""

    def terminate(self, data: bytes, context: Any) -> bytes:
        session = message("tensorflow.TerminateRequest").FromString(data).session_id
        self.terminated.append(session)
        self._ended.add(session)
        return b""

    def start_continuous(self, data: bytes, context: Any) -> bytes:
        if self.continuous is not None:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "A profiling session is already running.")
        self.continuous = message("tensorflow.ProfileRequest").FromString(data)
        return b""

    def snapshot(self, data: bytes, context: Any) -> bytes:
        self._check_continuous(context)
        behaviour = self.behaviours[min(self.snapshots, len(self.behaviours) - 1)]
        self.snapshots += 1
        if isinstance(behaviour, bytes):
            return behaviour
        return {"ok": response(XSPACE), "empty": response(None, empty_trace=True), "nothing": b""}[behaviour]

    def stop_continuous(self, data: bytes, context: Any) -> bytes:
        self._check_continuous(context)
        self.continuous = None
        return b""

    def _check_continuous(self, context: Any) -> None:
        if self.continuous is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "No continuous profiling session found.")

    def new_session(self, data: bytes, context: Any) -> bytes:
        whole = message("tensorflow.NewProfileSessionRequest").FromString(data)
        self.sessions.append(whole)
        for host in whole.hosts:
            directory = Path(whole.repository_root) / whole.session_id
            directory.mkdir(parents=True, exist_ok=True)
            (directory / f"{host.rpartition(':')[0]}.xplane.pb").write_bytes(XSPACE)
        return b""


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, methods: dict[str, Any]) -> None:
        self._methods = methods

    def service(self, details: Any) -> Any:
        method = self._methods.get(details.method)
        return None if method is None else grpc.unary_unary_rpc_method_handler(method)


def methods_of(fake: Fake, *, workers: bool = False) -> dict[str, Any]:
    """Handlers by method name; `workers` adds NewSession."""
    if fake.behaviours == ["absent"]:
        return {}
    methods: dict[str, Any] = {
        method("tensorflow.ProfilerService.Profile").path: fake.profile,
        method("tensorflow.ProfilerService.Terminate").path: fake.terminate,
    }
    if "no_continuous" not in fake.behaviours:
        methods |= {
            method("tensorflow.ProfilerService.StartContinuousProfiling").path: fake.start_continuous,
            method("tensorflow.ProfilerService.GetSnapshot").path: fake.snapshot,
            method("tensorflow.ProfilerService.StopContinuousProfiling").path: fake.stop_continuous,
        }
    if workers:
        methods[method("tensorflow.ProfileAnalysis.NewSession").path] = fake.new_session
    return methods


@contextmanager
def serving(*behaviours: str | bytes, workers: bool = False, port: int = 0) -> Iterator[Fake]:
    """Runs a fake server in this process on a free port of this machine."""
    fake = Fake(*behaviours)
    server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers((_Handler(methods_of(fake, workers=workers)),))
    fake.address = f"127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    server.start()
    try:
        yield fake
    finally:
        server.stop(0).wait()


def main() -> None:
    """Serves until standard input is closed; prints {"address": ...} on one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("behaviours", nargs="*")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--profile", help="file to answer with in place of the small profile")
    options = parser.parse_args()
    if options.profile:
        globals()["XSPACE"] = Path(options.profile).read_bytes()
    with serving(*options.behaviours, port=options.port) as fake:
        print(json.dumps({"address": fake.address}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
