"""Remote logdirs on real object-store servers on this machine: number of requests, and failures."""

from __future__ import annotations

import importlib.util
import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from builders.logdirs import SMALL
from builders.servers.board import Board
from builders.servers.object_store import BUCKET, ObjectStore, running_store
from builders.servers.server_process import running_tensorboard
from builders.xspace_text import build

from tpu_profile_plugin.capture.session import open_session
from tpu_profile_plugin.errors import FileChanged, NotFound, StorageFailed
from tpu_profile_plugin.logdir import ContentCache, Logdir, remote, remote_calls
from tpu_profile_plugin.logdir import logdir as logdir_module

NEEDED = {"s3": ("s3fs", "moto", "flask"), "gs": ("gcsfs", "gcp_storage_emulator")}
LARGE = os.urandom(9 << 20)
FILES = {
    "logs/plugins/profile/1/a.xplane.pb": build(SMALL),
    "logs/plugins/profile/1/b.xplane.pb": LARGE,
    "logs/train/plugins/profile/2/h.xplane.pb": build(SMALL),
    "logs/train/checkpoints/model.data": b"weights",
}


@pytest.fixture(scope="module", params=["s3", pytest.param("gs", marks=pytest.mark.night)])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    missing = [name for name in NEEDED[request.param] if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with running_store(request.param, tmp_path_factory.mktemp("store")) as store:
        for key, data in FILES.items():
            store.put(key, data)
        yield store


@pytest.fixture
def store(running: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    import fsspec

    for name, value in running.environ.items():
        monkeypatch.setenv(name, value)
    fsspec.config.set_conf_env(fsspec.config.conf)
    fsspec.get_filesystem_class(running.kind).clear_instance_cache()
    running.reset()
    yield running
    fsspec.config.conf.clear()


def opened(store: ObjectStore, home: Path | None = None, path: str = "logs") -> Logdir:
    cache = ContentCache(home, 1 << 30) if home is not None else None
    return Logdir(f"{store.kind}://{BUCKET}/{path}", cache=cache)


def test_the_second_open_reads_nothing(store, tmp_path):
    logdir = opened(store, tmp_path / "copies")
    assert logdir.names() == ["train/2", "1"]
    assert [(file.host, file.size) for file in logdir.run("1").hosts] == [("a", len(build(SMALL))), ("b", 9 << 20)]
    assert store.counts() == {"list": 1, "bytes": 0}, "one listing for all directories"
    files = [*logdir.run("1").hosts, *logdir.run("train/2").hosts]
    for file in files:
        assert logdir.read(file).tobytes() == FILES[f"logs/{file.path.split('/logs/')[1]}"]
    first = store.counts()
    assert first["read"] == 4, "the large file in two ranges"
    assert first["bytes"] == sum(file.size for file in files)
    # gcsfs retries when the emulator drops a connection, which happens occasionally.
    most = 4 if store.kind == "gs" else 3
    assert 3 <= first["look"] <= most, "one look after each file, to know that it is still the same"

    store.reset()
    again = opened(store, tmp_path / "copies")
    assert [again.read(file).tobytes() for file in again.run("1").hosts] == [build(SMALL), LARGE]
    assert again.read(again.run("train/2").hosts[0]).tobytes() == build(SMALL)
    assert store.counts() == {"list": 1, "bytes": 0}


def test_without_a_cache_files_are_read_each_time(store):
    logdir = opened(store)
    for _ in range(2):
        store.reset()
        assert logdir.read(logdir.run("1").hosts[1]).tobytes() == LARGE
        assert store.counts()["bytes"] == 9 << 20


def test_a_changed_object_is_read_again(store, tmp_path, monkeypatch):
    monkeypatch.setattr(remote.RemoteFiles, "rescan_after_s", -1.0)
    monkeypatch.setattr(remote, "_STALE_S", -1.0)
    store.put("changing/plugins/profile/1/h.xplane.pb", b"one")
    logdir = opened(store, tmp_path, "changing")
    before = logdir.run("1").hosts[0]
    assert logdir.read(before).tobytes() == b"one"
    store.put("changing/plugins/profile/1/h.xplane.pb", b"two")
    after = logdir.run("1").hosts[0]
    assert after.identity != before.identity
    assert logdir.read(after).tobytes() == b"two"
    assert logdir.read(before).tobytes() == b"one", "from the copy of that version"
    store.delete("changing/plugins/profile/1/h.xplane.pb")
    assert logdir.scan(patience_s=None).names == [], "however long the store takes on a busy machine"


@pytest.mark.parametrize("length", [9 << 20, 5 << 20, 0])
def test_an_object_that_changes_while_it_is_read(store, tmp_path, monkeypatch, length):
    if store.kind == "gs" and length != len(LARGE):
        pytest.skip("the emulator hangs up when a range is beyond the end, and gcsfs tries that for a minute")
    key = f"replaced{length}/plugins/profile/1/h.xplane.pb"
    store.put(key, LARGE)
    logdir = opened(store, tmp_path, f"replaced{length}")
    file = logdir.run("1").hosts[0]

    def fetch(fs, path, size, put, silent):
        def put_and_replace(offset, data):
            put(offset, data)
            store.put(key, bytes(length))

        remote_calls.fetch(fs, path, size, put_and_replace, silent)

    with monkeypatch.context() as patch:
        patch.setattr(remote_calls, "PARALLEL", 1)
        patch.setattr(remote, "fetch", fetch)
        with pytest.raises(FileChanged):
            logdir.read(file)
    assert logdir.read(logdir.run("1").hosts[0]).tobytes() == bytes(length)


def test_an_object_that_is_deleted(store, tmp_path):
    store.put("gone/plugins/profile/1/h.xplane.pb", b"one")
    logdir = opened(store, tmp_path, "gone")
    file = logdir.run("1").hosts[0]
    store.delete("gone/plugins/profile/1/h.xplane.pb")
    with pytest.raises(NotFound) as caught:
        logdir.read(file)
    assert caught.value.code == "host_not_found"


def test_a_capture_into_a_bucket(store):
    logdir = opened(store, path="captured")
    assert logdir.names() == []
    for expected in ("run", "run_2"):
        session = open_session(f"{store.kind}://{BUCKET}/captured", "run")
        assert session.store("h", build(SMALL)) == f"plugins/profile/{expected}/h.xplane.pb"
        logdir._last = None
        file = logdir.run(expected).hosts[0]
        assert logdir.read(file).tobytes() == build(SMALL)


@pytest.mark.parametrize("path", ["nosuchbucket/logs", f"{BUCKET}/nowhere"])
def test_missing_buckets_and_objects(store, path):
    problem = Logdir(f"{store.kind}://{path}").scan().problems[0]
    assert problem.code == "storage_missing"
    assert f"{store.kind}://{path}" in problem.message


def test_secrets_in_the_address_are_not_shown(store):
    logdir = Logdir(f"{store.kind}://me:hunter2@nosuchbucket/logs?token=hunter2")
    problem = logdir.scan().problems[0]
    assert "hunter2" not in problem.message + logdir.path
    assert logdir.path == f"{store.kind}://nosuchbucket/logs"


def test_no_credentials(store, monkeypatch, tmp_path):
    import fsspec

    if store.kind == "s3":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    else:
        fsspec.config.conf["gs"] = {"token": "google_default"}
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "nothing"))
        monkeypatch.setenv("NO_GCE_CHECK", "true")
        monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    monkeypatch.setenv("HOME", str(tmp_path))
    problem = opened(store).scan().problems[0]
    assert problem.code == "storage_credentials"
    assert f"{store.kind}://{BUCKET}/logs needs credentials" in problem.message
    assert ("AWS_PROFILE" if store.kind == "s3" else "gcloud auth") in problem.message


