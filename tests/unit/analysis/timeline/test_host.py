"""Counters and titles of a host's timeline."""

from __future__ import annotations

import numpy as np
import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.timeline.host import Counter, counters, host_trace, sample_table, sampled, titles
from tpu_profile_plugin.analysis.timeline.tracks import sections

US = 10**6
NONE = np.zeros(0)


@pytest.mark.parametrize(
    ("name", "series", "title", "unit"),
    [
        ("hbm bytes", "value", "hbm bytes", "bytes"),
        ("hbm", "", "hbm", ""),
        ("power", "power", "power", ""),
        ("power", "watts", "power watts", ""),
        ("", "watts", "watts", ""),
        ("hbm", "bytes/sec", "hbm bytes/sec", ""),
        ("util (%)", "value", "util (%)", "percent"),
        ("percent of bytes", "value", "percent of bytes", "percent"),
        ("reads/sec", "value", "reads/sec", ""),
    ],
)
def test_titles_and_units(name: str, series: str, title: str, unit: str) -> None:
    counter = Counter(1, 1, name, series, NONE, NONE)
    assert (counter.title, counter.unit) == (title, unit)


def found(text: str) -> list[tuple[int, int, str, str, list[int], list[float]]]:
    space = profile(text)
    return [
        (one.pid, one.tid - 0xC0000000, one.name, one.series, (one.begin_ps // US).tolist(), one.value.tolist())
        for one in counters(space, sections(space))
    ]


def test_only_finite_numbers_are_samples() -> None:
    text = """
    plane 0 "/device:GPU:0"
    line 1 "_counters_"
    1us +0us power {watts=7, note="text", volts=0.5d, group_id=3, flops=4}
    2us +0us power {watts=u8, volts=nan}
    3us +0us power {watts=-1, volts=inf}
    """
    assert found(text) == [
        (1, 0, "power", "group_id", [1], [3]),
        (1, 1, "power", "volts", [1], [0.5]),
        (1, 2, "power", "watts", [1, 2, 3], [7, 8, -1]),
    ]


def test_planes_that_share_a_number_have_tracks_of_their_own() -> None:
    planes = "".join(
        f'plane {600 + i} "/device:GPU:{i}"\nline 1 "_counters_"\n1us +0us a {{value={i}}}\n1us +0us b {{value={i}}}\n'
        for i in range(2)
    )
    other = 'plane 4 "/device:GPU:9"\nline 1 "_counters_"\n1us +0us a {value=9}'
    assert found(planes + other) == [
        (1, 0, "a", "value", [1], [0]),
        (1, 1, "b", "value", [1], [0]),
        (1, 2, "a", "value", [1], [1]),
        (1, 3, "b", "value", [1], [1]),
        (5, 0, "a", "value", [1], [9]),
    ]


def test_a_window_counts_its_columns_from_its_begin() -> None:
    begin = np.array([5, 10, 28, 30, 99, 150]) * US
    counter = Counter(1, 1, "a", "value", begin, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    # Columns of 8 us from 21 us on: the sample before the window, one in the first, one in the second, one in the last.
    shown = sampled(counter, 21 * US, 101 * US, 10)
    assert (shown.begin_ps // US).tolist() == [10, 28, 30, 99]
    assert (shown.value.tolist(), shown.low.tolist(), shown.count.tolist()) == ([2, 3, 4, 5], [2, 3, 4, 5], [1] * 4)
    # One column for all: the largest and the smallest.
    whole = sampled(counter, 5 * US, 200 * US, 1)
    assert ((whole.begin_ps // US).tolist(), whole.value.tolist(), whole.low.tolist()) == ([5], [6], [1])


def test_samples_are_counted_with_their_extent_and_lines_without_any_are_none() -> None:
    text = """
    plane 0 "/device:GPU:0"
    line 1 "_counters_"
    3us +2us power {watts=7}
    9us +0us power
    line 2 "_counters_"
    line 3 other
    0us +99us x
    """
    space = profile(text)
    shown = sections(space)
    found = sample_table(space, shown, [np.array([7, 8, 9], np.uint32)])
    assert (found.begin_ps.tolist(), found.duration_ps.tolist()) == ([3 * US, 9 * US], [2 * US, 0])
    assert (found.pid.tolist(), found.extent) == ([1, 1], (3 * US, 9 * US))
    power = space.planes[0].event_metadata.names.index("power")
    assert found.name.tolist() == [7 + power] * 2
    none = profile('plane 0 "/device:GPU:0"\nline 2 "_counters_"\nline 3 other\n0us +99us x')
    empty = sample_table(none, sections(none), [np.array([7], np.uint32)])
    assert (len(empty.begin_ps), empty.extent) == (0, None)


def test_unsigned_integers_are_told_from_other_numbers() -> None:
    text = """
    plane 0 "/device:GPU:0"
    line 1 "_counters_"
    1us +0us a {v=u7}
    2us +0us b {v=7}
    3us +0us c {v=7d}
    4us +0us d {v=u7}
    5us +0us d {v=7}
    """
    space = profile(text)
    assert [(one.name, one.whole) for one in counters(space, sections(space))] == [
        ("a", True),
        ("b", False),
        ("c", False),
        ("d", False),
    ]


def test_nothing_is_measured_between_samples_that_have_an_end() -> None:
    text = """
    plane 0 "/device:GPU:0"
    line 1 "_counters_"
    1us +2us a {v=7d}
    3us +1us a {v=8d}
    8us +1us a {v=9d}
    20us +0us a {v=4d}
    1us +0us b {v=7d}
    9us +0us b {v=8d}
    """
    space = profile(text)
    a, b = counters(space, sections(space))
    assert b.drawn is None
    assert a.value.tolist() == [7, 8, 9, 4]
    shown = sampled(a, 0, 30 * US, 30)
    assert (shown.begin_ps // US).tolist() == [1, 3, 4, 8, 9, 20]
    assert [None if np.isnan(value) else value for value in shown.value.tolist()] == [7, 8, None, 9, None, 4]
    # Where some of a column is measured, that is shown.
    whole = sampled(a, 0, 30 * US, 1)
    assert (whole.value.tolist(), whole.low.tolist()) == ([9], [4])


def titles_of(text: str) -> tuple[list[str], list[str]]:
    """The titles of sections and of tracks."""
    space = profile(text)
    trace = host_trace(space, preprocess(space))
    found = titles(space, trace)
    return list(found.sections.values()), list(found.tracks.values())


CORE = 'plane {0} "/device:TPU:{1}" {{core_details=0x{2}}}\nline 3 "XLA Ops"\n0us +10us op\n'


def test_cores_are_named_by_chip_and_core() -> None:
    # Field 3 is the core, field 5 the chip.
    text = CORE.format(1, 0, "18012802") + CORE.format(2, 1, "2803") + CORE.format(3, "1 SparseCore 2", "2803")
    assert titles_of(text)[0] == ["Chip 2: TPU Core 1", "Chip 3: TPU Core 0", "Chip 3: SparseCore 2"]


def test_cores_without_details_or_with_the_same_keep_the_names_of_the_file() -> None:
    assert titles_of('plane 1 "/device:TPU:0"\nline 3 "XLA Ops"\n0us +10us op\n')[0] == []
    assert titles_of(CORE.format(1, 0, "2803") + CORE.format(2, 1, "2803"))[0] == []


def test_the_host_is_called_by_its_threads() -> None:
    assert titles_of('plane 1 "/host:CPU"\nline 3 main\n0us +10us work\n')[0] == ["Host Threads"]


@pytest.mark.parametrize(("op", "title"), [("x/y:MatMul", ["TensorFlow Ops - from #7"]), ("jit(f)/dot_general:", [])])
def test_ops_of_tensorflow_are_called_so(op: str, title: list[str]) -> None:
    kernel = f'0us +10us k {{kernel_details="regs:1", tf_op="{op}"}}'
    assert titles_of(f'plane 1 "/device:GPU:0"\nline 7 "Stream #7"\n{kernel}\n')[1] == title
