"""The recipes of CONTRIBUTING.md: followed in a copy of the package, they suffice for the command line and HTTP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, write
from builders.profiles.step_profiles import worker
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.tools import registry

TESTS = Path(__file__).parents[1]
ASK = """
import json, sys
from pathlib import Path
from builders.servers.board import Board

logdir, home, *requests = sys.argv[1:]
board = Board(logdir, Path(home))
print(json.dumps([board.client.open(f"{board.prefix}/{request}").json for request in requests]))
"""


class Copy:
    """A copy of the package in which a recipe is followed; other processes run it."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "tpu_profile_plugin"
        shutil.copytree(
            Path(tpu_profile_plugin.__file__).parent,
            self.package,
            ignore=shutil.ignore_patterns("__pycache__", "static"),
        )

    def edit(self, module: str, old: str, new: str) -> None:
        """Replaces a text that a module has once."""
        path = self.package / module
        text = path.read_text()
        assert text.count(old) == 1, f"{module}: {old}"
        path.write_text(text.replace(old, new))

    def python(self, *arguments: str) -> str:
        """What Python prints with this package."""
        folders = os.pathsep.join([str(self.package.parent), str(TESTS)])
        caches = {"XDG_CACHE_HOME": str(self.package.parent / "cache"), "LOCALAPPDATA": str(self.package.parent)}
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": folders, **caches},
            cwd=self.package.parent, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr or done.stdout
        return done.stdout

    def command(self, *arguments: str) -> str:
        """What `tpu-profile` prints."""
        return self.python("-m", "tpu_profile_plugin.cli", *arguments)

    def requests(self, logdir: Path, *requests: str) -> list[Any]:
        """The JSON of requests to a TensorBoard with this plugin."""
        answers: list[Any] = json.loads(self.python("-c", ASK, str(logdir), str(logdir.parent / "home"), *requests))
        return answers


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "copy")


FORMAT = '''
"""XSpaces behind a mark."""

from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.formats.format import Format, Unpacked

MARK = b"MARKED\\n"


def _sniff(content: U8) -> bool:
    return content[: len(MARK)].tobytes() == MARK


def _read(content: U8) -> Unpacked:
    return Unpacked(content[len(MARK) :])


FORMAT = Format(name="marked", sniff=_sniff, read=_read)
'''


def test_a_format(copy: Copy, tmp_path: Path) -> None:
    (copy.package / "formats" / "marked.py").write_text(FORMAT)
    copy.edit("formats/__init__.py", "import foreign, packing", "import foreign, marked, packing")
    copy.edit("formats/__init__.py", "FORMATS = (", "FORMATS = (marked.FORMAT, ")
    copy.edit("suffixes.py", "PROFILES = (", 'PROFILES = (".marked", ')
    run = tmp_path / "logs" / "plugins" / "profile" / "run"
    run.mkdir(parents=True)
    (run / "vm.marked").write_bytes(b"MARKED\n" + build(SMALL))

    assert "work" in copy.command("tools", str(tmp_path / "logs"), "--tool", "events", "--format", "csv")
    assert "1 run" in copy.command("doctor", str(tmp_path / "logs"))
    runs, info, events = copy.requests(tmp_path / "logs", "runs_info", "run_info?run=run", "data?run=run&tag=events")
    assert [(listed["run"], listed["hosts"], listed["problems"]) for listed in runs] == [("run", 1, [])]
    assert [host["name"] for host in info["hosts"]] == ["vm"]
    assert "work" in json.dumps(events)


def test_pages_commands_and_python_need_no_form_of_xprof(copy: Copy, tmp_path: Path) -> None:
    shutil.rmtree(copy.package / "compat" / "xprof")
    logdir = tmp_path / "demo"
    shutil.copytree(TESTS.parent / "demo", logdir)
    tools = [tool.id for tool in registry.TOOLS if tool.id not in ("query", "compare", "graph_viewer", "trace_viewer")]
    place = "run=jax_mlp/2026_11_20_10_31_36"
    asked = [f"{route}?{place}&tag={tool}" for tool in tools for route in ("page", "data")]
    hosts, listed, *answers = copy.requests(logdir, f"hosts?{place}&tag=overview_page", f"run_tools?{place}", *asked)
    assert hosts == [{"hostname": "demo-host"}]
    assert {"overview_page", "time_budget", "communication"} <= set(listed)
    for tool, page, data in zip(tools, answers[::2], answers[1::2], strict=True):
        assert page == data, tool
        code = page["error"]["code"] if isinstance(page, dict) and "error" in page else ""
        assert code in ("", "no_data"), (tool, page)
    for command in (["explain"], ["overview"], ["budget"], ["ops"], ["tools", "--tool", "hlo_stats"]):
        assert copy.command(command[0], str(logdir), *command[1:])


RULE = '''
"""The recording has many steps.

Fires from {MANY} steps on.

Nothing needs to be done.
"""

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView

MANY = 4
"""Fewer are usual."""


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    if run.steps < MANY:
        return Silence(f"{run.steps} steps were recorded.")
    evidence = Evidence("Steps", run.steps, "", "overview_page")
    advice = Advice("Nothing needs to be done.")
    return Finding(f"{run.steps} steps were recorded", 0, "no direct cost", "high", (evidence,), advice)


RULE = Rule("many_steps", "Many steps", judge)
'''


def test_a_finding(copy: Copy, tmp_path: Path) -> None:
    rules = "analysis/findings/rules/__init__.py"
    (copy.package / "analysis/findings/rules/recording/many_steps.py").write_text(RULE)
    copy.edit(rules, "    dispatch_only_steps,\n", "    dispatch_only_steps,\n    many_steps,\n")
    copy.edit(rules, "RULES: tuple[Rule, ...] = (\n", "RULES: tuple[Rule, ...] = (\n    many_steps.RULE,\n")
    logs = write(tmp_path / "logs", {"plugins/profile/run/vm.xplane.pb": worker("vm")})

    assert "4 steps were recorded" in copy.command("explain", str(logs))
    assert "Fires from 4 steps on." in copy.command("explain", "--rule", "many_steps")
    (answer,) = copy.requests(logs, "page?run=run&tag=smart_suggestion")
    assert "4 steps were recorded" in json.dumps(answer)
