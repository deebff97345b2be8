"""Protection against other names and origins and against injection; docs/developer/security.md has the model."""

from __future__ import annotations

import io
import logging
import os
import pickle
import re
import stat
import time
from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from builders.profiles import megascale_profiles
from builders.programs.hlo import metadata_plane, op, program
from builders.servers.board import Board
from builders.servers.fake_profiler import serving
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

import tpu_profile_plugin

ROUTES = (
    "index.html",
    "index.js",
    "config",
    "version",
    "status",
    "runs",
    "runs_info",
    "capture_jobs",
    "generate_cache_status",
    "nope",
)
NAMES = ["evil.example", "evil.example:6006", "board.lab.example.evil.example", "[::1", "", "localhost.evil.example"]


class TestNames:
    @pytest.fixture
    def closed(self, logdir, tmp_path):
        return Board(logdir, tmp_path / "home", "--profile_server_names", "board.lab.example")

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("route", ROUTES)
    def test_nothing_is_served_under_a_name_that_is_not_listed(self, closed, name, route):
        """A page whose name resolves to this machine (DNS rebinding) is same-origin to the browser."""
        answer = closed.get(route, headers={"Host": name})
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "forbidden")

    @pytest.mark.parametrize("name", ["board.lab.example", "BOARD.lab.example:443", "localhost:6006", "[::1]:6006"])
    def test_listed_names_and_this_machines_own_are_served(self, closed, name):
        assert closed.get("runs", headers={"Host": name}).status_code == 200

    def test_without_a_list_reading_works_under_any_name_as_in_tensorboard(self, board):
        assert board.get("runs", headers={"Host": "evil.example"}).status_code == 200


@pytest.mark.parametrize("route", [*ROUTES, "data?run=train/multi&tag=profile_contents", "static/nope.js"])
def test_no_answer_may_be_embedded_or_read_by_another_origin(board, route):
    path, _, query = route.partition("?")
    answer = board.client.get(f"{board.prefix}/{path}", query_string=query, headers={"Origin": "http://evil.example"})
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert not [name for name, _ in answer.headers if name.lower().startswith("access-control-")]


INJECTED = "x\r\nSet-Cookie: a=b\r\n\r\n<script>"


@pytest.mark.parametrize("route", ["runs", "hosts", "run_info", "data", "data_csv", "module_list", "capture_status"])
@pytest.mark.parametrize(
    "parameter", ["run", "tag", "host", "hosts", "module_name", "session_path", "id", "job", "base"]
)
def test_line_breaks_in_parameters_reach_no_header_and_no_log(board, caplog, route, parameter):
    caplog.set_level(logging.DEBUG, logger="tpu_profile_plugin")
    query = {"run": "train/multi", "tag": "profile_contents", parameter: INJECTED}
    answer = board.get(route, **query)
    assert answer.status_code in (200, 400, 403, 404)
    for name, value in answer.headers:
        assert name != "Set-Cookie"
        assert "\r" not in value
        assert "\n" not in value
    assert "<script>" not in answer.text or answer.content_type.startswith(("application/json", "text/plain"))
    assert not [record for record in caplog.records if "\n" in record.getMessage()]


@pytest.mark.parametrize("route", ["data", "data_csv", "progress"])
def test_line_breaks_in_the_base_reach_no_header_and_no_log(board, caplog, route):
    caplog.set_level(logging.DEBUG, logger="tpu_profile_plugin")
    answer = board.get(route, run="train/multi", tag="compare", base=INJECTED)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "run_not_found")
    assert "Set-Cookie" not in answer.headers
    assert not [record for record in caplog.records if "\n" in record.getMessage()]


def test_line_breaks_in_the_path_reach_no_log(board, caplog):
    environ = EnvironBuilder(path="/").get_environ()
    environ["PATH_INFO"] = f"{board.prefix}/run\r\nInjected: 1"
    answer = board.client.open(environ)
    assert answer.status_code == 404
    assert not [record for record in caplog.records if "\nInjected" in record.getMessage()]


