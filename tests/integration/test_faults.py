"""Faults of disks, permissions and clocks, and files that change while read: correct answers or clear errors."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, settle, write
from builders.rings import many
from builders.servers.board import Board
from builders.servers.rights import without_privileges
from builders.servers.server_process import Server, running_tensorboard
from builders.xspace_text import build

from tpu_profile_plugin._native import CoreFailed
from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.capture.failures import WorkerFailure
from tpu_profile_plugin.capture.session import LocalSession
from tpu_profile_plugin.logdir import Logdir
from tpu_profile_plugin.server.results import Results

ONE = "plugins/profile/s/h.xplane.pb"
ASK = {"run": "s", "tag": "trace_viewer@", "host": "h"}
KEPT = "profile_contents"
"""A tool whose answers are cached on disk."""


def large(letter: str) -> bytes:
    """A profile of 1.6 MB, mostly names: large enough to be mapped, with errors visible in the answer."""
    events = "\n".join(f"    {i}us +1us {letter * 1000}{i}" for i in range(1600))
    return build(f'plane 1 "/host:CPU"\n  line 7 "python" @1000ns\n{events}\n')


A, B = large("A"), large("B")


def tree(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, size and modification time of everything below a directory."""
    return {
        str(path.relative_to(directory)): ((facts := path.lstat()).st_mode, facts.st_size, facts.st_mtime_ns)
        for path in [directory, *directory.rglob("*")]
    }


def asked(server: Server, **query: str) -> tuple[int, Any]:
    """Status and body, or status and code of the error."""
    import json

    try:
        return 200, server.get("data", **{**ASK, **query})
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]["code"]


def replace(path: Path, data: bytes) -> None:
    aside = path.with_name(".aside")
    aside.write_bytes(data)
    os.utime(aside, (time.time() - 3600,) * 2)
    aside.replace(path)


def overwrite(path: Path, data: bytes) -> None:
    """Leaves the time of the file as it was."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes, bytes]:
    """The answer to `ASK` for each of the two profiles, and for an empty one."""
    answers, root = {}, tmp_path_factory.mktemp("right")
    for data in (A, B, b""):
        logs = write(root / f"right{len(answers)}", {ONE: data})
        answers[data] = Board(logs, root / "home").get("data", **ASK).data
    assert len(set(answers.values())) == 3
    return answers


@pytest.fixture(scope="module")
def uncached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that keeps no answers; `run_file` adds runs to its logdir."""
    root = tmp_path_factory.mktemp("uncached")
    logs = write(root / "logs", {ONE: SMALL})
    with running_tensorboard(logs, root, flags=("--profile_cache_dir", "off")) as server:
        yield server


def run_file(server: Server, name: str) -> Path:
    """The file of a new run, which has profile A."""
    logs = Path(server.json("status")["absolute_logdir"])
    write(logs, {f"plugins/profile/{name}/h.xplane.pb": A})
    return logs / f"plugins/profile/{name}/h.xplane.pb"


class Busy:
    """Calls a function repeatedly in the background until the context ends."""

    def __init__(self, what: Callable[[int], None]) -> None:
        self._what = what
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.times = 0

    def _run(self) -> None:
        while not self._stop.is_set():
            self._what(self.times)
            self.times += 1

    def __enter__(self) -> Busy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_a_file_replaced_again_and_again(uncached, right):
    path, seen = run_file(uncached, "replaced"), []
    with Busy(lambda i: replace(path, (A, B)[i % 2])) as busy:
        for _ in range(12):
            seen.append(asked(uncached, run="replaced", use_saved_result="false"))
    assert busy.times > 3
    assert {body for status, body in seen if status == 200} <= {right[A], right[B]}, "never a mixture"
    assert {(status, code) for status, code in seen if status != 200} <= {(503, "file_changed")}
    replace(path, A)
    assert asked(uncached, run="replaced") == (200, right[A])


