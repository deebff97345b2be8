"""Patterns of run names: as in a shell, of bounded length."""

from __future__ import annotations

import time

import pytest

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.logdir.names import MOST_PATTERN, matching

RUNS = ["train/1", "train/2", "eval[1]/1"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("*", RUNS), ("train/*", RUNS[:2]), ("*/1", ["train/1", "eval[1]/1"]), ("train/[!1]", ["train/2"]), ("x", [])],
)
def test_a_pattern_selects_runs(pattern: str, expected: list[str]) -> None:
    assert matching(RUNS, pattern) == expected


@pytest.mark.parametrize("part", ["[", "*a", "?*", "[a-", "*[ab]", "a"])
def test_a_pattern_is_read_at_once(part: str) -> None:
    begin = time.thread_time()
    assert matching(["a" * 200 + str(run) for run in range(100)], (part * MOST_PATTERN)[:MOST_PATTERN]) == []
    assert time.thread_time() - begin < 1


def test_a_long_pattern_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"A pattern of runs has 1,000 characters at most, not 20,000\.") as refused:
        matching(RUNS, "[" * 20_000)
    assert refused.value.details == {"parameter": "runs"}
