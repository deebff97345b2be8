"""The MCP server: tools, resources and instructions, on the `mcp` package."""

from __future__ import annotations

import functools

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from tpu_profile_plugin.agents.calls import Calls
from tpu_profile_plugin.agents.schema import input_schema
from tpu_profile_plugin.agents.texts import GLOSSARY, GUIDE, text
from tpu_profile_plugin.answers.envelope import compact
from tpu_profile_plugin.errors import NotAvailable
from tpu_profile_plugin.version import __version__

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
