"""Names of strangers through all doors: terminal, errors, Markdown, CSV, the log; and long ones through all tools."""

from __future__ import annotations

import csv
import io
import itertools
import json
import logging
import re
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import write
from builders.messages import XSpace
from builders.profiles import op_profiles, step_profiles
from builders.programs import hlo
from builders.rings import many
from builders.xspace_text import build

import tpu_profile_plugin as tp
from tpu_profile_plugin import cli
from tpu_profile_plugin.agents.calls import Calls
from tpu_profile_plugin.answers.envelope import compact
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.answers.text import in_code, in_markdown
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.system.terminal import LOG, visible
from tpu_profile_plugin.tables.table import no_formulas
from tpu_profile_plugin.tools.registry import TOOLS

KINDS = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "bell\x07",
    "over\rwritten",
    "back\x08\x08",
    "\x9b31m",
    "\x7f",
    "\u202egnp.exe",
    "\u2066isolate\u2069",
    "\u200eleft",
    "next\x85line",
    "line\u2028line",
    "``` `code` ```",
    "`\n\n# Heading\n\n![image](http://host/x.png)\n\n@everyone",
    "[link](javascript:alert(1)) <img src=x> **bold** | cell |",
    "</script><script>alert(1)</script>",
    "&lt;b&gt; ~~gone~~",
    "two lines\nFORGED: a line of its own",
    "=HYPERLINK(1)",
    "@SUM(1)",
    "+1+cmd|' /C calc'!A0",
)
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def renamed(data: bytes, names: tuple[str, ...], most: int) -> bytes:
    """The profile with a name after that of the first events of each line."""
    space, at = XSpace.FromString(data), 0
    for plane in space.planes:
        for meta in {event.metadata_id for line in plane.lines for event in line.events[:most]}:
            plane.event_metadata[meta].name += names[at % len(names)]
            at += 1
    return bytes(space.SerializeToString())


