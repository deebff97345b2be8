"""An HTTP answer: body, validators, compression and safety headers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from werkzeug.datastructures import Headers
from werkzeug.wrappers import Request, Response

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.errors import ProfileError

StartResponse = Callable[..., Any]

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"

REVALIDATE = "no-cache"
IMMUTABLE = "public, max-age=31536000, immutable"
NEVER = "no-store"

# No guessing of types, no embedding by pages of other origins, and no address of a run told to another site.
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),
)


@dataclass(frozen=True)
class Answer:
    """What a route answers with.

    Attributes:
      body: what to send.
      status: HTTP status.
      etag: identity of the content without quotes; None: made from the body; "": none is sent.
      cache: the Cache-Control header.
      headers: further headers.
    """

    body: Body
    status: int = 200
    etag: str | None = None
    cache: str = REVALIDATE
    headers: tuple[tuple[str, str], ...] = field(default=())


def json_answer(value: Any, status: int = 200) -> Answer:
    """A JSON answer."""
    return Answer(
        Body(json.dumps(value, separators=(", ", ": "), ensure_ascii=False).encode("utf-8", "replace"), JSON), status
    )


def text_answer(text: str, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """A plain text answer."""
    return Answer(Body(text.encode("utf-8", "replace"), TEXT), status, headers=headers)


def error_answer(error: ProfileError) -> Answer:
    """The JSON form of an error; never stored by anyone."""
    facts = {"error": {"code": error.code, "message": error.message, "details": error.details}}
    body = Body(json.dumps(facts, ensure_ascii=True, default=str).encode(), JSON)
    headers: tuple[tuple[str, str], ...] = ()
    allow = error.details.get("allow")
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED and isinstance(allow, str):
        headers = (("Allow", allow),)
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers = (("Retry-After", "2"),)
    return Answer(body, error.status, "", NEVER, headers)


def content_policy(framing: str) -> str:
    """The Content-Security-Policy of our pages: everything from this server, nothing inline, no eval."""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'self'; form-action 'none'"
    )
    return policy if framing == "any" else policy + "; frame-ancestors 'self'"


class _Response(Response):
    """A response whose 304 keeps its Content-Type: TensorBoard logs a warning about every response without one."""

    def get_wsgi_headers(self, environ: dict[str, Any]) -> Headers:
        headers = super().get_wsgi_headers(environ)
        headers.setdefault("Content-Type", self.headers["Content-Type"])
        return headers


def send(answer: Answer, request: Request, start_response: StartResponse, policy: str) -> Iterable[bytes]:
    """Writes an answer: 304 when the client has it, gzip when accepted and worth it, no body for HEAD."""
    _send_at_once(request)
    body = answer.body
    headers = [("Content-Type", body.content_type), *_ALWAYS]
    headers += [("Cache-Control", answer.cache), ("Vary", "Accept-Encoding"), *body.headers, *answer.headers]
    if body.content_type.startswith("text/html"):
        headers.append(("Content-Security-Policy", policy))
    response = _Response(status=f"{answer.status} {HTTPStatus(answer.status).phrase}", headers=headers)
    etag = digest(body.plain) if answer.etag is None else answer.etag
    if etag and answer.status == HTTPStatus.OK:
        response.set_etag(etag, weak=True)  # the compressed and the plain form share it
        response.make_conditional(request)
    if response.status_code == answer.status:
        packed = body.packed() if request.accept_encodings.quality("gzip") > 0 else None
        if packed is not None:
            response.content_encoding = "gzip"
        response.set_data(body.plain if packed is None else packed)
    return response(request.environ, start_response)


def _send_at_once(request: Request) -> None:
    """Lets the end of a body go without waiting until its beginning has arrived, where the server shows its socket."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        with contextlib.suppress(OSError):  # it may be gone, or not be TCP
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def digest(data: bytes) -> str:
    """A short identity of some bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