def test_a_store_that_hangs_and_one_that_is_down(store, tmp_path, monkeypatch):
    monkeypatch.setattr(remote.RemoteFiles, "rescan_after_s", -1.0)
    monkeypatch.setattr(remote, "_STALE_S", -1.0)
    logdir = Logdir(f"{store.kind}://{BUCKET}/logs", cache=ContentCache(tmp_path, 1 << 30))
    file = logdir.run("1").hosts[0]
    logdir.read(file)
    monkeypatch.setattr(remote, "_ANSWER_S", 0.5)  # set late, because a busy machine may take longer
    monkeypatch.setattr(logdir._scanner, "_limit_s", 0.5)
    store.freeze()
    try:
        began = time.monotonic()
        scan = logdir.scan()
        other = Logdir(f"{store.kind}://{BUCKET}/logs", limit_s=0.5).scan()
        assert time.monotonic() - began < 10
    finally:
        store.thaw()
    assert [problem.code for problem in (*scan.problems, *other.problems)] == ["storage_slow", "storage_slow"]
    assert f"{store.kind}://{BUCKET}/logs did not respond in time" in scan.problems[0].message
    assert (scan.names, other.names) == (["train/2", "1"], []), "what was known stays"


def test_known_runs_and_copies_are_served_while_the_store_hangs(store, tmp_path, monkeypatch):
    if store.kind == "gs":
        pytest.skip("as with s3, and slower to start")
    monkeypatch.setattr(remote.RemoteFiles, "rescan_after_s", -1.0)
    monkeypatch.setattr(remote, "_STALE_S", -1.0)
    board = Board(f"s3://{BUCKET}/logs", tmp_path)
    query = {"run": "train/2", "tag": "profile_contents"}
    whole = board.get("data", **query)
    assert (whole.status_code, board.json("runs")) == (200, ["train/2", "1"])
    assert board.json("run_info", run="train/2")["problems"] == []
    board.plugin.server.results()._memory._values.clear()
    for module, name, seconds in (
        (remote, "_ANSWER_S", 1),
        (remote, "_PATIENCE_S", 0.3),
        (logdir_module, "_PATIENCE_S", 0.3),
    ):
        monkeypatch.setattr(module, name, seconds)
    monkeypatch.setattr(board.plugin.server.logdir._scanner, "_limit_s", 1.0)
    store.freeze()
    try:
        for _ in range(2):
            began = time.monotonic()
            assert board.json("runs") == ["train/2", "1"]
            (slow,) = board.json("status")["problems"]
            assert slow["code"] == "storage_slow"
            assert re.search(r"were listed \d+ seconds ago", slow["message"])
            found = board.get("data", use_saved_result="false", **query)
            assert (found.status_code, found.data) == (200, whole.data), "from the copy"
            info = board.json("run_info", run="train/2")
            assert [host["problem"] for host in info["hosts"]] == [None]
            assert re.search(
                r"does not answer. The files of this session were listed \d+ sec", info["problems"][0]["message"]
            )
            assert time.monotonic() - began < 6
        silent = remote_calls.silent_threads(f"s3://{BUCKET}")
        assert len(silent._threads) <= remote_calls.MOST_SILENT
        assert sum(thread.name == "profile-list" for thread in threading.enumerate()) <= remote._MOST_REFRESHED
    finally:
        store.thaw()
    deadline = time.monotonic() + 30
    while board.json("run_info", run="train/2")["problems"] and time.monotonic() < deadline:
        board.json("runs")
        time.sleep(0.3)
    assert board.json("run_info", run="train/2")["problems"] == []


