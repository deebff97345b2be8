"""Runs of several hosts over HTTP: the same bytes with every executor, left-out hosts, progress."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders.logdirs import settle, write
from builders.profiles.op_profiles import GPU, TPU
from builders.profiles.step_profiles import serving, worker
from builders.rings import ALL
from builders.servers import host_parts
from builders.servers.board import Board
from builders.servers.dask_processes import DaskProcesses

from tpu_profile_plugin.cache.profiles import _SPACE, ProfileCache
from tpu_profile_plugin.logdir import Logdir
from tpu_profile_plugin.run.host import HostProfile, Origin
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.server.results import Abandoned, Progress
from tpu_profile_plugin.tools.registry import TOOLS
from tpu_profile_plugin.workers.executor import Executor

DEMO = Path(__file__).parents[2] / "demo"
SESSION = "plugins/profile/s"
RUNS = ("train/s", "gpu/s", "tpu/s", "serve/s", "real/s", "torn/s")
# What if replays in this process: its graph is as large as the events, and no worker sends it.
ALL_HOSTS_TOOLS = [tool.id for tool in TOOLS if tool.hosts.value in ("one_or_all", "all") and tool.id != "what_if"]


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("many")
    real = next((DEMO / "jax_mlp").rglob("*.xplane.pb")).read_bytes()
    write(
        root,
        {
            **{f"train/{SESSION}/w{i}.xplane.pb": worker(f"w{i}", wait_us=50 * i) for i in range(5)},
            **{f"gpu/{SESSION}/g{i}.xplane.pb": GPU.replace("jit_f", f"jit_f{i % 2}") for i in range(3)},
            **{f"tpu/{SESSION}/t{i}.xplane.pb": TPU for i in range(3)},
            **{f"serve/{SESSION}/s{i}.xplane.pb": serving() for i in range(2)},
            **{f"real/{SESSION}/r{i}.xplane.pb": real for i in range(2)},
            f"halves/{SESSION}/a.xplane.pb": b"\x0a\xff" * 9,
            f"halves/{SESSION}/b.xplane.pb": TPU,
            f"torn/{SESSION}/a.xplane.pb": worker("a"),
            f"torn/{SESSION}/b.xplane.pb": b"\x0a\xff" * 9,
            f"torn/{SESSION}/c.xplane.pb": worker("c"),
        },
    )
    return root


@contextmanager
def board_on(root: Path, home: Path, *flags: str):
    board = Board(root, home, "--profile_disk_mb", "0", *flags)
    try:
        yield board
    finally:
        board.plugin.server.close()


def answers(board: Board, runs: tuple[str, ...] = RUNS) -> dict[tuple[str, str], tuple[int, bytes, str | None]]:
    """Status, body and left-out header of every tool that takes all hosts, for every run."""
    found = {}
    for run in runs:
        for tool in ALL_HOSTS_TOOLS:
            route = "data" if tool == "memory_viewer" else "page"  # its page reads one host in this process
            answer = board.get(route, run=run, tag=tool, host="ALL_HOSTS")
            found[run, tool] = (answer.status_code, answer.data, answer.headers.get("X-Profile-Left-Out"))
    return found


@pytest.fixture(scope="module")
def on_threads(many, tmp_path_factory):
    with board_on(many, tmp_path_factory.mktemp("home"), "--profile_executor", "threads") as board:
        return answers(board)


def test_some_answers_are_worth_comparing(on_threads):
    assert len([status for status, _, _ in on_threads.values() if status == 200]) > 40
    assert all(status < 500 for status, _, _ in on_threads.values())
    steps = json.loads(on_threads["train/s", "overview_page"][1])["steps"]["decomposition"]["steps"]["name"]
    assert len(steps) == 4, "six steps without the first and the last"
    assert len(json.loads(on_threads["train/s", "pod_viewer"][1])["steps"]["total_ns"][0]) == 5


def test_worker_processes_give_the_same_bytes(many, tmp_path, on_threads):
    with board_on(many, tmp_path, "--profile_executor", "processes", "--profile_workers", "2") as board:
        assert answers(board) == on_threads


@pytest.fixture(scope="class")
def scheduler(tmp_path_factory):
    """A Dask cluster of two worker processes on this machine; yields the scheduler's address."""
    pytest.importorskip("distributed")
    made = DaskProcesses(tmp_path_factory.mktemp("cluster"))
    try:
        made.workers(2)
        yield made.address
    finally:
        made.end()


