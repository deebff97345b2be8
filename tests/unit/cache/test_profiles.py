"""The cache of columns and derived values: computed once, least recently used evicted first."""

import gzip
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from tests.builders.xspace_text import build
from tpu_profile_plugin import formats
from tpu_profile_plugin.cache import FileVersion
from tpu_profile_plugin.cache.memory import size_of
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import Unpacked
from tpu_profile_plugin.logdir import HostFile
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tools.query import Query


@dataclass
class FakeSpace:
    data: np.ndarray
    nbytes: int = 0

    def decode(self):
        pass


def shelf_of(limit=10_000):
    loads = []

    def load(data):
        loads.append(data.tobytes())
        return FakeSpace(data.copy())

    return ProfileCache(limit, load), loads


def profile(cache, name="h", content=b"abc"):
    file = HostFile(name, name, len(content), 0, "xplane", f"{name}.xplane.pb", str(content))
    return HostProfile(file, 0, lambda _: np.frombuffer(content, np.uint8), cache)


def derive(host, key, make, **more):
    return host.once(key, lambda: make(host.space), **more)


def test_decoded_once():
    cache, loads = shelf_of()
    first, second = profile(cache), profile(cache)
    assert first.space is second.space
    assert loads == [b"abc"]
    assert profile(cache, content=b"abcd").space is not first.space, "a changed file is another entry"


