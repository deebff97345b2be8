"""Parity with XProf's answers must not decrease: tests/parity_floor.json holds the percentage per tool or route.

The sample profiles and the comparer lie beside the checkout (../shared); without them these tests are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.servers.server_process import Server, running_tensorboard

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
GOLDEN = SHARED / "traces" / "golden"
FLOOR: dict[str, float] = json.loads((ROOT / "tests" / "parity_floor.json").read_text())

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not GOLDEN.is_dir(), reason="the reference answers (../shared/traces) are not here"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_tensorboard(SHARED / "traces" / "logdir", tmp_path_factory.mktemp("parity")) as running:
        yield running


@pytest.mark.parametrize("tool", sorted(FLOOR))
def test_parity_does_not_fall(tool: str, server: Server) -> None:
    command = [sys.executable, str(SHARED / "parity" / "parity.py"), str(GOLDEN), server.origin, "--tool", tool]
    floor = FLOOR[tool]
    result = subprocess.run([*command, "--min", str(floor)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"below the floor of {floor} %:\n{result.stdout[-4000:]}{result.stderr[-1000:]}"


def test_every_answer_of_xprof_has_a_floor() -> None:
    requests = json.loads((GOLDEN / "index.json").read_text())
    answered = {entry["params"]["tag"] if entry["route"] == "data" else entry["route"] for entry in requests}
    assert answered <= set(FLOOR)
    of_the_graph_viewer = [entry for entry in requests if entry["params"].get("tag") == "graph_viewer"]
    assert {entry["route"] for entry in of_the_graph_viewer} == {"hosts"}
    assert len(of_the_graph_viewer) == 7
