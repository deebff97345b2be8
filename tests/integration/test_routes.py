"""The answers of every route to valid requests."""

import csv
import io
import json
import shutil

import pytest
from builders.servers.board import Board

import tpu_profile_plugin
import tpu_profile_plugin.compat.xprof as xprof

MAIN = "2026_11_20_08_58_45"


def test_runs(board):
    assert board.json("runs") == [
        "train/multi",
        "run with space+é/s 1",
        "bare/deep",
        "bad/zero",
        "bad/old",
        "bad/noise",
        "bad/half",
        "bad/empty",
        "bad/cut",
        MAIN,
        ".hidden/hid",
    ]


def test_runs_info_opens_no_file(board, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.logdir.files.LocalFiles.read", None)
    info = board.json("runs_info")
    assert [run["run"] for run in info] == board.json("runs")
    by_name = {run["run"]: run for run in info}
    multi = by_name["train/multi"]
    assert (multi["session"], multi["directory"], multi["hosts"]) == ("multi", "train/plugins/profile/multi", 2)
    assert multi["bytes"] > 100
    assert multi["mtime_ms"] > 1_500_000_000_000
    codes = {name: [p["code"] for p in run["problems"]] for name, run in by_name.items() if run["problems"]}
    assert codes == {"bad/zero": ["empty_file"], "bad/old": ["old_format"], "bad/empty": ["empty_session"]}


def test_pages_have_what_xprofs_answers_lack(board):
    asked = {"run": "train/multi", "tag": "framework_op_stats"}
    theirs, ours = board.json("data", **asked)[0], board.json("page", **asked)
    assert {name for column in theirs["cols"] for name in column} == {"id", "label", "type"}
    assert {"unit", "help"} <= set(ours["with_idle"]["columns"][0])
    assert (theirs.get("p", {}).get("cores"), ours["notes"]["cores"]) == (None, 2)


def test_tools_of_ours_answer_in_full(board):
    asked = {"run": "train/multi", "tag": "profile_contents"}
    assert board.json("data", **asked) == board.json("page", **asked)
    assert "help" in board.json("data", **asked)["cols"][0]


def test_csv_has_the_columns_of_ours(board):
    asked = {"run": "train/multi", "tag": "perf_counters"}
    heads = board.get("data_csv", **asked).text.splitlines()[0].split(",")
    assert heads[5] == '"Value"'  # XProf's is "Value (Hex)"


@pytest.mark.parametrize(
    "name", ["train/multi", "run with space+é/s 1", ".hidden/hid", "bare/deep", "bad/zero", "bad/half", MAIN]
)
def test_run_tools_is_the_plain_list(board, name):
    listed = board.json("run_tools", run=name)
    assert "trace_viewer@" in listed
    assert set(listed) <= set(xprof.ORDER)


def test_run_tools_lists_tools_of_ours_on_request(board):
    listed = board.json("run_tools", run=MAIN, own="true")
    assert "profile_contents" in listed
    of_xprof = board.json("run_tools", run=MAIN)
    assert [tool for tool in of_xprof if tool in listed] == [tool for tool in listed if tool in xprof.LISTED]
    assert set(of_xprof) - set(listed) <= xprof.ALWAYS_LISTED


@pytest.mark.parametrize("name", ["bad/empty", "bad/cut", "bad/noise", "bad/old"])
def test_run_tools_of_unreadable_runs_is_empty(board, name):
    assert board.json("run_tools", run=name) == []


def test_run_info(board):
    info = board.json("run_info", run="train/multi")
    assert info["run"] == "train/multi"
    assert [(h["name"], h["kind"], h["problem"]) for h in info["hosts"]] == [
        ("hostA", "xplane", None),
        ("hostB", "xplane", None),
    ]
    assert info["device_types"] == ["TPU v6 Lite"]
    assert info["problems"] == []
    contents = next(tool for tool in info["tools"] if tool["id"] == "profile_contents")
    assert contents == {
        "id": "profile_contents",
        "title": "Profile contents",
        "group": "Summary",
        "summary": contents["summary"],
        "hosts": "one_or_all",
        "host_names": ["ALL_HOSTS", "hostA", "hostB"],
        "available": True,
        "reason": None,
        "params": [],
    }


def test_run_info_explains_a_truncated_file_beside_a_valid_one(board):
    info = board.json("run_info", run="bad/half")
    assert [(h["name"], h["problem"] and h["problem"]["code"]) for h in info["hosts"]] == [
        ("good", None),
        ("torn", "corrupt_profile"),
    ]
    problem = info["problems"][0]
    assert (problem["file"], problem["code"]) == ("torn.xplane.pb", "corrupt_profile")
    assert problem["offset"] > 0
    assert all(tool["available"] for tool in info["tools"] if tool["id"] == "profile_contents")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("bad/cut", "corrupt_profile"),
        ("bad/noise", "corrupt_profile"),
        ("bad/empty", "empty_session"),
        ("bad/old", "old_format"),
    ],
)
def test_run_info_has_the_reason_for_every_unavailable_tool(board, name, code):
    info = board.json("run_info", run=name)
    assert [problem["code"] for problem in info["problems"]] == [code]
    assert [(t["available"], t["reason"]) for t in info["tools"]] == [
        (False, info["problems"][0]["message"]) for _ in info["tools"]
    ]


