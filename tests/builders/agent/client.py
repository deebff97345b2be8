"""Calls tools of the MCP server, and nothing else; follows `next` and keeps within a number of calls and characters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client

Call = Callable[[str, Mapping[str, Any]], str]
"""Calls a tool with arguments; the text that a model would read."""
MOST_CALLS, MOST_CHARACTERS = 8, 20_000


class Agent:
    """One conversation.

    Attributes:
      calls: the calls so far, as text.
      characters: how much was read.
      read: the answers, in order.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self.calls: list[str] = []
        self.characters = 0
        self.read: list[Any] = []

    def start(self, match: str = "") -> Any:
        """The runs whose name contains a text: the only question that no answer has proposed."""
        return self._ask("runs", {"match": match} if match else {})

    def deeper(self, envelope: Mapping[str, Any], *tools: str, **having: Any) -> Any:
        """The answer to the first proposed question of one of these tools; None if there is none.

        Arguments `having` must have these values; callables judge a value, and None stands for its absence.
        """
        for one in envelope["next"]:
            if one["tool"] in tools and all(_fits(one["arguments"].get(name), want) for name, want in having.items()):
                told = f"{one['tool']} {json.dumps(one['arguments'], sort_keys=True)}"
                if told not in self.calls:
                    return self._ask(one["tool"], one["arguments"])
        return None

    def text(self) -> str:
        """All that was read."""
        return "\n".join(json.dumps(one["answer"], ensure_ascii=False) for one in self.read)

    def _ask(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append(f"{tool} {json.dumps(arguments, sort_keys=True)}")
        text = self._call(tool, arguments)
        self.characters += len(text)
        envelope = json.loads(text)
        assert "error" not in envelope, (tool, arguments, envelope)
        self.read.append(envelope)
        return envelope

    def within_bounds(self) -> bool:
        """Whether a model could afford the conversation."""
        return len(self.calls) <= MOST_CALLS and self.characters <= MOST_CHARACTERS


def _fits(value: Any, wanted: Any) -> bool:
    return bool(wanted(value)) if callable(wanted) else value == wanted


@contextmanager
def connected(server: Any) -> Iterator[Call]:
    """Calls to a server: an object in this process, the parameters of a process, or an address."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:

        def call(tool: str, arguments: Mapping[str, Any]) -> str:
            result = portal.call(client.call_tool, tool, dict(arguments))
            text: str = result.content[0].text
            return text

        yield call
