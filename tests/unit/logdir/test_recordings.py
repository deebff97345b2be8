"""Traces of PyTorch in a directory: ranks of one name, several recordings of a rank, and names that programs choose."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import fsspec
import pytest
from builders import kineto
from builders.logdirs import write
from builders.snapshots import dumped, training
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.logdir import Logdir, scan
from tpu_profile_plugin.logdir import run_files as sessions
from tpu_profile_plugin.logdir.files import LocalFiles
from tpu_profile_plugin.logdir.names import is_likely, likely_host

SECOND = 10**9
NOW = 1_700_000_000 * SECOND
EVENTS = json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"}]}).encode()


def rank(number: int | None = None) -> bytes:
    return kineto.training(1, rank=number)


def packed(files: dict[str, bytes]) -> dict[str, bytes]:
    return {
        name: gzip.compress(content, mtime=0) if name.endswith(".gz") else content for name, content in files.items()
    }


def listed(root: Path, files: dict[str, bytes]) -> dict[str, list[tuple[str, str]]]:
    """Run -> host and file of each, the same in a directory and in a remote store."""
    write(root, packed(files))
    local = runs(Logdir(str(root)))
    fs = fsspec.filesystem("memory")
    for name, content in packed(files).items():
        fs.pipe_file(f"{root}/{name}", content)
    try:
        assert runs(Logdir(f"memory:/{root}")) == local
    finally:
        fs.rm(str(root), recursive=True)
    return local


def runs(logdir: Logdir) -> dict[str, list[tuple[str, str]]]:
    return {run.name: [(file.host, file.name) for file in run.hosts] for run in logdir.runs()}


def stamp(seconds: int = 0) -> str:
    from datetime import datetime

    return f"{datetime.fromtimestamp(NOW // SECOND + seconds):%Y_%m_%d_%H_%M_%S}"


def test_ranks_that_write_one_name_are_hosts(tmp_path: Path) -> None:
    """In containers, host and process are called alike on all ranks."""
    files = {f"trainer_1.{NOW + number}.pt.trace.json": rank(number) for number in (0, 1)}
    assert listed(tmp_path / "logs", files) == {
        "logs": [(f"trainer_1 rank {number}", f"trainer_1.{NOW + number}.pt.trace.json") for number in (0, 1)]
    }
    assert Logdir(str(tmp_path / "logs")).run("logs").problems == ()


def test_earlier_recordings_are_runs_of_their_own(tmp_path: Path) -> None:
    """Of `schedule(repeat=2)` on two ranks: the newest traces are the run, and the others are one as well."""
    files = {
        f"host_{100 + number}.{NOW + 60 * SECOND * span + number}.pt.trace.json.gz": rank(number)
        for number in (0, 1)
        for span in (0, 1)
    }
    found = listed(tmp_path / "logs", files)
    assert list(found) == [f"logs/{stamp()}", "logs"]
    assert [name for _, name in found["logs"]] == [
        f"host_10{number}.{NOW + 60 * SECOND + number}.pt.trace.json.gz" for number in (0, 1)
    ]
    assert found[f"logs/{stamp()}"] == [
        (f"host_10{number}", f"host_10{number}.{NOW + number}.pt.trace.json.gz") for number in (0, 1)
    ]
    logdir = Logdir(str(tmp_path / "logs"))
    assert [run.name for run in logdir.newest_first()] == ["logs", f"logs/{stamp()}"]
    (first, _) = logdir.run("logs").problems
    assert (first.code, first.file) == ("second_file", f"host_100.{NOW}.pt.trace.json.gz")
    assert first.message.endswith(f"is run logs/{stamp()}.")
    assert logdir.read(logdir.run(f"logs/{stamp()}").hosts[0]).tobytes() == gzip.compress(rank(0), mtime=0)


def test_recordings_of_a_session_are_named_after_it(tmp_path: Path) -> None:
    files = {f"train/plugins/profile/s/h_1.{NOW + SECOND * span}.pt.trace.json": rank() for span in (0, 5)}
    assert list(listed(tmp_path / "logs", files)) == [f"train/s/{stamp()}", "train/s"]


def test_phases_of_lightning_are_recordings_of_one_rank(tmp_path: Path) -> None:
    """The run is that of training, whichever was written last."""
    files = {
        f"fit-{number}-{phase}.{NOW // 10**6 + 1000 * late}.pt.trace.json": rank(number)
        for number in (0, 1)
        for late, phase in enumerate(("training_step", "validation_step"))
    }
    found = listed(tmp_path / "logs", files)
    assert {name: [host for host, _ in hosts] for name, hosts in found.items()} == {
        "logs": ["fit-0-training_step", "fit-1-training_step"],
        f"logs/fit-validation_step {stamp(1)}": ["fit-0-validation_step", "fit-1-validation_step"],
    }


def test_a_recording_that_is_gone_is_no_run(tmp_path: Path) -> None:
    older, newer = (f"h_1.{NOW + SECOND * span}.pt.trace.json" for span in (0, 5))
    logdir = Logdir(str(write(tmp_path / "logs", {older: rank(), newer: rank()})))
    assert logdir.names() == [f"logs/{stamp()}", "logs"]
    (tmp_path / "logs" / older).unlink()
    assert [run.name for run in logdir.runs()] == ["logs"]


def test_one_of_two_ranks_may_not_tell_its_rank(tmp_path: Path) -> None:
    """What is written before the ranks are initialised tells none; it is the same rank then."""
    older, newer = (f"h_1.{NOW + SECOND * span}.pt.trace.json" for span in (0, 5))
    assert list(listed(tmp_path / "logs", {older: rank(), newer: rank(0)})) == [f"logs/{stamp()}", "logs"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["trace.json"], {"logs": ["trace"]}),
        (["chrome_trace.json", "pytorch_profiler.json.gz"], {"logs": ["chrome_trace", "pytorch_profiler"]}),
        (["profile_0.json", "profile_1.json"], {"logs": ["profile_0", "profile_1"]}),
        (["libkineto_activities_17.json"], {"logs": ["libkineto_activities_17"]}),
        (
            ["traces/iteration_10/rank0_trace.json", "traces/iteration_20/rank0_trace.json"],
            {"traces/iteration_20": ["rank0_trace"], "traces/iteration_10": ["rank0_trace"]},
        ),
        (["merged-1767225600.trace.json.gz"], {"logs": ["merged-1767225600"]}),
        (["plugins/profile/s/trace.json"], {"s": ["trace"]}),
    ],
)
def test_traces_of_other_names_are_found(tmp_path: Path, files: list[str], found: dict[str, list[str]]) -> None:
    root = tmp_path / "logs"
    local = listed(root, dict.fromkeys(files, rank()))
    assert {name: [host for host, _ in hosts] for name, hosts in local.items()} == found
    assert {file.kind for run in Logdir(str(root)).runs() for file in run.hosts} == {"xplane"}


def test_traces_of_one_rank_with_other_names_are_recordings(tmp_path: Path) -> None:
    files = {f"trace_step_{step}_rank{number}.json": rank(number) for step in (9, 10) for number in (0, 1)}
    found = listed(tmp_path / "logs", files)
    assert {name: [host for host, _ in hosts] for name, hosts in found.items()} == {
        "logs": ["trace_step_10_rank0", "trace_step_10_rank1"],
        "logs/trace_step_9": ["trace_step_9_rank0", "trace_step_9_rank1"],
    }


def test_json_that_is_no_trace_is_no_run(tmp_path: Path) -> None:
    files = {
        "config.json": b'{"a": 1}',
        "package.json": rank(),  # its name is not looked into
        "profile.json": b'{"name": "someone"}',
        "trace_of_agent.json": b'[{"step": 1}]',
        "timeline.json": b"x",
        "rank0.json": b"",
        "torch.json.gz": b"[]",
    }
    assert listed(tmp_path / "logs", files) == {}


def test_other_names_do_not_change_a_run_with_profiles(tmp_path: Path) -> None:
    files = {"plugins/profile/s/h.xplane.pb": b"1", "plugins/profile/s/trace.json": rank()}
    assert listed(tmp_path / "a", files) == {"s": [("h", "h.xplane.pb")]}
    files = {"rank0.pt.trace.json": rank(0), "rank1_trace.json": rank(1)}
    assert listed(tmp_path / "b", files) == {"b": [("rank0", "rank0.pt.trace.json")]}
    (problem,) = Logdir(str(tmp_path / "b")).run("b").problems
    assert (problem.code, problem.file) == ("other_traces", "rank1_trace.json")


def test_trace_events_of_other_names_are_timelines(tmp_path: Path) -> None:
    assert listed(tmp_path / "logs", {"plugins/profile/s/perfetto_trace.json.gz": EVENTS}) == {
        "s": [("perfetto_trace", "perfetto_trace.json.gz")]
    }
    (problem,) = Logdir(str(tmp_path / "logs")).run("s").problems
    assert problem.code == "trace_json_only"
    both = {"plugins/profile/s/perfetto_trace.json.gz": EVENTS, "plugins/profile/s/vm.trace.json.gz": EVENTS}
    assert listed(tmp_path / "both", both) == {"s": [("vm", "vm.trace.json.gz")]}


def test_a_large_directory_is_looked_into_a_few_times_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    head = LocalFiles.head
    monkeypatch.setattr(LocalFiles, "head", lambda self, path, size: heads.append(path) or head(self, path, size))
    write(tmp_path, {f"data/trace_{i}.json": b'{"a": 1}' for i in range(300)})
    logdir = Logdir(str(tmp_path))
    assert logdir.names() == []
    assert len(heads) == sessions._MOST_TRIED
    assert logdir.names() == []
    assert len(heads) == sessions._MOST_TRIED


def test_what_was_not_looked_into_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_MOST_TRIES", 1)
    logdir = Logdir(str(write(tmp_path, {"a/trace.json": rank(), "b/trace.json": rank()})))
    first = logdir.scan()
    assert (first.names, [problem.code for problem in first.problems]) == (["a"], ["scan_incomplete"])
    assert logdir.names() == ["b", "a"]
    assert logdir.scan().problems == ()


def test_a_trace_is_found_when_it_is_written(tmp_path: Path) -> None:
    write(tmp_path, {"run/trace.json": b""})
    logdir = Logdir(str(tmp_path))
    assert logdir.names() == []
    (tmp_path / "run/trace.json").write_bytes(rank())
    assert logdir.names() == ["run"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("trace.json", "trace"), ("rank0_trace.json.gz", "rank0_trace"), ("x-TP-0.json.zst", "x-TP-0"),
        ("epoch_3.json", "epoch_3"), ("vm.trace.json.gz", "vm"), ("config.json", None), ("tokenizer.json", None),
        ("trace.txt", None), ("rank0.pt.trace.json", None), ("trainer_state.json", None),
    ],
)  # fmt: skip
def test_names_that_may_be_traces(name: str, wanted: str | None) -> None:
    assert (likely_host(name) if is_likely(name) else None) == wanted


SNAPSHOT = dumped(training())


def test_memory_snapshots_are_hosts_of_a_run_of_their_own(tmp_path: Path) -> None:
    """Found by content: other pickles are none."""
    files = {"a/snapshot.pickle": SNAPSHOT, "a/rank1.pkl.gz": SNAPSHOT, "a/model.pkl": dumped({"weights": [1.0]})}
    assert listed(tmp_path, {**files, "b/model.pkl": dumped([1])}) == {
        "a": [("rank1", "rank1.pkl.gz"), ("snapshot", "snapshot.pickle")]
    }


@pytest.mark.parametrize("beside", ["rank0.pt.trace.json", "h.xplane.pb", "my_trace.json"])
def test_memory_snapshots_beside_a_profile_are_another_run(tmp_path: Path, beside: str) -> None:
    content = rank(0) if beside.endswith(".json") else build('plane 1 "/host:CPU"')
    found = listed(
        tmp_path, {f"a/{beside}": content, "a/oom.pickle": SNAPSHOT, "a/plugins/profile/s/x.xplane.pb": b"x"}
    )
    assert found["a/memory snapshots"] == [("oom", "oom.pickle")]
    assert [name for _, name in found["a"]] == [beside]


@pytest.mark.parametrize("name", ["snapshot.pickle", "dump.pkl", "anything", "mem.pickle.gz"])
def test_a_memory_snapshot_opens_by_its_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(SNAPSHOT) if name.endswith(".gz") else SNAPSHOT)
    run = tpu_profile_plugin.open(str(path)).run()
    assert run.facts.frameworks == ("PyTorch",)
    (use,) = run.allocator_uses()
    assert (use.allocator, use.in_use_bytes, use.segment_bytes) == ("GPU_0_caching", 18 << 20, 40 << 20)
