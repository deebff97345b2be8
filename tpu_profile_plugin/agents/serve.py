"""Runs the MCP server until it is stopped: on stdin and stdout, or over HTTP on this machine."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import Forbidden, NotAvailable, ProfileError, WrongMethod
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.system.process import end_at_once_on_signals

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST, PATH = "127.0.0.1", "/mcp"
_MOST_BODY_BYTES = 1 << 20
_REFUSED = "This server answers programs under the names of this machine, no pages of a browser."


def serve_stdio(server: Server[dict[str, object]]) -> None:
    """Serves one client on stdin and stdout, until stdin ends."""
    end_at_once_on_signals()
    anyio.run(_stdio, server)


async def _stdio(server: Server[dict[str, object]]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def serve_http(server: Server[dict[str, object]], port: int) -> None:
    """Serves clients on this machine, until it is stopped; port 0 selects a free one. Raises NotAvailable."""
    try:
        listening = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise NotAvailable(f"Port {port} cannot be used: {error}.") from None
    print(f"MCP at http://{HOST}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
    end_at_once_on_signals()  # uvicorn ends its requests first
    config = uvicorn.Config(http_app(server), log_level="warning", timeout_graceful_shutdown=1, lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


def http_app(server: Server[dict[str, object]]) -> ASGIApp:
    """The application of `PATH`; who may call it is decided by the rules for changes of the server of pages."""
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,  # tools keep nothing of a client
        max_request_body_size=_MOST_BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    guard = Guard(closed=True)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                guard.check_write(_request(scope))
                if scope["method"] != "POST":
                    # A GET would wait for messages of this server, which sends none.
                    raise WrongMethod("Only POST is served here.", allow="POST")
            except ProfileError as error:
                message = _REFUSED if isinstance(error, Forbidden) else error.message
                body = {"error": {"code": error.code, "message": message}}
                headers = {"Allow": error.allow} if isinstance(error, WrongMethod) else {}
                await JSONResponse(body, error.status, headers)(scope, receive, send)
                return
        await inner(scope, receive, send)

    return app


def _request(scope: Scope) -> Request:
    """The headers of a request as the rules read them."""
    environ = {
        "REQUEST_METHOD": scope["method"],
        "wsgi.url_scheme": scope["scheme"],
        "SERVER_NAME": "",
        "SERVER_PORT": "",
    }
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value.decode("latin-1")
    return Request(environ)
