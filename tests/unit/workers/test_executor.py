"""Per-host steps in worker processes: choice of executor, retries, left-out hosts, progress, cancellation, shutdown."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from builders.profiles import step_profiles
from builders.servers import host_parts

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.errors import CorruptProfile, NoData, WorkerLost
from tpu_profile_plugin.logdir import HostFile
from tpu_profile_plugin.logdir.files import LocalFiles, read_host
from tpu_profile_plugin.run.host import HostProfile, LocalThreads, Origin
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.fleet import pod_viewer
from tpu_profile_plugin.workers import processes
from tpu_profile_plugin.workers.executor import Executor, RemoteWorkers
from tpu_profile_plugin.workers.processes import WorkerDied, WorkerNotStarted, Workers
from tpu_profile_plugin.workers.task import Task, pack_task, run_task


@pytest.fixture(scope="module")
def executor():
    made = Executor("processes", workers=2)
    yield made
    made.close()


def not_here(file):
    raise AssertionError("the server itself read a file")


def hosts_of(root: Path, contents, *, read=not_here, size=None):
    write(root, {f"{name}.xplane.pb": content for name, content in contents.items()})
    cache, found = ProfileCache(1 << 20), []
    for index, name in enumerate(contents):
        path = root / f"{name}.xplane.pb"
        facts = path.stat()
        file = HostFile(name, str(path), facts.st_size, facts.st_mtime_ns, "xplane", path.name)
        host = HostProfile(file, index, read, cache, origin=Origin("", file))
        host.size = size or 1
        found.append(host)
    return tuple(found)


def inputs_of(executor, hosts, done=lambda *_: None):
    return RunHosts("r", hosts, executor=executor.choose, on_progress=done)


THREE = {"a": SMALL, "b": SMALL.replace("/host:CPU", "/host:other"), "c": SMALL}


def test_results_of_worker_processes_are_in_host_order(tmp_path, executor):
    told = []
    inputs = inputs_of(executor, hosts_of(tmp_path, THREE), lambda *counts: told.append(counts))
    device = "/device:TPU:0"
    assert inputs.map_hosts(host_parts.planes) == [
        ("/host:CPU", device),
        ("/host:other", device),
        ("/host:CPU", device),
    ]
    assert [(done, total, len(missing)) for done, total, missing in told] == [
        (0, 3, 3),
        (1, 3, 2),
        (2, 3, 1),
        (3, 3, 0),
    ]
    assert told[0][2] == ["a", "b", "c"]
    assert os.getpid() not in inputs.map_hosts(host_parts.process)
    assert inputs.left_out == []
    assert [(engine.name, engine.fallback, hosts) for engine, hosts in inputs.engines] == [("processes", False, 3)]


def test_a_step_and_what_the_answer_needs_are_computed_once(tmp_path, executor):
    hosts = hosts_of(tmp_path, THREE)
    inputs = inputs_of(executor, hosts)
    first = inputs.needing((host_parts.planes,)).map_hosts(host_parts.process)
    assert all(host.has(host_parts.planes) for host in hosts)
    unasked = RunHosts("r", hosts, executor=lambda absent: pytest.fail(f"asked again for {absent}"))
    assert unasked.map_hosts(host_parts.process) == first
    assert len(unasked.map_hosts(host_parts.planes)) == 3


def test_steps_within_a_step_come_with_it(tmp_path, executor):
    hosts = hosts_of(tmp_path, THREE)
    assert inputs_of(executor, hosts).map_hosts(host_parts.count) == [2, 2, 2]
    unasked = RunHosts("r", hosts, executor=lambda absent: pytest.fail(f"asked again for {absent}"))
    assert len(unasked.map_hosts(host_parts.planes)) == 3


def test_a_host_that_fails_is_left_out_of_the_run_for_an_answer_and_of_the_run(tmp_path, executor):
    run = inputs_of(executor, hosts_of(tmp_path, {"a": SMALL, "b": b"\xff" * 9}))
    assert len(run.needing((host_parts.process,)).map_hosts(host_parts.planes)) == 1
    assert [host.name for host in run.readable] == ["a"]


def asked_at_once(place, hosts):
    """What two requests find that need each other's step; the first one computes that of the second."""
    steps = (host_parts.count, host_parts.planes)
    inputs, found = RunHosts("r", hosts, executor=lambda _: place, needs=steps), []
    with ThreadPoolExecutor(len(steps)) as pool:
        for step in steps:
            found.append(pool.submit(inputs.map_hosts, step))
            time.sleep(0.02)
        return [one.result(30) for one in found]


