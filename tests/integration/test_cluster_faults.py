"""A Dask cluster of real processes that die, stop, or lack this package: every wait ends, and this machine goes on."""

import signal
import threading
import time
from collections import Counter

import pytest
from builders.logdirs import SMALL, write
from builders.servers import host_parts
from builders.servers.dask_processes import DaskProcesses

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.logdir import Logdir
from tpu_profile_plugin.run.host import HostProfile, Origin
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.workers import cluster
from tpu_profile_plugin.workers.executor import Executor

pytest.importorskip("distributed")
HOSTS = 6


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    made = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("logs")
    write(root, {f"plugins/profile/s/h{i}.xplane.pb": SMALL for i in range(HOSTS)})
    return Logdir(str(root)).run("s").hosts


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(cluster, "_SILENT_S", 2.5)
    monkeypatch.setattr(cluster, "_EMPTY_S", 1.0)
    monkeypatch.setattr(cluster, "_ANSWER_S", 2.0)
    monkeypatch.setattr(cluster, "_CONNECT_S", 2)


class Step:
    """A step over all hosts on a thread, computed when `go` is called."""

    def __init__(self, files, executor, directory):
        self._marks = directory
        cache = ProfileCache(1 << 20)
        hosts = (HostProfile(file, i, None, cache, origin=Origin("", file)) for i, file in enumerate(files))
        self.run = RunHosts("r", tuple(hosts), executor=executor.choose)
        self.found = None
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self):
        self.found = self.run.map_hosts(host_parts.waits_for.given(str(self._marks)))

    def begun(self, count):
        deadline = time.monotonic() + 30
        while len(list(self._marks.iterdir())) < count:
            assert time.monotonic() < deadline, "no host was begun"
            time.sleep(0.02)

    def go(self):
        (self._marks / "go").touch()

    def ends(self, within_s):
        """Asserts that all hosts are there in time; returns how many each engine has computed."""
        self._thread.join(within_s)
        assert not self._thread.is_alive(), f"no answer within {within_s} s"
        assert self.found == [f"h{i}" for i in range(HOSTS)]
        assert self.run.left_out == []
        engines = Counter()
        for engine, hosts in self.run.engines:
            engines[engine.name] += hosts
        return engines


@pytest.fixture
def step(files, tmp_path):
    made = []

    def start(address):
        executor = Executor(address, workers=2)
        made.append(executor)
        return Step(files, executor, tmp_path)

    yield start
    for executor in made:
        executor.close()


def test_workers_without_the_package_are_left_alone(dask, step, soon, caplog):
    (bare,) = dask.workers(1, with_package=False)
    asked = step(dask.address)
    asked.go()
    assert asked.ends(20) == {"processes": HOSTS}
    ((engine, _),) = asked.run.engines
    assert engine.fallback
    assert "not installed on its workers" in engine.reason
    assert caplog.text.count("cannot use the Dask scheduler") == 1
    dask.workers(1)
    beside = step(dask.address)
    beside.go()
    assert beside.ends(20) == {"cluster": HOSTS}, "the one that has the package computes everything"
    assert bare.poll() is None
    assert "Registered" in dask.log_of(bare)
    assert "losing" not in dask.log_of(bare).lower()
    bare.kill()


def test_a_stopped_worker_does_not_hold_its_hosts(dask, step, soon):
    stopped, _ = dask.workers(2)
    asked = step(dask.address)
    asked.begun(2)
    stopped.send_signal(signal.SIGSTOP)
    try:
        asked.go()
        engines = asked.ends(30)
    finally:
        stopped.send_signal(signal.SIGCONT)
    assert engines["cluster"] >= 1
    assert sum(engines.values()) == HOSTS
    assert stopped.poll() is None


def test_this_machine_goes_on_when_all_workers_die(dask, step, soon, caplog):
    """The last test of this cluster."""
    asked = step(dask.address)
    asked.begun(2)
    dask.end_workers()
    asked.go()
    assert asked.ends(25) == {"processes": HOSTS}
    assert caplog.text.count("cannot use the Dask scheduler") == 1
    again = step(dask.address)
    again.go()
    assert again.ends(10) == {"processes": HOSTS}, "it is not asked again at once"


@pytest.mark.parametrize("sign", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.night)])
def test_this_machine_goes_on_without_the_scheduler(tmp_path_factory, step, soon, sign, caplog):
    own = DaskProcesses(tmp_path_factory.mktemp("own"))
    try:
        own.workers(1)
        asked = step(own.address)
        asked.begun(1)
        own.scheduler.send_signal(sign)
        asked.go()
        began = time.monotonic()
        engines = asked.ends(25)
        assert engines["processes"] >= HOSTS - 2
        assert time.monotonic() - began < 15, "hosts do not wait for it one after the other"
        assert caplog.text.count("cannot use the Dask scheduler") == 1
    finally:
        own.end()
