"""Roles of planes and lines, told from their names and ids; ratios."""

from __future__ import annotations

import numpy as np
import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.common import planes as ids
from tpu_profile_plugin.analysis.common.planes import (
    event_groups,
    events_of_lines,
    grouping_line,
    is_counter_line,
    is_derived_line,
    is_device,
    is_host,
    is_step_line,
    lines_named,
    offsets_in_line,
    on_recorded_line,
    recorded_lines,
    recorded_span,
    rows_of_lines,
    shown_names,
    spans_at,
    tensor_core,
)
from tpu_profile_plugin.analysis.common.statistics import ratio


def test_every_kind_of_derived_line_has_its_id() -> None:
    made = (ids.STEPS_ID, ids.LAUNCH_STATS_ID, ids.NAME_SCOPE_ID, ids.FRAMEWORK_OPS_ID)
    assert made == (0xDEADBEEF, 0xDEADBEF0, 0xDEADBEF1, 0xDEADBEF2)
    assert (ids.SOURCE_ID, ids.HOST_OFFLOAD_ID) == (0xDEADBEF6, 0xDEADBEF7)


@pytest.mark.parametrize(
    ("name", "host", "device"),
    [
        ("/host:CPU", True, False),
        ("/host:CUPTI", True, False),
        ("/device:GPU:0", False, True),
        ("/device:TPU:0 SparseCore 1", False, True),
        ("/device:CUSTOM:Megascale Trace", False, True),
        ("/custom:x", False, True),
        ("#Chip0 HBM", False, True),
        ("Task Environment", False, False),
        ("", False, False),
    ],
)
def test_planes_of_the_host_and_of_devices(name: str, host: bool, device: bool) -> None:
    assert (is_host(name), is_device(name)) == (host, device)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ('line 1 "XLA Ops"\n0us +1us o\nline 2 "XLA Modules"\n0us +1us m\nline 3 Steps\n0us +1us s', 2),
        ('line 1 Steps\nline 2 "XLA Modules"\n0us +1us m', 1),
        ("line 1 Steps\nline 2 Steps\n0us +1us s", 1),
        ('line 1 "XLA Ops"\n0us +1us o', None),
    ],
)
def test_steps_cut_the_time_of_a_core_else_module_runs(lines: str, found: int | None) -> None:
    (plane,) = profile(f'plane 1 "/device:TPU:0"\n{lines}').planes
    assert grouping_line(plane) == found


def test_a_sparse_core_has_lines_of_its_own_names() -> None:
    lines = 'line 1 Steps\n0us +1us s\nline 2 "Sparse Core Modules"\n0us +1us m'
    for name, found in (("SparseCore 0", 1), ("", 0)):
        (plane,) = profile(f'plane 1 "{f"/device:TPU:0 {name}".strip()}"\n{lines}').planes
        assert grouping_line(plane) == found
    (plane,) = profile(f'plane 1 "/device:GPU:0"\n{lines}').planes
    assert grouping_line(plane) is None


def test_numbers_of_cores_and_lines_of_steps() -> None:
    names = "/device:TPU:3", "/device:TPU:", "/device:TPU:0 SparseCore 1", "/device:GPU:3"
    assert [tensor_core(name) for name in names] == [3, 0, None, None]
    lines = "Steps", "Sparse Core Steps", "XLA Modules", "_counters_"
    assert [is_step_line(name) for name in lines] == [True, True, False, False]
    assert [is_counter_line(name) for name in lines] == [False, False, False, True]


def test_events_of_lines() -> None:
    space = profile(
        f"plane 1 a\nline 1 a\n2us +3us x\n3us +9us y\nline {0xDEADBEEF} b\n7us +1us x\nline 3 a\n9us +2us z\n"
        "plane 2 b\nplane 3 c\nline 1 c\n30us +5us x\n"
    )
    plane, empty, other = space.planes
    assert (lines_named(plane, "a", "c"), lines_named(plane, "b")) == ([0, 2], [1])
    assert [events_of_lines(plane, lines).tolist() for lines in ([], [1], [2, 0])] == [[], [2], [3, 0, 1]]
    assert rows_of_lines(plane, [0]) == slice(0, 2)
    rows = rows_of_lines(plane, [2, 0])
    assert isinstance(rows, np.ndarray)
    assert rows.tolist() == [3, 0, 1]
    assert [column.tolist() for column in spans_at(plane, np.array([1, 3]))] == [
        [3_000_000, 9_000_000],
        [12_000_000, 11_000_000],
    ]
    assert recorded_lines(plane).tolist() == [True, False, True]
    assert on_recorded_line(plane).tolist() == [True, True, False, True]
    assert recorded_span([plane, empty, other]) == (2_000_000, 35_000_000)
    assert recorded_span([plane]) == (2_000_000, 12_000_000)
    assert recorded_span([empty]) is None
    assert event_groups(None, np.array([3, 4])).tolist() == [-1, -1]
    assert shown_names(["a", "b"], ["", "shown"]) == ["a", "shown"]


def test_offsets_in_a_line_from_its_begin() -> None:
    space = profile(
        "plane 1 /host:CPU\nline 1 a @5us\n0us +1us x\n7us +1us y\nline 2 b @90us\n3us +1us z\n"
        "plane 2 c\nline 1 a @1700000000000000us\n4us +1us x"
    )
    assert offsets_in_line(space, space.planes[0], np.array([2, 1, 0])).tolist() == [3_000_000, 7_000_000, 0]
    assert offsets_in_line(space, space.planes[1], np.array([0])).tolist() == [4_000_000]


def test_offsets_in_lines_that_begin_too_late_for_picoseconds() -> None:
    space = profile(
        "plane 1 /host:CPU\nline 1 a @9223372036854779ns\n5us +1us x\nline 2 b @8us\n3us +1us y\n"
        "line 3 c @9223372036854776ns\n7us +1us z"
    )
    assert space.origin_ns == 9223372036854776
    assert offsets_in_line(space, space.planes[0], np.arange(3)).tolist() == [5_000_000, 3_000_000, 7_000_000]


@pytest.mark.parametrize(
    ("line_id", "derived"),
    [
        (0xDEADBEEF - 1, False),
        (0xDEADBEEF, True),
        (0xDEADBEEF - 2**32, True),  # as profilers store it
        (0xDEADBEEF + 48, True),  # the last row of copies to host memory
        (0xDEADBEEF + 290, True),  # the first line of a stream
        (0xDEADBEEF + 389, True),
        (0xDEADBEEF + 390, False),
        (1, False),
    ],
)
def test_ids_of_derived_lines(line_id: int, derived: bool) -> None:
    assert is_derived_line(line_id) is derived


def test_ratios_by_next_to_nothing_are_0() -> None:
    assert (ratio(3.0, 2.0), ratio(1.0, 0.0), ratio(1.0, 9e-11), ratio(1.0, -9e-11)) == (1.5, 0.0, 0.0, 0.0)
    assert ratio(1.0, 1e-10) == 1e10
