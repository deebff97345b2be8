"""Answers in advance: requested jobs first; the newest session only if small enough, and while the server is idle."""

import threading
import time

import pytest
from builders.logdirs import write
from builders.servers.board import Board

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.logdir import HostFile, RunFiles
from tpu_profile_plugin.server.ahead import OPENING, Job, JobQueue, NewestSession, Step

RUN = RunFiles("a/1", "1", "a", (HostFile("h", "/x/h.xplane.pb", 100, 5, "xplane", "h.xplane.pb"),))
TAGS = [query["tag"] for query in OPENING]


class Opener:
    """A queue and the newest session; `asked` has the run, host and tag of each answer."""

    def __init__(self, limit=100, run=RUN, ask=lambda: None, rest_s=0.01):
        self.asked = []
        self.queue = JobQueue(lambda query: (self.note(query), ask()), rest_s)
        self.session = NewestSession(limit, lambda: run)

    def note(self, query):
        self.asked.append((query.required("run"), query.required("host"), query.required("tag")))

    def open(self):
        self.queue.when_idle(self.session.steps())

    def settle(self):
        for _ in range(500):
            time.sleep(0.01)
            if not self.queue._working:
                return
        raise AssertionError("it does not end")


def test_the_newest_session_is_opened_once():
    opener = Opener()
    for _ in range(2):
        opener.open()
        opener.settle()
    assert opener.asked == [("a/1", "h", tag) for tag in TAGS]


@pytest.mark.parametrize(("limit", "run"), [(99, RUN), (100, None), (100, RunFiles("a/1", "1", "a", ()))])
def test_large_files_and_empty_logdirs(limit, run):
    opener = Opener(limit, run)
    opener.open()
    opener.settle()
    assert opener.asked == []


def test_it_waits_while_requests_are_active():
    opener = Opener()
    with opener.queue.request():
        opener.open()
        time.sleep(0.15)
        assert opener.asked == []
    opener.settle()
    assert len(opener.asked) == len(OPENING)


def test_it_waits_until_requests_have_rested():
    opener = Opener(rest_s=0.3)
    opener.open()
    for _ in range(10):
        with opener.queue.request():
            time.sleep(0.01)
        time.sleep(0.05)
        assert opener.asked == []
    opener.settle()
    assert len(opener.asked) == len(OPENING)


class Slow:
    """An answer that takes until `go_on`."""

    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        self.go_on.wait(5)


def test_a_request_stops_it_before_the_next_step():
    slow = Slow()
    opener = Opener(ask=slow)
    opener.open()
    assert slow.begun.wait(5)
    with opener.queue.request():
        slow.go_on.set()
        time.sleep(0.15)
        assert len(opener.asked) == 1
    opener.settle()
    assert len(opener.asked) == len(OPENING)


def test_requested_answers_go_first_and_do_not_wait_for_an_idle_server():
    slow = Slow()
    opener = Opener(ask=slow)
    opener.open()
    assert slow.begun.wait(5)
    with opener.queue.request():
        job = opener.queue.start(Job("b", [Step({"run": "b", "host": "h", "tag": "op_profile"})]))
        slow.go_on.set()
        for _ in range(500):
            time.sleep(0.01)
            if job.state == "done":
                break
        assert [run for run, _, _ in opener.asked] == ["a/1", "b"]
    opener.settle()
    assert [tag for run, _, tag in opener.asked if run == "a/1"] == TAGS


def test_the_first_error_ends_it():
    def gone():
        raise NotFound("gone")

    opener = Opener(ask=gone)
    opener.open()
    opener.settle()
    assert len(opener.asked) == 1


def test_a_logdir_that_cannot_be_listed_is_only_logged():
    def broken():
        raise OSError("gone")

    opener = Opener()
    opener.queue.when_idle(NewestSession(100, broken).steps())
    opener.settle()
    assert opener.asked == []


@pytest.mark.parametrize(("megabytes", "asked"), [("1", TAGS), ("0", [])])
def test_listing_runs_opens_the_newest_session_if_enabled(tmp_path, megabytes, asked):
    logdir = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": b"1"})
    board = Board(logdir, tmp_path / "home", "--profile_warm_mb", megabytes)
    queue, tags = board.plugin.server._queue, []
    queue._ask, queue._rest_s = lambda query: tags.append(query.required("tag")), 0.01
    assert board.json("runs") == ["s"]
    for _ in range(500):
        if not queue._working and tags == asked:
            break
        time.sleep(0.01)
    assert tags == asked
