"""Exports: complete or not there, never over other files, never among profiles."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from builders.answers import run_of
from builders.logdirs import SMALL
from pyarrow import parquet

from tpu_profile_plugin import export as forms
from tpu_profile_plugin.errors import BadRequest, CorruptProfile
from tpu_profile_plugin.export.write import ARROW, PARQUET, Form, Options, Report, export
from tpu_profile_plugin.run.relations import RELATIONS, find
from tpu_profile_plugin.run.run import Run

RUN = run_of(SMALL)


def quiet(what: str) -> None:
    """Reports nothing."""


def text(run: Run, path: Path, options: Options, report: Report) -> None:
    """The name of the run; `options.align` fails after the first half."""
    path.write_text(run.name[:1])
    if options.align:
        raise CorruptProfile("cut")
    path.write_text(run.name)


TEXT = Form("text", "a text", directory=False, takes=("align",), write=text)


@pytest.mark.parametrize("form", [PARQUET, ARROW])
def test_every_table_is_a_file(form: Form, tmp_path: Path) -> None:
    reports: list[str] = []
    files = export(RUN, form, tmp_path / "new" / "out", Options(), reports.append)
    assert files == sorted((tmp_path / "new" / "out").iterdir())
    assert [file.stem for file in files] == sorted(relation.name for relation in RELATIONS)
    assert {"events", "events, 4 rows", "steps", "allocations"} <= set(reports)


def test_rows_of_a_table_are_those_of_the_run(tmp_path: Path) -> None:
    (file,) = export(RUN, PARQUET, tmp_path, Options(("events",)), quiet)
    rows = list(find("events").of(RUN).rows())
    assert parquet.read_table(file).to_pylist() == rows
    assert [row["name"] for row in rows] == ["step", "work", "work", "fusion.1"]


def test_existing_files_are_replaced_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "ops.parquet").write_text("mine")
    (tmp_path / "other.txt").write_text("mine")
    with pytest.raises(BadRequest, match=r"ops\.parquet already exists: --force replaces it"):
        export(RUN, PARQUET, tmp_path, Options(("ops", "steps")), quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"ops.parquet", "other.txt"}
    assert (tmp_path / "ops.parquet").read_text() == "mine"
    export(RUN, PARQUET, tmp_path, Options(("ops", "steps")), quiet, force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"ops.parquet", "steps.parquet", "other.txt"}
    assert (tmp_path / "ops.parquet").read_bytes()[:4] == b"PAR1"

    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(BadRequest, match="already exists"):
        export(RUN, TEXT, tmp_path / "x.txt", Options(), quiet)
    assert export(RUN, TEXT, tmp_path / "x.txt", Options(), quiet, force=True) == [tmp_path / "x.txt"]
    assert (tmp_path / "x.txt").read_text() == "run"


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(CorruptProfile):
        export(RUN, TEXT, tmp_path / "new" / "x.txt", Options(align=True), quiet)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(CorruptProfile):
        export(RUN, TEXT, tmp_path / "x.txt", Options(align=True), quiet, force=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.txt", "mine")]


def test_nothing_is_written_among_profiles(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    session = logdir / "plugins" / "profile" / "s"
    session.mkdir(parents=True)
    for output in (logdir, logdir / "out", session, logdir / "x" / ".." / "out"):
        with pytest.raises(BadRequest, match="is in the logdir"):
            export(RUN, PARQUET, output, Options(), quiet, logdir=str(logdir))
    with pytest.raises(BadRequest, match="is in the logdir"):
        export(RUN, PARQUET, session / "out", Options(), quiet, logdir=str(tmp_path / "h.xplane.pb"))
    assert [path.name for path in logdir.rglob("*")] == ["plugins", "profile", "s"]
    assert export(RUN, TEXT, tmp_path / "out", Options(), quiet, logdir=str(logdir))
    assert export(RUN, TEXT, tmp_path / "remote", Options(), quiet, logdir="gs://bucket/logs")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_leads_no_export_among_profiles(tmp_path: Path) -> None:
    session = tmp_path / "logs" / "plugins" / "profile" / "s"
    session.mkdir(parents=True)
    (tmp_path / "link").symlink_to(session)
    with pytest.raises(BadRequest, match="is in the logdir"):
        export(RUN, PARQUET, tmp_path / "link" / "out", Options(), quiet)
    assert list(session.iterdir()) == []


def test_wrong_places_and_options_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for form, output, options, message in (
        (PARQUET, file, Options(), "is a file: parquet needs a directory"),
        (TEXT, tmp_path, Options(), "is a directory: a file is written"),
        (PARQUET, file / "out", Options(), "cannot be written: Not a directory"),
        (PARQUET, tmp_path / "out", Options(align=True), "--align has no effect on --format parquet"),
        (TEXT, tmp_path / "out", Options(("ops",)), "--tables has no effect on --format text"),
        (PARQUET, tmp_path / "out", Options(("op",)), r"no table 'op' \(did you mean ops\?\); there are events, steps"),
        (PARQUET, tmp_path / "out", Options(("ops", "x y")), "no table 'x y'; there are"),
    ):
        with pytest.raises(BadRequest, match=message):
            export(RUN, form, output, options, quiet)
    assert list(tmp_path.iterdir()) == [file]


def test_every_form_is_found_by_its_name() -> None:
    for name in forms.FORMS:
        assert forms.find(name).name == name
    with pytest.raises(BadRequest, match="no export format 'x'; there are parquet, arrow"):
        forms.find("x")
