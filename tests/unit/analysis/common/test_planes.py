"""Roles of planes and lines, told from their names and ids; ratios."""

from __future__ import annotations

import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.common import planes as ids
from tpu_profile_plugin.analysis.common.planes import grouping_line, is_derived_line, is_device, is_host
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
