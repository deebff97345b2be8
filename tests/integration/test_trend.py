"""`tpu-profile trend`, `summarize`, `gate` and `baseline` on real profiles in a logdir."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from builders.histories import profile
from builders.logdirs import report_parts, write

from tpu_profile_plugin.cli import main
from tpu_profile_plugin.trend import summaries
from tpu_profile_plugin.trend.summaries import read_file


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve runs of an op of 300 us and six others; from the ninth on, one of these takes 40 us more."""
    monkeypatch.setattr(summaries, "user_directory", lambda name: tmp_path / "cache" / name)
    files: dict[str, str | bytes | None] = {}
    for row in range(12):
        ops = {"dot": 300, **{f"op{i}": 100 + (row * (i + 3)) % 3 for i in range(6)}}
        ops["op2"] += 40 * (row >= 8)
        run = f"logs/plugins/profile/r{row:02}"
        files[f"{run}/h.xplane.pb"] = profile(ops)
        files[f"{run}/labels.json"] = json.dumps({"commit": "new" if row >= 8 else "old"}).encode()
    return write(tmp_path, files) / "logs"


def test_a_shift_is_told_with_its_run_its_labels_and_its_op(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trend", str(logdir)]) == 0
    told = capsys.readouterr()
    assert "12 of 12: " in told.err
    [line] = [line for line in told.out.splitlines() if "slower" in line]
    assert line.strip().startswith("4.4% slower (4.4% to 4.4%)")
    assert "since r08 (commit old -> new)" in line
    assert "op2 +40.17 us." in line
    assert main(["trend", str(logdir), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    [shift] = answer["shifts"]
    assert (shift["since"], shift["kind"], shift["labels"]) == ("r08", "step", "commit old -> new")
    assert shift["change_percent"] == pytest.approx(4.37, abs=0.05)
    assert shift["places"] == "op2 +40.17 us"


def test_a_report_tells_the_series_of_its_run(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = profile({"convert": 300, **{f"part{i}": 100 for i in range(6)}}).replace("TPU v6 Lite", "TPU v5")
    write(logdir, {"plugins/profile/z/h.xplane.pb": other})
    assert main(["report", str(logdir), "r11", "--format", "markdown", "--trend"]) == 0
    told = capsys.readouterr().out.partition("### Over the runs\n\n")[2].splitlines()
    assert told[0].startswith("**All steps on 1 TPU v6 Lite**: 12 runs, ")
    assert told[2].startswith("- 4.4% slower (4.4% to 4.4%) since r08 (commit old ")
    assert told[3:] == [""]


def stored(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a report says about itself, and its trend."""
    index, answers = report_parts(file.read_bytes())
    return index["report"], json.loads(answers['["trend"]'])


def test_a_saved_report_has_the_runs_over_time(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(logdir, {"plugins/profile/bad/h.xplane.pb": b"\x0a\xff\xff\xff\xff\x0f"})
    place = logdir.parent / "report.html"
    assert main(["report", str(logdir), "r11", "--trend", "-o", str(place)]) == 0
    assert "13 of 13: " in capsys.readouterr().err
    about, told = stored(place)
    assert (about["run"], about["trend"]) == ("r11", True)
    assert (told["listed"], told["remaining"], told["unread"]) == (13, 0, 0)
    [series] = told["series"]
    [change] = series["changes"]
    assert change["sentence"].startswith("4.4% slower (4.4% to 4.4%) since r08 (commit old -> new)")
    assert [run for run, why in zip(told["runs"]["run"], told["runs"]["problem"], strict=True) if why] == ["bad"]


def test_a_report_without_names_names_no_run_of_the_trend(logdir: Path) -> None:
    write(logdir, {"plugins/profile/bad/secret-host.xplane.pb": b"\x0a\xff\xff\xff\xff\x0f"})
    place = logdir.parent / "report.html"
    assert main(["report", str(logdir), "r11", "--trend", "--redact", "-o", str(place)]) == 0
    about, told = stored(place)
    text = json.dumps(told)
    assert not [
        name for name in ("r08", "r11", "bad", "secret", "commit", "old") if f'"{name}' in text or f" {name}" in text
    ]
    assert told["runs"]["labels"] == {}
    assert sorted(set(told["runs"]["problem"])) == ["", "It has no figures."]
    assert about["run"] == told["runs"]["run"][told["series"][0]["rows"][-1]]
    assert re.search(r" since run-\d+, ", told["series"][0]["changes"][0]["sentence"])


def test_an_empty_logdir_has_no_trend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trend", str(tmp_path)]) == 1
    assert "No profile found" in capsys.readouterr().err


def gate(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["gate", *words])
    told = capsys.readouterr()
    return status, told.out


def test_the_gate_by_its_exit_status(logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["--fail-if", "step_time>+3%"]
    status, told = gate(capsys, str(logdir), "--run", "latest:4", "--base", "commit=old", *limits)
    assert (status, told.splitlines()[0]) == (3, "FAIL: 4 runs (r11) against 8 of the baseline (r07)")
    status, told = gate(capsys, str(logdir), "--run", "r06", "--run", "r07", "--base", "commit=old", *limits)
    assert (status, told.splitlines()[0]) == (0, "PASS: 2 runs (r07) against 6 of the baseline (r05)")
    status, told = gate(capsys, str(logdir), "--base", "r00", "--fail-if", "memory_peak>+5%", "--format", "junit")
    case = ElementTree.fromstring(told)[0]
    assert (status, case[0].tag, case[0].get("message")) == (4, "error", "No baseline tells memory peak.")
    status, told = gate(capsys, str(logdir), "--fail-if", "step_time>1ms", "--format", "json")
    assert (status, json.loads(told)["verdict"]) == (0, "pass")
    assert gate(capsys, str(logdir), *limits)[0] == 2  # without a baseline
    assert gate(capsys, str(logdir), "--fail-if", "speed>+3%")[0] == 2
    assert gate(capsys, str(logdir), "--run", "nosuch", "--base", "r00", *limits)[0] == 1
    broken = write(tmp_path / "broken", {"plugins/profile/b/h.xplane.pb": b"\x0a\xff\xff\xff\xff\x0f"})
    assert gate(capsys, str(broken), "--fail-if", "step_time>1ms")[0] == 1


def test_a_command_that_records_itself_is_run_and_its_runs_are_judged(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program records what r00 has, as runs that it numbers by itself."""
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, shutil, sys\n"
        "logs = pathlib.Path(sys.argv[1])\n"
        "number = len(list(logs.iterdir()))\n"
        "shutil.copytree(logs / sys.argv[2], logs / f'x{number}', copy_function=shutil.copyfile)\n"
        "print('recorded', *sys.argv[3:])\n"
    )
    records = ("--", sys.executable, str(program), str(logdir / "plugins/profile"))
    limits = ("--base", "commit=old", "--fail-if", "step_time>+3%")
    status, told = gate(capsys, str(logdir), *limits, "--runs", "3", *records, "r00", "--", "--fail-if")
    assert (status, told.splitlines()[0]) == (0, "PASS: 3 runs (x14) against 8 of the baseline (r07)")
    status, told = gate(capsys, str(logdir), *limits, "--runs", "1", *records, "r09")
    assert (status, told.splitlines()[0]) == (3, "FAIL: 1 run (x15) against 11 of the baseline (x14)")
    for words, wanted in (
        (("--runs", "3"), 2),  # no command
        (("--run", "r00", *records, "r00"), 2),
        (("--runs", "0", *records, "r00"), 2),
        (("--", str(tmp_path / "nosuch")), 2),
        (("--", sys.executable, "-c", "raise SystemExit(7)"), 1),
        (("--", sys.executable, "-c", ""), 1),  # records nothing
    ):
        assert gate(capsys, str(logdir), *limits, *words)[0] == wanted


def test_baselines_outlive_the_logdir_and_files_of_summaries_do_without_it(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named, written = str(tmp_path / "baselines.json"), str(tmp_path / "today.runs.jsonl")
    before = sorted(path for path in logdir.rglob("*"))
    assert main(["baseline", "set", "main", str(logdir), "--run", "commit=old", "--baselines", named]) == 0
    assert main(["summarize", str(logdir), "--match", "r1*", "--label", "job=7", "--output", written]) == 0
    assert sorted(path for path in logdir.rglob("*")) == before, "nothing is written to the logdir"
    assert [(one.run, one.labels) for one in read_file(Path(written))] == [
        ("r10", {"commit": "new", "job": "7"}),
        ("r11", {"commit": "new", "job": "7"}),
    ]
    capsys.readouterr()
    words = ["--run", "latest:2", "--base", "main", "--baselines", named, "--fail-if", "step_time>+3%"]
    status, told = gate(capsys, written, *words)
    assert (status, told.splitlines()[0]) == (3, "FAIL: 2 runs (r11) against 8 of the baseline (r07)")
    main(["baseline", "list", "--baselines", named])
    assert capsys.readouterr().out.startswith("main: r00, r01, ")
    assert main(["baseline", "delete", "main", "--baselines", named]) == 0
    assert main(["baseline", "delete", "main", "--baselines", named]) == 1


def test_reports_of_the_gate_are_well_formed_whatever_names_hold(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--fail-if", "step_time>+3%", "--fail-if", "memory_peak>+5%", "--fail-if", "step_time>1s"]
    words = [str(logdir), "--run", "latest:4", "--base", "commit=old", *limits]
    status, told = gate(capsys, *words, "--format", "junit")
    suite = ElementTree.fromstring(told)
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors")}
    assert (status, suite.tag, counts) == (3, "testsuite", {"tests": "3", "failures": "1", "errors": "1"})
    assert [(case.get("name"), [one.tag for one in case]) for case in suite] == [
        ("step_time>+3%", ["failure"]),
        ("memory_peak>+5%", ["error"]),
        ("step_time>1s", []),
    ]
    status, told = gate(capsys, *words, "--format", "markdown")
    lines = told.splitlines()
    assert (status, lines[0]) == (3, "**Fail**: 4 runs (r11) against 8 of the baseline (r07)")
    assert lines[2:4] == ["| Fails if | Verdict | Measured |", "| --- | --- | --- |"]
    assert [line.count(" | ") for line in lines[4:7]] == [2, 2, 2]
    assert lines[4].startswith("| step\\_time\\>+3% | fail | +4.1% (")


def test_runs_that_do_not_count_have_their_reason(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stepless = 'plane 1 "/host:CPU"\n  line 1 "python"\n    0us +5us f\n'
    write(
        logdir,
        {"plugins/profile/x/h.xplane.pb": stepless, "plugins/profile/y/h.xplane.pb": b"\x0a\xff\xff\xff\xff\x0f"},
    )
    assert main(["trend", str(logdir)]) == 0
    told = capsys.readouterr().out
    assert "\nx: " in told
    assert "\ny: " in told
    assert "12 runs" in told
    status, told = gate(capsys, str(logdir), "--run", "x", "--base", "r00", "--fail-if", "step_time>+3%")
    assert status == 4
    assert "x does not count: " in told
