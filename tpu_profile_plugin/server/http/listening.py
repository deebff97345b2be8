"""The server of `tpu-profile serve`: waitress, with limits in time and number for what clients send and read slowly.

One thread holds all connections; a request takes one of a fixed number of threads once it has arrived as a whole, and
its answer needs none while the client reads it. So requests that are never finished hold nothing but a connection,
whether they have the access token or not.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from typing import Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask

from tpu_profile_plugin.server.http.token import WsgiApp
from tpu_profile_plugin.units import KIB, MIB

THREADS = 64
"""Requests that are answered at a time; captures and long computations take one each. Started when needed."""
CONNECTIONS = 512
"""Beyond them, the oldest connection without a whole request is closed for a new one."""
HEADERS_S = 15.0
"""Seconds from connecting, or the first byte of a further request, to the end of its headers."""
REQUEST_S = 60.0
"""The same to the end of its body."""
IDLE_S = 75.0
"""Seconds between requests of a connection."""
READING_S, READING_RATE = 60.0, 16 * KIB
"""Seconds to read an answer, plus one for each `READING_RATE` bytes of it."""

_HEADER_BYTES = 256 * KIB
_BODY_BYTES = 2 * MIB
"""Routes refuse more than 1 MiB themselves, with a reason."""
_IN_MEMORY = 8 * MIB
"""Bytes of an answer beyond which it waits on disk."""
_CHECKED_EVERY_S = 1


class _Task(WSGITask):  # type: ignore[misc]
    def get_environment(self) -> dict[str, Any]:
        """With the socket, as Werkzeug's server gives it: whoever computes sees that a client has left."""
        environ: dict[str, Any] = super().get_environment()
        environ["werkzeug.socket"] = self.channel.socket
        return environ


class _Connection(HTTPChannel):  # type: ignore[misc]
    """A connection.

    Attributes:
      begun: when its first request, or the first byte of the present one, was waited for; 0 between requests.
      answered: when the first byte of the answer was ready; 0 if all are sent.
      owed: bytes of the answer, sent or not.
    """

    task_class = _Task
    begun = 0.0
    answered = 0.0
    owed = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.begun = time.monotonic()
        super().__init__(*args, **kwargs)

    def received(self, data: bytes) -> bool:
        began = self.begun or time.monotonic()
        done: bool = super().received(data)
        self.begun = began if self.request is not None else 0.0
        return done

    def write_soon(self, data: Any) -> int:
        self.answered = self.answered or time.monotonic()
        self.owed += len(data)
        return int(super().write_soon(data))

    def waits(self) -> bool:
        """Whether no request is answered and no answer sent."""
        return not self.requests and not self.total_outbufs_len

    def end(self) -> None:
        """Ends the connection at the next turn of the loop, whatever its client does."""
        self.will_close = True
        with contextlib.suppress(OSError):  # a full socket would be closed only once its client reads
            self.socket.shutdown(socket.SHUT_RDWR)

    def late(self, now: float) -> bool:
        """Whether the client has sent or read too slowly."""
        if self.total_outbufs_len:
            self.answered = self.answered or now
            self.owed = max(self.owed, self.total_outbufs_len)
            return now - self.answered > READING_S + self.owed / READING_RATE
        if self.requests:
            return False
        self.answered, self.owed = 0.0, 0
        if not self.begun:
            return bool(time.time() - self.last_activity > IDLE_S)
        whole = self.request is not None and self.request.headers_finished
        return now - self.begun > (REQUEST_S if whole else HEADERS_S)


class _Threads(ThreadedTaskDispatcher):  # type: ignore[misc]
    """Starts a thread when none is idle."""

    def add_task(self, task: Any) -> None:
        needed = min(THREADS, len(self.queue) + self.active_count + 1)
        if len(self.threads) < needed:
            self.set_thread_count(needed)
        super().add_task(task)


class Listening(TcpWSGIServer):  # type: ignore[misc]
    """An application on a bound socket; `run` serves it until the process ends."""

    channel_class = _Connection

    def __init__(self, app: WsgiApp, bound: socket.socket) -> None:
        # A queue is no news to who started the server.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        adjusted = Adjustments(
            sockets=[bound],
            backlog=CONNECTIONS,
            connection_limit=2 * CONNECTIONS,
            cleanup_interval=_CHECKED_EVERY_S,
            max_request_header_size=_HEADER_BYTES,
            max_request_body_size=_BODY_BYTES,
            outbuf_overflow=_IN_MEMORY,
            clear_untrusted_proxy_headers=False,
            ident=None,
            server_name=bound.getsockname()[0],
        )
        info = (bound.family, bound.type, bound.proto, bound.getsockname())
        super().__init__(app, {}, _sock=bound, dispatcher=_Threads(), adj=adjusted, sockinfo=info, bind_socket=False)

    def run(self) -> None:
        """Serves until Ctrl-C; SystemExit ends it at once."""
        with contextlib.suppress(KeyboardInterrupt):
            self.asyncore.loop(self.adj.asyncore_loop_timeout, self.adj.asyncore_use_poll, self._map)

    def handle_accept(self) -> None:
        super().handle_accept()
        if len(self.active_channels) > CONNECTIONS:
            waiting = [
                channel for channel in self.active_channels.values() if channel.waits() and not channel.will_close
            ]
            if waiting:
                min(waiting, key=lambda channel: (not channel.begun, channel.begun or channel.last_activity)).end()

    def maintenance(self, now: float) -> None:
        """Closes the connections of clients that are too slow; called about once a second."""
        for channel in list(self.active_channels.values()):
            if not channel.will_close and channel.late(time.monotonic()):
                channel.end()
