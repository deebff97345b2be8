"""The MCP server, on the package `mcp`: tools, resources, instructions; on stdin and stdout or over HTTP."""

from __future__ import annotations

import functools
import socket
import sys
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.responses import JSONResponse
from werkzeug.wrappers import Request

from tpu_profile_plugin.agents import GLOSSARY, GUIDE, text
from tpu_profile_plugin.agents.calls import Calls, input_schema
from tpu_profile_plugin.answers.envelope import compact
from tpu_profile_plugin.errors import Forbidden, NotAvailable, ProfileError, WrongMethod
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.system.process import end_at_once_on_signals
from tpu_profile_plugin.version import __version__

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


_AT_ONCE = 4
"""Calls that are answered at the same time; they share the cores and the memory of decoded profiles."""
_RESOURCES = {
    "tpu-profile://guide": (
        GUIDE,
        "For agents: the order of questions, what numbers mean, what not to conclude.",
    ),
    "tpu-profile://glossary": (GLOSSARY, "The terms of profiles, a sentence each."),
}
_INSTRUCTIONS = """\
Profiles of programs on TPUs, GPUs and CPUs. Read the resource tpu-profile://guide first.
Order: runs, overview, explain (causes with evidence and saving), then follow `next` of each answer: it has the tool and
its arguments. Percentages are of what `base` says. If `cannot_answer` is set, the profile does not tell: no data is not
zero and not "fine". If `from.problems` is set, parts of the profile are missing: say so. Rows come in pages: call again
with `cursor`. A wrong argument gives an error with its choices.
"""


def make_server(calls: Calls) -> Server[dict[str, object]]:
    """A server of these tools, for any transport."""
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def list_tools(_: object, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_tools(calls))

    async def call_tool(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        # A call that the client cancels goes on in its thread, and its answer is dropped.
        answer, failed = await anyio.to_thread.run_sync(
            functools.partial(calls.call, params.name, params.arguments or {}), abandon_on_cancel=True, limiter=limiter
        )
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=compact(answer))]
        return types.CallToolResult(content=content, structured_content=answer, is_error=failed)

    async def list_resources(_: object, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=uri.partition("://")[2], description=about, mime_type="text/markdown")
                for uri, (_, about) in _RESOURCES.items()
            ]
        )

    async def read_resource(_: object, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri not in _RESOURCES:
            raise MCPError(
                types.INVALID_PARAMS, f"There is no resource {uri[:80]!r}; there are {', '.join(_RESOURCES)}."
            )
        try:
            found = text(_RESOURCES[uri][0])
        except NotAvailable as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/markdown", text=found)]
        )

    return Server(
        "tpu-profile",
        version=__version__,
        title="Profiles of TPUs, GPUs and CPUs",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _tools(calls: Calls) -> list[types.Tool]:
    return [
        types.Tool(
            name=tool.name,
            description=tool.summary,
            input_schema=input_schema(tool.parameters),
            annotations=types.ToolAnnotations(
                read_only_hint=not tool.changes,
                destructive_hint=False,
                idempotent_hint=not tool.changes,
                open_world_hint=tool.changes,
            ),
        )
        for tool in calls.tools.values()
    ]


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
