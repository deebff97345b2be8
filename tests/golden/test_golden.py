"""The demo profiles, tool by tool: decode, analyse, serialise, and compare with the answers stored beside this file.

After an intended change: `UPDATE_GOLDEN=1 pytest tests/golden`, then read the difference before committing it.
"""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from builders.board import Board

from tpu_profile_plugin.tools.registry import TOOLS

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "demo"
RUNS = sorted(f"{path.parents[2].name}/{path.name}" for path in DEMO.glob("*/plugins/profile/*"))
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


def answers(board: Board, order: list[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """The answer of each (run, tool), asked for in this order; an error counts as an answer."""
    return {(run, tool): summary(board.get("data", run=run, tag=tool).json) for run, tool in order}


def summary(answer: Any) -> Any:
    """The answer itself; of a trace, whose thousands of events nobody would read, figures per thread."""
    if not isinstance(answer, dict) or "traceEvents" not in answer:
        return answer
    events = [event for event in answer["traceEvents"] if event]
    names = {
        (event["name"], event["pid"], event.get("tid")): event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name")
    }
    threads: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for event in events:
        if event["ph"] != "M":
            process = names.get(("process_name", event["pid"], None))
            thread = names.get(("thread_name", event["pid"], event.get("tid")))
            figures = threads[f"{process} | {thread}"]
            figures[f"events {event['ph']}"] += 1
            figures["duration us"] += event.get("dur", 0)
            figures["arguments"] += len(event.get("args", {}))
    return {**answer, "traceEvents": {name: dict(figures) for name, figures in sorted(threads.items())}}


def same(a: Any, b: Any) -> bool:
    """Equality, of floating-point numbers up to their last digits."""
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.fixture(scope="module")
def asked() -> list[tuple[str, str]]:
    return [(run, tool.id) for run in RUNS for tool in TOOLS]


@pytest.fixture(scope="module")
def given(asked: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    return answers(Board(DEMO, tmp_path_factory.mktemp("golden")), asked)


@pytest.mark.parametrize("tool", [tool.id for tool in TOOLS])
@pytest.mark.parametrize("run", RUNS)
def test_answers_are_the_stored_ones(run: str, tool: str, given: dict[tuple[str, str], Any]) -> None:
    path = HERE / run.split("/")[0] / f"{tool.replace('@', '_streaming')}.json"
    ours = given[run, tool]
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(ours, indent=1, ensure_ascii=False) + "\n")
    assert path.is_file(), "no stored answer: UPDATE_GOLDEN=1 pytest tests/golden makes one"
    stored = json.loads(path.read_text())
    assert same(ours, stored) or ours == stored, path


def test_the_order_of_questions_does_not_change_answers(
    asked: list[tuple[str, str]], given: dict[tuple[str, str], Any], tmp_path: Path
) -> None:
    assert answers(Board(DEMO, tmp_path), asked[::-1]) == given
