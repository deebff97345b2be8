"""Validators, compression, security headers, and the cache by content."""

import gzip
import json
import os
import threading
import time
from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from builders.servers.board import Board

ASK = {"run": "train/multi", "tag": "profile_contents"}


@pytest.fixture
def calls(monkeypatch):
    """Counts how often the tool is built."""
    from tpu_profile_plugin.tools import registry
    from tpu_profile_plugin.tools.summary import profile_contents

    built = []

    def build(run, query):
        built.append([host.name for host in run.profiles])
        return profile_contents.build(run, query)

    tool = registry.find("profile_contents")
    monkeypatch.setitem(registry._BY_ID, "profile_contents", type(tool)(**{**vars(tool), "build": build}))
    return built


def test_headers(board):
    for route, query in (("runs", {}), ("data", ASK), ("index.js", {}), ("version", {})):
        answer = board.get(route, **query)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.headers["Cache-Control"] == "no-cache"
        assert answer.headers["ETag"].startswith('W/"')
        assert "Content-Encoding" not in answer.headers
        assert int(answer.headers["Content-Length"]) == len(answer.data)
    page = board.get("index.html")
    assert page.headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'self'; form-action 'none'"
    )


def test_errors_are_not_cacheable(board):
    answer = board.get("data", run="nope", tag="x")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "ETag" not in answer.headers
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_tensorboard_logs_no_warnings(board, caplog):
    for route in ("index.html", "runs", "nope", "status"):
        answer = board.get(route)
        board.get(route, headers={"If-None-Match": answer.headers.get("ETag", "")})
    assert "Content-" not in caplog.text
    assert "will become an error" not in caplog.text


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True), ("gzip, deflate, br", True), ("*", True), ("gzip;q=0.5", True), ("x, gzip;q=0", False),
        ("br", False), ("identity", False), ("", False), (None, False),
    ],
)  # fmt: skip
def test_compression_only_when_accepted(board, accepted, packed):
    plain = board.get("data", **ASK).data
    answer = board.get("data", headers={} if accepted is None else {"Accept-Encoding": accepted}, **ASK)
    assert (answer.headers.get("Content-Encoding") == "gzip") == packed
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    assert (gzip.decompress(answer.data) if packed else answer.data) == plain


def test_small_answers_are_not_compressed(board):
    assert "Content-Encoding" not in board.get("version", headers={"Accept-Encoding": "gzip"}).headers


def test_head(board):
    for route, query in (("runs", {}), ("data", ASK), ("index.html", {}), ("data", {"run": "nope"})):
        get, head = board.get(route, **query), board.get(route, method="HEAD", **query)
        assert head.status_code == get.status_code
        assert head.data == b""
        same = ("Content-Type", "Content-Length", "ETag", "Cache-Control")
        assert [head.headers.get(name) for name in same] == [get.headers.get(name) for name in same]


@pytest.mark.parametrize("form", ["{}", "W/{strong}", '"x", {}', "*"])
def test_not_modified(board, form):
    for route, query in (("runs", {}), ("data", ASK), ("data_csv", ASK), ("index.js", {})):
        etag = board.get(route, **query).headers["ETag"]
        known = form.format(etag, strong=etag.removeprefix("W/"))
        answer = board.get(route, headers={"If-None-Match": known}, **query)
        assert (answer.status_code, answer.data) == (304, b"")
        assert answer.headers["ETag"] == etag
        assert answer.headers["Vary"] == "Accept-Encoding"


def test_a_304_needs_no_computation(board, logdir, tmp_path, calls):
    etag = board.get("data", **ASK).headers["ETag"]
    fresh = Board(logdir, tmp_path / "another home")
    assert fresh.get("data", headers={"If-None-Match": etag}, **ASK).status_code == 304
    assert len(calls) == 1


def test_etags_differ_between_queries(board):
    tags = {
        board.get("data", **{**ASK, **query}).headers["ETag"]
        for query in ({}, {"host": "hostA"}, {"host": "hostB"}, {"run": "bare/deep"})
    }
    assert len(tags) == 4


def test_computed_once(board, calls):
    first = board.get("data", **ASK)
    assert board.get("data", **ASK).data == first.data
    assert board.get("data", host="ALL_HOSTS", **ASK).data == first.data
    assert board.get("data", unrelated="1", **ASK).data == first.data
    assert calls == [["hostA", "hostB"]]


def test_use_saved_result_false_computes_again(board, calls):
    for value in ("true", "", "True", "false", "FALSE", "no"):
        board.get("data", use_saved_result=value, **ASK)
    assert len(calls) == 4, "once at first, and for each value that is not true"


def test_a_changed_file_changes_the_answer(board, logdir, calls):
    before = board.get("data", **ASK)
    write(logdir, {"train/plugins/profile/multi/hostA.xplane.pb": SMALL.replace("line 7", "line 8") + "\n" + SMALL})
    after = board.get("data", headers={"If-None-Match": before.headers["ETag"]}, **ASK)
    assert after.status_code == 200
    assert after.data != before.data
    assert len(calls) == 2


def test_a_touched_file_is_read_again(board, logdir, calls):
    board.get("data", **ASK)
    os.utime(logdir / "train/plugins/profile/multi/hostA.xplane.pb", (1_000_000_000, 1_000_000_000))
    board.get("data", **ASK)
    assert len(calls) == 2


def test_answers_survive_the_process(board, logdir, tmp_path, calls):
    first = board.get("data", **ASK)
    board.plugin.server.results()._disk.flush()
    again = Board(logdir, tmp_path / "home").get("data", **ASK)
    assert (again.data, again.headers["ETag"]) == (first.data, first.headers["ETag"])
    assert len(calls) == 1


