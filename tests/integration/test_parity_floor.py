"""Parity with XProf's answers must not decrease: tests/parity_floor.json holds the percentage per tool or route.

The sample profiles and the comparer lie beside the checkout (../shared); without them these tests are skipped.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.recorded import chosen
from builders.rings import ALL
from builders.servers.server_process import running_tensorboard

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
GOLDEN = SHARED / "traces" / "golden"
FLOOR: dict[str, float] = json.loads((ROOT / "tests" / "parity_floor.json").read_text())
LARGE_BYTES = 250_000

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not GOLDEN.is_dir(), reason="the reference answers (../shared/traces) are not here"),
]


def requests() -> list[dict[str, Any]]:
    """Every request that has a reference answer."""
    entries: list[dict[str, Any]] = json.loads((GOLDEN / "index.json").read_text())
    return entries


def tool_of(entry: dict[str, Any]) -> str:
    """The tool of a request, or its route."""
    return str(entry["params"]["tag"] if entry["route"] == "data" else entry["route"])


def asked() -> Iterator[dict[str, Any]]:
    """At night all; else of timelines, which are most of it, one for each kind of run, and large ones in one form."""
    seen = set()
    for entry in requests():
        tool, run = tool_of(entry), entry["params"].get("run", "")
        if not ALL and tool.startswith("trace_viewer"):
            large = (GOLDEN / entry["file"]).stat().st_size > LARGE_BYTES
            if not chosen(run) or (tool, run) in seen or (large and tool == "trace_viewer"):
                continue
            seen.add((tool, run))
        yield entry


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the comparer says of all tools."""
    home, references = tmp_path_factory.mktemp("parity"), tmp_path_factory.mktemp("references")
    for file in GOLDEN.glob("*.gz"):
        (references / file.name).symlink_to(file)
    (references / "index.json").write_text(json.dumps(list(asked())))
    with running_tensorboard(SHARED / "traces" / "logdir", home) as server:
        command = [sys.executable, str(SHARED / "parity" / "parity.py"), str(references), server.origin, "--min", "0"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("tool", sorted(FLOOR))
def test_parity_does_not_fall(tool: str, printed: str) -> None:
    agreeing, cells = map(int, re.findall(rf"^{tool} +(\d+)/(\d+) ", printed, re.MULTILINE)[0])
    assert cells
    assert 100 * agreeing / cells >= FLOOR[tool], printed[-8000:]


def test_every_answer_of_xprof_has_a_floor() -> None:
    assert {tool_of(entry) for entry in requests()} <= set(FLOOR)
    assert {tool_of(entry) for entry in asked()} == {tool_of(entry) for entry in requests()}
    of_the_graph_viewer = [entry for entry in requests() if entry["params"].get("tag") == "graph_viewer"]
    assert {entry["route"] for entry in of_the_graph_viewer} == {"hosts"}
    assert len(of_the_graph_viewer) == 7
