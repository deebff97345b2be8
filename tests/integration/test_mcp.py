"""`tpu-profile mcp` and a client of the `mcp` package: tools, resources, transports, capture."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from builders.logdirs import SMALL, write
from builders.servers.agent import COMMAND, agent, connected, http_server
from builders.servers.fake_profiler import serving
from mcp.shared.exceptions import MCPError

import tpu_profile_plugin
from tpu_profile_plugin.agents.calls import Calls, Capturing
from tpu_profile_plugin.agents.server import make_server
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.cli import main

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo"
RUN = "jax_mlp/2026_11_20_10_31_36"
OPENING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def calls(*logdirs: Path, **keywords: object) -> Calls:
    return Calls({str(path): tpu_profile_plugin.open(path) for path in logdirs}, **keywords)


class TestStdio:
    @pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.night)])
    def test_a_client_lists_tools_calls_them_and_reads_resources(self, mode):
        with agent(str(DEMO), mode=mode) as client:
            tools = {tool.name: tool for tool in client.wait("list_tools").tools}
            assert list(tools) == [verb.name for verb in VERBS]
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            runs = client.call("runs")
            assert RUN in [row["id"] for row in runs["answer"]["runs"]]
            first = runs["next"][0]
            assert (first["tool"], set(first["arguments"])) == ("overview", {"run"})
            ops = client.call("ops", run=RUN, max_bytes=2000)
            further = client.call("ops", run=RUN, max_bytes=2000, cursor=ops["cursor"])
            assert further["rows"]["from"] == ops["rows"]["to"] > 0
            assert client.call("ops", run="none")["error"]["argument"] == "run"
            resources = {str(one.uri): one for one in client.wait("list_resources").resources}
            assert list(resources) == ["tpu-profile://guide", "tpu-profile://glossary"]
            (glossary,) = client.wait("read_resource", "tpu-profile://glossary").contents
            assert glossary.text == (ROOT / "docs/user/glossary.md").read_text()
            with pytest.raises(MCPError, match="tpu-profile://guide"):
                client.wait("read_resource", "file:///etc/hostname")

    def test_its_answers_are_those_of_the_command(self, capsys):
        with connected(make_server(calls(DEMO))) as client:
            ours = client.call("ops", run=RUN)
        assert main(["ops", str(DEMO), RUN, "--format", "json"]) == 0
        theirs = json.loads(capsys.readouterr().out)
        same = ("units", "base", "from", "link", "cannot_answer")
        assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}
        shown = min(
            len(ours["answer"]["ops"]), len(theirs["answer"]["ops"])
        )  # commands are longer than calls, or shorter
        assert shown > 5
        assert ours["answer"]["ops"][:shown] == theirs["answer"]["ops"][:shown]

    def test_it_ends_with_its_input(self):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "runs", "arguments": {}}}
        known = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        lines = "".join(json.dumps(one) + "\n" for one in (OPENING, known, call))
        ended = subprocess.run([*COMMAND, str(DEMO)], input=lines, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert json.loads(ended.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "tpu-profile"

    @pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.night)])
    def test_a_signal_ends_it_while_a_client_is_connected(self, number):
        with subprocess.Popen(
            [*COMMAND, str(DEMO)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            server.stdin.write(json.dumps(OPENING) + "\n")
            server.stdin.flush()
            assert server.stdout.readline()
            server.send_signal(number)
            assert server.wait(30) == 0


class TestSchemas:
    def test_they_are_made_of_the_declarations(self):
        with connected(make_server(calls(DEMO))) as client:
            schema = {tool.name: tool.input_schema for tool in client.wait("list_tools").tools}
        assert schema["runs"] == {
            "type": "object",
            "properties": {
                "match": {"type": "string", "description": "Only runs whose name contains this text."},
                "cursor": {
                    "type": "string",
                    "description": "The cursor of the answer before, for the rows that follow.",
                },
                "max_bytes": {
                    "type": "integer",
                    "description": "The most bytes of the answer as JSON; by default 8000.",
                },
            },
            "additionalProperties": False,
        }
        for verb in VERBS:
            properties = schema[verb.name]["properties"]
            assert list(properties) == [one.name for one in verb.every]
            assert schema[verb.name].get("required", []) == [one.name for one in verb.parameters if one.required]
            assert all(tuple(properties[one.name].get("enum", ())) == one.choices for one in verb.every)

    def test_several_logdirs_are_told_apart(self, tmp_path):
        other = write(tmp_path / "logs", {"plugins/profile/2026_01_01_00_00_00/one.xplane.pb": SMALL})
        with connected(make_server(calls(DEMO, other))) as client:
            schemas = [tool.input_schema for tool in client.wait("list_tools").tools]
            assert all(schema["properties"]["logdir"]["enum"] == [str(DEMO), str(other)] for schema in schemas)
            assert all("logdir" in schema["required"] for schema in schemas)
            missing, wrong = client.call("runs")["error"], client.call("runs", logdir="/")["error"]
            assert missing["argument"] == wrong["argument"] == "logdir"
            assert missing["choices"] == wrong["choices"] == [str(DEMO), str(other)]
            runs = client.call("runs", logdir=str(other))
            assert [row["id"] for row in runs["answer"]["runs"]] == ["2026_01_01_00_00_00"]
            assert runs["next"][0]["arguments"] == {"logdir": str(other), "run": "2026_01_01_00_00_00"}

    def test_null_is_an_argument_that_is_left_out(self):
        answer, failed = calls(DEMO).call("runs", {"match": None, "cursor": None})
        assert not failed
        assert answer["answer"]["runs_found"] == len(tpu_profile_plugin.open(DEMO).runs())


class TestHttp:
    def test_a_client_is_answered_and_strangers_are_refused(self):
        with http_server(str(DEMO)) as (address, process):
            for mode in ("auto", "legacy"):
                with connected(address, mode) as client:
                    assert RUN in [row["id"] for row in client.call("runs")["answer"]["runs"]]
            assert urlsplit(address).hostname == "127.0.0.1"
            refused = [
                {"Host": "evil.example"},
                {"Host": ""},
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
                {"Origin": f"http://{urlsplit(address).netloc}"},  # a page of ours would send our header
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "none"},
            ]
            for headers in refused:
                assert _status(address, "POST", headers) == 403, headers
                assert _status(address, "GET", headers) == 403, headers
            assert _status(address, "POST", {}) == 200
            assert _status(address, "GET", {}) == 405
            assert _status(address, "DELETE", {}) == 405
            assert _status(address, "POST", {}, b"x" * (1 << 20) + b"x") == 413
            process.terminate()
            assert process.wait(30) == 0

    def test_a_port_in_use_is_named(self, capsys):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert main(["mcp", str(DEMO), "--http", str(port)]) == 1
        assert f"Port {port} cannot be used" in capsys.readouterr().err


def _status(address: str, method: str, headers: dict[str, str], body: bytes | None = None) -> int:
    body = body or json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    connection.request(method, "/mcp", body, {**accept, **headers})
    status = connection.getresponse().status
    connection.close()
    return status


class TestCapture:
    def test_it_is_offered_only_if_allowed(self, tmp_path):
        assert "capture" not in calls(DEMO).tools
        answer, failed = calls(DEMO).call("capture", {"address": "localhost:1"})
        assert failed
        assert answer["error"]["code"] == "tool_not_found"

    def test_it_stores_a_run_that_the_next_call_finds(self, tmp_path):
        logdir = write(tmp_path / "logs", {"plugins/profile/2026_01_01_00_00_00/one.xplane.pb": SMALL})
        with connected(make_server(calls(logdir, capturing=Capturing()))) as client, serving() as fake:
            (tool,) = [tool for tool in client.wait("list_tools").tools if tool.name == "capture"]
            assert not tool.annotations.read_only_hint
            done = client.call("capture", address=fake.address, duration_ms=50)
            assert done["answer"]["events"] == 4
            (follow,) = done["next"]
            assert follow["arguments"] == {"run": done["answer"]["captured"]}
            runs = client.call("runs")["answer"]["runs"]
            assert [row["id"] for row in runs] == [done["answer"]["captured"], "2026_01_01_00_00_00"]

    @pytest.mark.parametrize(
        ("arguments", "argument"),
        [
            ({"address": "no port"}, "address"),
            ({"address": "192.0.2.1:9012"}, "address"),
            ({"address": "localhost:1", "duration_ms": 0}, "duration_ms"),
            ({"address": "localhost:1", "duration_ms": 10**9}, "duration_ms"),
            ({"address": "localhost:1", "session": "../../x"}, "session"),
            ({"address": "localhost:1", "logdir": "/tmp"}, "logdir"),
            ({}, "address"),
        ],
    )
    def test_wrong_arguments_are_named_and_nothing_is_written(self, tmp_path, arguments, argument):
        answer, failed = calls(tmp_path, capturing=Capturing()).call("capture", arguments)
        assert failed
        assert answer["error"]["argument"] == argument
        assert not list(tmp_path.iterdir())

    def test_a_file_is_no_place_for_a_capture(self, tmp_path):
        logdir = write(tmp_path / "logs", {"one.xplane.pb": SMALL})
        answer, failed = calls(logdir / "one.xplane.pb", capturing=Capturing()).call(
            "capture", {"address": "localhost:1"}
        )
        assert failed
        assert answer["error"]["code"] == "not_available"


def test_new_files_are_seen_by_the_next_call(tmp_path):
    logdir = write(tmp_path / "logs", {"plugins/profile/2026_01_01_00_00_00/one.xplane.pb": SMALL})
    ours = calls(logdir)
    assert ours.call("runs", {})[0]["answer"]["runs_found"] == 1
    write(tmp_path / "logs", {"plugins/profile/2026_01_02_00_00_00/one.xplane.pb": SMALL})
    assert ours.call("runs", {})[0]["answer"]["runs_found"] == 2


def test_calls_at_the_same_time_have_the_answers_of_calls_in_turn():
    names = [verb.name for verb in VERBS if not any(one.required for one in verb.parameters)]
    in_turn, at_once = calls(DEMO), calls(DEMO)
    expected = [in_turn.call(name, {}) for name in names]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: at_once.call(name, {}), names * 3))
    assert found == expected * 3


def test_the_guide_is_printed(capsys):
    assert main(["agents"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs/user/agents.md").read_text()


def test_what_fails_inside_is_told_without_its_traceback(monkeypatch, caplog):
    monkeypatch.setattr("tpu_profile_plugin.agents.calls.ask", lambda *_, **__: 1 / 0)
    answer, failed = calls(DEMO).call("runs", {})
    assert failed
    assert answer["error"]["code"] == "internal"
    assert "ZeroDivisionError" not in json.dumps(answer)
    assert "ZeroDivisionError" in caplog.text


def test_without_the_package_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp", str(DEMO)]) == 1
    assert "pip install 'tpu-profile-plugin[agents]'" in capsys.readouterr().err
