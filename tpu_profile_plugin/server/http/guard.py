"""Checks the origin of requests: writes only from this page and from programs, never from a page of another origin."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import Forbidden

HEADER = "X-Profile-Request"
"""Our page sends it; a page of another origin would need a CORS preflight, which is not granted."""


class Guard:
    """Checks requests by their Host header and by the page that sent them."""

    def __init__(self, hosts: Iterable[str] = (), *, closed: bool = False) -> None:
        """`hosts`: names of this server besides those of this machine; `closed`: reject requests under other names."""
        self._hosts = frozenset(host.strip().lower() for host in hosts if host.strip())
        self._closed = closed

    def check_read(self, request: Request) -> None:
        """Raises Forbidden for an unknown server name if the list of names is closed.

        Otherwise every name is served, as by TensorBoard itself: a proxy may use any.
        """
        if self._closed:
            self._check_name(request, "requests")

    def check_write(self, request: Request) -> None:
        """Raises Forbidden for a request that a page of another origin may have sent.

        Browsers identify the page in Sec-Fetch-Site, or at least in Origin. The Host check stops a page whose name was
        made to resolve to this machine (DNS rebinding).
        """
        self._check_name(request, "changes")
        site = request.headers.get("Sec-Fetch-Site")
        origin = request.headers.get("Origin")
        if site is not None and site != "same-origin":
            raise Forbidden("Only pages of this server may make this request, not those of another origin.")
        if site is None and origin is not None and not _same(origin, request):
            raise Forbidden("Only pages of this server may make this request, not those of another origin.")
        if (site is not None or origin is not None) and HEADER not in request.headers:
            raise Forbidden(f"Browsers must send the header {HEADER} with this request.")

    def check_changing_get(self, request: Request) -> None:
        """Raises Forbidden for a GET with effects unless a script of a page of this server is known to have sent it.

        Unlike a POST, a GET may be sent by any link or image, also by one in text that a page of this server shows, so
        it must ask for JSON and carry the browser's word on its origin: Sec-Fetch-Site, or on plain http the Referer.
        """
        self._check_name(request, "changes")
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        ours = site == "same-origin" if site is not None else _same(request.headers.get("Referer", ""), request)
        if not ours or (origin is not None and not _same(origin, request)):
            raise Forbidden("Only pages of this server may make this request by GET; programs send a POST.")
        if request.headers.get("Sec-Fetch-Dest", "empty") != "empty" or "json" not in request.headers.get("Accept", ""):
            raise Forbidden("Only scripts of this server's pages may make this request by GET, not links or images.")

    def _check_name(self, request: Request, rejected: str) -> None:
        host = _host_name(request.host)
        if not self._known(host):
            raise Forbidden(
                f"{host[:100]!r} is not a known name of this server, which rejects {rejected} under unknown names. "
                "The operator of TensorBoard can add the name with --profile_server_names "
                "(environment: TPU_PROFILE_SERVER_NAMES)."
            )

    def _known(self, host: str) -> bool:
        if host in ("localhost", socket.gethostname().lower()) or host.endswith(".localhost") or host in self._hosts:
            return True
        if "*" in self._hosts:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True  # a page's own name cannot be an IP address


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same(origin: str, request: Request) -> bool:
    """Same name and port. A proxy may terminate TLS, so the scheme only determines the default port."""
    try:
        sent, ours = urlsplit(origin), urlsplit(f"//{request.host}")
        default = 443 if sent.scheme == "https" else 80
        return bool(sent.hostname) and (sent.hostname, sent.port or default) == (ours.hostname, ours.port or default)
    except ValueError:
        return False
