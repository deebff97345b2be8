"""Caches in memory are bounded in bytes, simultaneous calls run once, and memory is estimated."""

import mmap
import os
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from tpu_profile_plugin import _native
from tpu_profile_plugin.cache.memory import LruCache, SingleFlight, size_of


def facts_within(limit):
    return LruCache(limit, lambda key, value: size_of((key, value)))


def test_the_least_recently_used_facts_are_dropped():
    facts = facts_within(50_000)
    for turn in range(100):
        facts.put(("path", turn), "x" * 10_000)
        assert facts.get(("path", 0)) is not None or turn > 4, "used at each turn"
        assert facts.bytes <= 50_000
    assert ("path", 0) in facts
    assert ("path", 99) in facts
    assert ("path", 50) not in facts


def test_facts_of_the_same_file_count_once():
    facts = facts_within(50_000)
    for _ in range(10):
        facts.put("a", "x" * 10_000)
    assert 10_000 < facts.bytes < 12_000
    assert facts.get("b") is None


def test_facts_that_are_larger_than_the_bound_are_kept_alone():
    facts = facts_within(1000)
    facts.put("a", "x")
    facts.put("b", "x" * 10_000)
    assert "a" not in facts
    assert facts.get("b") is not None


def together(count, work):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_simultaneous_calls_run_once():
    flights, calls, got = SingleFlight(), [], []

    def work():
        calls.append(1)
        time.sleep(0.1)
        return object()

    together(8, lambda: got.append(flights.do("k", work)))
    assert len(calls) == 1
    assert len(set(map(id, got))) == 1


def test_errors_are_shared_and_not_cached():
    flights, calls, got = SingleFlight(), [], []

    def fail():
        calls.append(1)
        time.sleep(0.1)
        raise ValueError("no")

    def ask():
        try:
            flights.do("k", fail)
        except ValueError as error:
            got.append(str(error))

    together(5, ask)
    assert (len(calls), got) == (1, ["no"] * 5)
    assert flights.do("k", lambda: 3) == 3


def test_other_keys_run_in_parallel():
    flights, gate = SingleFlight(), threading.Event()
    thread = threading.Thread(target=lambda: flights.do("slow", lambda: gate.wait(5)))
    thread.start()
    assert flights.do("fast", lambda: 1) == 1
    gate.set()
    thread.join()


def test_an_interrupt_reaches_the_caller_and_frees_the_key():
    flights = SingleFlight()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flights.do("k", interrupt)
    assert flights.do("k", lambda: 2) == 2


MB = 1 << 20


@dataclass(frozen=True)
class Pair:
    left: np.ndarray
    right: object


@dataclass(frozen=True)
class Slotted:
    __slots__ = ("array",)
    array: np.ndarray


class Plain:
    def __init__(self, array):
        self.array = array


def close_to(value, wanted):
    return wanted <= value <= wanted + 4096


def test_arrays_containers_and_dataclasses():
    array = np.zeros(MB, np.uint8)
    for value in (array, [array], {"k": array}, (array,), Pair(array, None), Slotted(array), Plain(array)):
        assert close_to(size_of(value), MB), type(value)


def test_shared_memory_counts_once():
    array = np.zeros(MB, np.uint8)
    assert close_to(size_of([array, array, array[10:], Pair(array, array.view(np.int8))]), MB)


def test_a_view_keeps_its_owner_alive():
    assert close_to(size_of(np.zeros(MB, np.uint8)[:1]), MB)


@pytest.mark.parametrize(
    "mapped",
    [
        lambda file: np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8),
        pytest.param(
            lambda file: _native.map_file(file.fileno(), MB),
            marks=pytest.mark.skipif(os.name != "posix", reason="other systems map files in Python"),
        ),
    ],
)
def test_a_mapped_file_does_not_count(tmp_path, mapped):
    path = tmp_path / "f"
    path.write_bytes(bytes(MB))
    with path.open("rb") as file:
        array = mapped(file)
    assert size_of(array) == 0
    assert size_of([array[5:], array.view(np.int8)]) < 1000
    assert close_to(size_of(np.frombuffer(bytes(MB), np.uint8)), MB)


def test_columns_report_their_own_size():
    class Space:
        nbytes = 5 * MB
        data = np.zeros(MB, np.uint8)

    assert close_to(size_of(Space()), 6 * MB)


def test_long_lists_are_estimated():
    texts = [f"{number:0100}" for number in range(100_000)]
    assert 10 * MB < size_of(texts) < 20 * MB


def test_a_long_list_of_one_text_has_its_references_and_one_text():
    assert close_to(size_of(["x" * 100] * 100_000), 800_000 + 100 * 149)


def test_reference_cycles():
    loop = []
    loop.append(loop)
    assert size_of(loop) > 0