def test_requests_that_come_together_share_one_visit_to_each_host(tmp_path):
    visits = []

    class Counting:
        def execute(self, data, limit_s):
            visits.append(pickle.loads(data).origin.file.name)
            time.sleep(0.05)  # for the other request to come
            return run_task(data)

    hosts = hosts_of(tmp_path, THREE)
    counts, names = asked_at_once(RemoteWorkers(Counting(), LocalThreads(1), 2, 1), hosts)
    assert counts == [len(one) for one in names] == [2, 2, 2]
    assert sorted(visits) == sorted(host.file for host in hosts)


def test_the_pod_viewer_reads_each_file_once(tmp_path):
    visits = []

    class Counting:
        def execute(self, data, limit_s):
            visits.append(pickle.loads(data).origin.file.name)
            return run_task(data)

    hosts = hosts_of(tmp_path, {"a": step_profiles.gpu(), "b": step_profiles.gpu()})
    run = Run("r", hosts, executor=lambda _: RemoteWorkers(Counting(), LocalThreads(1), 2, 1))
    pod = pod_viewer.build(run.needing(pod_viewer.TOOL.needs), pod_viewer.TOOL.query({}))
    assert len(pod.steps.hosts) >= 2
    assert sorted(visits) == sorted(host.file for host in hosts)


def test_steps_that_need_each_other_do_not_wait_for_each_other_without_workers(tmp_path):
    class Unavailable:
        def execute(self, data, limit_s):
            time.sleep(0.05)
            raise WorkerNotStarted("by the test")

    hosts = hosts_of(tmp_path, THREE, read=lambda file: read_host(LocalFiles(), file))
    counts, names = asked_at_once(RemoteWorkers(Unavailable(), LocalThreads(2), 2, 1), hosts)
    assert counts == [len(one) for one in names] == [2, 2, 2]


def test_workers_import_only_what_they_need(tmp_path, executor):
    assert inputs_of(executor, hosts_of(tmp_path, THREE)).map_hosts(host_parts.heavy_imports) == [[], [], []]


def test_printed_text_does_not_mix_with_replies(tmp_path, executor):
    assert inputs_of(executor, hosts_of(tmp_path, THREE)).map_hosts(host_parts.prints) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("chosen", "count", "size", "elsewhere"),
    [
        ("", 3, 1 << 30, False),
        ("", 4, 123 << 20, False),
        ("", 4, 124 << 20, True),
        ("", 102, 1 << 20, False),
        ("", 103, 1 << 20, True),
        ("threads", 100, 64 << 20, False),
        ("processes", 2, 1, True),
        ("processes", 1, 1, False),
    ],
)
def test_processes_are_for_many_hosts_and_bytes(tmp_path, chosen, count, size, elsewhere):
    hosts = hosts_of(tmp_path, {f"h{i:03}": SMALL for i in range(count)}, size=size)
    made = Executor(chosen, workers=2)
    place = made.choose(hosts)
    assert isinstance(place, RemoteWorkers if elsewhere else LocalThreads)
    assert made._workers.alive == 0, "nothing is started before it is needed"


def test_files_that_only_this_process_can_open_are_read_locally(tmp_path):
    hosts = hosts_of(tmp_path, THREE)
    for host in hosts:
        host.origin = None
    assert isinstance(Executor("processes").choose(hosts), LocalThreads)


def test_fewer_workers_for_large_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.workers.executor.free_memory", lambda: 14_000)
    hosts = hosts_of(tmp_path, THREE, size=1000)
    assert Executor("processes", workers=8).choose(hosts).width(hosts * 3) == 2, "half of the memory, 3 bytes per byte"


