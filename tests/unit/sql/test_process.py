"""The process of a query: what it inherits, what it may do, how it ends."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tpu_profile_plugin.errors import QueryStopped
from tpu_profile_plugin.sql.engine import Limits, decoded
from tpu_profile_plugin.sql.running import _started
from tpu_profile_plugin.workers.processes import WorkerDied, Workers

LIMITS = asdict(Limits())
ONE = json.dumps({"do": "run", "statement": "SELECT 1 AS one", "files": {}, "empty": {}, "limits": LIMITS}).encode()


def test_a_process_has_no_secrets_and_no_directory_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("looks into /proc")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    process = _started()
    try:
        place = Path(f"/proc/{process.process.pid}")
        names = {line.partition(b"=")[0] for line in (place / "environ").read_bytes().split(b"\0")}
        assert names.isdisjoint({b"AWS_SECRET_ACCESS_KEY", b"PYTHONPATH", b"HOME"})
        assert (place / "cwd").readlink() == Path("/")
        limits = dict(line.split("  ", 1) for line in (place / "limits").read_text().splitlines())
        assert limits["Max file size"].split()[:2] == ["0", "0"]
        process.ask(ONE, 30)
        # What allocators reserve counts against the limit of the process (2 GiB): a small result takes little of it.
        reserved = next(line for line in (place / "status").read_text().splitlines() if line.startswith("VmData:"))
        assert int(reserved.split()[1]) < 800_000
        limits = dict(line.split("  ", 1) for line in (place / "limits").read_text().splitlines())
        assert limits["Max data size"].split()[0] == str(2 << 30)
        assert limits["Max cpu time"].split()[0].isdigit()
    finally:
        process.end()


def test_a_process_is_reused_and_a_dead_one_replaced() -> None:
    class Cancelled(Exception):
        pass

    def stop() -> None:
        raise Cancelled

    processes = Workers(1, start=_started)
    with processes.process() as first:
        facts, rows = decoded(first.ask(ONE, 30))
        assert "cut" in facts
        assert len(rows)
    with processes.process() as second:
        assert second is first
        second.kill()
        with pytest.raises(WorkerDied):
            second.ask(ONE, 30)
    with processes.process() as third:
        assert third is not first
        third.ask(ONE, 30)
        with pytest.raises(Cancelled), processes.process(stop):
            pass
    processes.close()
    assert not third.alive


def test_a_process_ends_when_its_parent_closes_the_pipe() -> None:
    process = _started()
    process._pipe(process.process.stdin).close()
    assert process.process.wait(10) == 0
    assert not process.alive
    process.end()


def test_a_process_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(Path("no") / "python"))
    with pytest.raises(QueryStopped, match="could not be started"):
        _started()
