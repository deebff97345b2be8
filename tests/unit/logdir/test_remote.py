"""Remote filesystems through fsspec's memory filesystem."""

import re
import threading
import time
from datetime import datetime, timezone

import fsspec
import pytest

from tpu_profile_plugin.errors import FileChanged, NotFound, StorageFailed
from tpu_profile_plugin.logdir import ContentCache, Logdir, remote
from tpu_profile_plugin.logdir.remote import time_ns


@pytest.fixture
def memory():
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


@pytest.fixture
def no_delay(monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote.RemoteFiles.rescan_after_s", -1.0)
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote._STALE_S", -1.0)


def test_runs_hosts_and_bytes(memory):
    memory.pipe("/logs/train/plugins/profile/2/h.a.xplane.pb", b"abc")
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"")
    memory.pipe("/logs/plugins/profile/note.txt", b"x")
    memory.makedirs("/logs/plugins/profile/empty")
    logdir = Logdir("memory://logs")
    assert logdir.has_runs(wait_s=30) is True
    assert logdir.names() == ["train/2", "empty", "1"]
    file = logdir.run("train/2").hosts[0]
    assert (file.host, file.size) == ("h.a", 3)
    assert file.mtime_ns > 0
    assert logdir.read(file).tobytes() == b"abc"
    assert [p.code for p in logdir.run("empty").problems] == ["empty_session"]
    with pytest.raises(NotFound):
        logdir.run("nope")


def test_an_open_filesystem_may_be_given(memory):
    memory.pipe("/x/plugins/profile/1/h.xplane.pb", b"1")
    assert Logdir("/x", memory).names() == ["1"]


def test_new_and_changed_files_are_found(memory, no_delay):
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"1")
    logdir = Logdir("memory://logs")
    before = logdir.run("1").hosts[0]
    memory.pipe("/logs/plugins/profile/2/h.xplane.pb", b"1")
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"22")
    assert logdir.names() == ["2", "1"]
    assert logdir.run("1").hosts[0].identity != before.identity
    with pytest.raises(FileChanged):
        logdir.read(before)
    memory.rm("/logs/plugins/profile/1/h.xplane.pb")
    with pytest.raises(NotFound):
        logdir.read(before)


def test_scans_of_a_remote_logdir_are_reused_for_some_seconds(memory):
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"1")
    logdir = Logdir("memory://logs")
    first = logdir.scan()
    assert logdir.scan() is first
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"22")
    assert logdir.run("1").hosts[0].size == 1


def test_a_file_that_changed_is_listed_again(memory):
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"1")
    logdir = Logdir("memory://logs")
    before = logdir.run("1").hosts[0]
    memory.pipe("/logs/plugins/profile/1/h.xplane.pb", b"22")
    with pytest.raises(FileChanged):
        logdir.read(before)
    assert logdir.read(logdir.run("1").hosts[0]).tobytes() == b"22"


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [("nosuch://bucket/x", "not_available", "nosuch"), ("gs://bucket/x", "not_available", "tpu-profile-plugin[gcs]")],
)
def test_a_missing_package_is_named(path, code, words, monkeypatch):
    def refuse(url):
        raise ImportError("Please install gcsfs") if url.startswith("gs") else ValueError("Protocol not known")

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    logdir = Logdir(path)
    assert logdir.names() == []
    problem = logdir.scan().problems[0]
    assert problem.code == code
    assert words in problem.message


@pytest.mark.parametrize(
    ("value", "ns"),
    [
        (1.5, 1_500_000_000),
        (datetime(1970, 1, 1, 0, 0, 2, tzinfo=timezone.utc), 2_000_000_000),
        ("1970-01-01T00:00:03Z", 3_000_000_000),
        ("yesterday", 0),
        (None, 0),
    ],
)
def test_times_in_all_forms(value, ns):
    assert time_ns(value) == ns


class Counting:
    """A memory filesystem that records its listings."""

    def __init__(self, memory):
        self.memory = memory
        self.asked = []

    def find(self, path, **kwargs):
        self.asked.append(("find", path))
        return self.memory.find(path, **kwargs)

    def ls(self, path, **kwargs):
        self.asked.append(("ls", path))
        return self.memory.ls(path, **kwargs)

    def __getattr__(self, name):
        return getattr(self.memory, name)


@pytest.fixture
def counting(memory):
    for i in range(30):
        memory.pipe(f"/logs/checkpoints/{i}/model.data", b"w")
    memory.pipe("/logs/a/plugins/profile/1/h.xplane.pb", b"1")
    memory.pipe("/logs/b/plugins/profile/2/h.xplane.pb", b"1")
    return Counting(memory)


def test_one_listing_for_the_whole_tree(counting):
    logdir = Logdir("/logs", counting)
    assert [run.name for run in logdir.runs()] == ["b/2", "a/1"]
    assert logdir.run("a/1").hosts[0].size == 1
    assert counting.asked == [("find", "/logs")]


