"""The table `problems`, and what queries over other tables say of what these lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, write
from builders.profiles.step_profiles import worker
from builders.xspace_text import build

import tpu_profile_plugin as tp
from tpu_profile_plugin.cli import main

DAMAGED = worker("w") + '\nplane 9 "/host:metadata"\nmetadata "jit_f(1)" id=1 {"Hlo Proto"=0x0a7f}'
STEPS = "SELECT count(*) FROM steps"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A damaged host and one that is cut; beside the run one without any profile."""
    files: dict[str, Any] = {
        "plugins/profile/2026_01_02/damaged.xplane.pb": DAMAGED,
        "plugins/profile/2026_01_02/cut.xplane.pb": build(SMALL)[:-7],
        "plugins/profile/2026_01_01": None,
    }
    return write(tmp_path / "logs", files)


def test_a_row_per_problem(logdir: Path) -> None:
    opened = tp.open(logdir)
    rows = [*opened.sql("SELECT * FROM problems ORDER BY run, host").table]
    assert [(row["run"], row["host"], row["code"]) for row in rows] == [
        ("2026_01_01", None, "empty_session"),
        ("2026_01_02", "cut", "corrupt_profile"),
        ("2026_01_02", "damaged", "damaged_module"),
    ]
    told = opened.run("2026_01_02").losses
    for row, problem in zip(rows[1:], told, strict=True):
        columns = ("host", "code", "message", "file", "offset", "count")
        assert [row[id_] for id_ in columns] == [getattr(problem, id_) for id_ in columns]
        assert (row["remedy"] or "") == problem.remedy
    assert len(opened.run("2026_01_02").relation("problems").read()) == 2


def test_a_sound_run_has_none(tmp_path: Path) -> None:
    opened = tp.open(write(tmp_path, {"plugins/profile/s/h.xplane.pb": SMALL}))
    assert len(opened.sql("SELECT * FROM problems")) == 0
    assert opened.sql(STEPS).notes == ()


def test_queries_say_what_their_tables_lack(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = tp.open(logdir)
    notes = opened.sql(STEPS, "2026_01_02").notes
    assert [note.partition(" jit_f")[0] for note in notes] == [
        f"Host cut is left out: {opened.run('2026_01_02').losses[0].message}",
        "2026_01_02: damaged.xplane.pb: HLO module",
    ]
    assert opened.sql(STEPS, "2026_01_02").notes == notes, "a kept table tells them too"
    assert opened.sql(STEPS, "2026_01_01").notes == ()
    assert main(["query", STEPS, "--logdir", str(logdir)]) == 0
    assert capsys.readouterr().err.count("damaged.xplane.pb: HLO module") == 1
