"""What was left out of a run, cut or damaged: one value, told by every door."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from builders.answers import run_of
from builders.asking import asked
from builders.logdirs import SMALL, write
from builders.profiles.step_profiles import worker
from builders.servers.board import Board
from builders.xspace_text import build

import tpu_profile_plugin as tp
from tpu_profile_plugin.answers.text import as_text
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.tools.summary.smart_suggestion import TOOL, Loss, RunFindings

DAMAGED = worker("w") + '\nplane 9 "/host:metadata"\nmetadata "jit_f(1)" id=1 {"Hlo Proto"=0x0a7f}'
REMEDY = "Copy the file again in binary mode, or record again."
SAID = "HLO module jit_f(1) does not decode: "
SKEW = Problem("clock_skew", "The clocks differ by 3 ms.", remedy="Record host and devices with one profiler.", count=4)


@dataclass(frozen=True)
class Found:
    losses: tuple[Problem, ...] = ()


@per_host()
def found_in_events(host: HostProfile) -> Found:
    return Found((SKEW,))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A damaged host, one that is cut, and one that is sound; beside it a run without any profile."""
    files: dict[str, Any] = {
        "plugins/profile/2026_01_02/damaged.xplane.pb": DAMAGED,
        "plugins/profile/2026_01_02/cut.xplane.pb": build(SMALL)[:-7],
        "plugins/profile/2026_01_02/sound.xplane.pb": worker("s"),
        "plugins/profile/2026_01_01": None,
    }
    return write(tmp_path / "logs", files)


def codes(losses: tuple[Problem, ...]) -> list[tuple[str | None, str]]:
    return [(problem.host, problem.code) for problem in losses]


def test_losses_of_a_run_and_of_a_host(logdir: Path) -> None:
    run = tp.open(logdir).run("2026_01_02")
    assert codes(run.losses) == [("cut", "corrupt_profile"), ("damaged", "damaged_module")]
    cut, damaged = run.losses
    assert (cut.file, damaged.file) == ("cut.xplane.pb", "damaged.xplane.pb")
    assert cut.offset is not None
    assert damaged.offset is not None
    assert (damaged.message[: len(SAID)], damaged.remedy, damaged.count) == (SAID, REMEDY, 1)
    assert codes(run.on("damaged").losses) == [("damaged", "damaged_module")]
    assert codes(run.on("cut").losses) == [("cut", "corrupt_profile")]
    assert run.on("sound").losses == ()
    assert codes(tp.open(logdir).run("2026_01_01").losses) == [(None, "empty_session")]


def test_a_host_that_fails_is_told_once(logdir: Path) -> None:
    run = tp.open(logdir).run("2026_01_02")
    run.answer("overview_page")
    assert [host.host for host in run.left_out] == ["cut"]
    assert codes(run.losses) == [("cut", "corrupt_profile"), ("damaged", "damaged_module")]


def test_an_empty_file_is_told_once(tmp_path: Path) -> None:
    files = {"plugins/profile/s/a.xplane.pb": SMALL, "plugins/profile/s/b.xplane.pb": b""}
    assert codes(tp.open(write(tmp_path / "logs", files)).run().losses) == [("b", "empty_file")]
    alone = tmp_path / "one.xplane.pb"
    alone.write_bytes(b"")
    assert codes(tp.open(alone).run().losses) == [("one", "empty_file")]


def test_what_a_result_tells_is_a_loss_once_it_was_read() -> None:
    run = run_of(SMALL, SMALL)
    assert run.losses == ()
    found_in_events(run.profiles[1])
    (problem,) = run.losses
    assert (problem.host, problem.file, problem.code, problem.count) == ("h1", "h1.xplane.pb", "clock_skew", 4)
    sentence = "h1.xplane.pb: The clocks differ by 3 ms. Record host and devices with one profiler."
    assert problem.sentence == sentence
    answer = TOOL.build(run, TOOL.query({}))
    assert isinstance(answer, RunFindings)
    assert answer.problems == [Loss("h1.xplane.pb", "clock_skew", SKEW.message, None, SKEW.remedy)]


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Problem("x", "Torn.", "a.pb", 1234), "a.pb: Torn. (byte 1,234)"),
        (Problem("x", "invalid tag in XSpace at byte 7", "a.pb", 7), "a.pb: invalid tag in XSpace (byte 7)"),
        (Problem("x", "a.pb is empty", "a.pb"), "a.pb is empty."),
        (
            Problem("x", "5 bytes at offset 1,234 were left out.", None, 1234, "Again."),
            "5 bytes at offset 1,234 were left out. Again.",
        ),
        (Problem("x", "cut off", host="cut", remedy="Again."), "cut off. Again."),
        (Problem("x", "It ends early.", host="h1"), "h1: It ends early."),
    ],
)
def test_sentences(problem: Problem, sentence: str) -> None:
    assert problem.sentence == sentence


