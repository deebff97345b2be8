"""A relay between gRPC and one profiler server: large responses go to a file as they arrive.

gRPC for Python holds a message in memory as a whole, three times at the end. The relay passes the frames of HTTP/2 on,
but keeps the bytes of a large message, and passes an empty one on in its place. Headers are not decoded.
"""

from __future__ import annotations

import contextlib
import mmap
import shutil
import socket
import struct
import tempfile
import threading
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from tpu_profile_plugin.units import MIB

KEPT_FROM = 8 * MIB
"""Smaller messages are left to gRPC."""

_PREFACE, _HEADER, _PREFIX = 24, 9, 5
_DATA, _HEADERS, _RESET, _SETTINGS, _WINDOW = 0, 1, 3, 4, 8
_END, _PADDED = 1, 8
_CHUNK = MIB
_AHEAD = 64 * MIB
"""What a server may send of a kept message before it is told to go on."""


@dataclass
class _Stream:
    """A response.

    Attributes:
      prefix: what has come of the prefix of its next message, and was not passed on.
      left: how much of the present message is to come.
      granted: how much of that the server may send.
      file: of a message that is kept.
    """

    prefix: bytearray = field(default_factory=bytearray)
    left: int = 0
    granted: int = 0
    file: IO[bytes] | None = None


class Relay:
    """Listens for gRPC, and connects to `place` for it.

    Attributes:
      target: the address for gRPC.
      error: why a response could not be kept, None if it could.
    """

    def __init__(self, place: tuple[str, int], limit_bytes: int, connect_s: float) -> None:
        """Messages that announce more than `limit_bytes` are passed on, so that gRPC refuses them. Raises OSError."""
        self._place, self._limit, self._connect_s = place, limit_bytes, connect_s
        self._directory: str | None = None
        self.error: OSError | None = None
        self._kept: IO[bytes] | None = None
        self._open: list[socket.socket] = []
        self._closed = False
        if hasattr(socket, "AF_UNIX"):
            self._directory = tempfile.mkdtemp(prefix="tpu_profile_")  # which only this user can enter
            path = str(Path(self._directory) / "relay")
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(path)
            self._listener.listen()
            self.target = f"unix:{path}"
        else:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.target = f"ipv4:127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="capture-relay", daemon=True).start()

    def take(self) -> memoryview | None:
        """The last large message, mapped from its file, which has no name; None without one."""
        kept, self._kept = self._kept, None
        if kept is None:
            return None
        with kept:
            return memoryview(mmap.mmap(kept.fileno(), 0, access=mmap.ACCESS_READ))

    def close(self) -> None:
        """Ends all connections and deletes what was not taken."""
        self._closed = True
        for one in (self._listener, *self._open):
            _end(one)
        self._listener.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _accept(self) -> None:
        while not self._closed:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self._open = [one for one in self._open if one.fileno() >= 0] + [client]
            threading.Thread(target=self._serve, args=(client,), name="capture-relay", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._place, timeout=self._connect_s)
        except OSError:
            client.close()
            return
        with client, server:
            server.settimeout(None)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(server)
            turn = threading.Lock()
            upwards = threading.Thread(target=_pass_up, args=(client, server, turn), daemon=True)
            upwards.start()
            try:
                _Down(self, client, server, turn).run()
            except OSError:
                pass
            finally:
                _end(client)
                _end(server)
                upwards.join()

    def keeps(self, announced: int) -> bool:
        """Whether a message of this size goes to a file."""
        return KEPT_FROM <= announced <= self._limit

    def finished(self, file: IO[bytes]) -> None:
        """Called with the file of a whole message."""
        file.flush()
        if self._kept is not None:
            self._kept.close()
        self._kept = file


def _pass_up(client: socket.socket, server: socket.socket, turn: threading.Lock) -> None:
    """Passes on what gRPC sends, frame by frame: the other thread puts frames of its own between them."""
    with contextlib.suppress(OSError), client.makefile("rb", _CHUNK) as sent:
        server.sendall(sent.read(_PREFACE))
        while len(header := sent.read(_HEADER)) == _HEADER:
            payload = sent.read(int.from_bytes(header[:3], "big"))
            with turn:
                server.sendall(header + payload)
    _end(server)


