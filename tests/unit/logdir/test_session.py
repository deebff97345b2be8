"""The contents of a run: hosts, other files, problems."""

import gzip
import os

import pytest
from builders.logdirs import write

from tpu_profile_plugin.logdir import Logdir
from tpu_profile_plugin.logdir.names import host_and_kind, unique_name


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("h.xplane.pb", ("h", "xplane")),
        ("chi-mi300x-013.ord.example.com.xplane.pb", ("chi-mi300x-013.ord.example.com", "xplane")),
        ("10.0.0.1_9012.xplane.pb", ("10.0.0.1_9012", "xplane")),
        ("a.xplane.pb.xplane.pb", ("a.xplane.pb", "xplane")),
        ("xplane.pb", ("xplane", "xplane")),
        (".xplane.pb", ("xplane", "xplane")),
        ("vm.trace.json.gz", ("vm", "trace.json.gz")),
        ("vm_17.1763.pt.trace.json.gz", ("vm_17.1763", "xplane")),
        ("vm_17.1763804152802022344.pt.trace.json", ("vm_17", "xplane")),
        ("perfetto_trace.json.gz", None),
        ("h.xplane.pb.tmp", None),
        ("hxplane.pb", None),
        ("h.xplane.riegeli", ("h", "xplane")),
        (".xplane.riegeli", ("xplane", "xplane")),
        ("h.riegeli", None),
        (".trace.json.gz", None),
        ("ALL_HOSTS.op_stats_v2.pb", None),
    ],
)
def test_host_and_kind_of_file_names(file, wanted):
    assert host_and_kind(file) == wanted


def test_unique_name():
    assert unique_name("a", []) == "a"
    assert unique_name("a", ["a", "a (2)"]) == "a (3)"


def run_of(tmp_path, files):
    write(
        tmp_path,
        {f"plugins/profile/s/{name}": content for name, content in files.items()} or {"plugins/profile/s": None},
    )
    return Logdir(str(tmp_path)).run("s")


def test_hosts_in_file_name_order_names_sorted(tmp_path):
    run = run_of(
        tmp_path, {"a.xplane.pb": b"12", "a-b.xplane.pb": b"3", "b.trace.json.gz": b"4", "cache_version.txt": b""}
    )
    assert [(f.host, f.size, f.kind, f.name) for f in run.hosts] == [
        ("a-b", 1, "xplane", "a-b.xplane.pb"),
        ("a", 2, "xplane", "a.xplane.pb"),
    ]
    assert run.host_names == ("a", "a-b")
    assert (run.name, run.session, run.directory, run.bytes) == ("s", "s", "plugins/profile/s", 3)
    assert run.problems == ()
    assert run.mtime_ms == max(f.mtime_ns for f in run.hosts) // 1_000_000


def test_a_saved_trace_replaces_an_empty_profile(tmp_path):
    run = run_of(tmp_path, {"a.xplane.pb": b"", "a.trace.json.gz": b"1", "b.xplane.pb": b"1", "c.trace.json.gz": b"1"})
    assert [(f.host, f.kind) for f in run.hosts] == [("a", "trace.json.gz"), ("b", "xplane")]
    assert [p.code for p in run.problems] == ["empty_file"]


def test_saved_traces_alone_are_hosts(tmp_path):
    run = run_of(tmp_path, {"a.trace.json.gz": b"1", "b.trace.json.gz": b"1"})
    assert [(f.host, f.kind) for f in run.hosts] == [("a", "trace.json.gz"), ("b", "trace.json.gz")]


def test_a_profile_without_a_host_name_opens(tmp_path):
    run = run_of(tmp_path, {"xplane.pb": b"", ".xplane.pb": b"1"})
    assert [(f.host, f.name) for f in run.hosts] == [("xplane", ".xplane.pb"), ("xplane (2)", "xplane.pb")]