class TestDask:
    def test_a_cluster_gives_the_same_bytes(self, many, tmp_path, on_threads, scheduler):
        runs = RUNS if ALL else ("train/s", "torn/s")
        with board_on(many, tmp_path, "--profile_executor", scheduler) as board:
            assert answers(board, runs) == {key: answer for key, answer in on_threads.items() if key[0] in runs}
            entries = board.plugin.server.source().cache._entries.values()
            planes = [plane for entry in entries if _SPACE in entry.values for plane in entry.values[_SPACE].planes]
            assert not [plane.name for plane in planes if plane.decoded], "the server itself decodes metadata at most"

    def test_a_host_is_moved_to_another_worker_when_one_dies(self, many, tmp_path, scheduler):
        files = Logdir(str(many)).run("train/s").hosts
        executor = Executor(scheduler, workers=1)
        cache = ProfileCache(1 << 20)
        hosts = tuple(HostProfile(file, i, not_here, cache, origin=Origin("", file)) for i, file in enumerate(files))
        try:
            inputs = RunHosts("r", hosts, executor=executor.choose)
            found = inputs.map_hosts(host_parts.dies_once.given(str(tmp_path / "marker")))
        finally:
            executor.close()
        assert len(found) == 5
        assert (tmp_path / "marker").exists()
        assert inputs.left_out == []


def not_here(file):
    raise AssertionError("the server itself read a file")


