"""Files without a byte are left out of a run of several hosts, and named."""

from __future__ import annotations

from pathlib import Path

from builders.answers import answer, rows
from builders.logdirs import write
from builders.profiles.step_profiles import worker

import tpu_profile_plugin
from tpu_profile_plugin.tools.fleet import pod_viewer
from tpu_profile_plugin.tools.summary.overview_page import TOOL

REASON = "is empty (0 bytes): the capture ended before it wrote anything, or is still running."


def test_an_empty_file_does_not_hide_the_steps_of_other_hosts() -> None:
    tables, page = (answer(TOOL, worker("a"), b"", page=page) for page in (False, True))
    assert len(rows(tables[1])) == 4  # of six steps the first and the last are dropped
    assert page["steps"]["hosts"]["step_ms"] == {"h0": 1.0}
    messages = [row[1] for row in rows(tables[6])]
    assert messages == [f"Host h1 is left out: h1.xplane.pb {REASON}"]
    assert page["messages"] == []  # pages say so of every answer
    assert len(answer(pod_viewer.TOOL, b"", worker("a"))["podStatsSequence"]["podStatsMap"]) == 6


def test_a_run_of_empty_files_answers_as_before() -> None:
    for files in ((b"",), (b"", b"")):
        assert rows(answer(TOOL, *files)[1]) == []


def test_empty_files_are_named_beside_the_answer(tmp_path: Path) -> None:
    directory = "plugins/profile/one"
    write(tmp_path, {f"{directory}/a.xplane.pb": worker("a"), f"{directory}/b.xplane.pb": b""})
    run = tpu_profile_plugin.open(tmp_path).run()
    assert len(rows(run.answer("input_pipeline_analyzer")[1])) == 4
    assert [host.describe() for host in run.left_out] == [
        {"host": "b", "file": "b.xplane.pb", "code": "empty_file", "message": f"b.xplane.pb {REASON}"}
    ]
    assert run.on("a").left_out == []
    assert len(rows(run.answer("input_pipeline_analyzer", host="a")[1])) == 4
