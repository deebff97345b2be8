"""Limits of `tpu-profile serve` for clients that send and read slowly, in time and number."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.wrappers import Request

from tpu_profile_plugin.server.http import listening
from tpu_profile_plugin.server.http.query import Query
from tpu_profile_plugin.server.http.token import guarded
from tpu_profile_plugin.serving import board

LARGE = 24 << 20
WHOLE = b"GET /small HTTP/1.1\r\nHost: x\r\n\r\n"
HALVES = [b"", b"G", b"GET / HTTP/1.1\r\n", WHOLE[:-2], b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf"]


class Server:
    """An application on a port of this machine."""

    def __init__(self, app: Any) -> None:
        self.bound = socket.create_server(("127.0.0.1", 0))
        self.port = self.bound.getsockname()[1]
        self.server = listening.Listening(app, self.bound)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()

    def close(self) -> None:
        held = dict(self.server._map)
        self.server._map.clear()
        self.server.pull_trigger()
        self.thread.join(30)
        self.server.asyncore.close_all(held)
        self.bound.close()

    def connect(self, data: bytes = b"") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        made.sendall(data)
        return made

    def status(self, data: bytes = WHOLE) -> bytes:
        with self.connect(data) as connection:
            return connection.recv(12)[9:]


@pytest.fixture
def server() -> Iterator[Server]:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        path = environ["PATH_INFO"]
        if path == "/waits":
            query = Query({}, Request(environ))
            seen.append("asked")
            deadline = time.monotonic() + 60
            while not query.gone() and time.monotonic() < deadline:
                time.sleep(0.05)
            seen.append("gone" if query.gone() else "late")
        if path == "/slow":
            time.sleep(2.5)
        body = bytes(LARGE) if path == "/large" else b"small"
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
        return [body]

    seen: list[str] = []
    made = Server(app)
    made.seen = seen  # type: ignore[attr-defined]
    yield made
    made.close()


@pytest.fixture
def held() -> Iterator[contextlib.ExitStack]:
    """Closes connections at the end."""
    with contextlib.ExitStack() as stack:
        yield stack


def closed(connection: socket.socket, within_s: float) -> bool:
    """Whether the other side ends the connection in time."""
    connection.settimeout(within_s)
    try:
        while connection.recv(1 << 20):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_half_sent_requests_hold_no_threads(tmp_path):
    """Of the server that `tpu-profile serve` starts, before the token is asked for."""
    url = board(str(tmp_path), 0, token="secret").launch()
    port = int(url.partition("127.0.0.1:")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as first:
        first.sendall(WHOLE)
        assert first.recv(12) == b"HTTP/1.1 401"
    before = threading.active_count()
    with contextlib.ExitStack() as held:
        for number in range(300):
            made = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            made.sendall(HALVES[number % len(HALVES)])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as other:
            other.sendall(WHOLE)
            assert other.recv(12) == b"HTTP/1.1 401"
        assert threading.active_count() <= before + 2


@pytest.mark.parametrize("half", HALVES)
def test_a_request_must_arrive_in_time(server, monkeypatch, half):
    monkeypatch.setattr(listening, "HEADERS_S", 0.5)
    monkeypatch.setattr(listening, "REQUEST_S", 0.5)
    with server.connect(half) as connection:
        assert closed(connection, 30)
    with server.connect(WHOLE) as again:
        assert again.recv(12) == b"HTTP/1.1 200"
        again.sendall(b"GET /sm")
        assert closed(again, 30), "also a second request"


def test_a_byte_now_and_then_gives_no_more_time(server, monkeypatch):
    monkeypatch.setattr(listening, "HEADERS_S", 1.0)
    with server.connect(b"GET / HTTP/1.1\r\nA: ") as connection:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 30:
                connection.sendall(b"a")
                time.sleep(0.1)
        assert time.monotonic() - began < 20


def test_an_idle_connection_is_closed_later(server, monkeypatch):
    monkeypatch.setattr(listening, "HEADERS_S", 0.2)
    monkeypatch.setattr(listening, "IDLE_S", 4.0)
    with server.connect(WHOLE) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        began = time.monotonic()
        assert closed(connection, 30)
        assert time.monotonic() - began > 2


def test_a_long_computation_is_not_cut(server, monkeypatch):
    for name in ("HEADERS_S", "REQUEST_S", "IDLE_S", "READING_S"):
        monkeypatch.setattr(listening, name, 0.5)
    assert server.status(WHOLE.replace(b"small", b"slow")) == b"200"


def test_slow_readers_hold_no_thread_and_are_cut(server, held, monkeypatch):
    monkeypatch.setattr(listening, "THREADS", 2)
    monkeypatch.setattr(listening, "READING_S", 3.0)
    monkeypatch.setattr(listening, "READING_RATE", LARGE)
    large = WHOLE.replace(b"small", b"large")
    slow = [held.enter_context(server.connect(large)) for _ in range(6)]
    assert [server.status() for _ in range(3)] == [b"200"] * 3
    time.sleep(8)
    got = 0
    with contextlib.suppress(ConnectionError):
        while data := slow[0].recv(1 << 20):
            got += len(data)
    assert 0 < got < LARGE, "what the buffers of the system held"
    with server.connect(large.replace(b"Host", b"Connection: close\r\nHost")) as quick:
        assert sum(len(data) for data in iter(lambda: quick.recv(1 << 20), b"")) > LARGE


def test_the_oldest_half_request_makes_room_for_a_new_one(server, held, monkeypatch):
    monkeypatch.setattr(listening, "CONNECTIONS", 20)
    kept = held.enter_context(server.connect(WHOLE))
    assert kept.recv(12) == b"HTTP/1.1 200"
    halves = [held.enter_context(server.connect(HALVES[number % len(HALVES)])) for number in range(60)]
    assert [server.status() for _ in range(3)] == [b"200"] * 3
    assert len(server.server.active_channels) <= 21
    assert all(closed(one, 10) for one in halves[:30])
    kept.recv(1 << 16)
    kept.sendall(WHOLE)
    assert kept.recv(12) == b"HTTP/1.1 200", "one between two requests stays"


def test_a_client_that_leaves_is_noticed(server):
    with server.connect(WHOLE.replace(b"small", b"waits")):
        deadline = time.monotonic() + 30
        while not server.seen and time.monotonic() < deadline:
            time.sleep(0.02)
    deadline = time.monotonic() + 30
    while len(server.seen) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.seen == ["asked", "gone"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nA: " + b"a" * (300 << 10) + b"\r\n\r\n", b"431"),
        (b"GET /" + b"a" * (300 << 10) + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"\x16\x03\x01 what\r\n\r\n", b"400"),
        (b"HEAD /small HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
        (b"GET /small HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_requests_of_other_forms(server, sent, status):
    with contextlib.suppress(ConnectionError):
        assert server.status(sent) == status


def test_the_token_is_asked_for_by_whoever_is_complete():
    made = Server(guarded(lambda environ, start: [b""], "secret"))
    assert made.status() == b"401"
    made.close()
