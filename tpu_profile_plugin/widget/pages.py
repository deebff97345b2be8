"""The pages of a logdir without a port: the server's own routes answer requests in this process."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import io
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from tpu_profile_plugin.errors import NotAvailable
from tpu_profile_plugin.report.file import STATIC
from tpu_profile_plugin.server.http.answer import digest
from tpu_profile_plugin.server.http.guard import HEADER
from tpu_profile_plugin.server.http.query import GONE
from tpu_profile_plugin.server.loading import load_tools

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir.single import SingleRun
    from tpu_profile_plugin.run.relations.event_choice import Names, Window
    from tpu_profile_plugin.run.run import Source
    from tpu_profile_plugin.tables.stream import TableStream

_FAST = 1
PAGE_FILES = ("report.js", "report.css")
"""Script and style of the pages."""


class OpenedRun(Protocol):
    """What a widget needs of a run (`opening.OpenRun`)."""

    @property
    def name(self) -> str:
        """Its name in the logdir."""

    @property
    def place(self) -> str | SingleRun:
        """The logdir."""

    @property
    def source(self) -> Source:
        """The caches of the logdir."""

    def events(
        self, hosts: Sequence[str] | None = ..., planes: Names = ..., lines: Names = ..., window: Window | None = ...
    ) -> TableStream:
        """The recorded events."""

    def relation(self, name: str) -> TableStream:
        """A table of the run."""


@dataclass(frozen=True)
class Answered:
    """A response: status, headers, and the body without compression."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Pages:
    """Answers what the pages of a logdir ask; all widgets of the logdir share one."""

    def __init__(self, place: str | SingleRun, source: Source) -> None:
        """`source`: the caches of the opened logdir, so that nothing is decoded twice."""
        from tpu_profile_plugin.server.app import Server
        from tpu_profile_plugin.server.options import from_context

        load_tools(alone=False)
        path = place if isinstance(place, str) else place.path
        options = dataclasses.replace(
            from_context(SimpleNamespace(logdir=path)), hide_capture_button=True, capture_hosts="off", warm_bytes=0
        )
        server = Server(options, logdir=None if isinstance(place, str) else place, source=source)
        self._apps = server.apps()
        weakref.finalize(self, server.close)

    def ask(self, method: str, address: str, body: bytes = b"", gone: Callable[[], bool] | None = None) -> Answered:
        """The answer of a route, such as `page?tag=overview_page&run=R`; never raises for a wrong request.

        Args:
          body: of a POST, as JSON.
          gone: whether the request was cancelled; called while the answer is computed.
        """
        parts = urlsplit(address)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": f"/{unquote(parts.path)}",
            "QUERY_STRING": parts.query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "localhost",
            f"HTTP_{HEADER.upper().replace('-', '_')}": "1",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            GONE: gone,
        }
        told: list[Any] = []
        app = self._apps.get(environ["PATH_INFO"]) or self._apps["/*"]
        sent = b"".join(app(environ, lambda status, headers, _=None: told.extend((status, headers))))
        return Answered(int(told[0].split()[0]), tuple(told[1]), sent)


_shared: weakref.WeakValueDictionary[tuple[str, int], Pages] = weakref.WeakValueDictionary()


def pages_of(run: OpenedRun) -> Pages:
    """The pages of the logdir of a run, shared by all who hold them; they end with the last."""
    key = str(getattr(run.place, "path", run.place)), id(run.source.cache)
    found = _shared.get(key)
    if found is None:
        found = _shared[key] = Pages(run.place, run.source)
    return found


def prepare() -> None:
    """Imports and reads what a first page needs, so that it comes at once; raises NotAvailable."""
    import tpu_profile_plugin.server.app  # noqa: F401

    load_tools(alone=False)
    module_text()
    build_of_pages()
    for name in PAGE_FILES:
        packed_pages(name)


@functools.cache
def module_text() -> str:
    """The ES module that a notebook runs for each widget: it frames the pages and passes their requests on."""
    return _built("widget/widget.js").decode()


@functools.cache
def packed_pages(name: str) -> bytes:
    """A file of the pages, `report.js` or `report.css`, compressed (gzip)."""
    return gzip.compress(_built(f"report/{name}"), _FAST, mtime=0)


@functools.cache
def build_of_pages() -> str:
    """What tells the built pages from others, so that a notebook fetches them once."""
    return digest(_built("report/report.js") + _built("report/report.css"))


def _built(name: str) -> bytes:
    try:
        return (STATIC.parent / name).read_bytes()
    except FileNotFoundError:
        raise NotAvailable("The pages are not built: run `npm run build` in frontend/.") from None
