"""The list of tools: complete, in order, well described."""

import re

import pytest

import tpu_profile_plugin.compat.xprof as xprof
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.tools import registry
from tpu_profile_plugin.tools.tool import Tool

TOOLS = pytest.mark.parametrize("tool", registry.TOOLS, ids=lambda tool: tool.id)


@TOOLS
def test_tools_are_described(tool: Tool):
    assert re.fullmatch(r"[a-z_]+@?", tool.id)
    assert tool.title
    assert tool.summary.endswith((".", "?"))
    assert tool.version >= 1
    for param in tool.params:
        assert param.sentence.endswith("."), param.name
        assert param.default is None or param.parse(str(param.default)) == param.default, param.name


def test_ids_and_aliases_are_unique():
    names = [name for tool in registry.TOOLS for name in (tool.id, *tool.aliases)]
    assert len(names) == len(set(names))


def test_tools_are_in_the_order_that_clients_know():
    known = [tool.id for tool in registry.TOOLS if tool.id in xprof.ORDER]
    assert known == sorted(known, key=xprof.ORDER.index)


@pytest.mark.parametrize("tag", ["profile_contents", "profile_contents^", "profile_contents#"])
def test_old_spellings(tag):
    assert registry.find(tag).id == "profile_contents"


def test_renamed_tools():
    assert registry.canonical("tensorflow_stats^") == "framework_op_stats"
    assert registry.canonical("trace_viewer@^") == "trace_viewer@"


@pytest.mark.parametrize("tag", ["", "nope", "profile_contents@", "Profile_Contents", "../x", "^", "__class__"])
def test_unknown_tools(tag):
    with pytest.raises(NotFound) as caught:
        registry.find(tag)
    assert caught.value.code == "tool_not_found"
    assert "profile_contents" in caught.value.details["tools"]