def test_a_dead_worker_is_replaced_and_its_host_retried(tmp_path, executor):
    inputs = inputs_of(executor, hosts_of(tmp_path / "logs", THREE))
    found = inputs.map_hosts(host_parts.dies_once.given(str(tmp_path / "marker")))
    assert len(found) == 3
    assert inputs.left_out == []


def test_a_stopped_worker_is_replaced_and_its_host_retried(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_LOOK_S", 0.5)
    monkeypatch.setattr(processes, "_SILENT_S", 5)
    marks = tmp_path / "marks"
    marks.mkdir()
    executor = Executor("processes", workers=2)
    inputs = inputs_of(executor, hosts_of(tmp_path / "logs", THREE))
    found = []
    asking = threading.Thread(target=lambda: found.extend(inputs.map_hosts(host_parts.waits_for.given(str(marks)))))
    asking.start()
    try:
        deadline = time.monotonic() + 30
        while not (begun := list(marks.iterdir())) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(int(begun[0].suffix[1:]), signal.SIGSTOP)
        (marks / "go").touch()
        asking.join(20)
    finally:
        executor.close()
    assert found == ["a", "b", "c"]
    assert inputs.left_out == []
    assert len(list(marks.iterdir())) == 5, "one host was begun twice"


def test_a_task_has_a_time_limit(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    hosts = hosts_of(tmp_path / "logs", THREE)
    workers = Workers(1)
    task = pack_task(Task(hosts[0].origin, (host_parts.waits_for.given(str(marks)),)))
    with pytest.raises(WorkerDied, match="no result within 1 s"):
        workers.execute(task, 1)
    assert workers.alive == 0


def test_a_needed_step_that_crashes_its_worker_costs_nothing_else(tmp_path, executor):
    inputs = inputs_of(executor, hosts_of(tmp_path, THREE))
    assert len(inputs.needing((host_parts.dies.given("b"),)).map_hosts(host_parts.process)) == 3
    assert inputs.left_out == []


def test_a_host_that_crashes_two_workers_is_left_out(tmp_path, executor):
    inputs = inputs_of(executor, hosts_of(tmp_path, THREE))
    assert inputs.map_hosts(host_parts.dies.given("b")) == ["a", "c"]
    assert [host.name for host in inputs.readable] == ["a", "c"]
    (about,) = inputs.left_out
    assert (about.host, about.file, about.code, about.permanent) == ("b", "b.xplane.pb", "worker_died", False)
    assert "twice" in about.sentence
    assert len(inputs.map_hosts(host_parts.process)) == 2, "it stays out for the rest of the answer"


def test_a_single_host_that_crashes_workers_is_an_error(tmp_path, executor):
    hosts = hosts_of(tmp_path, THREE)
    with pytest.raises(WorkerLost, match=r"a\.xplane\.pb"):
        executor.choose(hosts).compute(hosts[0], host_parts.dies.given("a"))


def test_tasks_that_a_cluster_gives_up_on_run_in_our_own_processes(tmp_path, executor):
    class Dying:
        def execute(self, data, limit_s):
            raise WorkerDied("by the test")

    hosts = hosts_of(tmp_path, THREE)
    place = RemoteWorkers(Dying(), executor.choose(hosts), 2, 0)
    inputs = RunHosts("r", hosts, executor=lambda _: place)
    assert inputs.map_hosts(host_parts.dies.given("b")) == ["a", "c"]
    assert [one.code for one in inputs.left_out] == ["worker_died"]


def test_a_file_that_does_not_decode_is_left_out(tmp_path, executor):
    inputs = inputs_of(executor, hosts_of(tmp_path, {"a": SMALL, "b": b"\xff" * 9, "c": SMALL}))
    assert len(inputs.map_hosts(host_parts.planes)) == 2
    (about,) = inputs.left_out
    assert (about.code, about.offset, about.permanent) == ("corrupt_profile", 0, True)
    assert about.describe()["offset"] == 0


def test_diagnostics_name_a_few_hosts_and_count_the_rest(tmp_path, executor):
    bad = {f"h{i:02}": b"\xff" * 9 for i in range(5)}
    few = inputs_of(executor, hosts_of(tmp_path / "few", {**dict(list(bad.items())[:3]), "sound": SMALL}))
    few.map_hosts(host_parts.planes)
    assert [text.partition(":")[0] for text in few.warnings] == [f"Host h0{i} is left out" for i in range(3)]
    many = inputs_of(executor, hosts_of(tmp_path / "many", {**bad, "sound": SMALL}))
    many.map_hosts(host_parts.planes)
    (text,) = many.warnings
    assert text.startswith("5 of 6 hosts are left out: h00, h01, h02 and 2 more. The first: ")


def test_the_first_error_is_raised_when_no_host_is_readable(tmp_path, executor):
    with pytest.raises(CorruptProfile) as caught:
        inputs_of(executor, hosts_of(tmp_path, {"a": b"\xff" * 9, "b": b"\xff" * 9})).map_hosts(host_parts.planes)
    assert caught.value.details["file"] == "a.xplane.pb"


def test_a_file_that_a_worker_cannot_open_is_read_by_the_server(tmp_path, executor):
    def gone(file):
        raise NoData("the server looked")

    hosts = hosts_of(tmp_path, THREE, read=gone)
    (tmp_path / "b.xplane.pb").unlink()
    inputs = inputs_of(executor, hosts)
    assert len(inputs.map_hosts(host_parts.planes)) == 2
    assert [one.message for one in inputs.left_out] == ["the server looked"]


def test_errors_keep_their_code_and_unexpected_ones_are_logged(tmp_path, executor, caplog):
    inputs = inputs_of(executor, hosts_of(tmp_path, THREE))
    assert inputs.map_hosts(host_parts.fails.given("a")) == ["b", "c"]
    assert inputs.map_hosts(host_parts.breaks.given("c")) == ["b"]
    assert [one.code for one in inputs.left_out] == ["no_data", "internal"]
    assert "ZeroDivisionError: by the test" in caplog.text
    assert "by the test" not in str(inputs.left_out)


def test_cancelling_starts_no_further_hosts(tmp_path, executor):
    marks = tmp_path / "marks"
    marks.mkdir()

    class Cancelled(Exception):
        pass

    def stop(done, total, missing):
        if done == 1:
            raise Cancelled

    hosts = hosts_of(tmp_path / "logs", {f"h{i:02}": SMALL for i in range(20)})
    with pytest.raises(Cancelled):
        inputs_of(executor, hosts, stop).map_hosts(host_parts.leaves_mark.given(str(marks)))
    begun = len(list(marks.iterdir()))
    assert 1 <= begun <= 5
    time.sleep(0.2)
    assert len(list(marks.iterdir())) == begun


def test_without_an_interpreter_the_server_reads_the_files(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(sys, "executable", "")
    hosts = hosts_of(tmp_path, THREE, read=lambda _: __import__("numpy").frombuffer(b"", "u1"))
    assert inputs_of(Executor("processes", workers=2), hosts).map_hosts(host_parts.process) == [os.getpid()] * 3
    assert "reading it in the server" in caplog.text


def test_idle_workers_end():
    workers = Workers(2, idle_s=0.1)
    with pytest.raises(WorkerDied):
        workers.execute(b"not a task", 60)
    assert workers.alive == 0
    missing = HostFile("h", "/nowhere/h.xplane.pb", 1, 1, "xplane", "h.xplane.pb")
    workers.execute(pack_task(Task(Origin("", missing), (host_parts.planes,))), 60)
    assert workers.alive == 1
    deadline = time.monotonic() + 10
    while workers.alive and time.monotonic() < deadline:
        time.sleep(0.02)
    assert workers.alive == 0


def test_a_worker_that_ends_immediately(monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.workers.processes._BOOT", "raise SystemExit(1)")
    with pytest.raises(WorkerNotStarted):
        Workers(1).execute(b"", 60)


PARENT = """
import os, sys, time
from tpu_profile_plugin.workers.processes import Workers
workers = Workers(1)
worker = workers._acquire()
print(worker.process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_workers_end_with_the_server_however_it_ends():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert Path(f"/proc/{worker}").exists()
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.communicate()
    deadline = time.monotonic() + 10
    while _runs(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(worker)


def _runs(process: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