def test_an_unreachable_scheduler_is_logged_and_replaced_by_this_machine(many, tmp_path, on_threads, caplog):
    with board_on(many, tmp_path, "--profile_executor", "tcp://127.0.0.1:1", "--profile_workers", "2") as board:
        found = board.get("page", run="train/s", tag="overview_page", host="ALL_HOSTS")
        assert found.data == on_threads["train/s", "overview_page"][1]
        (read_by,) = json.loads(found.headers["X-Profile-Read-By"])
        assert (read_by["name"], read_by["hosts"], read_by["fallback"]) == ("processes", 5, True)
        assert "The Dask scheduler tcp://127.0.0.1:1 cannot be used" in read_by["reason"]
    assert "cannot use the Dask scheduler" in caplog.text


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_truncated_host_is_left_out_and_reported(many, tmp_path, executor):
    with board_on(many, tmp_path, "--profile_executor", executor, "--profile_workers", "2") as board:
        answer = board.get("data", run="torn/s", tag="overview_page")
        told = json.loads(answer.headers["X-Profile-Left-Out"])
        assert told["count"] == 1
        (about,) = told["hosts"]
        assert (about["host"], about["file"], about["code"]) == ("b", "b.xplane.pb", "corrupt_profile")
        warnings = [row["c"][1]["v"] for row in answer.json[6]["rows"]]
        assert any(text.startswith("Host b is left out: ") for text in warnings)
        assert answer.json[2]["p"]["host_count"] == "2"
        table = board.json("data", run="torn/s", tag="profile_contents")
        assert json.loads(table["p"]["left_out"])[0]["host"] == "b"
        assert {row["c"][0]["v"] for row in table["rows"]} == {"a", "c"}
        assert board.json("data", run="torn/s", tag="pod_viewer")["left_out"][0]["host"] == "b"
        assert "X-Profile-Left-Out" in board.get("data_csv", run="torn/s", tag="profile_contents").headers
        again = board.get("data", run="torn/s", tag="overview_page", headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304, "the file is at fault, so that the answer may be kept"
        assert "X-Profile-Left-Out" not in board.get("data", run="train/s", tag="overview_page").headers


@pytest.mark.parametrize("tool", ["memory_viewer", "graph_viewer"])
def test_programs_are_those_of_the_hosts_that_can_be_read(many, tmp_path, tool):
    query = {"run": "halves/s", "tag": tool, "module_name": "jit_f(7)", "node_name": "fusion.1", "type": "long_txt"}
    with board_on(many, tmp_path) as board:
        whole, alone = board.get("data", **query), board.get("data", host="b", **query)
        assert (whole.status_code, alone.status_code) == (200, 200)
        assert json.loads(whole.headers["X-Profile-Left-Out"])["hosts"][0]["host"] == "a"
        if tool == "graph_viewer":
            assert whole.data == alone.data
        else:
            assert {**whole.json, "left_out": 0} == {**alone.json, "left_out": 0}


def test_an_answer_without_a_temporarily_missing_host_is_not_cached(many, tmp_path, monkeypatch):
    from tpu_profile_plugin.errors import FileChanged

    real, failing = Logdir.read, True

    def read(self, file):
        if failing and file.host == "w3":
            raise FileChanged("w3 is being written.")
        return real(self, file)

    monkeypatch.setattr(Logdir, "read", read)
    with board_on(many, tmp_path, "--profile_executor", "threads") as board:
        first = board.get("data", run="train/s", tag="overview_page")
        assert json.loads(first.headers["X-Profile-Left-Out"])["hosts"][0]["code"] == "file_changed"
        assert (first.headers["Cache-Control"], "ETag" in first.headers) == ("no-store", False)
        failing = False
        second = board.get("data", run="train/s", tag="overview_page")
        assert "X-Profile-Left-Out" not in second.headers
        assert second.json[2]["p"]["host_count"] == "5"


def test_progress_while_hosts_are_read(many, tmp_path, monkeypatch):
    real, gate = Logdir.read, threading.Semaphore(0)

    def read(self, file):
        gate.acquire()
        return real(self, file)

    monkeypatch.setattr(Logdir, "read", read)
    query = {"run": "train/s", "tag": "pod_viewer", "host": "ALL_HOSTS"}
    with board_on(many, tmp_path, "--profile_executor", "threads") as board:
        idle = {"done": None, "total": None, "missing": []}
        assert board.json("progress", **query) == idle
        asking = threading.Thread(target=lambda: board.get("page", **query))
        asking.start()
        try:
            _until(lambda: board.json("progress", **query), {"done": 0, "total": 5, "missing": ["w0", "w1", "w2"]})
            gate.release(4)
            _until(lambda: board.json("progress", **query)["done"], 4)
            (late,) = board.json("progress", **query)["missing"]
            assert late in {f"w{number}" for number in range(5)}
            assert board.get("progress", **query).headers["Cache-Control"] == "no-store"
            assert board.json("progress", run="train/s", tag="overview_page") == idle
        finally:
            gate.release(10)  # the facts of each host are read after its summary
            asking.join()
        assert board.json("progress", **query) == idle
        assert board.refused("progress", run="nope", tag="pod_viewer")[:2] == (404, "run_not_found")


@contextmanager
def reading_one_by_one(monkeypatch):
    """Profiles are read when the semaphore is released; yields it with the names of those that were."""
    real, gate, names = Logdir.read, threading.Semaphore(0), []

    def read(self, file):
        gate.acquire()
        names.append(file.name)
        return real(self, file)

    monkeypatch.setattr(Logdir, "read", read)
    try:
        yield gate, names
    finally:
        gate.release(100)


def asked_by(board, connection, query, statuses):
    """A request on a thread, over a connection that the server can see."""

    def ask():
        answer = board.client.open(
            f"{board.prefix}/data", query_string=query, environ_overrides={"werkzeug.socket": connection}
        )
        statuses.append((answer.status_code, answer.json["error"]["code"] if answer.status_code >= 400 else ""))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


QUERY = {"run": "train/s", "tag": "pod_viewer", "host": "ALL_HOSTS"}


def test_hosts_that_no_client_waits_for_are_not_read(many, tmp_path, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.workers.executor.available_cores", lambda: 1)
    statuses, looks, real = [], [], Progress._abandoned
    monkeypatch.setattr(Progress, "_abandoned", lambda *of: looks.append(real(*of)) or looks[-1])
    with (
        board_on(many, tmp_path, "--profile_executor", "threads") as board,
        reading_one_by_one(monkeypatch) as (gate, names),
    ):
        ours, theirs = socket.socketpair()
        asking = asked_by(board, ours, QUERY, statuses)
        gate.release()
        _until(lambda: looks, [False, False])  # before the first host and after it
        theirs.close()
        gate.release()
        _until(lambda: looks, [False, False, True])
        gate.release()
        asking.join(30)
        assert statuses == [(500, "abandoned")]
        assert len(names) in (2, 3), "the one that may have begun before the look"
        gate.release(10)
        assert board.get("data", **QUERY).status_code == 200, "nothing of it is cached"
        ours.close()


def test_an_answer_that_another_client_waits_for_goes_on(many, tmp_path, monkeypatch):
    left, stayed = [], []
    with (
        board_on(many, tmp_path, "--profile_executor", "threads") as board,
        reading_one_by_one(monkeypatch) as (gate, names),
        contextlib.ExitStack() as opened,
    ):
        pairs = [[opened.enter_context(one) for one in socket.socketpair()] for _ in range(2)]
        threads = [asked_by(board, pair[0], QUERY, got) for pair, got in zip(pairs, (left, stayed), strict=True)]
        waiting = board.plugin.server.results().progress._clients
        _until(lambda: [len(clients) for clients in waiting.values()], [2])
        pairs[0][1].close()
        gate.release(10)
        for thread in threads:
            thread.join(30)
        # The one that left may ask on its own after the answer, and is then given up.
        assert stayed == [(200, "")]
        assert len(set(names)) == 5


def test_a_client_that_comes_when_the_last_one_leaves_gets_its_answer(many, tmp_path, monkeypatch):
    with board_on(many, tmp_path, "--profile_executor", "threads") as board:
        results = board.plugin.server.results()
        real, failures = results._flights.do, [Abandoned()]

        def do(key, work):
            if failures:
                raise failures.pop()
            return real(key, work)

        monkeypatch.setattr(results._flights, "do", do)
        assert board.get("data", **QUERY).status_code == 200


def _until(look, wanted, seconds=30.0):
    deadline = time.monotonic() + seconds
    while (found := look()) != wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found == wanted


def test_the_command_reports_left_out_hosts(many, tmp_path):
    command = [sys.executable, "-m", "tpu_profile_plugin.cli", "tools", str(many), "torn/s"]
    done = subprocess.run(
        [*command, "--tool", "profile_contents", "--executor", "processes"],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        timeout=60,
        check=True,
    )
    assert done.stderr.startswith("tpu-profile: host b is left out: ")
    assert len(json.loads(done.stdout)["rows"]) == 2
    settle(many)
