"""Calls of tools: arguments are checked, then a verb answers, or an error says which argument may have which values."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.agents.capturing import CAPTURE, Capturing
from tpu_profile_plugin.agents.schema import LOGDIR, with_logdir
from tpu_profile_plugin.answers.answer import Next
from tpu_profile_plugin.answers.envelope import ADDRESS, Door, ask, error_of
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.answers.verb import Parameter, check
from tpu_profile_plugin.errors import NotFound, ProfileError
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.server.loading import load_tools

_LOG = logging.getLogger("tpu_profile_plugin")
_INTERNAL = "Internal error while answering; the log of this server has the details."
_OF_DOOR = ("run", "host", "cursor", "max_bytes")


@dataclass(frozen=True)
class Tool:
    """A tool as agents see it.

    Attributes:
      name: as it is called.
      summary: what the answer tells.
      parameters: its arguments.
      changes: whether it writes into a logdir.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    changes: bool = False


class Calls:
    """The tools over some logdirs, which stay open, so that figures of their runs are kept between calls."""

    def __init__(
        self, logdirs: Mapping[str, OpenLogdir], address: str = ADDRESS, capturing: Capturing | None = None
    ) -> None:
        """Takes the logdirs by the name that agents use, the address of the server of pages, and who may capture."""
        self._logdirs = dict(logdirs)
        self._only = next(iter(self._logdirs))
        self._address = address.rstrip("/")
        self._capturing = capturing
        tools = [Tool(verb.name, verb.summary, self._with_logdir(verb.every)) for verb in VERBS]
        if capturing is not None:
            tools.append(Tool(CAPTURE, capturing.summary, self._with_logdir(capturing.parameters), changes=True))
        self.tools = {tool.name: tool for tool in tools}

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """The envelope of the answer, or an error object; and whether it is an error. Raises nothing."""
        try:
            load_tools()
            return self._answer(name, arguments), False
        except ProfileError as error:
            return error_of(error), True
        except Exception:
            _LOG.exception("the tool %r failed", name[:80])
            return error_of(ProfileError(_INTERNAL)), True

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        tool = self.tools.get(name)
        if tool is None:
            choices = list(self.tools)
            message = f"There is no tool {name[:80]!r}; there are {', '.join(choices)}."
            raise NotFound(message, code="tool_not_found", argument="name", choices=choices)
        # Agents often send null for what they leave out.
        given = {id_: value for id_, value in arguments.items() if value is not None}
        checked = check(name, tool.parameters, given)
        asked_of = {LOGDIR: checked.pop(LOGDIR)} if LOGDIR in checked else {}
        logdir = self._logdirs[asked_of.get(LOGDIR, self._only)]

        def deeper(one: Next, about: Mapping[str, str]) -> dict[str, Any]:
            return {"tool": one.verb, "arguments": {**asked_of, **about, **one.arguments}, "why": one.why}

        if tool.changes and self._capturing is not None:
            return self._capturing.envelope(logdir, checked, deeper)
        told = {id_: checked.pop(id_) for id_ in _OF_DOOR if id_ in checked}
        return ask(logdir, name, checked, Door(deeper, self._address), **told)

    def _with_logdir(self, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return with_logdir(parameters, list(self._logdirs))

    def close(self) -> None:
        """Ends worker processes."""
        for logdir in self._logdirs.values():
            logdir.close()