def test_derived_values_are_computed_once_even_by_many_threads():
    cache, loads = shelf_of()
    calls = []

    def slow(space):
        calls.append(space)
        time.sleep(0.05)
        return [len(space.data)]

    results = []
    threads = [threading.Thread(target=lambda: results.append(derive(profile(cache), "n", slow))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == len(loads) == 1
    assert results == [[3]] * 8
    assert all(result is results[0] for result in results)


def test_a_derivation_may_use_another():
    cache, _ = shelf_of()
    host = profile(cache)
    assert derive(host, "twice", lambda _: 2 * derive(host, "n", lambda space: len(space.data))) == 6


def test_values_merged_over_hosts_are_cached_per_set_of_hosts():
    cache, _ = shelf_of()
    a, b = profile(cache, "a"), profile(cache, "b")
    calls = []

    def merge(hosts):
        calls.append([host.name for host in hosts])
        return "+".join(calls[-1])

    for hosts, wanted in (((a, b), "a+b"), ((a,), "a"), ((a, b), "a+b"), ((profile(cache, "a"),), "a")):
        assert RunHosts("r", hosts).once("merged", lambda hosts=hosts: merge(hosts)) == wanted
    assert calls == [["a", "b"], ["a"]]
    assert derive(a, "merged", lambda _: "own") == "own", "not mixed up with what is derived from one host"


def test_the_least_recently_used_file_is_evicted_with_its_derived_values():
    cache, loads = shelf_of(limit=3000)
    for name in "abc":
        derive(profile(cache, name, bytes(1000)), "x", lambda _: 1)
    assert cache.bytes() <= 3000
    _ = profile(cache, "c", bytes(1000)).space
    assert len(loads) == 3
    again = []
    derive(profile(cache, "a", bytes(1000)), "x", lambda _: again.append(1))
    assert again == [1]
    assert len(loads) == 4


def test_the_newest_entry_stays_whatever_its_size():
    cache, loads = shelf_of(limit=10)
    host = profile(cache, content=bytes(5000))
    assert host.space is host.space
    assert len(loads) == 1


def test_failures_are_not_cached_and_name_the_file():
    calls = []

    def load(data):
        calls.append(1)
        raise CorruptProfile("cut off", offset=2)

    host = profile(ProfileCache(1000, load))
    for _ in range(2):
        with pytest.raises(CorruptProfile) as caught:
            _ = host.space
        assert caught.value.details == {"offset": 2, "file": "h.xplane.pb"}
    assert len(calls) == 2


def test_clear():
    cache, loads = shelf_of()
    _ = profile(cache).space
    cache.clear()
    assert cache.bytes() == 0
    _ = profile(cache).space
    assert len(loads) == 2


def test_typed_access_to_parameters():
    query = Query({"a": "x", "b": None, "n": 3, "f": 1.5, "t": True, "z": None})
    assert (query.text("a"), query.text("b"), query.integer("n"), query.number("f")) == ("x", "", 3, 1.5)
    assert (query.number("n"), query.flag("t"), query.flag("z")) == (3.0, True, False)


def test_small_entries_are_evicted_after_large_ones():
    cache, _ = shelf_of(limit=256 * 100)
    cache.derived("summary", "part", lambda: b"x" * 20)
    for i in range(10):
        cache.derived(("columns", i), "c", lambda: np.zeros(4000, np.uint8))
    assert cache.has("summary", "part")
    assert not cache.has(("columns", 0), "c")
    assert cache.bytes() <= 256 * 100


def test_many_small_entries_leave_room_for_large_ones():
    cache, _ = shelf_of(limit=256 * 100)
    for i in range(300):
        cache.derived(("summary", i), "part", lambda: b"x" * 50)
    for i in range(4):
        cache.derived(("columns", i), "c", lambda: np.zeros(4000, np.uint8))
    assert all(cache.has(("columns", i), "c") for i in range(4))
    assert not cache.has(("summary", 0), "part")
    assert cache.has(("summary", 299), "part")
    assert cache.bytes() <= 256 * 100


def test_the_size_is_the_sum_of_the_entries():
    cache, _ = shelf_of(limit=10_000)
    for i in range(30):
        cache.derived(("columns", i % 7), i % 3, lambda i=i: np.zeros(100 * i, np.uint8))
        assert cache.bytes() == sum(entry.bytes for entry in cache._entries.values())
    cache.clear()
    assert cache.bytes() == 0


REAL = """
plane 1 "/device:TPU:0"
  line 1 "XLA Ops" @10ns
    1us +2us fusion.1 {flops=3}
plane 2 "/host:CPU"
  line 7 "main" @5ns
    1us +1us step
    2us +1us step
"""


def test_later_decoded_and_shared_memory_counts_once():
    cache = ProfileCache(1 << 30)
    host = profile(cache, content=build(REAL))
    lazy = host.lazy
    empty = cache.bytes()
    assert len(lazy.planes[1].events) == 2
    some = cache.bytes()
    assert some - empty == lazy.planes[1].nbytes
    shared = derive(host, "begins", lambda space: [space.planes[1].events.begin_ps, np.zeros(1000)])
    assert len(shared) == 2
    assert lazy.nbytes + 8000 < cache.bytes() - empty < lazy.nbytes + 9000


@pytest.mark.parametrize(
    ("limit", "least", "kept"),
    [(1 << 30, None, True), (100, None, False), (1 << 30, 100, False), (1 << 30, 1 << 20, True), (100, 1 << 20, False)],
)
def test_large_columns_are_released_and_decoded_again(limit, least, kept):
    cache = ProfileCache(limit)
    host = profile(cache, content=build(REAL))
    views = derive(host, "views", lambda space: space.planes[0].events.begin_ps)
    other = derive(host, "other", lambda space: len(space.planes))
    cache.release(host._identity, "views", least=least)
    assert host.lazy.planes[0].decoded is kept
    assert cache.has(host._identity, "views") is kept
    assert cache.has(host._identity, "other")
    assert derive(host, "other", lambda _: None) == other
    again = derive(host, "views", lambda space: space.planes[0].events.begin_ps)
    assert (again is views) is kept
    assert again.tolist() == views.tolist() == [1_010_000]


def test_a_converted_file_is_converted_once_and_counts(monkeypatch):
    """Facts, metadata and columns of a file are asked for one after the other."""
    conversions = []

    def unpack(data):
        conversions.append(len(data))
        return Unpacked(np.frombuffer(build(REAL), np.uint8))

    monkeypatch.setattr(formats, "unpack", unpack)
    cache = ProfileCache(1 << 30)
    host = profile(cache, content=gzip.compress(build(REAL), mtime=0))
    first = host.content
    size = len(first.space)
    assert size == len(build(REAL))
    assert cache.bytes() == size_of(first)
    assert np.shares_memory(host.lazy.data, first.space)
    assert host.content is first
    assert host.metadata.planes == ()
    before = cache.bytes()
    host.lazy.decode()
    assert cache.bytes() - before == host.lazy.nbytes, "the content counts once"
    assert len(conversions) == 1
    host.drop()
    assert cache.bytes() == 0
    assert host.content.space is not first.space
    assert len(conversions) == 2


def test_converted_files_are_dropped_for_others(monkeypatch):
    monkeypatch.setattr(formats, "unpack", lambda _: Unpacked(np.zeros(4000, np.uint8)))
    cache = ProfileCache(10_000)
    hosts = [profile(cache, name, gzip.compress(name.encode())) for name in "abc"]
    kept = [host.content for host in hosts]
    assert cache.bytes() < 10_000
    assert hosts[2].content is kept[2]
    assert hosts[0].content is not kept[0]


def test_a_file_that_needs_no_conversion_is_not_kept():
    cache = ProfileCache(1 << 30)
    host = profile(cache, content=build(REAL))
    assert host.content.space.tobytes() == build(REAL)
    assert cache.bytes() == 0


def test_discarded_entries_do_not_count():
    cache, _ = shelf_of()
    host = profile(cache)
    derive(host, "n", lambda _: np.zeros(500))
    cache.discard(host._identity)
    assert cache.bytes() == 0


def test_forgotten_values_are_computed_again_and_free_their_memory():
    cache, _ = shelf_of(1 << 20)
    one = profile(cache)
    calls = []
    for key in ("main", ("main", 1), "other"):
        derive(one, key, lambda _, key=key: calls.append(key) or np.zeros(1000, np.int64))
    before = cache.bytes()
    one.forget("main")
    assert before - cache.bytes() == 16_000
    for key in ("main", ("main", 1), "other"):
        derive(one, key, lambda _, key=key: calls.append(key) or 0)
    assert calls == ["main", ("main", 1), "other", "main", ("main", 1)]
    profile(cache, "another").forget("main")  # nothing is cached for this file


def test_a_value_measured_alone_counts_and_the_others_keep_their_size():
    cache, _ = shelf_of(1 << 20)
    one = profile(cache)
    grows = derive(one, "list", lambda _: [])
    before = cache.bytes()
    grows.append(np.zeros(1000, np.int64))
    derive(one, "array", lambda _: np.zeros(500, np.int64), alone=True)
    assert cache.bytes() - before == 4000
    derive(one, "last", lambda _: 0)
    assert cache.bytes() - before > 12_000


def test_entries_that_are_nearly_empty_count_too():
    cache = ProfileCache(1_000_000, load=lambda data: data)
    for number in range(5000):
        cache.store(("outdated", number), "key", 1, 100)
    assert len(cache._entries) == 5000, "their values fit"
    cache.store("large", "key", 1, 600_000)
    assert cache.bytes() <= 750_000, "memory of the entries themselves takes its share"


def test_a_changed_file_takes_the_place_of_its_last_version():
    """A file that is written again and again keeps one version, and what was derived from it."""
    cache = ProfileCache(1 << 30)
    for version in range(50):
        for kind in (lambda one: one, lambda one: (one, "recorded"), lambda one: ("per_host", one)):
            for path in ("/a", "/b"):
                identity = kind(FileVersion(path, 100, version))
                cache.derived(identity, "key", lambda: bytes(10_000))
                assert cache.has(identity, "key")
    assert len(cache._entries) == 6
    assert cache.bytes() == sum(entry.bytes for entry in cache._entries.values())
