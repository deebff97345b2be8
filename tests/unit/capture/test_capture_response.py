"""Parsing of profiler responses without decoding the profile, for arbitrary bytes."""

import contextlib

import pytest
from builders.servers.fake_profiler import XSPACE, response
from builders.xspace_text import build
from hypothesis import given
from hypothesis import strategies as st

from tpu_profile_plugin.capture.client import read_response, scan_xspace
from tpu_profile_plugin.protos.wire import MalformedMessage


def test_the_xspace_is_returned_byte_for_byte():
    found = read_response(response(XSPACE))
    assert (bytes(found.xspace), found.empty_trace) == (XSPACE, False)


def test_an_empty_response_and_an_empty_trace():
    assert (read_response(b"").xspace, read_response(b"").empty_trace) == (None, False)
    assert read_response(response(None, empty_trace=True)).empty_trace


def test_unknown_fields_are_skipped():
    data = b"\x0a\x01x" + b"\x51" + b"\0" * 8 + b"\x5d" + b"\0" * 4 + b"\x60\x01" + response(XSPACE)
    assert bytes(read_response(data).xspace) == XSPACE


def test_scan_xspace():
    assert scan_xspace(XSPACE).has_events
    assert not scan_xspace(build('plane 1 "/host:metadata"')).has_events
    assert not scan_xspace(b"").has_events
    said = scan_xspace(b"\x12\x03bad\x1a\x04warn")
    assert (said.errors, said.warnings) == (("bad",), ("warn",))


@pytest.mark.parametrize("data", [b"\xff" * 50, b"\x42\x7f", b"\x42", b"\x00", b"\x43", b"\x80" * 20])
def test_garbage(data):
    with pytest.raises(MalformedMessage, match="at byte"):
        read_response(data)


@given(st.binary(max_size=300))
def test_arbitrary_bytes(data):
    with contextlib.suppress(MalformedMessage):
        read_response(data)
    with contextlib.suppress(MalformedMessage):
        scan_xspace(data)


@given(st.integers(0, len(XSPACE)), st.binary(max_size=5))
def test_damaged_responses(at, noise):
    with contextlib.suppress(MalformedMessage):
        scan_xspace(XSPACE[:at] + noise + XSPACE[at + len(noise) :])
