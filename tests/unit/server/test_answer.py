"""How answers go out whose length is not known yet."""

import gzip
import socket
import zlib

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from tpu_profile_plugin.server.answer import JSON, Answer, Body, send

TEXT = b'{"events": [1, 2, 3]}' * 100
PACKED = gzip.compress(TEXT)


class Parts:
    """Counts how often it is iterated over."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self):
        self.taken += 1
        yield PACKED[:20]
        yield PACKED[20:]


def sent(body, protocol="HTTP/1.1", accepted="gzip", method="GET", **environ):
    builder = EnvironBuilder(method=method, headers={"Accept-Encoding": accepted})
    request = Request({**builder.get_environ(), "SERVER_PROTOCOL": protocol, **environ})
    found = {}

    def start_response(status, headers):
        found.update(headers, status=status)

    return found, list(send(Answer(body, etag="e"), request, start_response, ""))


def test_parts_are_sent_as_they_come_and_can_be_sent_again():
    parts = Parts()
    body = Body(None, JSON, packed=parts)
    for taken in (1, 2):
        headers, data = sent(body)
        assert data == [PACKED[:20], PACKED[20:]]
        assert headers["Content-Encoding"] == "gzip"
        assert headers["ETag"] == 'W/"e"'
        assert "Content-Length" not in headers
        assert parts.taken == taken
    assert body.size == 0, "nothing is held that would have to be counted"


@pytest.mark.parametrize(
    ("request_", "encoding", "data"),
    [
        ({"protocol": "HTTP/1.0"}, "gzip", PACKED),
        ({"accepted": "identity"}, None, TEXT),
        ({"method": "HEAD"}, "gzip", b""),
    ],
)
def test_who_needs_the_length_gets_it(request_, encoding, data):
    headers, sent_data = sent(Body(None, JSON, packed=Parts()), **request_)
    assert b"".join(sent_data) == data
    assert headers.get("Content-Encoding") == encoding
    assert int(headers["Content-Length"]) == len(PACKED if encoding else TEXT)


def test_a_part_that_fails_breaks_the_answer_off():
    def parts():
        yield PACKED[:20]
        raise RuntimeError("the events could not be written")

    request = Request(EnvironBuilder(headers={"Accept-Encoding": "gzip"}).get_environ())
    coming = iter(send(Answer(Body(None, JSON, packed=parts()), etag="e"), request, lambda *_: None, ""))
    assert next(coming) == PACKED[:20]
    with pytest.raises(RuntimeError, match="could not be written"):
        next(coming)


def test_small_ends_do_not_wait():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        sent(Body(TEXT, JSON), **{"werkzeug.socket": connection})
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    headers, data = sent(Body(TEXT, JSON), **{"werkzeug.socket": connection})
    assert headers["status"] == "200 OK", "a closed one does no harm"
    assert zlib.decompress(b"".join(data), wbits=31) == TEXT
