"""Runs, hosts, modules and implemented tools of the sample logdir compared with XProf's answers."""

import gzip
import json
from pathlib import Path

import pytest
from builders.servers.board import Board

from tpu_profile_plugin.tools import registry

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


# XProf implements these tools but no longer lists them; our documentation lists them in the menu.
LISTED_BY_US = {"pod_viewer", "inference_profile"}


def test_run_tools(sample):
    built = {tool.id for tool in registry.TOOLS}
    for query, body in answers("run_tools"):
        ours = sample.json("run_tools", **query)
        assert [t for t in ours if t in registry.XPROF_ORDER and t not in LISTED_BY_US] == [
            t for t in json.loads(body) if t in built
        ], query