def test_a_large_tree_is_listed_again_where_profiles_were(counting, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote._PAGE", 10)
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote.RemoteFiles.rescan_after_s", 0.0)
    logdir = Logdir("/logs", counting)
    logdir.scan()
    counting.asked.clear()
    counting.memory.pipe("/logs/a/plugins/profile/3/h.xplane.pb", b"1")
    counting.memory.rm("/logs/b/plugins/profile/2", recursive=True)
    counting.memory.pipe("/logs/c/plugins/profile/4/h.xplane.pb", b"1")
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote.RemoteFiles.rescan_after_s", 5.0)
    logdir._files.invalidate()
    logdir._last = None
    assert logdir.names() == ["a/3", "a/1"]
    assert counting.asked == [("find", "logs/a/plugins/profile"), ("find", "logs/b/plugins/profile")]
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote._WHOLE_S", 0.0)
    logdir._last = None
    assert logdir.names() == ["c/4", "a/3", "a/1"], "everything is listed once a minute"
    assert counting.asked[2:] == [("find", "/logs")]


def test_a_run_that_was_just_captured_is_found(counting, monkeypatch):
    logdir = Logdir("/logs", counting)
    assert logdir.names() == ["b/2", "a/1"]
    counting.memory.pipe("/logs/plugins/profile/new/h.xplane.pb", b"1")
    assert logdir.names() == ["b/2", "a/1"], "listed seconds ago"
    monkeypatch.setattr("tpu_profile_plugin.logdir.logdir._UNKNOWN_S", 0.0)
    assert logdir.run("new").host_names == ("h",)
    assert logdir.names() == ["new", "b/2", "a/1"]


def test_requests_do_not_wait_for_the_network(counting, monkeypatch):
    """Listings of the last minute are returned immediately and refreshed in the background."""
    go = threading.Event()
    logdir = Logdir("/logs", counting)
    before = logdir.run("a/1").hosts[0]
    counting.memory.pipe("/logs/a/plugins/profile/1/h.xplane.pb", b"22")
    monkeypatch.setattr("tpu_profile_plugin.logdir.remote.RemoteFiles.rescan_after_s", -1.0)
    monkeypatch.setattr(counting, "ls", lambda *a, **k: (go.wait(20), counting.memory.ls(*a, **k))[1], raising=False)
    assert logdir.run("a/1").hosts[0] == before
    go.set()
    deadline = time.monotonic() + 10
    while logdir.run("a/1").hosts[0] == before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert logdir.run("a/1").hosts[0].size == 2


def test_a_tree_whose_listing_times_out_is_walked(counting, monkeypatch):
    def slow(path, **_):
        raise TimeoutError

    monkeypatch.setattr(counting, "find", slow, raising=False)
    logdir = Logdir("/logs", counting)
    assert logdir.names() == ["b/2", "a/1"]
    assert ("ls", "/logs/a/plugins/profile") in counting.asked


class Denying:
    """Makes the memory filesystem deny what is below some paths."""

    def __init__(self, monkeypatch, memory):
        self.paths = ()
        for name in ("ls", "find", "info", "cat_file", "exists"):
            real = getattr(type(memory), name)

            def call(fs, path, *args, real=real, **kwargs):
                if any(str(path).strip("/").startswith(denied) for denied in self.paths):
                    raise PermissionError("Forbidden")
                return real(fs, path, *args, **kwargs)

            monkeypatch.setattr(type(memory), name, call)


@pytest.mark.parametrize("kind", ["object store", "tree"])
def test_known_runs_and_copies_are_shown_while_the_store_denies(memory, no_delay, monkeypatch, tmp_path, kind):
    if kind == "tree":
        monkeypatch.setattr(remote, "_OBJECT_STORES", frozenset())
    for run in ("1", "2"):
        memory.pipe(f"/logs/plugins/profile/{run}/h.xplane.pb", f"run {run}".encode())
    store = Denying(monkeypatch, memory)
    logdir = Logdir("memory://logs", cache=ContentCache(tmp_path, 1 << 20))
    assert logdir.names() == ["2", "1"]
    one, two = logdir.run("1"), logdir.run("2")
    assert (one.problems, logdir.read(one.hosts[0]).tobytes()) == ((), b"run 1")
    memory.pipe("/logs/plugins/profile/3/h.xplane.pb", b"run 3")
    store.paths = ("logs",)
    for _ in range(3):
        scan = logdir.scan(patience_s=None)
        assert scan.names == ["2", "1"]
        assert [problem.code for problem in scan.problems] == ["storage_denied"]
        assert "were listed" in scan.problems[0].message
        assert [run.name for run in logdir.runs()] == ["2", "1"]
        again = logdir.run("1")
        assert again.hosts == one.hosts
        assert [problem.code for problem in again.problems] == ["storage_denied"]
        assert re.match(r"Access to memory://logs(/plugins/profile/1)? was denied", again.problems[0].message)
        assert logdir.read(again.hosts[0]).tobytes() == b"run 1", "from the copy"
    with pytest.raises(StorageFailed) as caught:
        logdir.read(two.hosts[0])
    assert caught.value.code == "storage_denied"
    with pytest.raises(StorageFailed) as caught:
        logdir.run("3")
    assert caught.value.code == "storage_denied"
    store.paths = ()
    assert logdir.names() == ["3", "2", "1"]
    logdir.run("1")
    deadline = time.monotonic() + 30
    while logdir.run("1").problems and time.monotonic() < deadline:
        time.sleep(0.05)
    assert logdir.run("1").problems == ()


@pytest.mark.parametrize("kind", ["object store", "tree"])
def test_a_new_run_that_alone_is_denied(memory, no_delay, monkeypatch, kind):
    if kind == "tree":
        monkeypatch.setattr(remote, "_OBJECT_STORES", frozenset())
    for run in ("1", "2"):
        memory.pipe(f"/logs/plugins/profile/{run}/h.xplane.pb", b"1")
    store = Denying(monkeypatch, memory)
    store.paths = ("logs/plugins/profile/2",)
    logdir = Logdir("memory://logs")
    assert logdir.names() == ["2", "1"]
    assert [run.name for run in logdir.runs()] == ["2", "1"], "others are not held up"
    assert logdir.run("1").problems == ()
    if kind == "tree":
        denied = logdir.run("2").without_hosts()
    else:
        with pytest.raises(StorageFailed) as caught:
            logdir.read(logdir.run("2").hosts[0])
        denied = caught.value
    assert (denied.code, denied.status) == ("storage_denied", 502)
