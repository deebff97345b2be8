"""The queries that a server holds: how many run and are kept, and that no query in use is cancelled."""

import threading
import time
from types import SimpleNamespace

import pytest

from tpu_profile_plugin.errors import BadRequest, NotFound, QueryFailed
from tpu_profile_plugin.server.queries import MAX_KEPT, MAX_RUNNING, RESULT_BYTES, Queries


class Made:
    """A query whose end is up to the test."""

    def __init__(self, limits=None):
        self.limits = limits
        self.state = "running"
        self.error = None

    def status(self):
        return SimpleNamespace(state=self.state, elapsed_s=1.23456, doing="Reading steps of a", done=0, total=1)

    def result(self, timeout=None):
        if self.state == "running":
            raise TimeoutError
        if self.error is not None:
            raise self.error
        return Rows()

    def cancel(self):
        self.state, self.error = "cancelled", QueryFailed("cancelled")


class Rows:
    cut, notes = True, ("Only 3 rows are shown.",)

    def __len__(self):
        return 3


def test_a_query_from_start_to_result():
    held = Queries().start(Made)
    assert held.query.limits.result_bytes == RESULT_BYTES
    facts = {"query": held.id, "state": "running", "progress": "Reading steps of a", "seconds": 1.235}
    assert held.describe() == {**facts, "error": None, "rows": None, "cut": False, "notes": []}
    with pytest.raises(BadRequest):
        held.result()
    held.query.state = "done"
    assert held.describe() == {
        **facts,
        "state": "done",
        "error": None,
        "rows": 3,
        "cut": True,
        "notes": ["Only 3 rows are shown."],
    }


def test_the_error_of_a_query():
    held = Queries().start(Made)
    held.query.state, held.query.error = "failed", QueryFailed("No table x.", line=1, column=15)
    error = {"code": "query_failed", "message": "No table x.", "details": {"line": 1, "column": 15}}
    assert held.describe()["error"] == error


def test_an_unexpected_error_is_logged_and_not_shown(caplog):
    held = Queries().start(Made)
    held.query.state, held.query.error = "failed", RuntimeError("secret")
    held.wait(0)
    assert held.describe()["error"]["code"] == "internal"
    assert "secret" not in str(held.describe())
    assert "secret" in caplog.text


def test_only_some_run_at_once():
    queries = Queries()
    held = [queries.start(Made) for _ in range(MAX_RUNNING)]
    with pytest.raises(BadRequest, match="already running"):
        queries.start(Made)
    held[0].query.cancel()
    queries.start(Made)


def test_results_of_older_queries_are_forgotten():
    queries = Queries()
    held = []
    for _ in range(MAX_KEPT + 2):
        held.append(queries.start(Made))
        held[-1].query.state = "done"
    kept = [one for one in held if _known(queries, one.id)]
    assert kept == held[2:]
    with pytest.raises(NotFound) as caught:
        queries.find(held[0].id)
    assert caught.value.code == "query_not_found"


@pytest.mark.parametrize("error", [None, QueryFailed("No table x.")])
def test_results_that_no_client_has_fetched_are_dropped_last(error):
    queries = Queries()
    waiting = queries.start(Made)
    waiting.query.state = "done"
    fetched = []
    for _ in range(2 * MAX_KEPT):
        fetched.append(queries.start(Made))
        fetched[-1].query.state, fetched[-1].query.error = "done", error
        _fetch(fetched[-1])
    assert _known(queries, waiting.id)
    assert [one for one in fetched if _known(queries, one.id)] == fetched[-MAX_KEPT + 1 :]
    waiting.asked -= 1000  # its page is gone
    queries.start(Made)
    assert not _known(queries, waiting.id)


def _fetch(held):
    if held.describe()["error"] is None:
        held.result()


def _known(queries, query_id):
    try:
        return bool(queries.find(query_id))
    except NotFound:
        return False


def test_a_query_that_nobody_asks_about_is_cancelled():
    held = Queries(lease_s=0.05).start(Made)
    _until(lambda: held.query.state == "cancelled")


def test_a_query_that_somebody_asks_about_goes_on(monkeypatch):
    queries = Queries(lease_s=1000)
    held = queries.start(Made)
    watched = []
    monkeypatch.setattr(queries, "_watch", watched.append)
    held.asked -= 900
    queries._look()
    queries.find(held.id)
    queries._look()
    assert held.query.state == "running"
    assert [round(seconds, -1) for seconds in watched] == [100, 1000]
    held.query.state = "done"
    queries._look()
    assert len(watched) == 2


def test_one_thread_looks_after_all_queries():
    queries = Queries(lease_s=1000)
    before = threading.active_count()
    for _ in range(MAX_KEPT):
        queries.start(Made).query.state = "done"
    assert threading.active_count() <= before + 1
    queries._timer.cancel()


def test_closing_cancels_what_runs():
    queries = Queries()
    held = queries.start(Made)
    queries.close()
    assert held.query.state == "cancelled"


def _until(check):
    for _ in range(500):
        if check():
            return
        time.sleep(0.01)
    raise AssertionError
