"""An HTTP answer: body, validators, compression and safety headers."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from werkzeug.datastructures import Accept
from werkzeug.exceptions import HTTPException
from werkzeug.http import parse_accept_header
from werkzeug.wrappers import Request

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError
from tpu_profile_plugin.units import MIB

StartResponse = Callable[..., Any]

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"

REVALIDATE = "no-cache"
IMMUTABLE = "public, max-age=31536000, immutable"
NEVER = "no-store"

# Types are not guessed, pages of other origins embed nothing, and other sites learn no address of a run.
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),
)


@dataclass(frozen=True)
class Answer:
    """The answer of a route.

    Attributes:
      body: what to send.
      status: HTTP status.
      etag: identity of the content without quotes; None: made from the body; "" or cache `NEVER`: not sent.
      cache: the Cache-Control header.
      headers: further headers.
    """

    body: Body
    status: int = 200
    etag: str | None = None
    cache: str = REVALIDATE
    headers: tuple[tuple[str, str], ...] = field(default=())


def json_answer(value: Any, status: int = 200, cache: str = REVALIDATE) -> Answer:
    """A JSON answer."""
    text = json.dumps(value, separators=(", ", ": "), ensure_ascii=False)
    return Answer(Body(text.encode("utf-8", "replace"), JSON), status, cache=cache)


def text_answer(
    text: str, status: int = 200, cache: str = REVALIDATE, headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    """A plain text answer."""
    return Answer(Body(text.encode("utf-8", "replace"), TEXT), status, cache=cache, headers=headers)


def error_answer(error: ProfileError) -> Answer:
    """The JSON form of an error, which must not be cached."""
    facts = {"error": {"code": error.code, "message": error.message, "details": error.details}}
    body = Body(json.dumps(facts, ensure_ascii=True, default=str).encode(), JSON)
    headers: tuple[tuple[str, str], ...] = ()
    allow = error.details.get("allow")
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED and isinstance(allow, str):
        headers = (("Allow", allow),)
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers = (("Retry-After", "2"),)
    return Answer(body, error.status, cache=NEVER, headers=headers)


def content_policy(framing: str) -> str:
    """The Content-Security-Policy of our pages: everything from this server, nothing inline, no eval."""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'self'; form-action 'none'"
    )
    return policy if framing == "any" else policy + "; frame-ancestors 'self'"


def send(answer: Answer, request: Request, start_response: StartResponse, policy: str) -> Iterable[bytes]:
    """Writes an answer: 304 when the client has it, gzip when accepted and worth it, no body for HEAD.

    Without werkzeug's Response, which takes a fifth of the time of an answer from memory.
    """
    _send_at_once(request)
    body = answer.body
    headers = [("Content-Type", body.content_type), *_ALWAYS]
    headers += [("Cache-Control", answer.cache), ("Vary", "Accept-Encoding"), *body.headers, *answer.headers]
    if body.content_type.startswith("text/html"):
        headers.append(("Content-Security-Policy", policy))
    status = wanted = HTTPStatus(answer.status)
    etag = answer.etag if answer.cache != NEVER else ""
    etag = digest(body.plain) if etag is None else etag
    if etag and status == HTTPStatus.OK:
        headers.append(("ETag", f'W/"{etag}"'))  # weak: the compressed and the plain form share it
        status = _condition(request, etag)
    data = b""
    # A 304 keeps its Content-Type: TensorBoard logs a warning about every response without one.
    if status == wanted:
        packed = body.packed() if _takes_gzip(request.headers.get("Accept-Encoding", "")) else None
        data = body.plain if packed is None else packed
        headers += [("Content-Encoding", "gzip")] if packed is not None else []
        headers.append(("Content-Length", str(len(data))))
    _check(headers)
    start_response(f"{status.value} {status.phrase}", headers)
    return [data] if data and request.method != "HEAD" else []


def _condition(request: Request, etag: str) -> HTTPStatus:
    """200, 304 if the client has the answer, or 412 if the answer differs from the one that it named."""
    if request.method in ("GET", "HEAD"):
        if request.if_match and not request.if_match.contains(etag):
            return HTTPStatus.PRECONDITION_FAILED
        if not request.if_match and request.if_none_match.contains_weak(etag):
            return HTTPStatus.NOT_MODIFIED
    return HTTPStatus.OK


@functools.lru_cache(64)
def _takes_gzip(accepted: str) -> bool:
    """Whether a header Accept-Encoding allows gzip."""
    return parse_accept_header(accepted, Accept).quality("gzip") > 0


def _check(headers: Iterable[tuple[str, str]]) -> None:
    """Raises ValueError for a line break, which would begin another header."""
    if any("\n" in value or "\r" in value for _, value in headers):
        raise ValueError("a header has a line break")


def _send_at_once(request: Request) -> None:
    """Sends the end of a body without waiting for the acknowledgement of its beginning, if the socket is accessible."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        with contextlib.suppress(OSError):  # the socket may be closed, or not TCP
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def digest(data: bytes) -> str:
    """A short identity of some bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# The JSON object in the body of a request with effects.

_MAX_BODY_BYTES = MIB


def json_body(request: Request) -> dict[str, Any]:
    """The object; empty without a body. Raises BadRequest."""
    if (request.content_length or 0) > _MAX_BODY_BYTES:
        raise BadRequest("The body is too large.")
    request.max_content_length = _MAX_BODY_BYTES  # also for chunked bodies, which do not announce their length
    try:
        data = request.get_data()
    except (HTTPException, OSError):
        raise BadRequest("The body is too large or incomplete.") from None
    if not data:
        return {}
    if request.mimetype != "application/json":
        raise BadRequest("The body must be JSON, with the header Content-Type: application/json.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadRequest("The body is not JSON.") from None
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    return value


# Serves the built frontend: names are looked up in a directory listing, never joined to a path from a request.

STATIC = Path(__file__).resolve().parents[2] / "static"

_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": HTML,
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_HASHED = re.compile(r"-[A-Za-z0-9_-]{8,100}\.[a-z0-9.]{1,100}$")

_ENTRY = b"""// Used when the frontend is not built: TensorBoard calls render() in the plugin's frame.
export function render() {
  document.location.href = new URL("index.html", import.meta.url).href;
}
"""
_MISSING = b"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Profile: the page is not built</title></head>
<body>
<h1>The Profile page is not built yet</h1>
<p>The plugin is running, but its web page is missing from the installation.
In a source checkout, build it once and reload:</p>
<pre>cd frontend
npm ci
npm run build</pre>
<p>or install the package with <code>pip install .</code>, which builds it too.
A wheel always contains the page; if you see this with an installed wheel, reinstall it.</p>
</body>
</html>
"""


