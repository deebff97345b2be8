"""Processes, threads and steps of a timeline, and derived rows that break where the device is idle."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.shown import profile
from builders.timeline import canvas, events

from tpu_profile_plugin.analysis.common.planes import ExtraLine
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.timeline import tracks as module
from tpu_profile_plugin.analysis.timeline.tracks import Ruler, _extra_tid, broken, ruler, sections


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


@pytest.mark.parametrize(
    ("plane", "shown", "older"),
    [
        (0, 1, 1),
        (499, 500, 500),
        (500, 1, 501),
        (10**6, 1, 1_000_001),
        (-1, 0, 0),
        (-5, 1, 2**32 - 4),
        (2**32 + 3, 4, 4),
    ],
)
def test_process_ids_of_devices_wrap_and_are_limited_in_the_newer_form(plane: int, shown: int, older: int) -> None:
    space = profile(f'plane {plane} "/device:GPU:6"\nline 1 s\n0us +1us k')
    found = [sections(space, older=form)[0].pid for form in (False, True)]
    assert found == [shown, older]


@pytest.mark.parametrize(("plane", "pid"), [(3, 504), (-501, 0), (-502, 2**32 - 1)])
def test_process_ids_of_custom_planes_wrap(plane: int, pid: int) -> None:
    space = profile(f'plane {plane} "/device:CUSTOM:x"\nline 1 s\n0us +1us k')
    assert [section.pid for section in sections(space)] == [pid]


@pytest.mark.parametrize(
    ("text", "has_lines"),
    [
        ('plane 1 "/device:GPU:0"\nline 1 s', False),
        ('plane 1 "/device:GPU:0"\nline 1 s\n0us +1us k', True),
        ('plane 1 "/host:CPU"\nline 1 s', True),
        ('plane 1 "/host:CPU"', False),
    ],
)
def test_empty_lines_count_but_on_devices(text: str, has_lines: bool) -> None:
    assert [section.has_lines for section in sections(profile(text))] == [has_lines]


def test_steps_end_where_the_next_begin_and_of_those_at_one_time_the_longest_counts() -> None:
    begin, length = np.array([20, 0, 20, 30]), np.array([5, 50, 7, 9])
    assert steps(module._disjoint(begin, length, ["a", "b", "c", "d"])) == [("b", 0, 20), ("c", 20, 7), ("d", 30, 9)]


def test_groups_that_are_steps() -> None:
    space = profile('plane 1 "/device:GPU:0"\nplane 2 "/host:CPU"\nline 1 a\n0us +1us x\n1us +1us y')
    lines = [
        SimpleNamespace(name=name, group_id=group)
        for name, group in (("Steps", np.array([7, 3, -1])), ("Steps", None), ("XLA Ops", np.array([9])))
    ]
    host = SimpleNamespace(group_id=np.array([4, 5]), step_event=np.array([1]), lines=[])
    device = SimpleNamespace(group_id=np.zeros(0, np.int64), lines=lines)
    assert module.step_groups(space, SimpleNamespace(planes=[device, host])).tolist() == [3, 7]
    device.lines = lines[1:]
    assert module.step_groups(space, SimpleNamespace(planes=[device, host])).tolist() == [5]


def test_the_time_of_the_begin_is_known_or_not() -> None:
    task = 'plane 9 "Task Environment" {profile_start_time=u1700000000000000000}'
    assert module.time_origin_ns(profile(task)) == 1_700_000_000_000_000_000
    assert module.time_origin_ns(profile("host h")) is None


US = 10**6
KERNEL = 'kernel_details="regs:1", tf_op="x/y:Z"'
XLA = 'hlo_op="dot", hlo_module="m"'
GPU = f"""
plane 1 "/device:GPU:0"
  line 7 "Stream #7(Compute)"
    0us +10us k {{correlation_id=1, {KERNEL}}}
    20us +10us k {{correlation_id=2, {KERNEL}}}
    41us +9us k {{correlation_id=3, {KERNEL}}}
"""


def spans(text: str, track: str, **params: str) -> list[tuple[float, float]]:
    """Begin and end of the boxes of a track of the page, in us."""
    header, arrays = canvas(text, **params)
    (index,) = [i for i, one in enumerate(header["tracks"]) if one["name"].startswith(track)]
    first, last = arrays["track_start"][index : index + 2].tolist()
    begin, length = arrays["begin_ps"][first:last] / US, arrays["duration_ps"][first:last] / US
    return list(zip(begin.tolist(), (begin + length).tolist(), strict=True))


def test_rows_break_at_idle_times_longer_than_ten_microseconds() -> None:
    assert module.LONGEST_BRIDGE_PS == 10 * US
    assert spans(GPU, "Framework Ops") == spans(GPU, "Framework Name Scope") == [(0, 30), (41, 50)]
    xla = GPU.replace('tf_op="x/y:Z"', XLA)
    assert spans(xla, "XLA Ops") == spans(xla, "XLA Modules") == [(0, 30), (41, 50)]


def test_work_of_another_stream_keeps_rows_whole() -> None:
    busy = GPU + '  line 8 "Stream #8(MemcpyD2D)"\n    29us +8us copy\n'
    assert spans(busy, "Framework Ops") == [(0, 50)]


def test_xprof_gets_them_whole() -> None:
    whole = [event for event in events(GPU) if event["name"] == "Z"]
    assert [(event["ts"], event["dur"]) for event in whole] == [(0, 50)]
    assert spans(GPU, "Framework Ops", reading="xprof") == [(0, 50)]


def test_steps_stay_whole() -> None:
    host = """
plane 2 "/host:CPU"
  line 1 main
    0us +9us train {_r=1, step_num=0}
    1us +1us launch {device_id=0, correlation_id=1}
    3us +1us launch {device_id=0, correlation_id=2}
    5us +1us launch {device_id=0, correlation_id=3}
"""
    assert spans(GPU + host, "Steps") == [(0, 50)]
    assert spans(GPU + host, "Framework Ops") == [(0, 30), (41, 50)]


def test_nested_rows_break_at_the_same_times() -> None:
    # The first kernel is in x/a, the others in x alone.
    assert spans(GPU.replace("x/y:Z", "x/a/y:Z", 1), "Framework Name Scope") == [(0, 30), (41, 50), (0, 10)]


def test_nothing_is_copied_without_such_idle_times() -> None:
    space = profile(GPU.replace("41us", "39us"))
    extras = preprocess(space)
    assert broken(space, extras) is extras


def test_lines_with_very_many_parts_stay_whole(monkeypatch) -> None:
    for most, shown in ((1, [(0, 50)]), (2, [(0, 30), (41, 50)])):
        monkeypatch.setattr(module, "MOST_PARTS", most)
        assert spans(GPU, "Framework Ops") == shown


def test_what_no_work_lies_in_stays_whole() -> None:
    begin, length = np.array([0, 60]), np.array([50, 5])
    line = ExtraLine(7, "Framework Ops", begin, length, np.zeros(2, np.uint32), ("op",), ("",))
    found = module._divided(line, (np.array([5, 30]), np.array([10, 55])))
    assert (found.begin_ps.tolist(), found.duration_ps.tolist()) == ([5, 30, 60], [5, 20, 5])


def test_parts_keep_their_arguments() -> None:
    space = profile(GPU.replace('tf_op="x/y:Z"', XLA))
    (line,) = [one for one in broken(space, preprocess(space)).planes[0].lines if one.name.startswith("XLA Ops")]
    assert [line.display_names[row] for row in line.metadata.tolist()] == ["dot", "dot"]
    assert all(len(values) == 2 for values in (line.begin_ps, line.duration_ps, line.metadata))
