"""The newest session is opened in advance only if enabled, small enough, and while the server is idle."""

import threading
import time

import pytest

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.logdir import HostFile, RunFiles
from tpu_profile_plugin.server.warming import STEPS, Warmer

RUN = RunFiles("a/1", "1", "a", (HostFile("h", "/x/h.xplane.pb", 100, 5, "xplane", "h.xplane.pb"),))
TAGS = [step["tag"] for step in STEPS]


def warmer_of(limit=100, run=RUN, ask=None, rest_s=0.01):
    asked = []

    def note(query):
        asked.append((query.required("run"), query.required("host"), query.required("tag")))
        if ask is not None:
            ask()

    return Warmer(limit, lambda: run, note, rest_s), asked


def settle(warmer):
    for _ in range(500):
        time.sleep(0.01)
        if not warmer._running:
            return
    raise AssertionError("it does not end")


def test_the_newest_session_is_opened_once():
    warmer, asked = warmer_of()
    for _ in range(2):
        warmer.runs_listed()
        settle(warmer)
    assert asked == [("a/1", "h", tag) for tag in TAGS]


@pytest.mark.parametrize(("limit", "run"), [(0, RUN), (99, RUN), (100, None), (100, RunFiles("a/1", "1", "a", ()))])
def test_disabled_large_files_and_empty_logdirs(limit, run):
    warmer, asked = warmer_of(limit, run)
    warmer.runs_listed()
    settle(warmer)
    assert asked == []


def test_it_waits_while_requests_are_active():
    warmer, asked = warmer_of()
    with warmer.request():
        warmer.runs_listed()
        time.sleep(0.15)
        assert asked == []
    settle(warmer)
    assert len(asked) == len(STEPS)


def test_a_request_stops_it_before_the_next_step():
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        go_on.wait(5)

    warmer, asked = warmer_of(ask=slow)
    warmer.runs_listed()
    assert begun.wait(5)
    with warmer.request():
        go_on.set()
        time.sleep(0.15)
        assert len(asked) == 1
    settle(warmer)
    assert len(asked) == len(STEPS)


def test_errors_are_only_logged():
    def gone():
        raise NotFound("gone")

    warmer, asked = warmer_of(ask=gone)
    warmer.runs_listed()
    settle(warmer)
    assert len(asked) == 1
