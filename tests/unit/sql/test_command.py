"""`tpu-profile query`: its forms of output, and what it says on standard error."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet
import pytest
from builders.logdirs import write
from builders.planes import tpu

from tpu_profile_plugin.cli import main

OPS = tpu("0 40 fusion.1\n60 30 fusion.2\n100 100 fusion.1", steps="0 100 1 {_ct=9, _c=1}\n100 100 2 {_ct=9, _c=2}")
BUSY = "SELECT run, name, self_ps, self_ps / 4e7 AS x FROM ops ORDER BY self_ps"


@pytest.fixture
def logs(tmp_path: Path) -> str:
    return str(write(tmp_path, {f"{run}/plugins/profile/s/h.xplane.pb": OPS for run in "ab"}))


def test_rows_as_text(logs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", BUSY, "--logdir", logs, "--runs", "a*"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run  name        self_ps     x",
        "a/s  fusion.2   30000000  0.75",
        "a/s  fusion.1  140000000   3.5",
    ]
    assert main(["query", "SELECT 'a\nb' AS t, NULL AS n", "--logdir", logs]) == 0
    assert capsys.readouterr().out == "t    n\na b\n"


def test_rows_in_other_formats(logs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["query", BUSY, "--logdir", logs, "--runs", "b*"]
    assert main([*given, "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "b/s,fusion.2,30000000,0.75"
    assert main([*given, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["answer"]["rows"]
    assert rows[1] == {"id": "2", "run": "b/s", "name": "fusion.1", "self_ms": 0.14, "x": 3.5}
    answer = tmp_path / "rows.json"
    assert main([*given, "--format", "json", "-o", str(answer)]) == 0
    assert json.loads(answer.read_text())["answer"]["rows"] == rows
    file = tmp_path / "rows.parquet"
    assert main([*given, "--format", "parquet", "--output", str(file)]) == 0
    assert pyarrow.parquet.read_table(file)["self_ps"].to_pylist() == [30000000, 140000000]
    assert capsys.readouterr().out == ""


def test_a_statement_from_standard_input(
    logs: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 1 AS one\n"))
    assert main(["query", "-", "--logdir", logs, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "one\n1\n"


def test_what_is_missing_goes_to_standard_error(logs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "SELECT run FROM ops ORDER BY 1", "--logdir", logs, "--rows", "1"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("run\na/s\n", "tpu-profile: Only the first 1 rows are shown.\n")


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (["SELECT 1"], 2, "needs SQL and --logdir"),
        (["--logdir", "LOGS"], 2, "needs SQL and --logdir"),
        (["SELECT 1", "--logdir", "LOGS", "--format", "parquet"], 2, "needs --output"),
        (["SELECT 1", "--logdir", "LOGS", "--seconds", "0"], 2, "seconds must be more than 0"),
        (["SELECT 1", "--logdir", "LOGS", "--runs", "x"], 1, "No run matches 'x'"),
        (["SELECT 1,\n x FROM ops", "--logdir", "LOGS"], 2, "(line 2, column 2)"),
        (["DROP TABLE ops", "--logdir", "LOGS"], 2, "DROP statements are not allowed"),
    ],
)
def test_errors(logs: str, more: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", *(logs if word == "LOGS" else word for word in more)]) == status
    assert message in capsys.readouterr().err


def test_errors_as_json(logs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "SELECT x FROM ops", "--logdir", logs, "--format", "json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["argument"]) == ("query_failed", "statement")
    assert "(line 1, column 8)" in error["message"]
