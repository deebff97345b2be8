"""Numbers of tracks of derived lines, and the ruler of steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.timeline.tracks import Ruler, _extra_tid, ruler


@pytest.mark.parametrize(
    ("line", "display", "ids", "displays", "expected"),
    [
        (7, 3, [7], [44], 3),
        (7, -3, [7], [44], 2**32 - 3),
        (7, 0, [7], [44], 44),
        (7, 0, [5, 7, 7], [1, 44, 2], 44),
        (7, 0, [7], [0], 7),
        (7, 0, [9], [44], 7),
        (7, 0, [], [], 7),
        # Ids are 32 bits, written with or without a sign.
        (-5, 0, [2**32 - 5], [44], 44),
        (2**32 - 5, 0, [-5], [-7], 2**32 - 7),
        (-5, 0, [], [], 2**32 - 5),
    ],
)
def test_a_derived_line_lies_on_the_track_of_the_line_with_its_id(
    line: int, display: int, ids: list[int], displays: list[int], expected: int
) -> None:
    assert _extra_tid(line, display, np.array(ids, np.int64), np.array(displays, np.int64)) == expected


def steps(found: Ruler) -> list[tuple[str, int, int]]:
    return list(zip(found.names, found.begin_ps.tolist(), found.duration_ps.tolist(), strict=True))


@pytest.mark.parametrize(
    ("codes", "names"), [(None, ["shown", "b"]), ([-1, -1], ["shown", "b"]), ([1, -1], ["train 8", "b"])]
)
def test_steps_without_a_name_of_their_own_have_that_of_their_event(codes: list[int] | None, names: list[str]) -> None:
    line = SimpleNamespace(
        begin_ps=np.array([5, 20]),
        duration_ps=np.array([5, 5]),
        step_code=None if codes is None else np.array(codes),
        metadata=np.array([0, 1]),
        names=("a", "b"),
        display_names=("shown", ""),
    )
    plane = SimpleNamespace(line=lambda _: line, step_names=("train 7", "train 8"))
    space = profile('plane 1 "/device:GPU:0"')
    section = SimpleNamespace(pid=1, plane=0)
    found = ruler(space, SimpleNamespace(planes=[plane]), (section,))
    assert steps(found) == [(names[0], 5, 5), (names[1], 20, 5)]
