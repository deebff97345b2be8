"""Threadpool regions: spans between start and stop events, and where they nest."""

from __future__ import annotations

from builders.shown import groups, profile

from tpu_profile_plugin.analysis.common.planes import ExtraLine
from tpu_profile_plugin.analysis.derived.preprocess import preprocess


def regions(text: str) -> list[ExtraLine]:
    return [line for line in preprocess(profile(text)).planes[0].lines if "ThreadpoolListener::Region" in line.names]


def spans(line: ExtraLine) -> list[tuple[int, int]]:
    return list(zip((line.begin_ps // 10**6).tolist(), (line.duration_ps // 10**6).tolist(), strict=True))


def test_threadpool_regions_span_from_the_last_start_with_an_id_to_each_stop() -> None:
    text = """
    plane 1 "/host:CPU"
    line 2 b @1000ns
    0us +5us "ThreadpoolListener::StartRegion" {_ct=15, _c=9}
    2us +1us work
    10us +3us "ThreadpoolListener::StopRegion"
    20us +0us "ThreadpoolListener::StopRegion"
    30us +0us "ThreadpoolListener::StartRegion"
    40us +2us "ThreadpoolListener::StopRegion"
    line 3 c
    50us +1us "ThreadpoolListener::StopRegion"
    """
    (line,) = regions(text)
    assert (line.id, line.name, spans(line)) == (2, "b", [(1, 10), (1, 20), (1, 40)])


def test_regions_enclose_events_but_carry_no_context() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +100us train {_r=1}
    5us +1us q {_pt=15, _p=9}
    line 2 b
    200us +50us outer {_r=1}
    210us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=10}
    212us +1us work
    220us +0us "ThreadpoolListener::StopRegion"
    260us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=9}
    262us +1us free
    270us +0us "ThreadpoolListener::StopRegion"
    """
    found = groups(profile(text))
    (line,) = regions(text)
    assert line.group_id is not None
    assert (found["work"], found["free"], line.group_id.tolist()) == ([1], [-1], [1, -1])
    assert found["ThreadpoolListener::StartRegion"] == [1, 0]


def test_a_region_lies_inside_an_event_that_begins_with_it_and_lasts_longer() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=10}
    0us +20us train {_r=1}
    10us +0us "ThreadpoolListener::StopRegion"
    line 2 b
    5us +20us train {_r=1}
    6us +2us inside
    30us +2us outside
    """
    (line,) = regions(text)
    assert line.group_id is not None
    assert (line.group_id.tolist(), spans(line)) == ([0], [(0, 10)])
    assert groups(profile(text)) == {
        "ThreadpoolListener::StartRegion": [0],
        "train": [0, 1],
        "ThreadpoolListener::StopRegion": [0],
        "inside": [1],
        "outside": [-1],
    }


def test_lines_are_in_file_order_unless_they_have_regions() -> None:
    """An event that the file has before the step around it is not in that step; regions put their line in order."""
    text = """
    plane 1 "/host:CPU"
    line 1 a
    20us +5us plain
    0us +100us train {_r=1}
    30us +5us after
    line 2 b
    20us +5us sorted
    12us +0us "ThreadpoolListener::StopRegion"
    0us +100us train {_r=1}
    10us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=10}
    13us +0us "ThreadpoolListener::StopRegion"
    """
    found = groups(profile(text))
    (line,) = regions(text)
    assert (found["plain"], found["after"], found["sorted"]) == ([-1], [0], [1])
    # Which start a stop ends is a matter of the file's order too.
    assert line.group_id is not None
    assert (spans(line), line.group_id.tolist()) == ([(10, 3)], [1])


def test_regions_of_many_lines_number_no_event_anew() -> None:
    text = "plane 1 /host:CPU\n" + "".join(
        f"""line {i} t{i}
        {100 * i}us +50us train {{_r=1}}
        {100 * i + 1}us +0us "ThreadpoolListener::StartRegion" {{_ct=15, _c={i}}}
        {100 * i + 2}us +1us {"ab"[i % 2]} {{_pt=3, _p={i}}}
        {100 * i + 5}us +0us "ThreadpoolListener::StopRegion"
        {100 * i + 60}us +1us c {{_ct=3, _c={(i + 1) % 4}}}
        """
        for i in range(4)
    )
    assert groups(profile(text)) == {
        "train": [0, 1, 2, 3],
        "ThreadpoolListener::StartRegion": [0, 1, 2, 3],
        "a": [0, 2],
        "b": [1, 3],
        "ThreadpoolListener::StopRegion": [0, 1, 2, 3],
        "c": [1, 2, 3, 0],
    }
    assert [line.group_id.tolist() for line in regions(text) if line.group_id is not None] == [[0], [1], [2], [3]]


def test_starts_without_an_id_open_no_region() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +0us "ThreadpoolListener::StartRegion"
    5us +1us x {_ct=15, _c=9}
    10us +0us "ThreadpoolListener::StopRegion"
    """
    assert regions(text) == []
