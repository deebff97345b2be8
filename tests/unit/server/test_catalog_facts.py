"""Facts of files in memory are bounded in bytes, however many files a logdir had."""

from tpu_profile_plugin.server.catalog import KnownFacts


def test_the_least_recently_used_facts_are_dropped():
    facts = KnownFacts(50_000)
    for turn in range(100):
        facts.put(("path", turn), "x" * 10_000)
        assert facts.get(("path", 0)) is not None or turn > 4, "used at each turn"
        assert facts.bytes <= 50_000
    assert ("path", 0) in facts
    assert ("path", 99) in facts
    assert ("path", 50) not in facts


def test_facts_of_the_same_file_count_once():
    facts = KnownFacts(50_000)
    for _ in range(10):
        facts.put("a", "x" * 10_000)
    assert 10_000 < facts.bytes < 12_000
    assert facts.get("b") is None


def test_facts_that_are_larger_than_the_bound_are_kept_alone():
    facts = KnownFacts(1000)
    facts.put("a", "x")
    facts.put("b", "x" * 10_000)
    assert "a" not in facts
    assert facts.get("b") is not None
