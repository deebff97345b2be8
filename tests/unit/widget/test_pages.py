"""Requests without a port: the routes of the server in this process, of one run that several share."""

from __future__ import annotations

import gc
import gzip
import json
import weakref
from pathlib import Path

from builders.logdirs import SMALL, build, write

import tpu_profile_plugin as tp
from tpu_profile_plugin.server.http.answer import STATIC
from tpu_profile_plugin.widget.pages import packed_pages, pages_of

FILE = "plugins/profile/s/h.xplane.pb"


def test_routes_answer_without_compression(tmp_path: Path) -> None:
    write(tmp_path, {FILE: SMALL})
    pages = pages_of(tp.open(tmp_path).run())
    answered = pages.ask("GET", "run_info?run=s")
    assert answered.status == 200
    assert [host["name"] for host in json.loads(answered.body)["hosts"]] == ["h"]
    names = {name for name, _ in answered.headers}
    assert "Content-Type" in names
    assert "Content-Encoding" not in names
    assert json.loads(pages.ask("GET", "config").body)["hideCaptureProfileButton"] is True


def test_wrong_requests_are_answered_with_their_status(tmp_path: Path) -> None:
    write(tmp_path, {FILE: SMALL})
    pages = pages_of(tp.open(tmp_path).run())
    assert pages.ask("GET", "nothing").status == 404
    assert pages.ask("GET", "run_info?run=x").status == 404
    assert pages.ask("POST", "run_info?run=s").status == 405
    refused = pages.ask("POST", "query", b'{"statement": "SELECT 1", "runs": ["x"]}')
    assert json.loads(refused.body)["error"]["code"] == "run_not_found"
    assert pages.ask("POST", "capture_profile", b"{}").status == 403


def test_nothing_is_decoded_twice_and_the_last_one_ends_the_pages(tmp_path: Path) -> None:
    write(tmp_path, {FILE: SMALL})
    logdir = tp.open(tmp_path)
    run = logdir.run()
    first, second = pages_of(run), pages_of(logdir.run())
    assert first is second
    space = run.columns()
    assert first.ask("GET", "page?run=s&tag=trace_viewer%40&format=columns").status == 200
    assert run.columns() is space
    known = weakref.ref(first)
    del first
    gc.collect()
    assert known() is second
    del second
    gc.collect()
    assert known() is None


def test_bytes_have_pages_too() -> None:
    pages = pages_of(tp.open(build(SMALL)).run())
    assert json.loads(pages.ask("GET", "runs").body) == ["memory"]


def test_the_files_of_the_pages_are_those_of_reports() -> None:
    assert gzip.decompress(packed_pages("report.css")) == (STATIC / "report" / "report.css").read_bytes()