class _Down:
    """Passes on what the server sends, without large messages."""

    def __init__(self, relay: Relay, client: socket.socket, server: socket.socket, turn: threading.Lock) -> None:
        self._relay, self._client, self._server, self._turn = relay, client, server, turn
        self._streams: dict[int, _Stream] = {}

    def run(self) -> None:
        """Returns when the server ends the connection; raises OSError."""
        with cast("BufferedReader", self._server.makefile("rb", _CHUNK)) as sent:
            first = sent.read(_HEADER)
            if len(first) < _HEADER or first[3] != _SETTINGS:  # no HTTP/2: gRPC tells so
                self._client.sendall(first)
                while data := sent.read1(_CHUNK):
                    self._client.sendall(data)
                return
            self._frame(first, sent)
            while len(header := sent.read(_HEADER)) == _HEADER:
                self._frame(header, sent)

    def _frame(self, header: bytes, sent: BufferedReader) -> None:
        kind, flags, stream = header[3], header[4], int.from_bytes(header[5:9], "big") & 0x7FFFFFFF
        payload = sent.read(int.from_bytes(header[:3], "big"))
        if kind == _DATA:
            self._data(header, payload, flags, stream)
        else:
            self._client.sendall(header + payload)
        if kind == _RESET or (kind in (_DATA, _HEADERS) and flags & _END):
            self._streams.pop(stream, None)

    def _data(self, header: bytes, payload: bytes, flags: int, stream: int) -> None:
        data = memoryview(payload)
        if flags & _PADDED:
            data = data[1 : len(data) - payload[0]] if payload else data
        unpadded = len(data)
        state = self._streams.setdefault(stream, _Stream())
        if not state.prefix and state.file is None and len(data) <= state.left:
            state.left -= len(data)
            self._client.sendall(header + payload)
            return
        out = bytearray()
        while data:
            if state.left:
                part, data = data[: state.left], data[state.left :]
                state.left -= len(part)
                self._put(state, part, out, stream)
                continue
            needed = _PREFIX - len(state.prefix)
            state.prefix += data[:needed]
            data = data[needed:]
            if len(state.prefix) == _PREFIX:
                self._begin(state, out, stream)
        if out or flags & _END:
            self._client.sendall(_framed(_DATA, flags & _END, stream, bytes(out)))
        if flags & _PADDED:
            self._grant(len(payload) - unpadded, stream)

    def _begin(self, state: _Stream, out: bytearray, stream: int) -> None:
        """A message begins: it is kept, or passed on."""
        compressed, state.left = struct.unpack(">BI", state.prefix)
        if not compressed and self._relay.keeps(state.left):
            state.file = tempfile.TemporaryFile(buffering=_CHUNK)  # noqa: SIM115 - open until it is taken
            self._grant_ahead(state, stream)
        else:
            out += state.prefix
        state.prefix.clear()

    def _put(self, state: _Stream, part: memoryview, out: bytearray, stream: int) -> None:
        if state.file is None:
            out += part
            return
        try:
            state.file.write(part)
        except OSError as error:
            self._relay.error = error
            raise
        state.granted -= len(part)
        if state.left:
            self._grant_ahead(state, stream)
        else:
            self._relay.finished(state.file)
            state.file = None
            out += bytes(_PREFIX)

    def _grant_ahead(self, state: _Stream, stream: int) -> None:
        more = min(state.left, _AHEAD) - state.granted
        if state.granted < _AHEAD // 2 and more > 0:
            state.granted += more
            self._grant(more, stream)

    def _grant(self, size: int, stream: int) -> None:
        """Lets the server send as much again as gRPC does not get to see, on the connection and on a stream."""
        if size > 0:
            frames = [_framed(_WINDOW, 0, one, struct.pack(">I", size)) for one in {0, stream}]
            with self._turn:
                self._server.sendall(b"".join(frames))


def _framed(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