def test_a_file_overwritten_and_truncated_in_place(uncached, right):
    """As `cp` and `rsync --inplace` do; reading truncated pages would kill a process that maps files unguarded."""
    path = run_file(uncached, "overwritten")

    def rewrite(i: int) -> None:
        data = (B, A)[i % 2]
        with path.open("r+b") as file:
            file.truncate((0, 4096, len(A) // 2)[i % 3])
            time.sleep(0.01)
            file.write(data)
            file.truncate(len(data))
        os.utime(path, (1_700_000_000 + i,) * 2)
        time.sleep(0.03)

    with Busy(rewrite) as busy, ThreadPoolExecutor(3) as pool:
        seen = list(pool.map(lambda _: asked(uncached, run="overwritten", use_saved_result="false"), range(24)))
    assert busy.times > 3
    bodies = [body for status, body in seen if status == 200]
    assert set(bodies) <= set(right.values())
    errors = {(status, code) for status, code in seen if status != 200}
    assert errors <= {(503, "file_changed"), (422, "corrupt_profile")}
    path.write_bytes(A)
    settle(path.parent)
    assert asked(uncached, run="overwritten") == (200, right[A])


def test_a_capture_in_progress(tmp_path, right):
    """A growing file: its current content is shown or reported as broken, and the complete file is shown at the end."""
    logs = write(tmp_path / "logs", {ONE: b""})
    with running_tensorboard(logs, tmp_path) as server, (logs / ONE).open("ab") as file:
        statuses = []
        for start in range(0, len(A), len(A) // 12 + 1):
            file.write(A[start : start + len(A) // 12 + 1])
            file.flush()
            statuses.append(asked(server)[0])
        assert set(statuses) <= {200, 422, 503}
        assert asked(server) == (200, right[A])


def test_a_read_only_logdir(tmp_path):
    logs = write(tmp_path / "logs", {ONE: SMALL})
    for path in [*logs.rglob("*"), logs]:
        path.chmod(0o444 if path.is_file() else 0o555)
    before = tree(logs)
    with running_tensorboard(logs, tmp_path, prefix=without_privileges()) as server:
        info = server.json("run_info", run="s")
        assert [tool["id"] for tool in info["tools"] if tool["available"]][:1] == ["overview_page"]
        assert asked(server)[0] == 200
    assert tree(logs) == before


def test_a_read_only_cache_directory(tmp_path):
    logs = write(tmp_path / "logs", {ONE: SMALL})
    cache = tmp_path / "kept"
    cache.mkdir(mode=0o500)
    flags = ("--profile_cache_dir", str(cache))
    with running_tensorboard(logs, tmp_path, flags=flags, prefix=without_privileges()) as server:
        assert asked(server, tag=KEPT)[0] == 200
        assert asked(server, tag=KEPT, use_saved_result="false")[0] == 200
    cache.chmod(0o700)
    assert list(cache.iterdir()) == []
    log = (tmp_path / "tensorboard.log").read_text()
    assert log.count("Answers cannot be cached in") == 1
    assert "Permission denied" in log


def test_permission_denied(tmp_path):
    logs = write(
        tmp_path / "logs",
        {
            "plugins/profile/half/good.xplane.pb": SMALL,
            "plugins/profile/half/locked.xplane.pb": SMALL,
            "plugins/profile/shut/h.xplane.pb": SMALL,
            "train/plugins/profile/deep/h.xplane.pb": SMALL,
        },
    )
    closed = [logs / "plugins/profile/half/locked.xplane.pb", logs / "plugins/profile/shut", logs / "train"]
    for path in closed:
        path.chmod(0)
    try:
        with running_tensorboard(logs, tmp_path, prefix=without_privileges()) as server:
            assert server.json("runs") == ["shut", "half"]
            status = server.json("status")
            assert [(p["code"], p["file"]) for p in status["problems"] if p["file"] == "train"] == [
                ("unreadable_directory", "train")
            ]
            half = server.json("run_info", run="half")
            assert [(host["name"], (host["problem"] or {}).get("code")) for host in half["hosts"]] == [
                ("good", None),
                ("locked", "unreadable_file"),
            ]
            assert asked(server, run="half", host="good")[0] == 200
            assert asked(server, run="half", host="locked") == (403, "forbidden")
            shut = server.json("run_info", run="shut")
            assert [problem["code"] for problem in shut["problems"]] == ["unreadable_directory"]
            assert asked(server, run="shut", host="h") == (403, "forbidden")
            for path in closed:
                path.chmod(0o755)
            assert asked(server, run="half", host="locked")[0] == 200, "as soon as the rights are there"
            assert asked(server, run="shut")[0] == 200
    finally:
        for path in closed:
            path.chmod(0o755)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(place)], check=False, capture_output=True
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("no small filesystem can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_under_the_cache(tmp_path, small_disk):
    logs = write(tmp_path / "logs", {ONE: SMALL})
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass
    with running_tensorboard(logs, tmp_path, flags=("--profile_cache_dir", str(small_disk))) as server:
        for _ in range(2):
            assert asked(server, tag=KEPT, use_saved_result="false")[0] == 200
            time.sleep(0.3)  # answers are written in the background
        left = [path for path in small_disk.rglob("*") if path.is_file()]
        assert left == [small_disk / "filler"]
        (small_disk / "filler").unlink()
        assert asked(server, tag=KEPT, use_saved_result="false")[0] == 200
        deadline = time.monotonic() + 10
        while not list(small_disk.glob("results/*/*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(list(small_disk.glob("results/*/*"))) == 1, "kept again as soon as there is room"
    log = (tmp_path / "tensorboard.log").read_text()
    assert log.count("Answers cannot be cached in") == 1
    assert "No space left on device" in log


def test_a_full_disk_under_a_capture(small_disk):
    session = LocalSession(str(small_disk / "logs"), "s")
    with pytest.raises(WorkerFailure) as caught:
        session.store("h", bytes(2 << 20))
    assert "No space left on device" in str(caught.value)
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []
    session.store("h", build(SMALL))
    assert (small_disk / "logs" / ONE).read_bytes() == build(SMALL)


@pytest.mark.parametrize("mtime", [0, 1, time.time() + 86400, 2**33], ids=["1970", "1970+1s", "tomorrow", "2242"])
def test_implausible_modification_times(tmp_path, mtime, right):
    logs = write(tmp_path / "logs", {ONE: A})
    board = Board(logs, tmp_path / "home")
    for data in (A, B, A):
        (logs / ONE).write_bytes(data)
        for path in (logs / ONE, *(logs / ONE).parents[:3]):
            os.utime(path, (mtime, mtime + (data == B)))
        assert board.get("data", **ASK).data == right[data]
    write(logs, {"plugins/profile/t/h.xplane.pb": SMALL})
    os.utime(logs / "plugins/profile", (mtime, mtime))
    assert board.json("runs") == ["t", "s"], "a new directory is seen though the time of its parent says nothing"


@pytest.mark.parametrize("step_s", [-3600, 3600, -400 * 86400])
def test_a_clock_that_jumps(tmp_path, monkeypatch, step_s, right):
    logs = write(tmp_path / "logs", {ONE: A})
    board = Board(logs, tmp_path / "home")
    assert board.get("data", **ASK).data == right[A]
    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + step_s)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + int(step_s * 1e9))
    assert board.get("data", **ASK).data == right[A]
    replace(logs / ONE, B)
    assert board.get("data", **ASK).data == right[B]
    write(logs, {"plugins/profile/t/h.xplane.pb": SMALL}, age_s=-step_s)
    assert board.json("runs") == ["t", "s"]
    board.plugin.server.results()._disk.flush()
    assert Board(logs, tmp_path / "home").get("data", **ASK).data == right[B]


def test_a_server_that_is_killed_while_it_writes(tmp_path):
    names = [f"plugins/profile/s{i}/h.xplane.pb" for i in range(4)]
    logs = write(tmp_path / "logs", dict.fromkeys(names, A))
    flags = ("--profile_cache_dir", str(tmp_path / "kept"))
    answers: set[bytes] = set()
    for _ in range(many(1, 2)):
        with running_tensorboard(logs, tmp_path, flags=flags) as server, ThreadPoolExecutor(4) as pool:
            waiting = [
                pool.submit(asked, server, run=f"s{i % 4}", tag=KEPT, use_saved_result="false") for i in range(12)
            ]
            answers.add(waiting[0].result()[1])
            os.kill(server.pid, 9)
            for each in waiting:
                each.exception()
    with running_tensorboard(logs, tmp_path, flags=flags) as server:
        answers |= {asked(server, run=f"s{i}", tag=KEPT)[1] for i in range(4)}
        assert len(answers) == 1
    assert sorted(path for path in tree(logs) if path.endswith(".pb")) == names


def killed(code: str, *args: object) -> None:
    """Runs a program that kills itself in the middle."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr


def test_cache_files_of_a_killed_process(tmp_path):
    code = """
import os, pathlib, sys
from tpu_profile_plugin.cache.files import FileCache
with FileCache(pathlib.Path(sys.argv[1]), 1 << 20).writing("ab12") as file:
    file.write(bytes(100_000))
    file.flush()
    os.kill(os.getpid(), 9)
"""
    killed(code, tmp_path)
    (left,) = tmp_path.iterdir()
    assert left.stat().st_size == 100_000
    os.utime(left, (time.time() - 60,) * 2)
    cache = FileCache(tmp_path, 1 << 20)
    assert not cache.path("ab12").exists()
    with cache.writing("ab12") as file:
        file.write(b"whole")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [cache.path("ab12")]


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.rename"])
def test_a_capture_that_is_killed(tmp_path, moment):
    """No incomplete profile is visible, the next capture works, and after a day the leftovers are removed."""
    code = f"""
import os, pathlib, sys
from tpu_profile_plugin.capture.session import LocalSession
session = LocalSession(sys.argv[1], "s")
{moment} = lambda *_: os.kill(os.getpid(), 9)
session.store("h", bytes(100_000))
"""
    killed(code, tmp_path)
    assert Logdir(str(tmp_path)).names() == []
    (left,) = (tmp_path / "plugins").glob(".capture-*")
    os.utime(left, (time.time() - 25 * 3600,) * 2)
    LocalSession(str(tmp_path), "s").store("h", build(SMALL))
    assert Logdir(str(tmp_path)).names() == ["s"]
    assert (tmp_path / ONE).read_bytes() == build(SMALL)
    assert not list((tmp_path / "plugins").glob(".capture-*"))


def test_the_cache_directory_is_deleted_while_it_is_used_by_two(tmp_path):
    logs = write(tmp_path / "logs", {ONE: SMALL})
    right = Board(logs, tmp_path / "right").get("data", **{**ASK, "tag": KEPT}).data
    flags = ("--profile_cache_dir", str(tmp_path / "kept"))
    (tmp_path / "other").mkdir()

    def delete(_: int) -> None:
        shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        time.sleep(0.02)

    with (
        running_tensorboard(logs, tmp_path, flags=flags) as one,
        running_tensorboard(logs, tmp_path / "other", flags=flags) as two,
    ):
        with Busy(delete), ThreadPoolExecutor(4) as pool:
            saved = [str(i % 3 == 0) for i in range(40)]
            seen = list(
                pool.map(lambda i: asked((one, two)[i % 2], tag=KEPT, use_saved_result=saved[i]), range(len(saved)))
            )
        assert seen == [(200, right)] * len(saved)
        assert asked(one, tag=KEPT, use_saved_result="false") == asked(two, tag=KEPT) == (200, right)
    kept = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert len(kept) == 1, "one answer, kept once for both"


class Panic(BaseException):
    """What PyO3 makes of a panic, which is no Exception."""


@pytest.mark.parametrize("failure", [Panic("boom"), CoreFailed("boom")], ids=["panic", "failed core"])
def test_a_failure_of_the_core_is_an_answer(tmp_path, monkeypatch, caplog, failure):
    """500 with a log, or 503 if the file has changed; the next request is answered as ever."""
    logs = write(tmp_path / "logs", {ONE: A})
    board = Board(logs, tmp_path / "cache")
    right = board.get("data", **{**ASK, "tag": KEPT}).data
    changes: list[Callable[[Path, bytes], None]] = []

    def fails(*_: object) -> None:
        for change in changes:
            change(logs / ONE, B)
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(Results, "_build", fails)
        assert board.refused("data", **{**ASK, "tag": KEPT}, use_saved_result="false")[:2] == (500, "internal")
        assert "boom" in caplog.text
        for change in (replace, overwrite) if isinstance(failure, Exception) else ():
            changes[:] = [change]
            assert board.refused("data", **{**ASK, "tag": KEPT}, use_saved_result="false")[:2] == (503, "file_changed")
    replace(logs / ONE, A)
    assert board.get("data", **{**ASK, "tag": KEPT}).data == right


def test_a_mapped_file_is_torn_and_no_connection_is_lost(uncached):
    """Another program writes texts that are no UTF-8 and ends of messages into the file, faster than it is read."""
    path = run_file(uncached, "torn")
    torn = bytearray(A)
    for at in range(500, len(A) - 500, 1009):
        torn[at : at + 3] = b"\xff\xc3\xe2"
    before = path.stat()
    old = (before.st_atime_ns, before.st_mtime_ns)
    requests = ("trace_viewer@", "framework_op_stats", KEPT, "overview_page")

    def tear(i: int) -> None:
        with path.open("r+b", buffering=0) as file:
            for _ in range(5):
                file.write((torn, A)[i % 2])
                file.seek(0)
        os.utime(path, ns=old)  # or it would be read, not mapped

    with Busy(tear), ThreadPoolExecutor(4) as pool:
        seen = [
            *pool.map(lambda i: asked(uncached, run="torn", tag=requests[i % 4], use_saved_result="false"), range(40))
        ]
    statuses = {(status, code if status != 200 else "") for status, code in seen}
    assert statuses <= {(200, ""), (503, "file_changed"), (422, "corrupt_profile"), (404, "no_data")}