def test_host_names_out_of_files_reach_the_csv_header_safely(tmp_path):
    name = 'a"; filename=evil.exe\r\nSet-Cookie: a=b; x="'
    logdir = write(tmp_path / "logs", {f"plugins/profile/s/{name}.xplane.pb": SMALL})
    board = Board(logdir, tmp_path / "home")
    answer = board.get("data_csv", run="s", tag="profile_contents", host=name)
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers
    assert all("\n" not in value and "\r" not in value for value in answer.headers.values())
    assert "filename=evil" not in answer.headers["Content-Disposition"].replace('"; filename', "")


def test_the_cache_is_private_to_the_user(logdir, tmp_path):
    before = os.umask(0)
    try:
        board = Board(logdir, tmp_path / "home")
        assert board.get("data", run="train/multi", tag="profile_contents", host="hostA").status_code == 200
        board.plugin.server.results()._disk.flush()
    finally:
        os.umask(before)
    made = list((tmp_path / "home" / "results").rglob("*"))
    assert any(path.is_file() for path in made), "no answer was kept"
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in made} == {0}


OWN_PAGE = {"Origin": "http://localhost", "X-Profile-Request": "1"}
FOREIGN = [
    {"Origin": "http://evil.example", "X-Profile-Request": "1"},
    {"Origin": "null", "X-Profile-Request": "1"},
    {"Origin": "http://localhost"},
    {"Sec-Fetch-Site": "cross-site", "X-Profile-Request": "1"},
    {"Sec-Fetch-Site": "same-site", "X-Profile-Request": "1"},
    {"Host": "evil.example", **OWN_PAGE},
]
CHANGING = (
    *("capture_profile", "capture_cancel", "capture_probe", "capture_continuous"),
    *("query", "query_cancel", "generate_cache"),
)


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("route", CHANGING)
def test_pages_of_other_origins_change_nothing(board, route, headers):
    with serving() as fake:
        body = {"addresses": fake.address, "action": "start", "duration_ms": 50, "wait": True}
        query = {"run": "train/multi", "tools": "profile_contents"}
        answer = board.client.post(f"{board.prefix}/{route}", json=body, query_string=query, headers=headers)
        assert fake.requests == []
        assert fake.continuous is None
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "forbidden")


