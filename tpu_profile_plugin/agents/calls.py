"""Tools of agents: arguments are checked, then a verb answers or a program is captured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_profile_plugin.answers.answer import Next
from tpu_profile_plugin.answers.envelope import ADDRESS, Deeper, Door, ask, error_of
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.answers.verb import Parameter, check
from tpu_profile_plugin.capture import CaptureFailed
from tpu_profile_plugin.capture.addresses import AllowList, parse_addresses
from tpu_profile_plugin.capture.job import Jobs
from tpu_profile_plugin.capture.options import CaptureOptions
from tpu_profile_plugin.errors import BadRequest, Forbidden, NotAvailable, NotFound, ProfileError
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.run.facts import count_events
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.system.terminal import LOG as _LOG

LOGDIR = "logdir"
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def with_logdir(parameters: Sequence[Parameter], logdirs: Sequence[str]) -> tuple[Parameter, ...]:
    """The parameters, and which logdir is meant if there are several."""
    if len(logdirs) < 2:
        return tuple(parameters)
    return (Parameter(LOGDIR, str, "The logdir that is asked about.", tuple(logdirs), required=True), *parameters)


def input_schema(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The schema of an object with these parameters and no others."""
    parameters = tuple(parameters)
    required = [one.name for one in parameters if one.required]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: _property(one) for one in parameters},
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema


def _property(one: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[one.type], "description": one.sentence}
    if one.choices:
        schema["enum"] = list(one.choices)
    if one.default is not None and one.default != "":
        schema["default"] = one.default
    return schema


CAPTURE = "capture"
_MOST_MS = 60_000
_RETRIES = 3


class Capturing:
    """Captures from addresses that the user has allowed; paths and names of files never come from an agent."""

    summary = "Records a profile of a running program as a new run of the logdir, and waits for it."
    parameters = (
        Parameter(
            "address",
            str,
            "host:port of the program's profiler server (jax.profiler.start_server), or several with commas.",
            required=True,
        ),
        Parameter("duration_ms", int, f"Length of the recording in ms, at most {_MOST_MS}.", default=1000),
    )

    def __init__(self, allowed: str = "") -> None:
        """`allowed`: addresses besides this machine, with commas, as `AllowList` reads them; "*" for all."""
        self._allowed = AllowList.parse(allowed)

    def envelope(self, logdir: OpenLogdir, arguments: Mapping[str, Any], deeper: Deeper) -> dict[str, Any]:
        """Captures; arguments as `check` returns them.

        Raises BadRequest for wrong arguments, Forbidden, NotAvailable for a logdir that is a file, CaptureFailed.
        """
        duration_ms = arguments.get("duration_ms", 1000)
        if not 1 <= duration_ms <= _MOST_MS:
            message = f"duration_ms must be from 1 to {_MOST_MS:,}, not {duration_ms:,}."
            raise BadRequest(message, argument="duration_ms", choices=[])
        if "://" not in logdir.path and not Path(logdir.path).is_dir():
            raise NotAvailable("Captures are stored in a directory: start the server with a logdir, not with a file.")
        result = self._captured(logdir.path, arguments["address"], duration_ms)
        stored = [worker for worker in result["workers"] if worker["state"] == "done"]
        failed = [
            f"{worker['address']}: {worker['error']['message']}" for worker in result["workers"] if worker["error"]
        ]
        about = {"run": result["run"]}
        why = "what the new run is, and what limits it"
        return {
            "answer": {
                "captured": result["run"],
                "bytes": sum(worker["bytes"] for worker in stored),
                "events": sum(worker["events"] or 0 for worker in stored),
                "failed": failed[:10],
                "warnings": [*result["warnings"], *(text for worker in stored for text in worker["warnings"])][:10],
            },
            "units": {"bytes": "bytes"},
            "base": "",
            "from": {"run": result["run"], "hosts": [worker["address"] for worker in stored][:20], "tool": None},
            "link": None,
            "next": [deeper(Next("overview", {}, why), about)],
            "rows": None,
            "cursor": None,
            "cannot_answer": None,
        }

    def _captured(self, logdir: str, addresses: str, duration_ms: int) -> dict[str, Any]:
        try:
            parsed = parse_addresses(addresses)
        except BadRequest as error:
            raise BadRequest(error.message, argument="address", choices=[]) from None
        try:
            job = Jobs(logdir, self._allowed, count_events).start(
                parsed, CaptureOptions(duration_ms=duration_ms, retries=_RETRIES)
            )
        except Forbidden:
            allowed = ["localhost", *self._allowed.patterns]
            message = (
                f"This server may capture from {', '.join(allowed)} only. "
                "The user can allow more: tpu-profile mcp LOGDIR --allow-capture=HOST[,HOST...]."
            )
            raise Forbidden(message, argument="address", choices=allowed) from None
        job.wait()
        result = job.describe()
        if result["run"] is None:
            raise CaptureFailed(job.summary(), argument="address")
        return result


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