def test_two_tensorboards_with_worker_processes_and_one_cache(store, tmp_path):
    """Each file is fetched about once by all processes; a server started later fetches nothing."""
    if store.kind == "gs":
        pytest.skip("as with s3, and slower to start")
    hosts = [f"host{i}" for i in range(6)]
    for i, host in enumerate(hosts):
        store.put(f"pod/plugins/profile/1/{host}.xplane.pb", build(SMALL.replace("work", f"work{i}")))
    flags = ("--profile_cache_dir", str(tmp_path / "kept"), "--profile_executor", "processes", "--profile_workers", "1")
    (tmp_path / "other").mkdir()
    answers = []

    def ask(server):
        assert server.json("runs") == ["1"]
        info = server.json("run_info", run="1")
        assert [*info["problems"], *(host["problem"] for host in info["hosts"])] == [None] * 6
        answers.append(server.get("data", run="1", tag="profile_contents", use_saved_result="false"))

    store.reset()
    with (
        running_tensorboard(f"s3://{BUCKET}/pod", tmp_path, flags=flags) as one,
        running_tensorboard(f"s3://{BUCKET}/pod", tmp_path / "other", flags=flags) as two,
        ThreadPoolExecutor(2) as pool,
    ):
        list(pool.map(ask, (one, two)))
    counts = store.counts()
    assert 6 <= counts["read"] <= 12, "two servers may fetch the same file at the same moment"
    assert counts["list"] <= 2 * 3
    assert len([path for path in (tmp_path / "kept/content").rglob("*") if path.is_file()]) == 2 * 6
    store.reset()
    with running_tensorboard(f"s3://{BUCKET}/pod", tmp_path, flags=flags) as later:
        ask(later)
    assert (store.counts().get("read", 0), store.counts()["bytes"]) == (0, 0)
    assert "/device:TPU:0" in str(answers[0])
    assert len(set(answers)) == 1


def test_a_store_that_is_down(tmp_path, monkeypatch):
    """Listed runs and files with a local copy stay available; everything else reports the error."""
    if importlib.util.find_spec("s3fs") is None:
        pytest.skip("not installed: s3fs")
    with running_store("s3", tmp_path) as store:
        import fsspec

        fsspec.get_filesystem_class("s3").clear_instance_cache()
        monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        for name, value in store.environ.items():
            monkeypatch.setenv(name, value)
        store.put("logs/plugins/profile/1/h.xplane.pb", b"one")
        store.put("logs/plugins/profile/2/h.xplane.pb", b"two")
        logdir = opened(store, tmp_path / "copies")
        one, two = logdir.run("1").hosts[0], logdir.run("2").hosts[0]
        logdir.read(one)
        store.end()
        logdir._files.invalidate()
        began = time.monotonic()
        assert logdir.read(logdir.run("1").hosts[0]).tobytes() == b"one"
        with pytest.raises(StorageFailed) as caught:
            logdir.read(two)
        assert caught.value.code == "storage_unreachable"
        assert caught.value.message.startswith(f"s3://{BUCKET}/logs/plugins/profile/2/h.xplane.pb cannot be reached")
        assert time.monotonic() - began < 40