class TestBodies:
    """Requests with bodies that are not what they should be."""

    @staticmethod
    def post(board, route, stream, **environ):
        builder = EnvironBuilder(method="POST", headers=OWN_PAGE, content_type="application/json")
        made = builder.get_environ() | {"PATH_INFO": f"{board.prefix}/{route}", "wsgi.input": stream, **environ}
        return Response(*run_wsgi_app(board.client.application, made))

    class Endless(io.RawIOBase):
        """Spaces, as JSON allows them; counts what was read."""

        taken = 0

        def readable(self):
            return True

        def readinto(self, into):
            self.taken += len(into)
            into[:] = b" " * len(into)
            return len(into)

    @pytest.mark.parametrize("route", CHANGING)
    @pytest.mark.parametrize("length", [(1 << 20) + 1, 1 << 40])
    def test_a_huge_body_is_refused_before_it_is_read(self, board, route, length):
        stream = self.Endless()
        answer = self.post(board, route, stream, CONTENT_LENGTH=str(length))
        assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_request")
        assert stream.taken == 0

    @pytest.mark.parametrize("route", CHANGING)
    def test_a_body_in_chunks_without_an_end_is_not_read_to_its_end(self, board, route):
        stream = self.Endless()
        chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
        answer = self.post(board, route, stream, **chunked)
        assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_request")
        assert stream.taken <= 2 << 20

    @pytest.mark.parametrize("route", CHANGING[:-1])
    @pytest.mark.parametrize("body", [b"[" * 100_000, b"[]", b"1", b"\xff", b"{", b'{"a":' * 5000, b"null"])
    def test_other_bodies_are_refused(self, board, route, body):
        answer = self.post(board, route, io.BytesIO(body), CONTENT_LENGTH=str(len(body)))
        assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_request")

    def test_a_body_that_breaks_off_is_refused(self, board):
        class Broken(io.RawIOBase):
            def readable(self):
                return True

            def readinto(self, into):
                raise OSError("Invalid chunk header")

        for more in ({"wsgi.input_terminated": True}, {"CONTENT_LENGTH": "9"}):
            answer = self.post(board, "capture_probe", Broken(), **more)
            assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "name", ["../../escaped", "/tmp/escaped", "a\r\nSet-Cookie: x=y", "..", "a" * 5000, "\0", "%2e%2e"]
)
def test_names_in_a_capture_stay_in_the_logdir(board, logdir, tmp_path, name):
    before = {path for path in tmp_path.rglob("*") if logdir not in path.parents}
    with serving() as fake:
        body = {"addresses": fake.address, "duration_ms": 50, "wait": True, "session_name": name, "hostname": name}
        answers = [board.client.post(f"{board.prefix}/capture_profile", json=body, headers=OWN_PAGE)]
        start = {"addresses": fake.address, "action": "start"}
        board.client.post(f"{board.prefix}/capture_continuous", json=start, headers=OWN_PAGE)
        snapshot = {"addresses": fake.address, "action": "snapshot", "session_id": name}
        answers.append(board.client.post(f"{board.prefix}/capture_continuous", json=snapshot, headers=OWN_PAGE))
        job = answers[1].json.get("id") or answers[1].json.get("job")
        for _ in range(300):
            if job is None or board.json("capture_status", job=job)["state"] not in ("waiting", "running", "queued"):
                break
            time.sleep(0.01)
        else:
            raise AssertionError(board.json("capture_status", job=job))
    for answer in answers:
        assert answer.status_code in (200, 202, 400)
        assert "Set-Cookie" not in answer.headers
    after = {path for path in tmp_path.rglob("*") if logdir not in path.parents and "home" not in path.parts}
    assert after <= before
    assert not Path("/tmp/escaped").exists()


@pytest.mark.parametrize(
    "parameter", ["job", "tools", "run", "session_path", "run_path", "service_addr", "worker_list"]
)
@pytest.mark.parametrize("value", [INJECTED, "../../../etc/passwd", "\0", "a" * 20_000, "<script>alert(1)</script>"])
def test_parameters_of_changing_routes_reach_no_header_path_or_log(board, tmp_path, caplog, parameter, value):
    caplog.set_level(logging.DEBUG, logger="tpu_profile_plugin")
    asked = [("POST", route) for route in CHANGING] + [("GET", "generate_cache_status"), ("GET", "capture_status")]
    for method, route in asked:
        query = {"run": "train/multi", "tools": "nonsense", "session_path": "", parameter: value}
        answer = board.get(route, OWN_PAGE, method=method, **query)
        assert answer.status_code in (400, 403, 404), (route, answer.status_code, answer.text)
        assert answer.content_type.startswith(("application/json", "text/plain"))
        assert "Set-Cookie" not in answer.headers
        assert str(tmp_path) not in answer.text
        assert "root:" not in answer.text
    assert not [record for record in caplog.records if "\n" in record.getMessage()]