@pytest.mark.parametrize(
    ("files", "code", "file"),
    [
        ({}, "empty_session", None),
        ({"notes.txt": b""}, "empty_session", None),
        ({"h.xplane.pb": b""}, "empty_file", "h.xplane.pb"),
        ({"h.xplane.riegeli": b""}, "empty_file", "h.xplane.riegeli"),
        ({"h.xplane.pb": b"1", "h.xplane.riegeli": b"1"}, "second_file", "h.xplane.pb"),
        ({"h.trace.json.gz": b"1"}, "trace_json_only", None),
        ({"h.pt.trace.json.gz": b""}, "empty_file", "h.pt.trace.json.gz"),
        (
            {"vm_7.1700000000000000001.pt.trace.json": b"1", "vm_7.1700000000000000002.pt.trace.json": b"1"},
            "second_file",
            "vm_7.1700000000000000001.pt.trace.json",
        ),
        ({"h.overview_page.pb": b"1", "h.trace": b"1"}, "old_format", None),
    ],
)
def test_problems_are_reported(tmp_path, files, code, file):
    problems = run_of(tmp_path, files).problems
    assert [(p.code, p.file) for p in problems] == [(code, file)]
    assert problems[0].message.endswith(".")
    assert str(tmp_path) not in problems[0].message


def test_traces_of_pytorch_are_hosts(tmp_path):
    """One per process: of the traces that one process wrote, the newest."""
    names = ["rank-0.pt.trace.json.gz", "rank-1.pt.trace.json", "vm_7.1700000000000000001.pt.trace.json.zst"]
    older = "vm_7.1600000000000000000.pt.trace.json.gz"
    run = run_of(tmp_path, dict.fromkeys([*names, older], b"1"))
    assert [(f.host, f.kind, f.name) for f in run.hosts] == [
        (host, "xplane", name) for host, name in zip(("rank-0", "rank-1", "vm_7"), names, strict=True)
    ]
    assert [(p.code, p.file) for p in run.problems] == [("second_file", older)]


def test_a_trace_of_pytorch_beside_a_profile_of_its_host_is_ignored(tmp_path):
    run = run_of(tmp_path, {"h.xplane.pb": b"1", "h.pt.trace.json.gz": b"1", "i.pt.trace.json": b"1"})
    assert run.host_names == ("h", "i")
    assert [(p.code, p.file) for p in run.problems] == [("second_file", "h.pt.trace.json.gz")]


@pytest.mark.parametrize(
    ("files", "read", "problems"),
    [
        ({"h.xplane.pb": b"", "h.pt.trace.json.gz": b"1"}, "h.pt.trace.json.gz", [("second_file", "h.xplane.pb")]),
        (
            {"h.1700000000000000001.pt.trace.json": b"1", "h.1700000000000000002.pt.trace.json": b""},
            "h.1700000000000000001.pt.trace.json",
            [("second_file", "h.1700000000000000002.pt.trace.json")],
        ),
        (
            {"b.xplane.pb": b"", "c.1700000000000000001.pt.trace.json": b"1", "a.xplane.pb": b"", "c.xplane.pb": b"1"},
            "c.xplane.pb",
            [
                ("empty_file", "a.xplane.pb"),
                ("empty_file", "b.xplane.pb"),
                ("second_file", "c.1700000000000000001.pt.trace.json"),
            ],
        ),
    ],
)
def test_what_holds_nothing_does_not_hide_a_profile(tmp_path, files, read, problems):
    """Problems are in order of file names."""
    run = run_of(tmp_path, files)
    assert [f.name for f in run.hosts if f.size] == [read]
    assert [(p.code, p.file) for p in run.problems] == problems


