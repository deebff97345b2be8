"""The table `runs`: a row per run, with labels as they are now, that joins with the other tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.histories import profile
from builders.logdirs import settle, write

import tpu_profile_plugin as tp
from tpu_profile_plugin.export.write import PARQUET, Options
from tpu_profile_plugin.run.relations import find

US = 10**6


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files: dict[str, str | bytes | None] = {
        "logs/plugins/profile/a/h.xplane.pb": profile({"fusion": 300, "copy": 100}),
        "logs/plugins/profile/b/h.xplane.pb": profile({"fusion": 330, "copy": 100}),
        "logs/plugins/profile/b/labels.json": b'{"commit": "8d24e0c", "batch": 32}',
        "logs/plugins/profile/c": None,
    }
    return write(tmp_path, files) / "logs"


def test_a_row_per_run(logdir: Path) -> None:
    rows = [*tp.open(logdir).sql("SELECT * FROM runs ORDER BY run").table]
    assert [
        [row[id_] for id_ in ("run", "device", "hosts", "commit", "labels", "steps", "step_ps", "between_steps_ps")]
        for row in rows
    ] == [
        ["a", "TPU v6 Lite", 1, None, "{}", 8, 410 * US, 10 * US],
        ["b", "TPU v6 Lite", 1, "8d24e0c", '{"commit": "8d24e0c", "batch": "32"}', 8, 440 * US, 10 * US],
        ["c", None, None, None, "{}", None, None, None],
    ]
    assert [row["compute_ps"] for row in rows] == [300 * US, 330 * US, None]
    assert [row["recorded_ms"] is not None for row in rows] == [True, True, False]
    assert [row["problem"] for row in rows] == [None, None, "It has no profile."]


def test_labels_are_those_of_now_and_runs_join_with_other_tables(logdir: Path) -> None:
    statement = """
        SELECT labels ->> 'batch' AS batch, count(*) AS steps, any_value(step_ps) AS ps
        FROM runs JOIN steps USING (run) WHERE commit IS NOT NULL GROUP BY ALL ORDER BY 1
    """
    opened = tp.open(logdir)
    assert [tuple(row.values()) for row in opened.sql(statement)] == [("32", 8, 440 * US)]
    write(logdir, {"plugins/profile/a/labels.json": b'{"commit": "1f0c2d9", "batch": 16}'})
    assert [tuple(row.values()) for row in opened.sql(statement)] == [("16", 8, 410 * US), ("32", 8, 440 * US)]


def test_a_run_is_read_once_for_trend_and_table(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tp.open(logdir).trend()
    monkeypatch.setattr("tpu_profile_plugin.trend.summaries.run_summary", None)
    rows = tp.open(logdir).sql("SELECT step_ps FROM runs WHERE step_ps > 0 ORDER BY run")
    assert rows["step_ps"].tolist() == [round(run.step_ps) for run in told.runs if run.conditions is not None]


def test_files_and_hosts_by_themselves_have_it(logdir: Path, tmp_path: Path) -> None:
    write(logdir, {"plugins/profile/b/other.xplane.pb": profile({"fusion": 500, "copy": 100})})
    settle(logdir)
    run = tp.open(logdir).run("b")
    assert find("runs").of(run).read().column("hosts") == [2]
    assert find("runs").of(run.on("other")).read().column("step_ps") == [610 * US]
    PARQUET.write(run, tmp_path, Options(("runs",)), lambda _: None)
    assert (tmp_path / "runs.parquet").stat().st_size
