"""Runs, hosts, modules and implemented tools of the sample logdir compared with XProf's answers."""

import gzip
import json
from pathlib import Path

import pytest
from builders.servers.board import Board

SHARED = Path(__file__).parents[3] / "shared"
pytestmark = pytest.mark.skipif(
    not (SHARED / "traces").is_dir(), reason="the sample profiles are not beside the checkout"
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return Board(SHARED / "traces/logdir", tmp_path_factory.mktemp("home"))


def answers(route):
    """Parameters and body of XProf's answers."""
    index = json.loads((SHARED / "traces/golden/index.json").read_text())
    found = [entry for entry in index if entry["route"] == route]
    assert found
    return [(one["params"], gzip.decompress((SHARED / "traces/golden" / one["file"]).read_bytes())) for one in found]


def test_runs(sample):
    for _, body in answers("runs"):
        assert sample.json("runs") == json.loads(body)


def test_hosts(sample):
    for query, body in answers("hosts"):
        assert sample.json("hosts", **query) == json.loads(body), query


def test_module_list(sample):
    for query, body in answers("module_list"):
        assert sample.get("module_list", **query).data == body, query


def test_run_tools(sample):
    for query, body in answers("run_tools"):
        assert sample.json("run_tools", **query) == json.loads(body), query
