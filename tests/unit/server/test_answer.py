"""How answers are sent: compressed when the client takes it, with their length."""

import gzip
import socket
import zlib

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.server.http.answer import JSON, Answer, content_policy, send

TEXT = b'{"events": [1, 2, 3]}' * 100
PACKED = gzip.compress(TEXT)


def asked(accepted="gzip", method="GET", **environ):
    builder = EnvironBuilder(method=method, headers={"Accept-Encoding": accepted})
    return Request({**builder.get_environ(), **environ})


def sent(body, *, status=200, etag="e", **request):
    """Headers and data as a WSGI server would send them."""
    found, data = {}, []

    def start_response(status, headers):
        found.update(headers, status=status)
        return data.append

    data.extend(send(Answer(body, status, etag), asked(**request), start_response, ""))
    return found, data


@pytest.mark.parametrize(
    ("request_", "encoding", "data"),
    [
        ({}, "gzip", PACKED),
        ({"accepted": "identity"}, None, TEXT),
        ({"method": "HEAD"}, "gzip", b""),
    ],
)
def test_what_is_packed_already_is_sent_as_it_is_or_unpacked(request_, encoding, data):
    headers, sent_data = sent(Body(None, JSON, packed=PACKED), **request_)
    assert b"".join(sent_data) == data
    assert headers.get("Content-Encoding") == encoding
    assert int(headers["Content-Length"]) == len(PACKED if encoding else TEXT)


def test_small_ends_do_not_wait():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        sent(Body(TEXT, JSON), **{"werkzeug.socket": connection})
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    headers, data = sent(Body(TEXT, JSON), **{"werkzeug.socket": connection})
    assert headers["status"] == "200 OK", "a closed one does no harm"
    assert zlib.decompress(b"".join(data), wbits=31) == TEXT


class Unread(Body):
    """Fails when its bytes are needed."""

    def packed(self):
        raise AssertionError("compressed for a client that has it")


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ('W/"e"', "304"),
        ('"e"', "304"),
        ('"a", W/"e"', "304"),
        ("*", "304"),
        ('"other"', "200"),
        ("", "200"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_client_that_has_the_answer_gets_no_body(method, known, status):
    body = (Unread if status == "304" else Body)(TEXT, JSON, (("X-Left-Out", "1"),))
    headers, data = sent(body, method=method, HTTP_IF_NONE_MATCH=known)
    assert headers["status"][:3] == status
    assert (headers["ETag"], headers["Cache-Control"], headers["X-Left-Out"]) == ('W/"e"', "no-cache", "1")
    assert (headers["Vary"], headers["Content-Type"]) == ("Accept-Encoding", "application/json")
    if status == "304":
        assert (data, "Content-Length" in headers, "Content-Encoding" in headers) == ([], False, False)


def test_errors_and_answers_without_an_etag_are_always_sent():
    for options in ({"etag": ""}, {"status": 404}):
        headers, data = sent(Body(TEXT, JSON), HTTP_IF_NONE_MATCH="*", **options)
        assert headers["status"] == ("404 Not Found" if "status" in options else "200 OK")
        assert ("ETag" in headers, zlib.decompress(b"".join(data), wbits=31)) == (False, TEXT)


def test_a_request_that_changes_something_is_never_answered_from_the_clients_cache():
    headers, _ = sent(Body(TEXT, JSON), method="POST", HTTP_IF_NONE_MATCH='"e"')
    assert headers["status"] == "200 OK"


def test_a_request_for_another_version_fails():
    headers, data = sent(Body(TEXT, JSON), HTTP_IF_MATCH='"other"')
    assert (headers["status"][:3], b"".join(data)) == ("412", b"")


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip, deflate, br", True),
        ("br;q=1.0, gzip;q=0.2", True),
        ("*", True),
        ("gzip;q=0, identity", False),
        ("", False),
        ("br", False),
    ],
)
def test_clients_choose_the_encoding(accepted, packed):
    headers, data = sent(Body(TEXT, JSON), accepted=accepted)
    assert (headers.get("Content-Encoding") == "gzip") is packed
    assert int(headers["Content-Length"]) == len(b"".join(data))


@pytest.mark.parametrize("value", ["a\nSet-Cookie: b", "a\r\nSet-Cookie: b"])
def test_a_header_never_begins_another(value):
    with pytest.raises(ValueError, match="line break"):
        sent(Body(TEXT, JSON, (("X-Left-Out", value),)))


def test_status_and_headers_are_what_wsgi_asks_for():
    found = []
    body = Body(b"<p>", "text/html; charset=utf-8", (("X-Left-Out", "1"),))
    answer = Answer(body, 404, "", "no-store", (("Allow", "GET"),))
    assert send(answer, asked(), lambda *line: found.append(line), "default-src 'none'") == [b"<p>"]
    assert found == [
        (
            "404 Not Found",
            [
                ("Content-Type", "text/html; charset=utf-8"),
                ("X-Content-Type-Options", "nosniff"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Referrer-Policy", "same-origin"),
                ("Cache-Control", "no-store"),
                ("Vary", "Accept-Encoding"),
                ("X-Left-Out", "1"),
                ("Allow", "GET"),
                ("Content-Security-Policy", "default-src 'none'"),
                ("Content-Length", "3"),
            ],
        )
    ]


def test_pages_may_be_framed_unless_the_operator_forbids_it():
    assert "frame-ancestors" not in content_policy("any")
    assert content_policy("self") == f"{content_policy('any')}; frame-ancestors 'self'"
