"""Sends every request about one file to a server and checks the answers, their time and the memory."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any

from builders.damage.wire import Case
from builders.logdirs import settle
from builders.servers.board import Board
from tpu_profile_plugin.compat import xprof_form
from tpu_profile_plugin.tools.registry import TOOLS

LIMIT_S = 10.0
"""Processor time of one request; other programs on the machine do not count."""
LIMIT_WALL_S = 60.0
"""Time by the clock of one request, so that waiting counts as well."""
ROOM = 256 << 20
"""Allowed memory for all requests about one file, regardless of its size: cached columns and answers."""
PER_BYTE = 60
"""Allowed memory in addition, per byte of the file."""
REFUSALS = {
    (404, "no_data"),
    (404, "module_not_found"),
    (404, "node_not_found"),
    (404, "event_not_found"),
    (404, "host_not_found"),
    (404, "run_not_found"),
    (404, "no_custom_call"),
    (400, "bad_request"),
    (422, "corrupt_profile"),
    (422, "out_of_range"),
}
RUN = "run"
_FORMS = ("graph", "short_txt", "long_txt", "pbtxt", "pb", "json", "custom_call", "adj_nodes", "me_graph")
MODES: dict[str, list[dict[str, str]]] = {
    "overview_page": [{}],
    "trace_viewer@": [
        {},
        {"start_time_ms": "0", "end_time_ms": "0.01", "resolution": "800", "full_args": "1"},
        {"format": "columns"},
        {"format": "columns", "start_time_ms": "0", "end_time_ms": "9e9", "resolution": "100"},
        {"format": "search", "query": "a", "args": "1"},
        {"format": "search", "query": ".*", "regex": "1"},
        {"format": "event", "pid": "1", "tid": "1", "event": "0"},
        {"format": "pb"},
        {"format": "sums", "areas": "1.1.0.9,501.1.0.9"},
        {"search_prefix": "f", "search_metadata": "true"},
    ],
    "graph_viewer": [
        {},
        *({"type": kind} for kind in _FORMS),
        {"type": "graph", "node_name": "fusion.1", "format": "dot", "merge_fusion": "true", "show_metadata": "true"},
        {"type": "graph", "node_name": "n1", "graph_width": "10", "format": "dot"},
        {"type": "graph", "node_name": "c1", "graph_width": "10", "format": "dot"},
    ],
    "op_profile": [
        {},
        {"group_by": "category", "backend": "auto", "unattributed": "true"},
        {"group_by": "provenance", "near_sources": "true"},
    ],
    "memory_viewer": [{}, {"memory_space": "1"}, {"view_memory_allocation_timeline": "1"}],
    "memory_over_time": [{}, {"instant": "0"}, {"fixed": "0", "scaled": "1,2"}],
    "roofline_model": [{}, {"backend": "auto", "unattributed": "true"}],
    "framework_op_stats": [{}, {"backend": "auto"}],
    "hlo_stats": [{}, {"backend": "auto", "unattributed": "true"}],
    "input_pipeline_analyzer": [{}],
    "memory_profile": [{}],
    "megascale_stats": [{}, {"timeline": "true"}, {"perfetto": "true", "recv_done": "true"}],
    "tf_data_bottleneck_analysis": [{}],
    "tf_data_run": [{"resolution": "50"}],
    "events": [{}, {"by": "name,line,plane"}, {"order": "self", "stats": "true"}],
    "compare": [{}, {"base": RUN}],
}
"""The forms in which every tool is asked; a comparison is with the run itself."""


@dataclass
class Report:
    """The result for one file: complaints, the slowest request (process seconds), memory above the start."""

    case: str
    size: int
    requests: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    peak_bytes: int = 0
    complaints: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)


def questions() -> Iterator[tuple[str, dict[str, str]]]:
    """Every route about a run, and every tool in all its forms."""
    yield "run_info", {}
    yield "run_tools", {}
    yield "hosts", {"tag": "overview_page"}
    yield "module_list", {}
    for tool in TOOLS:
        for mode in MODES.get(tool.id, [{}]):
            yield "page", {"tag": tool.id, **mode}
        if xprof_form(tool.id) is not None:
            yield from (("data", {"tag": tool.id, **mode}) for mode in MODES.get(tool.id, [{}]))
    for tag in ("profile_contents", "overview_page", "framework_op_stats", "hlo_stats", "kernel_stats"):
        yield "data_csv", {"tag": tag}


class Asker:
    """A server on a logdir of one run, whose only file changes from case to case."""

    def __init__(self, root: Path) -> None:
        self._session = root / "logs" / "plugins" / "profile" / RUN
        self._session.mkdir(parents=True)
        self._board = Board(root / "logs", Path("off"))

    def ask(self, case: Case, only: str | None = None) -> Report:
        """Stores the file of a case in the run and sends all requests, or those about one tool."""
        for old in self._session.iterdir():
            old.unlink()
        for number, data in enumerate((case.data, *case.others)):
            (self._session / f"h{number or ''}{case.suffix}").write_bytes(data)
        settle(self._session)
        report = Report(case.name, len(case.data) + sum(map(len, case.others)))
        _forget_peak()
        before = _memory("VmRSS")
        for route, query in chain(questions(), case.requests):
            if only is None or query.get("tag") == only:
                self._one(route, query, f"h{case.suffix}", report)
        report.peak_bytes = max(0, _memory("VmHWM") - before)
        return report

    def _one(self, route: str, query: dict[str, str], file: str, report: Report) -> None:
        wall, begun = time.perf_counter(), time.process_time()
        answer = self._board.get(route, run=RUN, **query)
        waited = time.perf_counter() - wall
        # Not more than by the clock: other threads of the process may be at work.
        took = min(waited, time.process_time() - begun)
        said = f"{route} {' '.join(query.values())}: "
        report.requests += 1
        if took > report.slowest_s:
            report.slowest_s, report.slowest = took, said
        if took > LIMIT_S:
            report.complaints.append(f"{said}took {took:.1f} s")
        if waited > LIMIT_WALL_S:
            report.complaints.append(f"{said}took {waited:.1f} s by the clock")
        trouble = _trouble(answer, file, route)
        if answer.status_code != HTTPStatus.OK:
            report.refused += 1
        code = _code(answer)
        report.codes[code] = report.codes.get(code, 0) + 1
        if trouble:
            report.complaints.append(said + trouble)


def _code(answer: Any) -> str:
    if answer.status_code == HTTPStatus.OK:
        return "ok"
    return str(((answer.json or {}).get("error") or {}).get("code", answer.status_code))


def _trouble(answer: Any, file: str, route: str) -> str:
    """What is wrong with an answer; "" if nothing is."""
    if answer.status_code == HTTPStatus.OK:
        return _bad_json(answer.data) if answer.content_type.startswith("application/json") else ""
    if answer.json is None or "error" not in answer.json:
        return f"{answer.status_code} without a JSON error"
    error = answer.json["error"]
    if route not in ("page", "data", "data_csv", "progress"):
        return f"{answer.status_code} {error['code']}"
    if (answer.status_code, error["code"]) not in REFUSALS:
        return f"{answer.status_code} {error['code']} {error['message'][:200]}"
    if error["code"] == "corrupt_profile":
        offset = error["details"].get("offset")
        if error["details"].get("file") != file or not isinstance(offset, int) or offset < 0:
            return f"422 without file and offset: {error}"
    return ""


def _not_json(token: str) -> Any:
    raise ValueError(f"{token} is not JSON")


def _bad_json(data: bytes) -> str:
    if len(data) > 1 << 27:
        return f"{len(data) >> 20} MiB of JSON"
    try:
        json.loads(data, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return ""


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")
