"""In an environment of scripts/soak/compat: its own TensorBoard, with the package as it was installed there."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path

import pytest
from builders.servers.server_process import running_tensorboard

import tpu_profile_plugin

DEMO = Path(__file__).parents[2] / "demo"

pytestmark = pytest.mark.skipif("PROFILE_TEST_INSTALLED" not in os.environ, reason="for scripts/soak/compat")


def test_the_installed_package_is_tested() -> None:
    assert Path(tpu_profile_plugin.__file__).is_relative_to(sys.prefix)


def test_tensorboard_serves_the_tab(tmp_path: Path) -> None:
    with running_tensorboard(DEMO, tmp_path) as server:
        with urllib.request.urlopen(f"{server.origin}/data/plugins_listing", timeout=30) as answer:
            listing = json.load(answer)
        assert listing["profile"]["enabled"] is True
        assert listing["profile"]["loading_mechanism"]["type"] == "IFRAME"
        assert b"render" in server.get("index.js")
        for run in server.json("runs"):
            info = server.json("run_info", run=run)
            for tool in info["tools"]:
                if tool["available"] and tool["id"] not in ("graph_viewer", "compare"):  # which need parameters
                    assert server.get("data", run=run, tag=tool["id"])
