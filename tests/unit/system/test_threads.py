"""Parts of an analysis on several threads: results in order, the first error."""

from __future__ import annotations

import threading

import pytest

from tpu_profile_plugin.system import process


def test_results_keep_the_order_of_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both items are worked on at once: the first waits for the second."""
    monkeypatch.setattr(process, "available_cores", lambda: 2)
    met = threading.Barrier(2, timeout=30)
    assert process.map_threads(lambda item: (met.wait() >= 0, item), iter("ab")) == [(True, "a"), (True, "b")]


def test_one_core_needs_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "available_cores", lambda: 1)
    assert set(process.map_threads(lambda _: threading.get_ident(), range(3))) == {threading.get_ident()}


def test_small_profiles_need_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "available_cores", lambda: 2)
    assert [process.threads_for(size) for size in (0, 2**20, 2**24)] == [map, map, process.map_threads]
    monkeypatch.setattr(process, "available_cores", lambda: 1)
    assert process.threads_for(2**24) is map


@pytest.mark.parametrize("cores", [1, 4])
def test_the_first_error_is_raised(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(process, "available_cores", lambda: cores)
    with pytest.raises(ZeroDivisionError):
        process.map_threads(lambda item: 1 // item, [1, 0, 2])
