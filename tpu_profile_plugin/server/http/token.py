"""An access token for a server that other machines reach: in the address once, then in a cookie."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

PARAMETER = "token"
_BEARER = "bearer "
_REFUSED = (
    "This server needs its access token: open the address that it printed when it started, which ends with "
    "?token=..., or send the header Authorization: Bearer TOKEN.\n"
)


def guarded(app: WsgiApp, token: str) -> WsgiApp:
    """The application for requests that have the token, as cookie or header; an address with it sets the cookie.

    Other requests get status 401. Comparisons take the same time whatever is sent.
    """
    # Servers on other ports of the machine share its cookies, so each has a name of its own.
    name = f"tpu_profile_{hashlib.sha256(token.encode()).hexdigest()[:12]}"

    kept = quote(token, safe="")

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        given = [value for key, value in query if key == PARAMETER]
        if given and _same(given[-1], token) and environ.get("REQUEST_METHOD") in ("GET", "HEAD"):
            rest = urlencode([pair for pair in query if pair[0] != PARAMETER])
            path = quote(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")) or "/"
            # One slash: two would be the address of another host.
            place = f"/{path.lstrip('/')}{f'?{rest}' if rest else ''}"
            cookie = f"{name}={kept}; Path=/; HttpOnly; SameSite=Lax"
            headers = [("Location", place), ("Set-Cookie", cookie), ("Cache-Control", "no-store")]
            start_response("302 Found", [*headers, ("Content-Length", "0"), ("Content-Type", "text/plain")])
            return []
        if _same(_bearer(environ), token) or any(_same(sent, kept) for sent in _cookies(environ, name)):
            return app(environ, start_response)
        body = _REFUSED.encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        start_response("401 Unauthorized", [*headers, ("WWW-Authenticate", "Bearer"), ("Cache-Control", "no-store")])
        return [body] if environ.get("REQUEST_METHOD") != "HEAD" else []

    return answer


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _cookies(environ: dict[str, Any], name: str) -> list[str]:
    """The values of the cookies of this name, whatever other programs on this host have put beside them."""
    pairs = (part.strip(" \t").partition("=") for part in str(environ.get("HTTP_COOKIE", "")).split(";"))
    return [value for key, _, value in pairs if key == name]


def _bearer(environ: dict[str, Any]) -> str:
    text = str(environ.get("HTTP_AUTHORIZATION", ""))
    return text[len(_BEARER) :].strip() if text.lower().startswith(_BEARER) else ""
