"""A stored capture of a PyTorch/XLA program on the CPU (scripts/soak/pytorch_xla): an XSpace like any other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tpu_profile_plugin

CAPTURE = Path(__file__).parents[1] / "captures/torch_xla.xplane.pb.gz"
NEED_MORE = ("compare", "query", "graph_viewer")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logs")
    session = logdir / "plugins/profile/2026_11_27"
    session.mkdir(parents=True)
    shutil.copy(CAPTURE, session / "h.xplane.pb")
    return tpu_profile_plugin.open(logdir).run()


def test_framework_and_steps(run):
    assert run.overview().frameworks == ["PyTorch/XLA"]
    assert len(run.steps()) >= 10


def test_every_tool_with_data_answers(run):
    available = [tool for tool, reason in run.tools().items() if reason is None]
    assert {"op_profile", "hlo_stats", "graph_viewer", "memory_viewer", "roofline_model"} <= set(available)
    assert {"overview_page", "framework_op_stats", "time_budget"} <= set(available)
    for tool in set(available) - set(NEED_MORE):
        body, _ = run.encoded(tool, None, {})
        assert body, tool
    assert len(run.table("hlo_stats")) > 10
