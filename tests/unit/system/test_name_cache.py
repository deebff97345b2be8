"""Caches of names: each name is parsed once, and long names of many profiles do not fill the memory."""

from tpu_profile_plugin.analysis.common.op_names import parse_op
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.system import name_cache
from tpu_profile_plugin.system.name_cache import cached_by_name, name_bytes


def test_a_name_is_computed_once():
    asked = []
    cached = cached_by_name(lambda name: asked.append(name) or len(name))
    assert [cached("ab"), cached("abc"), cached("ab")] == [2, 3, 2]
    assert asked == ["ab", "abc"]


def test_a_cache_is_bounded_in_bytes():
    cached = cached_by_name(len)
    names = name_cache._caches[-1]
    for number in range(50):
        assert cached(f"{number:07d}" + "x" * 1_000_000) == 1_000_007
        assert len(names.values) <= 5


def test_names_count_in_the_memory_for_columns():
    before = name_bytes()
    parse_op("a" * 1_000_000)
    assert name_bytes() >= before + 2_000_000 or name_bytes() < before
    small = ProfileCache(8_000_000, load=lambda data: data)
    for number in range(6):
        small.store(number, "key", None, 1_500_000)
    counted = min(name_bytes(), 2_000_000)
    assert small.bytes() <= 8_000_000 - counted
