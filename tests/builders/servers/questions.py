"""What the clients of the load test ask, each with one right answer: as pages and agents do, and as attackers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from builders.damage.ask import MODES
from builders.hostile_sql import REFUSED

COMPARED = ("keep/1", "keep/2", "keep/3")
SOURCE = "train.py"
"""A file of the source root."""
REFUSED_STATEMENT = 422
"""The status of the answer to a statement that ended with an error, which the server tells with status 200."""
_POLL_S = 0.05
_ENDED = ("done", "failed", "cancelled")


class Question(NamedTuple):
    """One request. The method SQL starts a query and waits for its rows; AGENT goes to the server of agents."""

    method: str
    path: str
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> str:
        """What figures are counted by: SQL, agents, or the route."""
        return self.method if self.method in ("SQL", "AGENT") else self.path.partition("?")[0]


Send = Callable[[Question], tuple[int, bytes]]
"""Sends a request and returns status and body."""


def answered(question: Question, send: Send) -> tuple[int, bytes]:
    """The answer; that of a query are its rows, or the error that ended it."""
    if question.method != "SQL":
        return send(question)
    status, body = send(question._replace(method="POST"))
    while status in (200, 202):
        state = json.loads(body)
        if state["error"] is not None:
            return REFUSED_STATEMENT, f"{state['error']['code']}: {state['error']['message']}".encode()
        if state["state"] in _ENDED:
            return send(Question("GET", f"query_result?{urlencode({'query': state['query']})}"))
        time.sleep(_POLL_S)
        status, body = send(Question("GET", f"query_status?{urlencode({'query': state['query']})}"))
    return status, body


def source_root(directory: Path) -> Path:
    """A directory of sources with one file that may be read, and some that may not."""
    directory.mkdir(exist_ok=True)
    (directory / SOURCE).write_text("def step(x):\n    return x + 1\n")
    (directory / ".hidden.py").write_text("hidden")
    (directory / "notes.txt").write_text("not a source file")
    if not (directory / "passwd.py").is_symlink():
        (directory / "passwd.py").symlink_to("/etc/passwd")
    return directory


def of_pages(info: dict[str, Any]) -> Iterator[Question]:
    """What the page asks about a run (`info` of /run_info), every form of a tool, comparisons and a report."""
    run = info["run"]
    bases = [base for base in COMPARED if base != run]
    forms = {**MODES, "compare": [{}, *({"base": base} for base in bases)]}
    hosts = {tool["id"]: tool["host_names"] for tool in info["tools"]} | {"smart_suggestion": []}
    for tool, names in hosts.items():
        for host in names or [""]:
            query = urlencode({"run": run, "tag": tool, "host": host})
            for form in forms.get(tool, [{}]):
                yield Question("GET", "data?" + "&".join(filter(None, (query, urlencode(form)))))
            if tool in ("framework_op_stats", "hlo_stats", "kernel_stats", "source_view"):
                yield Question("GET", f"data_csv?{query}")
    for route in ("run_info", "run_tools", "module_list"):
        yield Question("GET", f"{route}?{urlencode({'run': run})}")


def of_kept(run: str) -> Iterator[Question]:
    """What else is asked about a run that does not change: reports, SQL, agents."""
    yield Question("GET", f"report?{urlencode({'run': run})}")
    yield Question("GET", f"report?{urlencode({'run': run, 'base': COMPARED[run == COMPARED[0]], 'window': '0,1'})}")
    for statement in (
        "SELECT host, step, duration_ps FROM steps ORDER BY ALL",
        "SELECT count(*) AS n, sum(duration_ps) AS ps FROM events",
    ):
        yield Question("SQL", "query", json.dumps({"statement": statement, "runs": [run]}))
    for verb in ("overview", "ops", "steps", "findings"):
        params = {"name": verb, "arguments": {"run": run}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        yield Question("AGENT", "mcp", json.dumps(call), (("Accept", "application/json, text/event-stream"),))


def hostile(run: str) -> Iterator[Question]:
    """Attacks: changes by GET, foreign pages, paths, statements and values that are refused."""
    for route in ("query", "query_cancel", "capture_cancel", "capture_continuous", "capture_probe", "generate_cache"):
        yield Question("GET", route)
    yield Question("GET", "capture_profile?service_addr=localhost:1&duration=1")
    foreign = (("Origin", "http://evil.example"),)
    for route in ("query", "query_cancel", "capture_profile", "capture_cancel", "generate_cache"):
        yield Question("POST", route, "{}", foreign)
    for path in (SOURCE, f"/home/user/{SOURCE}", "/etc/passwd", "../../etc/passwd", "passwd.py", ".hidden.py"):
        yield Question("GET", f"source_text?{urlencode({'file': path})}")
    for path in ("notes.txt", "\0", "a\0.py", "..", "/", "C:\\Windows\\win.ini", "x" * 5000, f"{SOURCE}/../{SOURCE}"):
        yield Question("GET", f"source_text?{urlencode({'file': path})}")
    yield Question("GET", "source_text")
    for query in (
        {"run": "../../etc"},
        {"run": run, "base": "../x"},
        *({"run": run, "window": window} for window in ("9,1", "nan,nan", "0,inf", "1", "-1,2", "0,1e400")),
    ):
        yield Question("GET", f"report?{urlencode(query)}")
    for body in ("", "{", "[]", "5", '{"statement": 5}', '{"statement": "SELECT 1", "runs": ["../x"]}', "[" * 100_000):
        yield Question("POST", "query", body)
    for statement, _ in REFUSED[::8]:
        yield Question("SQL", "query", json.dumps({"statement": statement, "runs": [run]}))
    yield from (Question("GET", f"{route}?query=none") for route in ("query_status", "query_result"))
    for form in (
        {"instant": "-5"},
        {"instant": "1e99"},
        {"instant": "999999"},
        {"fixed": "1;2"},
        {"scaled": "9" * 400},
    ):
        yield Question("GET", f"data?{urlencode({'run': run, 'tag': 'memory_over_time', **form})}")
    for name in ("../../etc/passwd", "%00", "x" * 5000):
        yield Question("GET", f"data?{urlencode({'run': run, 'tag': 'source_view', 'module_name': name})}")
