"""`tpu-profile export` on a logdir."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest
from builders.logdirs import SMALL, write

from tpu_profile_plugin.cli import main
from tpu_profile_plugin.commands import export


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    files: dict[str, str | bytes | None] = {
        "plugins/profile/2026_01_02_00_00_00/a.xplane.pb": SMALL,
        "plugins/profile/2026_01_02_00_00_00/b.xplane.pb": SMALL,
        "plugins/profile/2026_01_02_00_00_00/torn.xplane.pb": b"\xff" * 100,
        "plugins/profile/2026_01_01_00_00_00/one.xplane.pb": SMALL,
    }
    return write(tmp_path / "logs", files)


def test_all_hosts_of_the_newest_run(logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["export", str(logdir), "--format", "parquet", "-o", str(out)]) == 0
    printed = capsys.readouterr()
    names = ["allocations", "collectives", "events", "ops", "problems", "runs", "steps"]
    assert [line.split()[0] for line in printed.out.splitlines()] == [str(out / f"{name}.parquet") for name in names]
    assert "tpu-profile: host torn is left out: " in printed.err  # behind the progress of a slow machine
    found = duckdb.sql(f"select run, host, count(*) from '{out}/events.parquet' group by all order by host").fetchall()
    assert found == [("2026_01_02_00_00_00", "a", 4), ("2026_01_02_00_00_00", "b", 4)]

    assert main(["export", str(logdir), "--format", "parquet", "-o", str(out)]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert main(["export", str(logdir), "--format", "parquet", "-o", str(out), "--force"]) == 0


def test_a_chosen_run_host_and_tables(logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    chosen = ["2026_01_01_00_00_00", "--host", "one", "--tables", "steps, ops"]
    assert main(["export", str(logdir), *chosen, "--format", "arrow", "-o", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["ops.arrow", "steps.arrow"]
    capsys.readouterr()
    for wrong, message in (
        (["--tables", "stepz"], "did you mean steps"),
        (["--align"], "--align has no effect"),
        (["--host", "x"], "There is no host 'x'"),
        (["--output", str(logdir / "out")], "is in the logdir"),
    ):
        arguments = ["export", str(logdir), "--format", "arrow", "-o", str(tmp_path / "other"), *wrong]
        assert main(arguments) in (1, 2)
        assert message in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_long_exports_tell_how_far_they_are(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_QUIET_S", 0.0)
    main(["export", str(logdir), "2026_01_01_00_00_00", "--format", "parquet", "-o", str(tmp_path / "out")])
    assert "tpu-profile: events, 4 rows\n" in capsys.readouterr().err


def test_without_pyarrow_the_message_says_what_to_install(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main(["export", str(logdir), "--format", "parquet", "-o", str(tmp_path / "out")]) == 1
    assert 'pip install "tpu-profile-plugin[sql]"' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