def test_a_damaged_cache_is_a_miss(board, logdir, tmp_path, calls):
    first = board.get("data", **ASK)
    board.plugin.server.results()._disk.flush()
    for path in (tmp_path / "home/results").glob("*/*"):
        path.write_bytes(path.read_bytes()[:-5])
    assert Board(logdir, tmp_path / "home").get("data", **ASK).data == first.data
    assert len(calls) == 2


def test_the_cache_can_be_disabled(logdir, tmp_path):
    board = Board(logdir, tmp_path / "home", "--profile_cache_dir", "off")
    assert board.get("data", **ASK).status_code == 200
    assert not (tmp_path / "home").exists()


def test_simultaneous_equal_requests_compute_once(board, monkeypatch):
    from tpu_profile_plugin.tools import registry
    from tpu_profile_plugin.tools.summary import profile_contents

    calls, answers = [], []

    def slow(run, query):
        calls.append(1)
        time.sleep(0.3)
        return profile_contents.build(run, query)

    tool = registry.find("profile_contents")
    monkeypatch.setitem(registry._BY_ID, "profile_contents", type(tool)(**{**vars(tool), "build": slow}))
    threads = [threading.Thread(target=lambda: answers.append(board.get("data", **ASK).data)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(set(answers)) == 1


STEPS = """
plane 1 "/host:CPU"
  line 7 "python" @1000ns
    0us +100us train {step_num=1}
      2us +30us PjitFunction(step)
    100us +100us train {step_num=2}
      102us +30us PjitFunction(step)
plane 2 "/device:TPU:0" {device_type_string="TPU v6 Lite"}
  line 1 "Steps" @1000ns
    10us +80us 1 {step_num=1}
    110us +80us 2 {step_num=2}
  line 2 "XLA Ops" @1000ns
    10us +50us fusion.1 {flops=123}
    110us +50us fusion.1 {flops=123}
"""


def test_simultaneous_requests_of_a_page_decode_nothing_twice(tmp_path, monkeypatch):
    """The overview page requests its tools at once: each pass over the bytes is made for all of them."""
    from tpu_profile_plugin import _native
    from tpu_profile_plugin.columns import space

    passes = []

    class Counting:
        def __getattr__(self, name):
            return getattr(_native, name)

        def decode_space(self, data, threads, keep, events, filters, times=None):
            passes.append(repr((keep, events, filters)))
            time.sleep(0.05)  # the other requests reach this point in the meantime
            return _native.decode_space(data, threads, keep, events, filters, times)

    monkeypatch.setattr(space, "_native", Counting())
    board = Board(write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": STEPS}), tmp_path / "home")
    pages = [{"tag": "overview_page"}, {"tag": "smart_suggestion"}, {"tag": "time_budget"}]
    codes = []
    threads = [
        threading.Thread(target=lambda page=page: codes.append(board.get("page", run="s", **page).status_code))
        for page in pages
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [200] * 3
    assert len(passes) > 1
    assert sorted(passes) == sorted(set(passes))


def test_errors_are_not_cached(board, logdir):
    path = logdir / "bad/plugins/profile/cut/c.xplane.pb"
    broken = {"run": "bad/cut", "tag": "profile_contents"}
    assert board.get("data", **broken).status_code == 422
    assert board.json("run_tools", run="bad/cut") == []
    write(logdir, {"bad/plugins/profile/cut/c.xplane.pb": SMALL})
    assert path.stat().st_size
    assert board.get("data", **broken).status_code == 200
    assert board.json("run_tools", run="bad/cut") != []


def test_an_answer_computed_while_its_file_changed_is_not_cached(board, logdir, monkeypatch):
    from tpu_profile_plugin.tools import registry
    from tpu_profile_plugin.tools.summary import profile_contents

    def growing(run, query):
        table = profile_contents.build(run, query)
        write(logdir, {"train/plugins/profile/multi/hostA.xplane.pb": SMALL + SMALL.replace("plane 1", "plane 5")})
        return table

    tool = registry.find("profile_contents")
    monkeypatch.setitem(registry._BY_ID, "profile_contents", type(tool)(**{**vars(tool), "build": growing}))
    answer = board.get("data", **ASK)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert "ETag" not in answer.headers
    monkeypatch.undo()
    assert len(board.json("data", **ASK)["rows"]) == len(json.loads(answer.data)["rows"]) + 2


def test_the_logdir_is_never_written(board, logdir):
    def state():
        return {path: (path.stat().st_mtime_ns, path.is_file() and path.stat().st_size) for path in logdir.rglob("*")}

    before = state()
    for run in board.json("runs"):
        for route in ("run_tools", "run_info", "hosts", "module_list", "data", "data_csv"):
            board.get(route, run=run, tag="profile_contents")
    for route in ("runs", "runs_info", "status", "config"):
        board.get(route)
    assert state() == before


def test_a_read_only_logdir_has_all_its_tools(board, logdir, monkeypatch):
    import builtins
    import pathlib

    def guard(original):
        def opening(path, mode="r", *args, **kwargs):
            assert not (str(path).startswith(str(logdir)) and set(mode) & set("wax+")), path
            return original(path, mode, *args, **kwargs)

        return opening

    original_open = os.open

    def low(path, flags, *args, **kwargs):
        assert not (str(path).startswith(str(logdir)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)), path
        return original_open(path, flags, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", guard(open))
    monkeypatch.setattr(os, "open", low)
    monkeypatch.setattr(
        pathlib.Path, "mkdir", lambda self, *a, **k: pytest.fail(str(self)) if logdir in self.parents else None
    )
    for folder, _, _ in os.walk(logdir):
        Path(folder).chmod(0o555)
    assert board.json("run_tools", run="train/multi")
    assert board.json("data", **ASK)["rows"]
    for folder, _, _ in os.walk(logdir):
        Path(folder).chmod(0o755)
