"""Names of strangers through all doors: terminal, errors, Markdown, CSV, the log; and long ones through all tools."""

from __future__ import annotations

import json
import logging
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import write
from builders.messages import XSpace
from builders.profiles import step_profiles
from builders.xspace_text import build

import tpu_profile_plugin as tp
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


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = build(step_profiles.gpu())
    name = "".join(kind.replace("/", "_") for kind in KINDS[:14])[:180]
    return write(
        tmp_path_factory.mktemp("hostile"),
        {f"plugins/profile/{name}{n}/h\x1b[1m.xplane.pb": renamed(data, KINDS, 40) for n in (1, 2)},
    )


@pytest.mark.parametrize(
    "words",
    [
        "runs L",
        "explain L --all",
        "explain L --format markdown --all",
        "compare L L",
        "compare L L --format markdown",
        "report L --format markdown",
        "overview L",
        "ops L",
        "timeline L",
        "events L",
        "events L --format json",
        "tools L",
        "doctor L",
        "query SELECT_* --logdir L",
        "explain L \x1b[31m\u202e",
        "explain L --no \x1b[31m\u202e",
        "tools L --tool \x1b[31m",
    ],
)
def test_commands_print_no_control(logdir: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(logdir) if word == "L" else word for word in words.split(" ")]
    if words.startswith("query"):
        arguments[1] = "SELECT * FROM events"
    with suppress(SystemExit):  # of wrong arguments
        main(arguments)
    out, err = capsys.readouterr()
    assert out + err
    assert STEERING.findall((out + err).replace("\t", "")) == []
    if "markdown" in words:
        assert "@everyone" not in out
        assert not re.search(r"^\s*(?:# |!\[)|(?<!\\)!?\[image", out, re.MULTILINE)


@pytest.mark.parametrize("name", KINDS)
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
    cells = ["=1+1", "+cmd", "-2+3", "@SUM", "\tx", "a=b", "", None, -1.5, "-1.5", "+3", "-12"]
    expected = ["'=1+1", "'+cmd", "'-2+3", "'@SUM", "'\tx", "a=b", "", None, -1.5, "-1.5", "+3", "-12"]
    assert no_formulas(cells) == expected


def test_csv_is_data_for_programs_and_safe_for_spreadsheets() -> None:
    result = tp.open(build('plane 1 "/host:CPU"\n line 1 t\n  0 +5 "=1+1"')).sql("SELECT name, -1 AS n FROM events")
    assert result.to_csv() == "name,n\n=1+1,-1\n"
    assert result.to_csv(spreadsheet=True) == "name,n\n'=1+1,-1\n"


def test_the_log_has_no_control_and_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, LOG.name):
        try:
            raise ValueError("\x1b[31m\u202e")
        except ValueError:
            LOG.exception("host %s failed", "a\x1b[31m\nERROR forged")
    assert caplog.records[0].getMessage() == "host a\\u001b[31m\n  ERROR forged failed"
    assert STEERING.findall(caplog.text) == []
    assert "ValueError: \\u001b[31m\\u202e" in caplog.text


LONG = (">", ".", "/", "_a", "0.", " ", "\n", "(", ":", "a~;\\", "<a", "::a")


@pytest.mark.parametrize("pump", LONG)
def test_long_names_are_no_slow_ones(pump: str, tmp_path: Path) -> None:
    long = (pump * 100_000)[:100_000]
    write(tmp_path, {"plugins/profile/1/h.xplane.pb": renamed(build(step_profiles.gpu()), (f"{long}!",), 2)})
    run = tp.open(tmp_path, executor="threads").run()
    slow: dict[str, float] = {}

    def timed(what: str, ask: Any) -> None:
        begin = time.thread_time()
        with suppress(ProfileError):  # of no data for this tool
            ask()
        if (took := time.thread_time() - begin) > 2:
            slow[what] = took

    for tool in TOOLS:
        timed(tool.id, lambda tool=tool: run.payload(tool.id))
    timed("findings", run.findings)
    timed("redacted report", lambda: run.report(redact=True))
    assert slow == {}
