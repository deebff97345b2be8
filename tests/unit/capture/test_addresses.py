"""Parsing of addresses, and the allow list."""

import ipaddress

import pytest

from tpu_profile_plugin.capture.addresses import (
    Address,
    AllowList,
    parse_address,
    parse_addresses,
    safe_name,
    unique_names,
)
from tpu_profile_plugin.errors import BadRequest, Forbidden


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:6009", "localhost", 6009),
        (" grpc://Worker-0.lab:9012 ", "worker-0.lab", 9012),
        ("GRPC://10.0.0.2:8466/", "10.0.0.2", 8466),
        ("[::1]:9100", "::1", 9100),
        ("a_b:1", "a_b", 1),
    ],
)
def test_addresses(text, host, port):
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("localhost", "no port"),
        ("localhost:", "no port"),
        ("localhost:0", "1 to 65535"),
        ("localhost:99999", "1 to 65535"),
        ("localhost:٣", "1 to 65535"),
        ("::1:9100", "brackets"),
        ("[::1:9100", "brackets"),
        ("[nonsense]:1", "brackets"),
        ("http://a:1", "only grpc://"),
        (":1", "has no host"),
        ("a b:1", "not a host name"),
        ("a/../b:1", "not a host name"),
        ("unix:x", "1 to 65535"),
    ],
)
def test_invalid_addresses(text, words):
    with pytest.raises(BadRequest, match=words):
        parse_address(text)


def test_lists():
    assert [str(a) for a in parse_addresses("grpc://a:1, grpc://b:2,,a:1")] == ["a:1", "b:2"]
    assert [str(a) for a in parse_addresses(["a:1", "[::1]:2, c:3"])] == ["a:1", "[::1]:2", "c:3"]
    assert [str(a) for a in parse_addresses("10.0.0.1,10.0.0.2:9", 8466)] == ["10.0.0.1:8466", "10.0.0.2:9"]
    with pytest.raises(BadRequest, match="No address"):
        parse_addresses(" , ")
    with pytest.raises(BadRequest, match="too many"):
        parse_addresses(",".join(f"h{i}:1" for i in range(600)))


def test_file_names():
    assert [parse_address(t).file_host for t in ("localhost:9012", "[::1]:9100", "[fe80::1]:1")] == [
        "localhost_9012",
        "1_9100",
        "fe80--1_1",
    ]
    assert [safe_name(t) for t in ("../../x", "..", "", "a b/c\\d", ".hidden", "é" * 300)] == [
        "x", "host", "host", "a_b_c_d", "hidden", "host",
    ]  # fmt: skip
    names = unique_names([Address("::1", 1), Address("1", 1)])
    assert list(names.values()) == ["1_1", "1_1_2"]


def ips(*texts):
    return [ipaddress.ip_address(text) for text in texts]


@pytest.mark.parametrize(
    ("patterns", "address", "resolved", "allowed"),
    [
        ("", "localhost:1", ["::1", "127.0.0.1"], ["::1", "127.0.0.1"]),
        ("", "sly.example:1", ["10.0.0.1", "127.0.0.1"], ["127.0.0.1"]),
        ("", "sly.example:1", ["::ffff:127.0.0.1"], ["::ffff:127.0.0.1"]),
        ("", "sly.example:1", ["::ffff:10.0.0.1"], None),
        ("", "0.0.0.0:1", ["0.0.0.0"], None),
        ("", "worker:1", ["10.0.0.1"], None),
        ("10.0.0.0/8", "worker:1", ["10.0.0.1", "11.0.0.1"], ["10.0.0.1"]),
        ("10.0.0.1:9012", "worker:9012", ["10.0.0.1"], ["10.0.0.1"]),
        ("10.0.0.1:9012", "worker:22", ["10.0.0.1"], None),
        ("*.lab.example", "w0.lab.example:1", ["10.0.0.1"], ["10.0.0.1"]),
        ("*.lab.example", "w0.lab.example.evil:1", ["10.0.0.1"], None),
        ("[2001:db8::]:5", "x:5", ["2001:db8::"], ["2001:db8::"]),
        ("*", "anything:1", ["8.8.8.8"], ["8.8.8.8"]),
        ("*:9012", "anything:22", ["8.8.8.8"], None),
    ],
)
def test_allowed_addresses(patterns, address, resolved, allowed):
    rules = AllowList.parse(patterns)
    if allowed is None:
        with pytest.raises(Forbidden, match="--profile_capture_hosts"):
            rules.check(parse_address(address), ips(*resolved))
    else:
        assert rules.check(parse_address(address), ips(*resolved)) == tuple(ips(*allowed))
