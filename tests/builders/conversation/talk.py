"""One conversation: calls of tools and nothing else, by following `next`, within a number of calls and characters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tpu_profile_plugin.answers.envelope import compact

Call = Callable[[str, Mapping[str, Any]], Any]
"""Calls a tool with arguments; its answer."""
MOST_CALLS, MOST_CHARACTERS = 8, 20_000


class Conversation:
    """Asks what answers propose, and keeps count.

    Attributes:
      calls: the calls so far, as text.
      read: the answers, in order.
    """

    def __init__(self, call: Call, max_bytes: int | None = None) -> None:
        """Takes how to call, and the most bytes of each answer; that of the server by default."""
        self._call = call
        self._more = {} if max_bytes is None else {"max_bytes": max_bytes}
        self.calls: list[str] = []
        self.read: list[Any] = []

    def start(self, match: str = "") -> Any:
        """The runs whose name contains a text: the only question that no answer has proposed."""
        return self._ask("runs", {"match": match} if match else {})

    def deeper(self, envelope: Mapping[str, Any], *tools: str, **having: Any) -> Any:
        """The answer to the first question that an answer proposes of these tools, not asked before; None without one.

        Arguments `having` must have these values; None stands for their absence.
        """
        for one in envelope["next"]:
            tool, arguments = one["tool"], one["arguments"]
            fits = tool in tools and all(arguments.get(name) == value for name, value in having.items())
            if fits and _told(tool, arguments) not in self.calls:
                return self._ask(tool, arguments)
        return None

    def text(self) -> str:
        """All answers that were read."""
        return "\n".join(json.dumps(one["answer"], ensure_ascii=False) for one in self.read)

    @property
    def characters(self) -> int:
        """The length of what was read."""
        return sum(len(compact(one)) for one in self.read)

    def within_bounds(self) -> bool:
        """Whether a model could afford it."""
        return len(self.calls) <= MOST_CALLS and self.characters <= MOST_CHARACTERS

    def _ask(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append(_told(tool, arguments))
        envelope = self._call(tool, {**arguments, **self._more})
        assert "error" not in envelope, (tool, arguments, envelope)
        self.read.append(envelope)
        return envelope


def _told(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"
