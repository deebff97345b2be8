"""The way from the bottleneck of a run to the program."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.tf_data import MAX_STAGES, Iterator, IteratorTimes, Run, _chain


def run(parents: dict[int, int], bottleneck: int | None) -> Run:
    times = [
        IteratorTimes(Iterator(id_, parent, f"i{id_}", "", ""), 0, 1, 1, 1, blocking=True)
        for id_, parent in sorted(parents.items())
    ]
    return Run(0, 1, tuple(times), 0, bottleneck)


@pytest.mark.parametrize(
    ("parents", "bottleneck", "expected"),
    [
        ({1: 0, 2: 1, 3: 2, 4: 2}, 2, [3, 2, 1]),
        ({1: 0, 2: 1}, 0, [1]),
        ({1: 0, 2: 1}, None, []),
        # One that is its own parent, a ring, a parent that is not in the profile.
        ({1: 1}, 0, [1]),
        ({1: 2, 2: 1}, 1, [2, 1]),
        ({5: 4}, 0, [5]),
    ],
)
def test_a_chain_goes_up_to_the_root(parents: dict[int, int], bottleneck: int | None, expected: list[int]) -> None:
    assert [times.iterator.id for times in _chain(run(parents, bottleneck))] == expected


@pytest.mark.parametrize("stages", [MAX_STAGES - 1, MAX_STAGES, MAX_STAGES + 1])
def test_a_chain_has_so_many_stages_at_most(stages: int) -> None:
    parents = {id_: id_ - 1 for id_ in range(1, stages + 1)}
    assert len(_chain(run(parents, stages - 1))) == min(stages, 100)
