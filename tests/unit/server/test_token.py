"""The access token: required where other machines reach the server, in the address once, then in a cookie."""

from __future__ import annotations

import hashlib
import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from werkzeug.test import Client, EnvironBuilder, run_wsgi_app

from tpu_profile_plugin.server.http.token import guarded
from tpu_profile_plugin.serving import board, token_for

DEMO = Path(__file__).parents[3] / "demo"


def application(token: str = "s3cret-token"):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}".encode()]

    return guarded(app, token)


def client(token: str = "s3cret-token") -> Client:
    return Client(application(token))


COOKIE = f"tpu_profile_{hashlib.sha256(b's3cret-token').hexdigest()[:12]}=s3cret-token"


def status_with(cookies: str, token: str = "s3cret-token") -> str:
    environ = EnvironBuilder().get_environ() | {"HTTP_COOKIE": cookies}
    return run_wsgi_app(application(token), environ)[1]


def test_an_address_with_the_token_sets_a_cookie_and_loses_it():
    browser = client()
    assert browser.get("/data/runs").status_code == 401
    answer = browser.get("/data/runs?a=1&token=s3cret-token&b=%2F")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/data/runs?a=1&b=%2F")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("tpu_profile_")
    assert cookie.endswith("=s3cret-token; Path=/; HttpOnly; SameSite=Lax")
    assert browser.get("/data/runs").text == "GET /data/runs"
    assert browser.post("/data/capture").text == "POST /data/capture"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer s3cret-token"}, 200),
        ({"Authorization": "bearer  s3cret-token "}, 200),
        ({"Authorization": "Bearer s3cret-toke"}, 401),
        ({"Authorization": "Basic s3cret-token"}, 401),
        ({"Authorization": "Bearer é"}, 401),
        ({"Cookie": "tpu_profile_0=s3cret-token"}, 401),
        ({"Cookie": 'a="\x01; ;;=\\'}, 401),
    ],
)
def test_other_requests_are_refused(headers, status):
    answer = client().get("/", headers=headers)
    assert answer.status_code == status
    if status == 401:
        assert "?token=" in answer.text
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "other",
    [
        *(
            "a[b]=c",
            '{"theme": "dark", "n": [1, 2]}',
            "name=\u00e9\u20ac",
            "version=1",
            "$Version=1",
            "$Path=/",
            "=",
            "=x",
            ";;",
        ),
        *(
            "expires=Mon, 01 Jan 2024",
            'a="b',
            "a=b=c==",
            "path=/",
            "HttpOnly",
            "a\\073=1",
            'q="x\\"y"',
            "\x01\x7f=\x80",
        ),
        *("n(a)=1", "a@b=1", "x" * 60_000, "a=" + "," * 60_000, "tpu_profile_0123=old", "; ".join(["k=v"] * 9_000)),
    ],
)
def test_cookies_of_other_programs_lock_nobody_out(other):
    sent = other.encode().decode("latin-1")  # as servers pass headers on
    for header in (f"{sent}; {COOKIE}", f"{COOKIE}; {sent}", f"{sent};{COOKIE}", f"{sent}; {COOKIE}; {sent}"):
        assert status_with(header) == "200 OK"
    assert status_with(f"{sent}; {COOKIE}x") == "401 Unauthorized"
    assert status_with(sent) == "401 Unauthorized"


def test_an_older_cookie_of_this_name_does_not_hide_the_right_one():
    assert status_with(f"{COOKIE.partition('=')[0]}=old; {COOKIE}") == "200 OK"


def test_a_chosen_token_of_any_characters_works_as_a_cookie():
    token = 'a;b,c "d"=\u00e9'
    answer = client(token).get("/", query_string={"token": token})
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert status_with(f"x=1; {cookie}; y=2", token) == "200 OK"
    assert status_with(f"x=1; {cookie}; y=2") == "401 Unauthorized"


def test_the_token_opens_no_other_host_and_changes_nothing():
    elsewhere = client().get("/?token=s3cret-token", environ_overrides={"PATH_INFO": "//evil.example/x"})
    assert elsewhere.headers["Location"] == "/evil.example/x"
    assert client().post("/data/capture?token=s3cret-token").status_code == 401
    assert client().get("/?token=wrong&token=").status_code == 401
    assert client().head("/").text == ""


def test_hosts_that_others_reach_have_a_token(monkeypatch):
    monkeypatch.delenv("TPU_PROFILE_TOKEN", raising=False)
    assert [token_for(host) for host in ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]")] == [""] * 5
    made = [token_for(host) for host in ("0.0.0.0", "::", "10.0.0.1", "machine.example", "")]
    assert all(len(token) >= 32 for token in made)
    assert len(set(made)) == 5
    monkeypatch.setenv("TPU_PROFILE_TOKEN", "mine")
    assert [token_for(host) for host in ("127.0.0.1", "10.0.0.1")] == ["mine", "mine"]


def test_a_server_on_another_address_asks_for_it():
    address = urlsplit(board(str(DEMO), 0, host="127.0.0.2", token="abc").launch())
    assert (address.hostname, address.query) == ("127.0.0.2", "token=abc")
    connection = http.client.HTTPConnection("127.0.0.2", address.port or 0, timeout=30)

    def get(path, **headers):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()

    runs = "/data/plugin/profile/runs"
    assert get(runs)[0].status == 401
    assert get("/data/plugins_listing")[0].status == 401
    redirected, _ = get(f"{address.path}?{address.query}")
    assert (redirected.status, redirected.headers["Location"]) == (302, "/")
    cookie = redirected.headers["Set-Cookie"].partition(";")[0]
    answer, body = get(runs, Cookie=cookie)
    assert answer.status == 200
    assert len(json.loads(body)) == 5
    connection.close()


@pytest.mark.parametrize(("names", "status"), [(None, 400), ("other.example", 403)])
def test_with_a_token_changes_are_accepted_under_every_name(monkeypatch, names, status):
    if names is None:
        monkeypatch.delenv("TPU_PROFILE_SERVER_NAMES", raising=False)
    else:
        monkeypatch.setenv("TPU_PROFILE_SERVER_NAMES", names)
    address = urlsplit(board(str(DEMO), 0, host="127.0.0.2", token="abc").launch())
    connection = http.client.HTTPConnection("127.0.0.2", address.port or 0, timeout=30)
    name = "machine.example:6006"  # as a browser sends it that was given the machine's full name
    headers = {"Host": name, "Origin": f"http://{name}", "X-Profile-Request": "1", "Content-Type": "application/json"}

    def asked(**more):
        connection.request("POST", "/data/plugin/profile/query", "{}", {**headers, **more})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    assert asked() == 401
    assert asked(Authorization="Bearer abc") == status
    assert asked(Authorization="Bearer abc", Origin="http://evil.example") == 403
    connection.close()