def test_a_zero_byte_profile_is_valid_but_reported(board):
    info = board.json("run_info", run="bad/zero")
    assert info["hosts"][0]["problem"]["code"] == "empty_file"
    assert board.json("data", run="bad/zero", tag="profile_contents")["rows"] == []


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("overview_page", ["ALL_HOSTS"]),
        ("pod_viewer", ["ALL_HOSTS"]),
        ("smart_suggestion", ["ALL_HOSTS"]),
        ("input_pipeline_analyzer", ["ALL_HOSTS", "hostA", "hostB"]),
        ("framework_op_stats", ["ALL_HOSTS", "hostA", "hostB"]),
        ("tensorflow_stats", ["ALL_HOSTS", "hostA", "hostB"]),
        ("tensorflow_stats^", ["ALL_HOSTS", "hostA", "hostB"]),
        ("kernel_stats", ["ALL_HOSTS", "hostA", "hostB"]),
        ("kernel_stats#", ["ALL_HOSTS", "hostA", "hostB"]),
        ("megascale_stats", ["ALL_HOSTS", "hostA", "hostB"]),
        ("profile_contents", ["ALL_HOSTS", "hostA", "hostB"]),
        ("trace_viewer@", ["hostA", "hostB"]),
        ("trace_viewer", ["hostA", "hostB"]),
        ("op_profile", ["hostA", "hostB"]),
        ("memory_profile", ["hostA", "hostB"]),
        ("hlo_stats", ["hostA", "hostB"]),
        ("graph_viewer", ["hostA", "hostB"]),
        ("no such tool", ["hostA", "hostB"]),
        ("", ["hostA", "hostB"]),
    ],
)
def test_hosts(board, tag, names):
    assert board.json("hosts", run="train/multi", tag=tag) == [{"hostname": name} for name in names]


@pytest.mark.parametrize("tag", ["overview_page", "kernel_stats", "trace_viewer@", "profile_contents"])
def test_hosts_of_a_run_with_one_host(board, tag):
    assert board.json("hosts", run="run with space+é/s 1", tag=tag) == [{"hostname": "h.with.dots"}]
    assert board.json("hosts", run="bad/empty", tag=tag) == []
    assert board.json("hosts", run="bad/cut", tag=tag) == [{"hostname": "c"}]


def test_base_runs_share_programs(board, logdir):
    assert board.json("base_runs", run=MAIN) == []
    assert board.json("base_runs", run="train/multi") == []
    session = logdir / "plugins/profile/2026_11_20_08_58_45"
    shutil.copytree(session, logdir / "train/plugins/profile/again")
    assert board.json("base_runs", run="train/again") == [{"run": MAIN, "shared": 1.0}]
    assert board.get("base_runs", run="nope").status_code == 404


def test_module_list(board):
    answer = board.get("module_list", run=MAIN, tag="graph_viewer")
    assert (answer.mimetype, answer.text) == ("text/plain", "jit_f(12190760917235803885),jit_step(14)")
    assert board.json("module_list", run=MAIN, format="json") == ["jit_f(12190760917235803885)", "jit_step(14)"]
    assert board.get("module_list", run="train/multi").text == "NO_MODULE"
    assert board.get("module_list", run="bad/empty").text == ""


def test_config_and_version(board):
    assert board.json("config") == {
        "enableTabNameLabel": False,
        "hideCaptureProfileButton": False,
        "srcPathPrefix": "",
        "xprofReading": True,
    }
    answer = board.get("version")
    assert (answer.mimetype, answer.text) == ("text/plain", tpu_profile_plugin.__version__)


def test_status(board, logdir):
    status = board.json("status")
    assert (status["runs"], status["logdir"], status["capture_enabled"]) == (11, str(logdir), True)
    assert status["absolute_logdir"] == str(logdir)
    assert status["scanned_directories"] > 10
    assert status["scan_ms"] >= 0
    assert "plugins/profile/<session>/<host>.xplane.pb" in status["patterns"]
    assert status["problems"] == []