class Assets:
    """Files of the static directory, cached in memory until they change."""

    def __init__(self, directory: Path = STATIC) -> None:
        self._directory = directory
        self._cached: dict[str, tuple[tuple[int, int], Body]] = {}

    def page(self) -> Answer:
        """index.html, or a page with instructions for building it."""
        body = self._find(self._directory, "index.html")
        return Answer(Body(_MISSING, HTML), 503, cache=NEVER) if body is None else Answer(body)

    def entry(self) -> Answer:
        """index.js, the module that TensorBoard loads."""
        return Answer(self._find(self._directory, "index.js") or Body(_ENTRY, _TYPES[".js"]))

    def static(self, name: str) -> Answer:
        """A file below static/; files with a content hash in their name are immutable."""
        directory = self._directory / "static"
        *parents, last = name.split("/")
        for parent in parents:
            if parent not in _names(directory, directories=True):
                raise _absent(name)
            directory = directory / parent
        body = self._find(directory, last)
        if body is None:
            raise _absent(name)
        return Answer(body, cache=IMMUTABLE if _HASHED.search(last) else REVALIDATE)

    def _find(self, directory: Path, name: str) -> Body | None:
        if name not in _names(directory, directories=False):
            return None
        path = directory / name
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            cached = self._cached.get(str(path))
            if cached is not None and cached[0] == stamp:
                return cached[1]
            content_type = _TYPES.get(path.suffix, "application/octet-stream")
            body = Body(path.read_bytes(), content_type)
        except OSError:
            return None
        self._cached[str(path)] = (stamp, body)
        return body


def _names(directory: Path, *, directories: bool) -> set[str]:
    try:
        with os.scandir(directory) as entries:
            return {entry.name for entry in entries if entry.is_dir(follow_symlinks=False) == directories}
    except OSError:
        return set()


def _absent(name: str) -> NotFound:
    return NotFound(f"There is no static file {name[:80]!r}.")
