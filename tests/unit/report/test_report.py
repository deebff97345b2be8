"""Reports: one file with the answers that its pages ask for, the same bytes each time, without names if redacted."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, report_parts, write

import tpu_profile_plugin as tp
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.report.collector import Collector, Stored, contained, container, defaults, key_of
from tpu_profile_plugin.report.redact import Names, Redactor, names_of

DEMO = Path(__file__).parents[3] / "demo"
SLOW, QUICK = "train_slow_input/2026_11_22_19_04_21", "train_prefetched/2026_11_22_19_04_16"


@pytest.fixture(scope="module")
def compared() -> bytes:
    logdir = tp.open(DEMO)
    data: bytes = logdir.run(SLOW).report(logdir.run(QUICK)).data
    return data


def test_a_report_holds_what_the_tools_answer(compared: bytes) -> None:
    index, answers = report_parts(compared)
    assert (index["report"]["run"], index["report"]["base"]) == (SLOW, QUICK)
    run = tp.open(DEMO).run(SLOW)
    asked = {"run": SLOW, "tag": "op_profile", "host": "demo-host", "group_by": "category"}
    key = key_of("page", {**asked, "backend": "auto", "near_sources": "true"}, index["defaults"])
    expected = run.document("op_profile", host="demo-host", group_by="category", backend="auto", near_sources=True)
    assert json.loads(answers[key]) == expected
    key = key_of("page", {"run": SLOW, "tag": "compare", "base": QUICK}, index["defaults"])
    assert json.loads(answers[key])["length"]["delta"] > 0
    info = json.loads(answers[key_of("run_info", {"run": SLOW}, {})])
    tools = {tool["id"]: tool["reason"] for tool in info["tools"]}
    assert tools["compare"] is None
    assert "server" in tools["graph_viewer"]


def test_the_timeline_is_that_of_the_slowest_step_and_its_neighbours(compared: bytes) -> None:
    index, answers = report_parts(compared)
    place = {"run": SLOW, "tag": "trace_viewer@", "host": "demo-host"}
    header, _ = container(answers[key_of("page", {**place, "format": "columns"}, index["defaults"])])
    steps = tp.open(DEMO).run(SLOW).answer("time_budget", host="demo-host")["steps"]
    times = sorted((begin[0], length[0]) for begin, length in zip(steps["begin_ps"], steps["duration_ps"], strict=True))
    slowest = max(range(len(times)), key=lambda at: times[at][1])
    first, last = times[max(slowest - 1, 0)], times[min(slowest + 1, len(times) - 1)]
    assert header["full_timespan_ps"] == header["window_ps"]
    assert header["window_ps"] == pytest.approx([first[0], sum(last)], abs=2e3)
    assert header["finest"]
    details = json.loads(answers[key_of("page", {**place, "format": "details"}, index["defaults"])])
    assert 10 < len(details) <= 1000
    at, one = next(iter(details.items()))
    assert at == f"{one['pid']}.{one['tid']}.{one['event']}"


def test_reports_are_the_same_bytes_and_request_nothing(compared: bytes) -> None:
    logdir = tp.open(DEMO)
    assert logdir.run(SLOW).report(logdir.run(QUICK)).data == compared
    text = compared.decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r'<(?:script|link|img|iframe)[^>]* (?:src|href)="(?!data:)', text)


def test_a_window_and_bytes_without_a_logdir(tmp_path: Path) -> None:
    write(tmp_path, {"plugins/profile/1/h.xplane.pb": SMALL})
    data = (tmp_path / "plugins/profile/1/h.xplane.pb").read_bytes()
    report = tp.open(data).run().report(window=(0.0, 0.001))
    index, answers = report_parts(report.data)
    name = index["report"]["run"]
    (info,) = (body for key, body in answers.items() if key.startswith('["run_info"'))
    assert json.loads(info)["run"] == name
    boxes = [body for body in answers.values() if body[:4] == b"TPC1"]
    assert [container(body)[0]["window_ps"] for body in boxes] == [[0, 1_000_000]]


def test_saving_keeps_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "logs", {"plugins/profile/1/h.xplane.pb": SMALL})
    report = tp.open(tmp_path / "logs").run().report()
    place = report.save(tmp_path / "report.html")
    assert place.read_bytes() == report.data
    with pytest.raises(BadRequest, match="already exists"):
        report.save(place)
    with pytest.raises(BadRequest, match="in the logdir"):
        report.save(tmp_path / "logs" / "report.html")
    assert 'sandbox="allow-scripts' in report._repr_html_()


def test_a_base_is_of_the_same_logdir(tmp_path: Path) -> None:
    write(tmp_path, {"plugins/profile/1/h.xplane.pb": SMALL})
    run = tp.open(tmp_path).run()
    with pytest.raises(BadRequest, match="of one logdir"):
        run.report(tp.open(DEMO).run(SLOW))


def test_keys_leave_out_defaults_and_order() -> None:
    known = {"t": {"a": "1", "b": "false"}}
    assert (
        key_of("page", {"tag": "t", "b": "true", "a": "1", "run": "é"}, known)
        == '["page",["b","true"],["run","é"],["tag","t"]]'
    )
    assert key_of("run_info", {"run": "x", "a": "1"}, known) == '["run_info",["a","1"],["run","x"]]'
    assert defaults()["memory_viewer"]["memory_space"] == "0"


def test_a_refused_answer_is_stored_as_its_error() -> None:
    tool = {"id": "hlo_stats", "reason": None, "host_names": ["h"], "hosts": "one_or_all", "params": []}

    def ask(route: str, _: Any) -> bytes:
        made = {"runs_info": [{"run": "r"}], "config": {}, "run_info": {"run": "r", "tools": [tool]}}
        if route == "page":
            raise NotFound("There is no op.", code="op_not_found")
        return json.dumps(made[route]).encode()

    stored = {one.key: one for one in Collector(ask, "r", None, None).answers()}
    one = stored['["page",["backend","auto"],["host","h"],["near_sources","true"],["run","r"],["tag","hlo_stats"]]']
    assert (one.status, json.loads(one.body)["error"]["code"]) == (404, "op_not_found")


def test_the_memory_of_each_allocator_and_the_runs_of_programs_are_stored() -> None:
    tool = {"id": "memory_profile", "reason": None, "host_names": ["h"], "hosts": "one", "params": []}

    def ask(route: str, _: Any) -> bytes:
        made = {"runs_info": [{"run": "r"}], "config": {}, "run_info": {"run": "r", "tools": [tool]}}
        memories = {"memories": [{"id": "0"}, {"id": "GPU_0_bfc"}], "has_modules": True}
        return json.dumps(memories if route == "page" else made[route]).encode()

    stored = {one.key for one in Collector(ask, "r", None, None).answers()}
    place = '["host","h"],["memory_id","{}"],["run","r"],["tag","allocations_over_time"]]'
    assert {f'["page",{place.format(name)}' for name in ("0", "GPU_0_bfc")} <= stored
    assert '["page",["host","h"],["modules","true"],["run","r"],["tag","memory_profile"]]' in stored


NAMES = Names(
    hosts=("vm", "lab-7.example"),
    runs=("alice/secret/1",),
    programs=("jit_train_step",),
    op_names=("jit(train_step)/Encoder/layer_0/dot_general",),
    arguments=("params['w']",),
    functions=("load_batch",),
    files=("/home/alice/train.py", "<embedded module>"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vm", "host-1"),
        ("vm: TPU 0", "host-1: TPU 0"),
        ("a vm waits", "a vm waits"),
        ("Host lab-7.example is left out", "Host host-2 is left out"),
        ("vm.xplane.pb", "host-1.xplane.pb"),
        ("alice/secret/1", "run-1"),
        ("jit_train_step(12)", "program-1(12)"),
        ("PjitFunction(train_step)", "PjitFunction(scope-1)"),
        ("jit(train_step)/Encoder/layer_0/dot_general:", "jit(scope-1)/scope-2/scope-3/dot_general:"),
        ("Encoder", "scope-2"),
        ("The Encoder/layer_0/add takes 3 GiB/s", "The scope-2/scope-3/add takes 3 GiB/s"),
        ("params['w']", "argument-1"),
        ("/home/alice/train.py:54 load_batch", "file1.py:54 function1"),
        ("$train.py:54 load_batch", "$file1.py:54 function1"),
        ("most of it in train.py:54", "most of it in file1.py:54"),
        ("edit train.py now", "edit file1.py now"),
        ("/home/alice/runs", "directory-1"),
        ("/host:CPU", "/host:CPU"),
        ("<embedded module>:3:1", "file1:3:1"),
        ("%add.3 = f32[2]{0} add(%a, %b)", "%add.3 = f32[2]{0} add(%a, %b)"),
    ],
)
def test_names_become_placeholders(text: str, expected: str) -> None:
    redactor = Redactor(NAMES)
    # Numbers follow the order of first use; those of this text alone are compared.
    assert re.sub(r"file\d+", "file1", redactor.text(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w-1.x and w-1", "host-2 and host-1"),
        ("xw-1 w-1y w-1", "xw-1 w-1y host-1"),
        ("(w-1)/w-1.xy", "(host-1)/host-1.xy"),
        ("a.b.d is not .b", "a.b.d is not argument-2"),
        (f"[{'.a' * 70}b, w-1]", "[argument-3 host-1]"),
        (f"[{'.a' * 31}b, w-1]", f"[{'.a' * 31}b, host-1]"),
    ],
)
def test_the_longest_name_is_replaced_and_no_part_of_a_word(text: str, expected: str) -> None:
    names = Names(hosts=("w-1", "w-1.x"), arguments=("params['w']", ".b", ".a" * 70))
    assert Redactor(names).text(text) == expected


@pytest.mark.parametrize("pump", ["params['layer_", ".", ".a", "worker-", "w" * 99 + " ", "worker-7 "])
def test_many_names_are_no_slower_than_few(pump: str) -> None:
    def cpu_s(count: int) -> float:
        hosts = tuple(f"worker-{number}" for number in range(count))
        arguments = tuple(f"params['layer_{number}']" for number in range(count))
        redactor = Redactor(Names(hosts=hosts, arguments=(*arguments, *("." * n + "b" for n in range(count // 100)))))
        begin = time.thread_time()
        redactor.text((pump * 100_000)[:100_000])
        return time.thread_time() - begin

    assert min(cpu_s(20_000) for _ in range(3)) < 1


def test_redaction_reaches_keys_binary_headers_and_nested_values() -> None:
    redactor = Redactor(NAMES)
    body = contained({"strings": ["layer_0"], "sections": [{"host": "vm"}], "arrays": {}}, b"\1\2")
    answer = redactor(Stored('["page",["run","alice/secret/1"]]', 200, body))
    assert answer.key == '["page",["run","run-1"]]'
    header, arrays = container(answer.body)
    assert (header["strings"], header["sections"], arrays) == (["scope-3"], [{"host": "host-1"}], b"\1\2")
    answer = redactor(Stored("[]", 200, b'{"type": "vm", "deep": [[1], {"x": "vm"}], "vm": 2}'))
    assert json.loads(answer.body) == {"type": "vm", "deep": [[1], {"x": "host-1"}], "host-1": 2}


def test_a_redacted_report_has_no_original_name() -> None:
    run = tp.open(DEMO).run(SLOW)
    report = run.report(redact=True)
    assert "replaced" in report.left
    index, answers = report_parts(report.data)
    everything = b"\n".join([json.dumps(index, ensure_ascii=False).encode(), *answers.values()])
    names = names_of([run])
    assert names.hosts == ("demo-host",)
    frames = {
        match[1]
        for plane in run.columns().planes
        if plane.name == HOST_THREADS
        for name in plane.event_metadata.names
        if (match := re.match(r"\$(.+\.py):\d+ ", name))
    }
    # Names that are also a word of the pages ("images") are only replaced where they stand alone.
    telling = [*names.hosts, *names.runs, *names.files, *frames, *(name for name in names.op_names if "/" in name)]
    telling = [name for name in telling if name]
    assert len(telling) > 40
    assert [name for name in telling if name.encode() in everything] == []


def test_the_command_writes_html_and_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "r.html"
    assert main(["report", str(DEMO), SLOW, "--window", "300,340", "-o", str(place)]) == 0
    _, answers = report_parts(place.read_bytes())
    (boxes,) = (body for body in answers.values() if body[:4] == b"TPC1")
    assert container(boxes)[0]["window_ps"] == [300_000_000_000, 340_000_000_000]
    assert f"{place.stat().st_size:,} bytes" in capsys.readouterr().out
    assert main(["report", str(DEMO), SLOW, "--base", QUICK, "--format", "markdown", "--link", "https://h/<a>"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"## Profile {SLOW.replace('_', chr(92) + '_')}\n\n**Devices wait ")
    assert "### What changed" in text
    assert text.endswith("[The whole report](<https://h/<a%3E>): every page, with the timeline, in one file.\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-o", "x.html", "--window", "5"], "A window is begin and end"),
        (["-o", "x.html", "--window", "9,3"], "A window is begin and end"),
        ([], "needs a file"),
        (["--format", "markdown", "--redact"], "no effect on --format markdown"),
        (["-o", "x.html", "--base", "none/such"], "no run 'none/such'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(DEMO), *arguments]) != 0
    assert reason in capsys.readouterr().err