def test_captures_of_graphs_belong_to_the_run_beside_them(tmp_path):
    """Of the same rank, else all; their directory is no run."""
    files = {
        "rank0.1700000000000000001.pt.trace.json.gz": b"a",
        "1767225600.5-TP-1.trace.json.gz": b"b",
        "h.xplane.pb": b"c",
        "capture_traces/bs_32_rank0.json.gz": b"d",
        "capture_traces/graph_capture_rank_0.1700000000000000001.pt.trace.json.gz": b"e",
        "capture_traces/capture_rank_0.json": b"",
        "capture_traces/execution_details.json": b"f",
    }
    write(tmp_path, {f"run/{name}": content for name, content in files.items()})
    logdir = Logdir(str(tmp_path))
    assert logdir.names() == ["run"]
    run = logdir.run("run")
    captures = ("bs_32_rank0.json.gz", "graph_capture_rank_0.1700000000000000001.pt.trace.json.gz")
    assert {f.host: tuple(one.name for one in f.captures) for f in run.hosts} == {
        "rank0": captures,
        "1767225600.5-TP-1": captures,
        "h": (),
    }
    assert {f.host: logdir.read(f).tobytes() for f in run.hosts} == {
        "rank0": b"ade",
        "1767225600.5-TP-1": b"bde",
        "h": b"c",
    }
    before = run.hosts[0].identity
    (tmp_path / "run/capture_traces/bs_32_rank0.json.gz").write_bytes(b"longer")
    assert logdir.run("run").hosts[0].identity != before


def test_plain_captures_go_where_their_end_is_known(tmp_path):
    """Behind compressed texts that tell their end; before a Zstandard file as a gzip file that is not compressed."""
    files = {
        "rank0.pt.trace.json.gz": b"a",
        "rank1.pt.trace.json": b"b",
        "rank2.pt.trace.json.zst": b"c",
        "capture_traces/bs_32_rank9.json.gz": b"d",
        "capture_traces/capture_rank_8.json": b"e",
        "capture_traces/capture_rank_9.json": b"f",
    }
    write(tmp_path, {f"run/{name}": content for name, content in files.items()})
    logdir = Logdir(str(tmp_path))
    read = {f.name: logdir.read(f).tobytes() for f in logdir.run("run").hosts}
    assert read["rank0.pt.trace.json.gz"] == b"adef"
    assert read["rank1.pt.trace.json"] == b"dbef"
    packed = read["rank2.pt.trace.json.zst"]
    assert packed[:1] + packed[-1:] == b"dc"
    assert gzip.decompress(packed[1:-1]) == b"ef"


def test_broken_links_special_files_and_directories(tmp_path):
    session = tmp_path / "plugins/profile/s"
    write(tmp_path, {"plugins/profile/s/good.xplane.pb": b"1", "plugins/profile/s/dir.xplane.pb": None})
    (session / "broken.xplane.pb").symlink_to(tmp_path / "nowhere")
    os.mkfifo(session / "pipe.xplane.pb")
    run = Logdir(str(tmp_path)).run("s")
    assert [(f.host, f.problem and f.problem.code) for f in run.hosts] == [
        ("broken", "unreadable_file"),
        ("dir", "unreadable_file"),
        ("good", None),
        ("pipe", "unreadable_file"),
    ]
    assert len(run.problems) == 3


def test_unreadable_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    run = run_of(tmp_path, {"h.xplane.pb": b"1"})
    assert [(p.code, p.file) for p in run.problems] == [("unreadable_file", "h.xplane.pb")]


def test_unreadable_session(tmp_path, monkeypatch):
    write(tmp_path, {"plugins/profile/s/h.xplane.pb": b"1"})
    logdir = Logdir(str(tmp_path))
    logdir.scan()

    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(logdir._files, "stat_files", refuse)
    assert [p.code for p in logdir.run("s").problems] == ["unreadable_directory"]


@pytest.mark.parametrize(
    ("content", "read", "left"),
    [(b"1", "h.xplane.riegeli", "h.xplane.pb"), (b"", "h.xplane.pb", "h.xplane.riegeli")],
)
def test_of_two_files_of_a_host_the_record_file_is_read(tmp_path, content, read, left):
    run = run_of(tmp_path, {"h.xplane.pb": b"1", "h.xplane.riegeli": content, "b.xplane.riegeli": b"1"})
    assert [(file.host, file.name) for file in run.hosts] == [("b", "b.xplane.riegeli"), ("h", read)]
    assert [(p.code, p.file) for p in run.problems] == [("second_file", left)]