def test_texts_of_a_run_tell_them(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tp.open(logdir).run("2026_01_02")
    assert f"damaged.xplane.pb: {SAID}" in repr(run)
    assert REMEDY in run._repr_html_()
    assert repr(run.on("sound")) == "<OpenRun '2026_01_02', hosts: sound>"
    monkeypatch.setattr("tpu_profile_plugin.opening._REPR_BYTES", 10)
    assert "does not decode" not in repr(tp.open(logdir).run("2026_01_02")), "large files are not read for it"


def test_commands_tell_each_once(logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = [str(logdir), "2026_01_02"]
    commands = (
        ["tools", *about],
        ["tools", *about, "--tool", "profile_contents", "--format", "csv"],
        ["events", *about],
        ["explain", *about],
        ["export", *about, "--format", "parquet", "--tables", "steps", "-o", str(tmp_path / "out")],
    )
    for command in commands:
        assert main(command) == 0, command
        printed = capsys.readouterr()
        assert printed.err.count(SAID) == 1, command
        assert "cut" in printed.err, command
        assert SAID not in printed.out, command
    for verb in ("overview", "budget", "steps", "memory", "explain"):
        more = ["--finding", "host_sync"] if verb == "explain" else []
        assert main([verb, *about, *more]) == 0
        out = capsys.readouterr().out
        assert " ".join(out.split()).count(SAID) == 1, verb
    assert main(["doctor", str(logdir)]) == 1
    out = capsys.readouterr().out
    assert (out.count(SAID), out.count("cut.xplane.pb: "), out.count("This run is empty")) == (1, 2, 1)
    for command in (["explain", *about, "--format", "markdown"], ["report", *about, "--format", "markdown"]):
        assert main(command) == 0
        assert "> Problem: damaged.xplane.pb: HLO module" in capsys.readouterr().out


def test_a_comparison_tells_those_of_both_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"a/plugins/profile/s/h.xplane.pb": DAMAGED, "b/plugins/profile/s/h.xplane.pb": DAMAGED}
    logdir = str(write(tmp_path / "logs", files))
    assert main(["compare", logdir, logdir, "--base-run", "a/s", "--run", "b/s"]) == 0
    assert [line.partition(" does")[0] for line in capsys.readouterr().err.splitlines()] == [
        f"tpu-profile: {run}: h.xplane.pb: HLO module jit_f(1)" for run in ("a/s", "b/s")
    ]
    notes = asked(tp.open(logdir), "compare", run="b/s", base="a/s")["answer"]["notes"]
    assert [note for note in notes if note.startswith("Base: h.xplane.pb: HLO module")]


def test_answers_tell_them(logdir: Path) -> None:
    opened = tp.open(logdir)
    envelope = asked(opened, "overview", run="2026_01_02")
    told = envelope["from"]["problems"]
    assert [(one["host"], one["file"], one["code"]) for one in told] == [
        ("cut", "cut.xplane.pb", "corrupt_profile"),
        ("damaged", "damaged.xplane.pb", "damaged_module"),
    ]
    assert told[1]["remedy"] == REMEDY
    assert as_text(envelope).count("Problem:") == 1, "hosts that are left out are named above"
    assert "problems" not in asked(opened, "overview", run="2026_01_02", host="sound")["from"]
    empty = asked(opened, "overview", run="2026_01_01")
    assert "This run is empty" in empty["cannot_answer"]["reason"]
    assert "problems" not in empty["from"], "the reason is told once"


def test_an_answer_tells_three_and_counts_the_rest(tmp_path: Path) -> None:
    files = {f"plugins/profile/s/{host}.xplane.pb": DAMAGED for host in "abcde"}
    envelope = asked(tp.open(write(tmp_path / "logs", files)), "overview", max_bytes=2500)
    assert ([one["host"] for one in envelope["from"]["problems"]], envelope["from"]["more_problems"]) == (
        ["a", "b", "c"],
        2,
    )
    assert "2 more problems: `tpu-profile doctor` lists all." in as_text(envelope)


def test_the_page_and_the_report_have_them(logdir: Path, tmp_path: Path) -> None:
    board = Board(logdir, tmp_path / "home")
    problems = board.json("run_info", run="2026_01_02")["problems"]
    assert [(one["file"], one["code"], one.get("remedy")) for one in problems] == [
        ("cut.xplane.pb", "corrupt_profile", None),
        ("damaged.xplane.pb", "damaged_module", REMEDY),
    ]
    losses = tp.open(logdir).run("2026_01_02").losses
    assert problems == [json.loads(json.dumps(problem.describe(with_host=False))) for problem in losses]
