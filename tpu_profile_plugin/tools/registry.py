"""The list of all tools, in the order of the menu; adding a tool is one module and one line here."""

from __future__ import annotations

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.tools import profile_contents
from tpu_profile_plugin.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (profile_contents.TOOL,)

_BY_ID: dict[str, Tool] = {name: tool for tool in TOOLS for name in (tool.id, *tool.aliases)}


def find(tag: str) -> Tool:
    """The tool that a request's `tag` means, old spellings included; raises NotFound (code tool_not_found)."""
    tool = _BY_ID.get(canonical(tag))
    if tool is None:
        raise NotFound(
            f"There is no tool {tag[:80]!r}.", code="tool_not_found", tools=[tool.id for tool in TOOLS if tool.offered]
        )
    return tool


def canonical(tag: str) -> str:
    """A tool id without the `^` or `#` that older links append for the source format."""
    return tag.rstrip("^#")
