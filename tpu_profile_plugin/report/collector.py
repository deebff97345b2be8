"""The answers that a report stores, by the request that a page makes for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.errors import BadRequest, ProfileError
from tpu_profile_plugin.tools import registry
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_MS

TRACE = "trace_viewer@"

MOST_HOSTS = 4
"""Hosts whose timelines are stored."""

MOST_MODULES = 3
"""HLO modules whose memory is stored, those with the largest peaks."""

_OF_OPS = {"backend": "auto", "near_sources": "true"}
"""What pages of ops ask for (`frontend/src/page/op_request.ts`): the ops of the CPU where no device ran any."""
_WITHOUT_BASE = "This report was saved without a base to compare with."


def left_out(tool: Tool, *, compared: bool) -> str | None:
    """Why a report has no page of a tool; None if it has."""
    return _WITHOUT_BASE if tool.compares and not compared else tool.needs_server or None


def views(tool: Tool) -> list[dict[str, str]]:
    """The further parameters of each view of a tool that is stored."""
    if tool.compares:
        return []  # asked once for the pair
    choices = {param.name: param.choices for param in tool.params}
    asked = {name: value for name, value in _OF_OPS.items() if name in choices}
    groups = choices.get("group_by")
    return [{**asked, "group_by": group} for group in groups] if groups else [{**asked}]


Ask = Callable[[str, Mapping[str, str]], bytes]
"""The answer of a route of the server to parameters; raises ProfileError."""

Window = tuple[float, float]
"""Begin and end in ms, on the axis of the trace viewer."""


def window_of(text: str | None) -> Window | None:
    """`BEGIN,END` in ms; None for no text. Raises BadRequest."""
    if not text:
        return None
    try:
        begin, end = map(float, text.split(","))
    except ValueError:
        begin, end = 1.0, 0.0
    if not 0 <= begin < end < float("inf"):
        message = f"A window is begin and end in milliseconds, such as 120,150, not {text[:80]!r}."
        raise BadRequest(message, parameter="window")
    return begin, end


_MOST_DETAILS = 1000
_FINEST = "1000000"
_ALL = "ALL_HOSTS"


@dataclass(frozen=True, slots=True)
class Stored:
    """One answer: its key, as the page makes it of the request, its HTTP status and its bytes."""

    key: str
    status: int
    body: bytes


def key_of(route: str, params: Mapping[str, str], defaults: Mapping[str, Mapping[str, str]]) -> str:
    """The name of a request: its route and its parameters in order, without those that have their default."""
    given = defaults.get(params.get("tag", ""), {}) if route == "page" else {}
    kept = sorted((name, value) for name, value in params.items() if value != "" and given.get(name) != value)
    return json.dumps([route, *kept], ensure_ascii=False, separators=(",", ":"))


def defaults() -> dict[str, dict[str, str]]:
    """Tool id -> the parameters with their defaults, as a page writes them."""
    return {
        tool.id: {param.name: _text(param.default) for param in tool.params if param.default not in (None, "")}
        for tool in registry.TOOLS
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Collector:
    """Asks for the answers of a report, of one run and of the base that it is compared with."""

    def __init__(
        self, ask: Ask, run: str, base: str | None, window: Window | None, trend: Mapping[str, Any] | None = None
    ) -> None:
        self._ask, self._run, self._base, self._window, self._trend = ask, run, base, window, trend
        self._defaults = defaults()

    def answers(self) -> Iterator[Stored]:
        """All answers, each once; what the server refuses is stored as its error."""
        runs = [one for one in self._json("runs_info", {}) if one["run"] == self._run]
        config = {name: value for name, value in self._json("config", {}).items() if name != "note"}
        yield self._made("config", {}, {**config, "hideCaptureProfileButton": True})
        yield self._made("runs_info", {}, runs)
        for run in dict.fromkeys(name for name in (self._run, self._base) if name is not None):
            yield from self._of_run(run)
        if self._base is not None:
            yield self._page(self._run, "compare", base=self._base)
        if self._trend is not None:
            known = len(self._trend["runs"]["run"])
            unread = {"listed": known, "remaining": 0, "unread": self._trend["remaining"]}  # nothing reads them here
            yield self._made("trend", {}, {**self._trend, **unread})

    def _of_run(self, run: str) -> Iterator[Stored]:
        info = self._json("run_info", {"run": run})
        shown = []
        for tool in info["tools"]:
            reason = tool["reason"] or left_out(registry.find(tool["id"]), compared=self._base is not None)
            names = tool["host_names"]
            if reason is None and tool["id"] == TRACE:
                names = names[:MOST_HOSTS]
            elif reason is None and names:
                names = [_ALL] if tool["hosts"] == "all" and _ALL in names else names[:1]
            shown.append({**tool, "available": reason is None, "reason": reason, "host_names": names})
        yield self._made("run_info", {"run": run}, {**info, "tools": shown})
        for tool in shown:
            if not tool["available"]:
                continue
            for host in tool["host_names"] or [""]:
                if tool["id"] == TRACE:
                    yield from self._timeline(run, host)
                elif tool["id"] == "memory_viewer":
                    modules = yield from self._modules(run, host)
                    yield self._made("module_list", {"run": run, "host": host}, ",".join(modules) or "NO_MODULE")
                else:
                    for view in views(registry.find(tool["id"])):
                        yield (answer := self._page(run, tool["id"], host, **view))
                        if tool["id"] == "memory_profile" and answer.status == 200:
                            found = json.loads(answer.body)
                            yield from self._allocators(run, host, [memory["id"] for memory in found["memories"]])
                            if found["has_modules"]:
                                yield self._page(run, tool["id"], host, modules="true")
        for host in ("", *(tool["host_names"][0] for tool in shown[:1] if tool["host_names"])):
            yield self._page(run, "smart_suggestion", "" if host == _ALL else host)

    def _modules(self, run: str, host: str) -> Generator[Stored, None, list[str]]:
        """The memory of the programs with the largest peaks; returns their names, the largest first."""
        place = {"run": run, "host": host, "format": "json"}
        found = []
        for name in self._json("module_list", place):
            answer = self._page(run, "memory_viewer", host, module_name=name)
            peak = json.loads(answer.body)["peak_bytes"] if answer.status == 200 else 0
            found.append((peak, name, answer))
        found.sort(key=lambda one: (-one[0], one[1]))
        for _, name, answer in found[:MOST_MODULES]:
            yield answer
            yield self._page(run, "memory_over_time", host, module_name=name)
        return [name for _, name, _ in found[:MOST_MODULES]]

    def _allocators(self, run: str, host: str, names: Sequence[str]) -> Iterator[Stored]:
        """The memory of allocators over time, at their peaks."""
        for name in names[:MOST_MODULES]:
            yield self._page(run, "allocations_over_time", host, memory_id=name)

    def _timeline(self, run: str, host: str) -> Iterator[Stored]:
        """The boxes of one window at the finest resolution that a page draws, and what is known about its events."""
        window = self._window or self._slowest_step(run, host)
        place = {"run": run, "tag": TRACE, "host": host}
        part = {} if window is None else {"start_time_ms": repr(window[0]), "end_time_ms": repr(window[1])}
        asked = {**place, **part, "resolution": _FINEST, "format": "columns"}
        yield self._asked({**place, "format": "columns"}, asked, _bounded)
        asked |= {"format": "details", "limit": str(_MOST_DETAILS)}
        yield self._asked({**place, "format": "details"}, asked)
        yield self._page(run, TRACE, host, format="gaps")

    def _slowest_step(self, run: str, host: str) -> Window | None:
        """The slowest step and its neighbours; None without steps."""
        try:
            steps = self._json("page", {"run": run, "tag": "time_budget", "host": host})["steps"]
        except ProfileError:
            return None
        of_devices = zip(steps["begin_ps"], steps["duration_ps"], strict=True)
        spans = sorted((min(begin, default=0), max(length, default=0)) for begin, length in of_devices)
        if not spans:
            return None
        slowest = max(range(len(spans)), key=lambda i: spans[i][1])
        near = spans[max(0, slowest - 1) : slowest + 2]
        return near[0][0] / PS_PER_MS, max(begin + length for begin, length in near) / PS_PER_MS

    def _page(self, run: str, tag: str, host: str = "", **more: str) -> Stored:
        """The answer for a page; `host` is "" for none."""
        params = {"run": run, "tag": tag, **({"host": host} if host else {}), **more}
        return self._asked(params, params)

    def _asked(
        self, sent: Mapping[str, str], asked: Mapping[str, str], change: Callable[[bytes], bytes] = bytes
    ) -> Stored:
        """The answer to the parameters `asked`, changed, in place of that to those which the page sends."""
        key = key_of("page", sent, self._defaults)
        try:
            body = self._ask("page", asked)
        except ProfileError as error:
            facts = {"error": {"code": error.code, "message": error.message, "details": error.details}}
            return Stored(key, error.status, json.dumps(facts, default=str).encode())
        return Stored(key, 200, change(body))

    def _made(self, route: str, params: Mapping[str, str], value: Any) -> Stored:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Stored(key_of(route, params, self._defaults), 200, text.encode("utf-8", "replace"))

    def _json(self, route: str, params: Mapping[str, str]) -> Any:
        return json.loads(self._ask(route, params))


def _bounded(body: bytes) -> bytes:
    """The answer of the timeline as that of a recording as long as its window, of which nothing finer exists."""
    header, arrays = container(body)
    header |= {"full_timespan_ps": header["window_ps"], "finest": True}
    return contained(header, arrays)


def container(body: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a binary answer of the timeline, and its arrays."""
    size = int.from_bytes(body[4:8], "little")
    header: dict[str, Any] = json.loads(body[8 : 8 + size])
    return header, body[8 + size :]


def contained(header: Mapping[str, Any], arrays: bytes) -> bytes:
    """The binary answer of a header and arrays, the reverse of `container`."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    text += b" " * (-(8 + len(text)) % 8)
    return b"TPC1" + len(text).to_bytes(4, "little") + text + arrays
