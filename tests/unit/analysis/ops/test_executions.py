"""Runs of GPU events: consecutive ones of a line with one name and group count for the op of the first."""

from __future__ import annotations

import numpy as np
import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.ops.gpu_ops import executions

TEXT = (
    'plane 1 "/device:GPU:0"\nline 1 a\n0us +1us k{}\n1us +1us k{}\nline 2 b\n0us +1us k{}\n1us +1us k{}\n2us +1us k{}'
)


def counted(name: list[int], group: list[int], *stats: str, op: tuple[int, ...] = (0, 1, 2, 3, 4)) -> list[list[int]]:
    """(event, op, FLOPs) of every event with an op."""
    listed = [f" {{{one}}}" if one else "" for one in (*stats, *[""] * (5 - len(stats)))]
    space = profile(TEXT.format(*listed))
    columns = (np.array(column, np.int64) for column in (op, name, group))
    found = executions(space, space.planes[0], *columns)
    return np.stack([found.event, found.op, found.flops], axis=1).tolist()


@pytest.mark.parametrize(
    ("name", "group", "expected"),
    [
        ([9, 9, 9, 9, 9], [1, 1, 1, 1, 1], [0, 0, 2, 2, 2]),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 2, 2, 2]),
        ([9, 8, 8, 8, 9], [1, 1, 1, 1, 1], [0, 1, 2, 2, 4]),
        ([-1, -1, -1, -1, -1], [1, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
        ([9, 9, 9, 9, 9], [1, 2, 2, 2, 3], [0, 1, 2, 2, 4]),
        ([9, 9, 9, 9, 9], [-1, -1, -1, -1, -1], [0, 1, 2, 3, 4]),
        # A missing group counts as 0 for the event after it alone.
        ([9, 9, 9, 9, 9], [-1, 0, 0, -1, 1], [0, 0, 2, 3, 4]),
    ],
)
def test_runs_end_with_the_line_the_name_and_the_group(name: list[int], group: list[int], expected: list[int]) -> None:
    assert [op for _, op, _ in counted(name, group)] == expected


def test_events_without_an_op_are_none_and_end_no_run() -> None:
    assert counted([9] * 5, [1] * 5, op=(-1, 1, 2, -1, 4)) == [[1, 1, 0], [2, 2, 0], [4, 2, 0]]
    assert counted([9] * 5, [1] * 5, op=(-1,) * 5) == []


def test_the_last_recorded_cost_of_a_run_is_that_of_all_its_events() -> None:
    found = counted([9] * 5, [1] * 5, "flops=3", "", "flops=5", "flops=7")
    assert [flops for _, _, flops in found] == [3, 3, 7, 7, 7]