def test_status_of_a_missing_logdir(tmp_path):
    status = Board(tmp_path / "nope", tmp_path / "home").json("status")
    assert [p["code"] for p in status["problems"]] == ["logdir_unreadable"]


def rows(table):
    return [[cell["v"] for cell in row["c"]] for row in table["rows"]]


@pytest.mark.parametrize(
    ("query", "hosts"),
    [
        ({}, ["hostA", "hostB"]),
        ({"host": ""}, ["hostA", "hostB"]),
        ({"host": "ALL_HOSTS"}, ["hostA", "hostB"]),
        ({"host": "hostB"}, ["hostB"]),
        ({"hosts": "hostB"}, ["hostB"]),
        ({"host": "hostA", "hosts": "hostA,hostB"}, ["hostA"]),
    ],
)
def test_data_of_the_requested_hosts(board, query, hosts):
    table = board.json("data", run="train/multi", tag="profile_contents", **query)
    assert sorted({row[0] for row in rows(table)}) == hosts


def test_answers_do_not_depend_on_the_order_of_requests(board, logdir, tmp_path):
    asked = ["ALL_HOSTS", "hostA", "hostB"]
    other = Board(logdir, tmp_path / "other home")

    def ask(on, host):
        return on.get("data", run="train/multi", tag="profile_contents", host=host).data

    forward = {host: ask(board, host) for host in asked}
    backward = {host: ask(other, host) for host in reversed(asked)}
    assert forward == backward
    assert len(set(forward.values())) == 3


def test_data_csv(board):
    answer = board.get("data_csv", run="train/multi", tag="profile_contents", host="hostA", tqx="out:csv;")
    assert answer.mimetype == "text/csv"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="profile_contents_train_multi_hostA.csv"'
    lines = list(csv.reader(io.StringIO(answer.text)))
    assert lines[0][:4] == ["Host", "Plane", "Line", "Events"]
    assert lines[1][:4] == ["hostA", "/host:CPU", "python", "3.0"]
    assert answer.text.startswith('"Host","Plane"')


def test_data_csv_of_a_table_by_name(board):
    query = {"run": "train/multi", "tag": "communication"}
    assert board.get("data_csv", table="clocks", **query).text.startswith('"Clock","Reference"')
    first = board.get("data_csv", **query).text
    assert first == board.get("data_csv", table="ops", **query).text
    refused = board.get("data_csv", table="nope", **query)
    assert refused.status_code == 400
    assert refused.json["error"]["message"].startswith(
        "The answer has no table 'nope'; it has: ops, ranks, clocks, launches"
    )


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"run": "train/multi", "host": "ALL_HOSTS"}, "profile_contents_train_multi_ALL_HOSTS.csv"),
        ({"run": "train/multi"}, "profile_contents_train_multi.csv"),
        (
            {"run": "run with space+é/s 1", "host": "h.with.dots"},
            "profile_contents_run_with_space___s_1_h_with_dots.csv",
        ),
    ],
)
def test_csv_file_names(board, query, name):
    answer = board.get("data_csv", tag="profile_contents", **query)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'


@pytest.mark.parametrize("suffix", ["^", "#"])
def test_old_tool_ids(board, suffix):
    asked = {"run": MAIN, "host": "vm"}
    assert board.json("data", tag="profile_contents" + suffix, **asked) == board.json(
        "data", tag="profile_contents", **asked
    )


def test_a_trailing_slash_and_an_unknown_parameter_are_ignored(board):
    assert board.json("data", run="train/multi/", tag="profile_contents", base_session_id="x", tqx="reqId:1")


def test_pages(board):
    for route in ("index.html", "local"):
        page = board.get(route)
        assert page.mimetype == "text/html"
    assert board.get("index.js").mimetype == "text/javascript"


def test_path_prefix(logdir, tmp_path):
    board = Board(logdir, tmp_path / "home", prefix="/a/b")
    assert MAIN in board.json("runs")
    assert board.get("index.js").status_code == 200
    listing = board.client.get("/a/b/data/plugins_listing").json
    assert listing["profile"]["loading_mechanism"]["module_path"] == "/a/b/data/plugin/profile/index.js"
    assert board.client.get("/data/plugin/profile/runs").status_code == 404


def test_json_is_utf8(board):
    assert json.loads(board.get("runs").data.decode("utf-8"))[1] == "run with space+é/s 1"
