"""Runs that share programs, by name and size of their HLO modules."""

from __future__ import annotations

from tpu_profile_plugin.run.facts import RunFacts, combine_facts, most_related_first, shared_programs


def facts(**sizes):
    return RunFacts(program_bytes=tuple(sizes.items()))


def test_programs_are_shared_by_name_as_far_as_the_smaller_one_goes():
    assert shared_programs(facts(train=80, init=20), facts(train=80, init=20)) == 1
    assert shared_programs(facts(train=80, init=20), facts(train=40, eval=40)) == 40 / 140
    assert shared_programs(facts(train=80), facts(eval=80)) == 0
    assert shared_programs(facts(), facts()) == 0


def test_the_most_related_come_first_and_unrelated_ones_not_at_all():
    others = [("newest", facts(f=50)), ("none", facts(g=1)), ("same", facts(f=100)), ("about the same", facts(f=1000))]
    others.append(("nearly", facts(f=50, h=0)))
    assert most_related_first(facts(f=100), others) == [
        *(("same", 1.0), ("newest", 0.5), ("nearly", 0.5), ("about the same", 0.1))
    ]


def test_hosts_have_the_largest_program_of_a_name():
    assert combine_facts([facts(f=1, g=7), facts(f=3)]).program_bytes == (("f", 3), ("g", 7))
