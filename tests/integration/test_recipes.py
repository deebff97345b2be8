"""The recipes of CONTRIBUTING.md, followed in a copy of the package, suffice for pages, commands, agents and docs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, write
from builders.profiles.step_profiles import worker
from builders.servers.calls import Caller, caller
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.tools import registry

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.timeout(600)  # on a busy machine
US = 10**6


class Copy:
    """A copy of the package in which a recipe is followed; a process that begins with the first question runs it."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "tpu_profile_plugin"
        self._opened = ExitStack()
        self._caller: Caller | None = None
        shutil.copytree(
            Path(tpu_profile_plugin.__file__).parent,
            self.package,
            ignore=shutil.ignore_patterns("static"),  # what is compiled stays valid, but for what a recipe changes
        )

    def edit(self, file: str, old: str, new: str) -> None:
        """Replaces a text that a file has once; paths begin in the package."""
        path = self.package / file
        assert self._caller is None or path.suffix != ".py", "its process has imported the package"
        text = path.read_text()
        assert text.count(old) == 1, f"{file}: {old}"
        path.write_text(text.replace(old, new))

    def take(self, *files: str) -> None:
        """Copies files of the checkout beside the package."""
        for file in files:
            (self.package.parent / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TESTS.parent / file, self.package.parent / file)

    def check(self, test: str, *arguments: str) -> None:
        """Runs tests of the checkout, copied beside the package."""
        self.take(test)
        self._ask("tests", test, *arguments)

    def code(self, text: str) -> str:
        """What Python code prints with this package."""
        printed: str = self._ask("code", text)
        return printed

    def command(self, *words: str) -> str:
        """What `tpu-profile` prints."""
        printed: str = self._ask("command", *words)
        return printed

    def requests(self, logdir: Path, *requests: str) -> list[Any]:
        """The JSON of requests to a TensorBoard with this plugin."""
        answers: list[Any] = self._ask("requests", str(logdir), str(logdir.parent / "home"), *requests)
        return answers

    def _ask(self, function: str, *arguments: str) -> Any:
        if self._caller is None:
            folders = os.pathsep.join([str(self.package.parent), str(TESTS)])
            caches = {"XDG_CACHE_HOME": str(self.package.parent / "cache"), "LOCALAPPDATA": str(self.package.parent)}
            environ = {**os.environ, "PYTHONPATH": folders, "UPDATE_GOLDEN": "1", **caches}
            self._caller = self._opened.enter_context(caller(self.package.parent, environ))
        return self._caller(function, *arguments)

    def close(self) -> None:
        """Ends the process."""
        self._opened.close()


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path / "copy")
    yield made
    made.close()


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


TOOL = '''
"""Event names: how many distinct names the events of each host have."""

from dataclasses import dataclass

from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table, integers, texts
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

COLUMNS = (texts("host", "Host", "Name of the host."), integers("names", "Names", "", "Distinct names of events."))


@dataclass(frozen=True)
class EventNames(Document):
    """Distinct names of events.

    Attributes:
      most: on one host.
      hosts: a row per host.
    """

    most: int
    hosts: Table


@per_host()
def host_names(host: HostProfile) -> int:
    """Distinct names on one host."""
    return len({name for plane in host.space.planes for name in plane.event_metadata.names})


def build(run: Run, _: Query) -> EventNames:
    """A row per host."""
    counts = run.map_hosts(host_names)
    rows = [[host.name for host in run.readable], counts]
    return EventNames(most=max(counts), hosts=Table(COLUMNS, rows, name="hosts"))


TOOL = Tool(id="event_names", title="Event names", group="Data", summary="Counts names of events.", build=build)
'''


def test_a_tool(copy: Copy, tmp_path: Path) -> None:
    (copy.package / "tools/data/event_names.py").write_text(TOOL)
    copy.edit("tools/registry.py", "tools.data import events, query", "tools.data import event_names, events, query")
    copy.edit("tools/registry.py", "    events.TOOL,\n)", "    events.TOOL,\n    event_names.TOOL,\n)")
    logs = write(tmp_path / "logs", {"plugins/profile/run/vm.xplane.pb": worker("vm")})

    asked = (f"{route}?run=run&tag=event_names" for route in ("page", "data"))
    page, data, info, tools = copy.requests(logs, *asked, "run_info?run=run", "run_tools?run=run&own=true")
    assert page == data
    assert page["most"] > 1
    (shown,) = (tool for tool in info["tools"] if tool["id"] == "event_names")
    assert (shown["title"], shown["group"], shown["available"]) == ("Event names", "Data", True)
    assert tools[-1] == "event_names"
    assert '"vm"' in copy.command("tools", str(logs), "--tool", "event_names", "--format", "csv")
    assert "event_names" in copy.command("tools", str(logs))
    assert "event_names" in copy.command("completion", "bash")
    # The documentation: types and reference are written, a section of the guide is asked for.
    written = ("frontend/src/base/documents.ts", "docs/developer/http.md")
    copy.take(*written, "docs/user/guide.md")
    copy.check("tests/unit/tools/test_documents.py")
    assert all("EventNames" in (copy.package.parent / path).read_text() for path in written)
    guide = copy.package.parent / "docs/user/guide.md"
    guide.write_text(guide.read_text() + "\n## Event names\n\nTool id: `event_names`\n\nCounts names.\n")
    copy.check("tests/unit/test_docs.py", "-k", "every_tool")