class TestDownloads:
    """Answers that are saved, and texts out of profiles."""

    HOST = 'a"; filename=evil.exe\r\nSet-Cookie: a=b; x="é'

    def test_the_name_of_a_perfetto_trace_is_quoted(self, tmp_path):
        profile = megascale_profiles.two_steps()
        logdir = write(tmp_path / "logs", {f"r\n;/plugins/profile/s\r\n/{self.HOST}.xplane.pb": profile})
        board = Board(logdir, tmp_path / "home")
        [run] = board.json("runs")
        answer = board.get("data", run=run, tag="megascale_stats", perfetto="true", host=self.HOST)
        assert answer.status_code == 200
        assert re.fullmatch(r"attachment; filename\*=UTF-8''[A-Za-z0-9%_.~-]+", answer.headers["Content-Disposition"])
        assert "Set-Cookie" not in answer.headers

    @pytest.mark.parametrize("host", ["../h", "/etc/passwd", "h\0", INJECTED])
    def test_its_host_is_no_path(self, tmp_path, host):
        logdir = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": megascale_profiles.two_steps()})
        board = Board(logdir, tmp_path / "home")
        assert board.refused("data", run="s", tag="megascale_stats", perfetto="true", host=host)[:2] == (
            404,
            "host_not_found",
        )

    def test_scripts_in_custom_calls_are_text(self, tmp_path):
        script = b"<html><script>alert(1)</script>"
        call = op("c<img src=x onerror=alert(1)>", "custom-call", "f32[]", backend_config=script)
        logdir = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": metadata_plane(m=(7, program([call])))})
        board = Board(logdir, tmp_path / "home")
        name = "c<img src=x onerror=alert(1)>"
        query = {"run": "s", "tag": "graph_viewer", "module_name": "m(7)", "node_name": name}
        answer = board.get("data", type="custom_call", **query)
        assert (answer.status_code, answer.data) == (200, script)
        assert answer.content_type == "text/plain; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        drawing = board.get("data", type="graph", **query)
        assert drawing.status_code == 200
        assert "<img" not in drawing.text

    @pytest.mark.parametrize("name", ["../../etc/passwd", INJECTED, "\0", "c" * 100_000])
    @pytest.mark.parametrize("parameter", ["module_name", "node_name", "program_id", "expand"])
    def test_names_of_programs_and_nodes_are_no_paths(self, tmp_path, parameter, name):
        call = op("c", "custom-call", "f32[]", backend_config=b"x")
        logdir = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": metadata_plane(m=(7, program([call])))})
        board = Board(logdir, tmp_path / "home")
        query = {"module_name": "m(7)", "node_name": "c", parameter: name}
        for kind in ("custom_call", "graph", "adj_nodes", "short_txt"):
            answer = board.get("data", run="s", tag="graph_viewer", type=kind, **query)
            assert answer.status_code in (200, 400, 404)
            assert len(answer.data) < 100_000 or answer.status_code == 200
            assert str(tmp_path) not in answer.text
            assert "Set-Cookie" not in answer.headers


class _Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self):
        return Path.touch, (self._path,)


def test_no_pickle_is_read_from_profiles_the_cache_or_requests(logdir, tmp_path):
    """In place of every file that the server reads, and in a request."""
    sprung = tmp_path / "sprung"
    trap = pickle.dumps(_Trap(sprung))
    assert pickle.loads(trap) is None
    assert sprung.exists(), "the trap does not work"
    sprung.unlink()
    query = {"run": "train/multi", "tag": "profile_contents", "host": "hostA"}
    board = Board(logdir, tmp_path / "home")
    assert board.get("data", **query).status_code == 200
    board.plugin.server.results()._disk.flush()
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(trap)
    assert Board(logdir, tmp_path / "home").get("data", **query).status_code == 200
    write(logdir, {f"p/plugins/profile/s/h{suffix}": trap for suffix in (".xplane.pb", ".xplane.riegeli")})
    for host in ("h", "h.xplane.riegeli"):
        Board(logdir, tmp_path / "home").get("data", **{**query, "run": "p/s", "host": host})
    board.client.post(f"{board.prefix}/capture_profile", data=trap, headers=OWN_PAGE, content_type="application/json")
    assert not sprung.exists()


def test_only_workers_import_pickle():
    """What else could unpickle is not imported anywhere either."""
    package = Path(tpu_profile_plugin.__file__).parent
    loads = re.compile(
        r"^\s*(import|from) (pickle|_pickle|cPickle|shelve|marshal|dill|cloudpickle|joblib)\b|allow_pickle=T", re.M
    )
    found = {path.relative_to(package).parts[0] for path in package.rglob("*.py") if loads.search(path.read_text())}
    assert found == {"workers"}
