"""Sessions outside the logdir: off by default, and only below the allowed roots, links resolved."""

import posixpath
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import fsspec
import pytest
from builders.logdirs import write

from tpu_profile_plugin.errors import BadRequest, Forbidden, NotFound, StorageFailed
from tpu_profile_plugin.logdir import AllowedRoots


@pytest.fixture
def place(tmp_path):
    write(
        tmp_path,
        {
            "ok/s1/h.xplane.pb": b"1",
            "ok/s2/h.xplane.pb": b"",
            "ok/empty": None,
            "ok/deep/er/s3/h.xplane.pb": b"",
            "secret/s/h.xplane.pb": b"2",
            "ok-not/s/h.xplane.pb": b"3",
        },
    )
    (tmp_path / "ok/link").symlink_to(tmp_path / "secret/s")
    return tmp_path


def test_a_session_below_a_root_opens(place):
    run, files = AllowedRoots([str(place / "ok")]).session(str(place / "ok/s1"))
    assert (run.name, run.session, run.host_names, run.directory) == ("s1", "s1", ("h",), ".")
    file = run.hosts[0]
    assert files.read(file.path, file.size, file.mtime_ns, file.tag).tobytes() == b"1"
    assert AllowedRoots([str(place / "ok")]).session(str(place / "ok/deep/er/s3") + "/")[0].name == "s3"
    assert AllowedRoots([f"file://{place}/ok"]).session(f"file://{place}/ok/s1")[0].name == "s1"


def test_run_path_gives_the_directories_that_hold_profiles(place):
    found = AllowedRoots([str(place / "ok")]).below(str(place / "ok"))
    assert sorted(found) == ["s1", "s2"]


@pytest.mark.parametrize(
    "path", ["secret/s", "ok/../secret/s", "ok/link", "ok-not/s", "", "ok/../../../../../../etc", "nowhere"]
)
def test_paths_outside_the_roots_are_rejected(place, path):
    allowed = AllowedRoots([str(place / "ok")])
    for look in (allowed.session, allowed.below):
        with pytest.raises(Forbidden) as caught:
            look(str(place / path))
        assert str(place) not in caught.value.message


@pytest.mark.parametrize("path", ["s1", "../ok/s1", "./s1", "~/s1", "/x\0y"])
def test_malformed_paths_are_rejected(place, path):
    with pytest.raises(BadRequest):
        AllowedRoots([str(place / "ok")]).session(path)


def test_missing_sessions(place):
    allowed = AllowedRoots([str(place / "ok")])
    for look in (allowed.session, allowed.below):
        with pytest.raises(NotFound):
            look(str(place / "ok/nope"))
        with pytest.raises(NotFound):
            look(str(place / "ok/s1/h.xplane.pb"))


def test_off_by_default(place):
    with pytest.raises(Forbidden, match="--profile_allowed_roots"):
        AllowedRoots().session(str(place / "ok/s1"))


def test_remote_roots():
    fs = fsspec.filesystem("memory")
    fs.pipe("/bucket/ok/s/h.xplane.pb", b"12")
    fs.pipe("/bucket/okay/s/h.xplane.pb", b"12")
    allowed = AllowedRoots(["memory://bucket/ok"])
    assert allowed.session("memory://bucket/ok/s")[0].bytes == 2
    assert sorted(allowed.below("memory://bucket/ok/")) == ["s"]
    for path in ("memory://bucket/okay/s", "memory://bucket/ok/../okay/s", "gs://bucket/ok/s", "/bucket/ok/s"):
        with pytest.raises(Forbidden):
            allowed.session(path)
    fs.store.clear()


class LaxServer:
    """A web server that decodes twice, takes backslashes for slashes and ignores parameters: what it resolved."""

    def __init__(self):
        self.resolved = []
        lax = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = unquote(unquote(self.path.partition("?")[0])).replace("\\", "/")
                path = posixpath.normpath("/".join(part.partition(";")[0] for part in path.split("/")))
                lax.resolved.append(path)
                moved = {"/ok/moved": "/secret/s", "/ok/far": "http://localhost:1/ok/s", "/ok/near": "/ok/s/"}.get(path)
                self.send_response(302 if moved else 200)
                if moved:
                    self.send_header("Location", moved)
                body = b'<a href="h.xplane.pb">h</a> <a href="..%2f..%2fsecret/">x</a> <a href="s/">s</a>'
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body if self.command == "GET" else b"")

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def web():
    pytest.importorskip("aiohttp")
    server = LaxServer()
    yield server
    server.close()


UPWARDS = [
    *("%2e%2e/secret/s", "..%2fsecret/s", "%2E%2e/secret/s", ".%2E/secret/s", "%2e./secret/s", "../secret/s"),
    *("%252e%252e/secret/s", "%252E%252e%252Fsecret", "%25252e%25252e/secret/s", "..%255csecret", "x/..%2f..%2fsecret"),
    *("..\\secret\\s", "%2e%2e%5csecret", "..%5Csecret", "..;/secret/s", "..;x=1/secret", "%2e%2e;a/secret", ".%3b/.."),
    *(
        "..%00/secret",
        "..%20/secret",
        ". ./secret",
        "..\t/secret",
        ".\n./secret",
        "..%0a/secret",
        "%c0%ae%c0%ae/secret",
    ),
    *("\uff0e\uff0e/secret", "..\uff0fsecret", "%ef%bc%8e%ef%bc%8e/secret", "\u2024\u2024/secret", "..\u2215secret"),
    *("s?/../../secret", "s#/../secret", "s%3f/../../secret", "::file:///etc", "s::file:///etc", "%2e%2e%2f" * 500),
    ("%" + "25" * 20 + "2e") * 2 + "/secret",
]


@pytest.mark.parametrize("path", UPWARDS)
def test_no_reading_of_a_url_leaves_a_remote_root(web, path):
    allowed = AllowedRoots([f"{web.url}/ok"])
    for look in (allowed.session, allowed.below):
        with pytest.raises(Forbidden, match="not below a directory"):
            look(f"{web.url}/ok/{path}")
    assert web.resolved == []
    fs = fsspec.filesystem("memory")
    with pytest.raises(Forbidden):
        AllowedRoots(["memory://bucket/ok"]).session(f"memory://bucket/ok/{path}")
    assert fs.store == {}


@pytest.mark.parametrize(
    "name", ["s", "run 1", "a%20b", "100%", "\u00e9", "a;b", "...x", ".hidden", "x..", "a:b", "v1.2", "..x"]
)
def test_other_names_below_a_web_root_are_asked_for(web, name):
    AllowedRoots([f"{web.url}/ok/"]).below(f"{web.url}/ok/{name}")
    assert web.resolved
    assert all(path.startswith("/ok") for path in web.resolved), web.resolved


def test_links_of_a_listing_lead_nowhere_else(web):
    AllowedRoots([f"{web.url}/ok"]).below(f"{web.url}/ok")
    assert all(path.startswith("/ok") for path in web.resolved), web.resolved


def test_redirects_do_not_leave_a_web_root(web):
    allowed = AllowedRoots([f"{web.url}/ok"])
    for name in ("moved", "far"):
        with pytest.raises(StorageFailed) as caught:
            allowed.below(f"{web.url}/ok/{name}")
        assert caught.value.code == "storage_denied"
    assert {posixpath.dirname(path) for path in web.resolved} == {"/ok"}
    allowed.below(f"{web.url}/ok/near")
    assert "/ok/s" in web.resolved