COLUMN = """
    numbers("mean_ps", "Mean", "ps", "Mean time of a run.", lambda ops: ops.time_ps / ops.of(ops.table.occurrences)),
    # Runs and times, of pages.
"""


def test_a_column(copy: Copy, tmp_path: Path) -> None:
    module = "run/catalogue/ops.py"
    copy.edit(module, "    # Runs and times, of pages.\n", COLUMN.lstrip("\n"))
    copy.edit(module, '"dma_stall_ps", "device_ps"),', '"dma_stall_ps", "device_ps", "mean_ps"),')  # SQL
    copy.edit(module, '*("parent_op_name", "vdd_energy"),', '*("parent_op_name", "vdd_energy", "mean_ps"),')  # the page
    logs = tmp_path / "logs"
    shutil.copytree(TESTS.parent / "demo" / "jax_mlp", logs)
    (run,) = (folder.name for folder in (logs / "plugins" / "profile").iterdir())

    tool = f"run={run}&tag=hlo_stats&backend=cpu"
    page, xprof = copy.requests(logs, f"page?{tool}", f"data?{tool}")
    columns = {column["id"]: column for column in page["ops"]["columns"]}
    assert (columns["mean_ps"]["label"], columns["mean_ps"]["help"]) == ("Mean", "Mean time of a run.")
    mean_ps = dict(zip(columns["hlo_op_name"]["values"], columns["mean_ps"]["values"], strict=True))
    assert list(mean_ps.values()) == pytest.approx([time * US for time in columns["avg_time"]["values"]])
    assert "mean_ps" not in [column["id"] for column in xprof["cols"]]
    assert '"Mean"' in copy.command("tools", str(logs), "--tool", "hlo_stats", "--format", "csv")
    queried = copy.command("query", "--logdir", str(logs), "--format", "csv", "SELECT name, mean_ps FROM ops")
    in_sql = dict(line.split(",") for line in queried.splitlines()[1:])
    assert mean_ps
    assert {name: float(in_sql[name]) for name in mean_ps} == mean_ps
    assert "mean_ps" in copy.command("query", "--logdir", str(logs), "DESCRIBE ops")
    documented = copy.code("from unit.sql.test_examples import page; print(*page(), sep='\\n')")
    assert "| `mean_ps` | number | ps | Mean time of a run. |" in documented


VERB = '''
"""The verb `names`: the distinct names of events."""

from typing import Annotated

from tpu_profile_plugin.analysis.common.reasons import PROFILE
from tpu_profile_plugin.answers.answer import Answer, Link
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.tables.table import Table, texts


def names(asked: Asked, *, find: Annotated[str, "Only names with this text."] = "") -> Answer:
    """The distinct names of events."""
    found = sorted({name for name in asked.run.events().read().column("name") if find in name})
    table = Table((texts("id", "Name", "Name of events."),), [found], name="names")
    return Answer(Link("profile_contents"), {"names_found": len(found)}, table)


VERB = verb(names, needs=PROFILE)
'''
AGENT = """
import json
import tpu_profile_plugin
from tpu_profile_plugin.agents.calls import Calls, input_schema

calls = Calls({"logs": tpu_profile_plugin.open(LOGDIR)})
schema = input_schema(calls.tools["names"].parameters)
print(json.dumps([calls.tools["names"].summary, schema["properties"]["find"], *calls.call("names", {"find": "Mat"})]))
"""


def test_a_verb(copy: Copy, tmp_path: Path) -> None:
    (copy.package / "answers/verbs/names.py").write_text(VERB)
    copy.edit("answers/__init__.py", '"memory"),', '"memory", "names"),')
    logs = write(tmp_path / "logs", {"plugins/profile/run/vm.xplane.pb": worker("vm")})

    summary, find, answer, failed = json.loads(copy.code(f"LOGDIR = {str(logs)!r}{AGENT}"))
    assert (summary, find["description"]) == ("The distinct names of events.", "Only names with this text.")
    assert not failed
    assert answer["answer"]["names_found"] == len(answer["answer"]["names"]) > 0
    command = json.loads(copy.command("names", str(logs), "--find", "Mat", "--format", "json"))
    assert command["answer"] == answer["answer"]
    assert "names found:" in copy.command("names", str(logs))
    assert "the distinct names of events" in copy.command("--help")
    assert "names --format" in copy.command("completion", "bash")
    # The documentation: the guide for agents.
    copy.take("docs/user/agents.md")
    copy.edit("../docs/user/agents.md", "| Anything else |", "| Which names? | `names` | names |\n| Anything else |")
    copy.check("tests/unit/answers/test_guide.py")


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
    pages = [f"page?{place}&tag={tool}" for tool in ("overview_page", "pod_viewer")]
    config, *shown = copy.requests(logdir, "config", *pages, *(f"{page}&reading=xprof" for page in pages))
    assert config["xprofReading"] is False
    assert shown[:2] == shown[2:]
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