def marked(data: bytes) -> bytes:
    """The profile with hostile texts after the names of its events and lines and in the texts of its stats."""
    space, kinds = XSpace.FromString(data), itertools.cycle(KINDS)
    for plane in space.planes:
        for line in plane.lines:
            line.display_name = (line.display_name or line.name) + next(kinds)
        told = [*plane.event_metadata.values(), *(event for line in plane.lines for event in line.events)]
        for stat in (stat for one in told for stat in one.stats if stat.WhichOneof("value") == "str_value"):
            stat.str_value += next(kinds)
        for meta in plane.event_metadata.values():
            meta.display_name = (meta.display_name or meta.name) + next(kinds)
            meta.name += next(kinds)
    return bytes(space.SerializeToString())


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with hostile names of runs, hosts, programs, ops and texts: `steps` of a GPU, `tpu` with a program."""
    name = "".join(kind.replace("/", "_") for kind in (KINDS[0], KINDS[7], *KINDS[12:14], "\nFORGED"))
    program = hlo.relu_program().hex(), hlo.relu_program("`\nFORGED \x1b[1m\u202e<b>").hex()
    texts = {"steps": step_profiles.gpu(), "tpu": op_profiles.TPU.replace(*program)}
    return write(
        tmp_path_factory.mktemp("hostile"),
        {
            f"plugins/profile/{run} {name}/h\x1b[1m\u202e\nFORGED.xplane.pb": marked(build(text))
            for run, text in texts.items()
        },
    )


def run_of(logdir: Path, begin: str) -> str:
    """The run whose name begins so."""
    (found,) = (path.name for path in (logdir / "plugins/profile").iterdir() if path.name.startswith(begin))
    return found


COMMANDS = """
runs L
runs L --format json
overview L STEPS
overview L STEPS --format json
overview L nosuch
explain L STEPS --all
explain L STEPS --all --format markdown
explain L STEPS --format json
explain L \x1b[31m\u202e
explain L --no \x1b[31m\u202e
explain L half\ud800\udcff
budget L STEPS
steps L STEPS
ops L STEPS
ops L TPU --format json
ops L TPU --host nosuch
timeline L STEPS
gaps L STEPS
collectives L STEPS
compare L L --run STEPS --base-run TPU
compare L L --format markdown
compare L L --format json
query SQL --logdir L
query SQL --logdir L --format json
query SQL --logdir L --format csv
query SQL\x1b[31m --logdir L
what-if L STEPS
op L fusion TPU
source L TPU
hlo L fusion.1 TPU
programs L TPU
memory L TPU
trend L
trend L --format markdown
trend L --format json
summarize L
summarize L --output OUT.runs.jsonl --label \x1b[1m=\u202e
gate L --fail-if step_time>1ps --run STEPS
gate L --fail-if step_time>+3% --run STEPS --base TPU --format markdown
gate L --fail-if step_time>+3% --run STEPS --base TPU --format junit
gate L --fail-if step_time>+3% --run STEPS --base TPU --format json
gate L --fail-if \x1b[1m\u202e --run nosuch\x1b[1m
baseline set \x1b[1m\u202e L --baselines OUT.json
baseline set main L --baselines OUT.json --run STEPS --run TPU
baseline list --baselines OUT.json
baseline delete \x1b[1m --baselines OUT.json
tools L STEPS
tools L TPU --tool hlo_stats
tools L TPU --tool hlo_stats --page
tools L TPU --tool hlo_stats --format csv --spreadsheet
tools L TPU --tool graph_viewer --param type=short_txt
tools L STEPS --tool trace_viewer@
tools L --tool \x1b[31m
events L STEPS
events L STEPS --by name
events L STEPS --format json
events L STEPS --format csv
annotate L STEPS
annotate L STEPS --format html -o OUT/lines.html
annotate L STEPS --format sarif
report L STEPS --format markdown --base TPU
report L STEPS -o OUT/report.html --base TPU
export L STEPS --format chrome -o OUT/chrome.json
export L STEPS --format parquet -o OUT/\x1b[1m
doctor L
capture localhost:1\x1b[1m --logdir L
agents --\x1b[1m
mcp L\x1b[1m --\u202e
""".strip().split("\n")
FOR_PROGRAMS = ("csv", "hlo_stats", "graph_viewer", "trace_viewer@")
"""Of what these print, files and programs get the bytes of the names, and a terminal does not."""


class Output(io.TextIOWrapper):
    """A stream that may be a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True, newline="")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


def printed(logdir: Path, out: Path, words: str, terminal: bool) -> str:
    """What a command prints, on both streams."""
    names = {"STEPS": run_of(logdir, "steps"), "TPU": run_of(logdir, "tpu"), "L": str(logdir)}
    texts = {"SQL": "SELECT * FROM events", "SQL\x1b[31m": "SELECT '\x1b[31m\u202e' FROM nowhere"}
    arguments = [{**names, **texts}.get(word, word.replace("OUT", str(out))) for word in words.split(" ")]
    stdout, stderr = Output(terminal), Output(terminal)
    with redirect_stdout(stdout), redirect_stderr(stderr), suppress(SystemExit):  # of wrong arguments
        main(arguments)
    return stdout.text() + stderr.text()


def test_every_command_is_tried() -> None:
    tried = {words.partition(" ")[0] for words in COMMANDS}
    assert tried == set(cli._COMMANDS)
    assert {verb.name.replace("_", "-") for verb in VERBS} <= tried


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_print_no_control_and_no_line_of_a_name(logdir: Path, words: str, tmp_path: Path) -> None:
    told = printed(logdir, tmp_path, words, terminal=True)
    assert told
    assert STEERING.findall(told) == []
    if not any(word in words for word in ("csv", "graph_viewer")):  # rows and listings as programs read them
        assert re.findall(r"^[ \t]*FORGED.*", told, re.MULTILINE) == []
    if "markdown" in words:
        assert "@everyone" not in told
        assert not re.search(r"^\s*(?:# |!\[)|(?<!\\)!?\[image", told, re.MULTILINE)
    asked_again = COMMANDS.index(words) % many(4, 1) == 0  # what prints is the same function
    if asked_again and not any(word in words for word in FOR_PROGRAMS):
        assert STEERING.findall(printed(logdir, tmp_path / "again", words, terminal=False)) == []


def test_data_is_the_same_for_programs(logdir: Path, tmp_path: Path) -> None:
    words = "events L STEPS --format csv"
    rows = list(csv.DictReader(io.StringIO(printed(logdir, tmp_path, words, terminal=False))))
    names = {row["Event"] for row in rows}
    assert any("\x1b" in name for name in names)
    safe = printed(logdir, tmp_path, f"{words} --spreadsheet", terminal=False)
    assert [row["Begin"] for row in csv.DictReader(io.StringIO(safe))] == [row["Begin"] for row in rows]
    page = "tools L TPU --tool hlo_stats --page"
    body, shown = (printed(logdir, tmp_path, page, terminal=terminal) for terminal in (False, True))
    assert json.loads(body) == json.loads(shown)


def test_spreadsheet_needs_csv(logdir: Path, tmp_path: Path) -> None:
    for words in ("events L STEPS", "tools L TPU --tool hlo_stats", "query SQL --logdir L --format json"):
        told = printed(logdir, tmp_path, f"{words} --spreadsheet", terminal=True)
        assert "--spreadsheet needs --format csv." in told


def test_agents_get_the_same_without_controls(logdir: Path) -> None:
    opened = tp.open(logdir, executor="threads")
    calls = Calls({"l": opened})
    tpu = {"run": run_of(logdir, "tpu")}
    (further, *_) = calls.call("ops", tpu)[0]["next"]
    given = {"statement": "SELECT * FROM events", "op": "fusion.1", "name": further["arguments"]["name"]}
    answered = set()
    for verb in VERBS:
        for run in (tpu, {"run": run_of(logdir, "steps")}, {"run": "\x1b[31m\u202e"}):
            needed = {one.name: given[one.name] for one in verb.parameters if one.required}
            answer, failed = calls.call(verb.name, {**(run if verb.of_run else {}), **needed})
            text = compact(answer)
            assert STEERING.findall(text) == []
            assert json.loads(text) == json.loads(json.dumps(answer))
            answered |= set() if failed else {verb.name}
    assert answered == {verb.name for verb in VERBS}
    calls.close()


class Tags(HTMLParser):
    """The elements of a document, with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


def test_no_name_becomes_an_element_of_a_report_or_of_a_table(logdir: Path, tmp_path: Path) -> None:
    write(tmp_path, {"plugins/profile/1/h.xplane.pb": build(step_profiles.gpu())})
    hostile, plain = tp.open(logdir, executor="threads").run(run_of(logdir, "steps")), tp.open(tmp_path).run()
    reports = [Tags(run.report().data.decode()).found for run in (hostile, plain)]
    assert reports[0] == reports[1]
    assert len(reports[0]) > 5
    shown = [Tags(run.table("kernel_stats")._repr_html_()).found for run in (hostile, plain)]
    assert {str(tag) for tag in shown[0]} == {str(tag) for tag in shown[1]}


@pytest.mark.parametrize("name", [*KINDS, "half \ud800 a pair"])
def test_markdown_shows_a_name_as_it_is(name: str) -> None:
    shown = in_markdown(name)
    assert "\n" not in shown
    assert not re.search(r"(?<!\\)[`*_\[\]|~&#]", shown)
    assert not re.search(r"(?<!\\)<(?!!-- -->)|@(?!<!-- -->)", shown)
    line = " ".join(name.split())
    assert re.sub(r"\\([^u])", r"\1", shown.replace("<!-- -->", "")) == visible(line)
    code = in_code(name)
    fence = re.match("`+", code)
    assert fence
    assert code.endswith(fence[0])
    assert fence[0] not in re.split("(?<!`)(?=`)", code[len(fence[0]) : -len(fence[0])])


def test_json_stays_the_same_where_controls_are_shown() -> None:
    names = [*KINDS, "\ud800", "é", "tab\t"]
    assert json.loads(visible(json.dumps(names, ensure_ascii=False))) == names


def test_spreadsheets_compute_no_text() -> None:
    cells = ["=1+1", "+cmd", "-2+3", "@SUM", "\tx", " =1", "\ufeff=1", "a=b", "", None, -1.5, "-1.5", "+3", "-12"]
    changed = ["'=1+1", "'+cmd", "'-2+3", "'@SUM", "'\tx", "' =1", "'\ufeff=1"]
    expected = [*changed, "a=b", "", None, -1.5, "-1.5", "+3", "-12"]
    assert no_formulas(cells) == expected


def test_csv_is_data_for_programs_and_safe_for_spreadsheets() -> None:
    result = tp.open(build('plane 1 "/host:CPU"\n line 1 t\n  0 +5 "=1+1"')).sql(
        "SELECT name, -1 AS \"=n\", 'a;=1' AS c FROM events"
    )
    assert result.to_csv() == "name,=n,c\n=1+1,-1,a;=1\n"
    assert result.to_csv(spreadsheet=True) == '"name","\'=n","c"\n"\'=1+1",-1,"a;=1"\n'


def test_the_log_has_no_control_and_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, LOG.name):
        try:
            raise ValueError("\x1b[31m\u202e")
        except ValueError:
            LOG.exception("host %s failed", "a\x1b[31m\nERROR forged")
    assert caplog.records[0].getMessage() == "host a\\u001b[31m\n  ERROR forged failed"
    assert STEERING.findall(caplog.text) == []
    assert "ValueError: \\u001b[31m\\u202e" in caplog.text


LONG = (">", "/", "a~;\\", "<a")
NIGHT = (".", "_a", "0.", " ", "\n", "(", ":", "::a")
MOST_S = 5
"""Of processor time, on a busy machine; time that grows with the square of the length would be minutes."""


@pytest.mark.parametrize("pump", [*LONG, *(pytest.param(pump, marks=pytest.mark.night) for pump in NIGHT)])
def test_long_names_are_no_slow_ones(pump: str, tmp_path: Path) -> None:
    long = (pump * 100_000)[:100_000]
    write(tmp_path, {"plugins/profile/1/h.xplane.pb": renamed(build(step_profiles.gpu()), (f"{long}!",), 2)})
    run = tp.open(tmp_path, executor="threads").run()
    slow: dict[str, float] = {}

    def timed(what: str, ask: Any) -> None:
        begin = time.thread_time()
        with suppress(ProfileError):  # of no data for this tool
            ask()
        if (took := time.thread_time() - begin) > MOST_S:
            slow[what] = took

    for tool in TOOLS:
        timed(tool.id, lambda tool=tool: run.payload(tool.id))
    timed("findings", run.findings)
    timed("redacted report", lambda: run.report(redact=True))
    assert slow == {}
