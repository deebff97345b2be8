"""Counters, titles and added lines of a host's timeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.shown import profile
from builders.timeline import canvas, event, events, streaming

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
    assert titles_of(text)[0] == ["Chip 2, TPU core 1", "Chip 3, TPU core 0", "Chip 3, SparseCore 2"]


def test_devices_without_details_or_with_the_same_have_the_numbers_of_their_planes() -> None:
    core, gpu = (f'plane {{0}} "/device:{kind}:{{1}}"\nline 3 x\n0us +10us op\n' for kind in ("TPU", "GPU"))
    assert titles_of(core.format(1, 0))[0] == ["TPU 0"]
    assert titles_of(gpu.format(1, 0) + gpu.format(2, 1))[0] == ["GPU 0", "GPU 1"]
    assert titles_of(CORE.format(1, 0, "2803") + CORE.format(2, 1, "2803"))[0] == ["TPU 0", "TPU 1"]
    one_unknown = CORE.format(1, 0, "2803") + core.format(2, 1) + core.format(3, "1 SparseCore 2")
    assert titles_of(one_unknown)[0] == ["TPU 0", "TPU 1", "TPU 1, SparseCore 2"]
    assert titles_of(core.format(1, 0) + core.format(2, 0))[0] == []


def test_the_host_is_called_by_its_threads() -> None:
    assert titles_of('plane 1 "/host:CPU"\nline 3 main\n0us +10us work\n')[0] == ["Host Threads"]


@pytest.mark.parametrize(("op", "title"), [("x/y:MatMul", ["TensorFlow Ops - from #7"]), ("jit(f)/dot_general:", [])])
def test_ops_of_tensorflow_are_called_so(op: str, title: list[str]) -> None:
    kernel = f'0us +10us k {{kernel_details="regs:1", tf_op="{op}"}}'
    assert titles_of(f'plane 1 "/device:GPU:0"\nline 7 "Stream #7"\n{kernel}\n')[1] == title


# What preprocessing adds, on the timeline: threads, names, arguments, asynchronous events, and the ruler of steps.


def threads(text: str, pid: int = 1003) -> list[tuple[int, str]]:
    named = [e for e in streaming(text)["traceEvents"] if e["name"] == "thread_name" and e["pid"] == pid]
    return [(e["tid"], e["args"]["name"]) for e in named]


def shown(text: str, tid: int) -> list[tuple[str, float, float]]:
    return [(e["name"], e["ts"], e["dur"]) for e in events(text) if e.get("tid") == tid]


def args(text: str, pid: int, tid: int, index: int) -> dict[str, Any]:
    found = event(text, pid, tid, index)
    return {"group": found["group_id"], **{arg["key"]: arg["value"] for arg in found["args"]}}


@pytest.mark.parametrize(("plane", "pid"), [(-2, 1001), (-1, 1000), (0, 1001), (499, 1500), (500, 1001)])
def test_devices_are_numbered_by_their_planes_as_far_as_numbers_reach(plane: int, pid: int) -> None:
    (found,) = events(f'plane {plane} "/device:GPU:0"\nline 1 a\n0us +1us x')
    assert found["pid"] == pid


STREAM = """
plane 0 "/host:CPU"
line 1 main
0us +90us train {_r=1, step_num=7}
1us +2us launch {correlation_id=1, device_id=0}
100us +90us train {_r=1, step_num=8}
101us +3us launch {correlation_id=2, device_id=0}
plane 2 "/device:GPU:0"
line 5 "Stream #5"
20us +5us k {kernel_details="regs:1", hlo_op="a::b", hlo_module="mod", program_id=3, correlation_id=1, tf_op="x/y:Z"}
120us +5us k {kernel_details="regs:1", hlo_op="a::c", hlo_module="mod", program_id=3, correlation_id=2}
line 3735928500 "other" display=9
130us +1us x
"""


def test_lines_of_a_stream_lie_below_it() -> None:
    assert threads(STREAM) == [
        (1, "Stream #5"),
        (4, "XLA Modules - from #5"),
        (5, "XLA Ops - from #5"),
        (8, "other"),
        (0xDEADBEEF, "Steps"),
        (0xDEADBEF0, "Launch Stats"),
    ]
    assert shown(STREAM, 4) == [("mod(3)", 20, 5), ("mod(3)", 120, 5)]
    assert [name for name, _, _ in shown(STREAM, 5)] == ["a", "b", "a", "c"]
    assert shown(STREAM, 0xDEADBEEF) == [("train 7", 20, 5), ("train 8", 120, 11)]


def test_arguments_of_added_events() -> None:
    second = {"group": 1, "num_launches": 1, "max_launch_time_us": "3", "avg_launch_time_us": "3"}
    assert args(STREAM, 3, 0xDEADBEF0, 0) == {
        "group": 0,
        "num_launches": 1,
        "max_launch_time_us": "2",
        "avg_launch_time_us": "2",
    }
    assert args(STREAM, 3, 0xDEADBEF0, 1) == second
    assert args(STREAM, 3, 0xDEADBEEF, 1) == {"group": 1, "step_name": "train 8"}
    # What the kernels below say of themselves is not said again.
    assert args(STREAM, 3, 4, 0) == {"group": 0}
    assert args(STREAM, 3, 1, 1)["hlo_op"] == "a::c"


def test_groups_without_a_name_are_shown_by_number() -> None:
    text = """
    plane 0 "/host:CPU"
    line 1 main
    0us +90us train {_r=1, step_num=7}
    1us +2us launch {correlation_id=1}
    plane 2 "/device:GPU:0"
    line 5 "Stream #5"
    20us +5us k {correlation_id=1}
    50us +5us k {group_id=77}
    """
    assert shown(text, 0xDEADBEEF) == [("train 7", 20, 5), ("77", 50, 5)]
    assert args(text, 3, 0xDEADBEEF, 1) == {"group": 77}
    header, arrays = canvas(text)
    assert [header["strings"][i] for i in arrays["step_name"]] == ["train 7", "77"]
    assert arrays["step_begin_ps"].tolist() == [20 * US, 50 * US]


CLOCK = "device_offset_ps=100, device_duration_ps=50"
MERGED = f"""
plane 9 "/host:CPU"
line 1 main
0us +50us train {{_r=1, step_num=4}}
1us +1us p {{_pt=12, _p=1}}
2us +1us p {{_pt=12, _p=2}}
60us +50us train {{_r=1, step_num=5}}
61us +1us p {{_pt=12, _p=3}}
plane 2 "/device:TPU:0"
metadata "0" {{about="first"}}
line 3 "XLA Ops"
10us +5us op
line -5 Steps
10us +9us "0" {{_ct=12, _c=1, {CLOCK}, step_idle_time_ps=3, own=5}}
20us +9us "1" {{_ct=12, _c=2, step_idle_time_ps=4}}
40us +9us "dropped"
60us +9us "2" {{_ct=12, _c=3, step_idle_time_ps=6}}
"""


@pytest.mark.parametrize(("display", "tid"), [("", 2**32 - 5), (" display=44", 44), (" display=-7", 2**32 - 7)])
def test_merged_steps_take_the_place_of_those_of_the_file(display: str, tid: int) -> None:
    text = MERGED.replace("Steps", f"Steps{display}")
    assert shown(text, tid) == [("train 4", 10, 19), ("train 5", 60, 9)]
    assert threads(text) == sorted([(3, "XLA Ops"), (tid, "Steps")])


def test_merged_steps_say_what_their_first_part_said() -> None:
    assert args(MERGED, 3, 2**32 - 5, 0) == {
        "about": "first",
        "own": 5,
        "group": 0,
        "step_name": "train 4",
        "step_idle_time_ps": 7,
        "device_offset_ps": 100,
        "device_duration_ps": 50,
    }
    # The second has no time of the device's.
    assert args(MERGED, 3, 2**32 - 5, 1) == {"group": 1, "step_name": "train 5", "step_idle_time_ps": 6}


def test_the_line_of_the_file_names_a_thread_and_of_several_the_last() -> None:
    text = """
    plane 0 "/host:CPU"
    line 5 "pool" "Pool thread"
    0us +0us "ThreadpoolListener::StartRegion" {_ct=15, _c=9}
    5us +0us "ThreadpoolListener::StopRegion"
    line 7 "first"
    0us +1us x
    line 8 "second" display=7
    5us +1us y
    """
    assert threads(text, 1701) == [(5, "Pool thread"), (7, "second")]
    assert ("ThreadpoolListener::Region", 0, 5) in shown(text, 5)


def test_asynchronous_events_say_so_themselves_or_their_metadata_does() -> None:
    text = """
    plane 0 "/device:TPU:0"
    metadata later {_a=1}
    line 4 "Async XLA Ops"
    1us +2us copy {_a=1, flow=u31}
    5us +2us later {flow=u63}
    9us +1us plain {flow=u94}
    """
    assert [e["name"] for e in events(text)] == ["plain"]
    pairs = [(e["name"], e["ph"]) for e in events(text, full_dma="true") if e["ph"] != "X"]
    assert pairs == [("copy", "b"), ("copy", "e"), ("later", "b"), ("later", "e")]


@pytest.mark.parametrize(("name", "frame"), [("x" * 16, False), ("x" * 17, True)])
def test_full_names_longer_than_sixteen_are_frames(name: str, frame: bool) -> None:
    text = f'plane 0 "/device:TPU:0"\nmetadata {name} display="short"\nline 1 "XLA Ops"\n1us +2us {name}'
    (found,) = events(text, event_name="short", start_time_ms=0.001, duration_ms=0.002, unique_id=0)
    assert ("sf" in found, found["args"].get("long_name")) == ((True, None) if frame else (False, name))


def steps(text: str) -> list[tuple[str, int]]:
    header, arrays = canvas(text)
    names = [header["strings"][i] for i in arrays.get("step_name", ())]
    return list(zip(names, (arrays["step_begin_ps"] // US).tolist() if names else [], strict=True))


MARKERS = "0us +9us train {_r=1, step_num=1}\n20us +9us train {_r=1, step_num=2}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'plane 0 "/host:CPU"\nline 1 a\n{MARKERS}\nplane 1 "/device:TPU:0"\nline 1 "XLA Ops"\n0us +1us o',
         [("train 1", 0), ("train 2", 20)]),
        (f'plane 0 "/host:CPU"\nline 1 a\n0us +1us x\nplane 1 "/host:CPU [2]"\nline 1 a\n{MARKERS}',
         [("train 1", 0), ("train 2", 20)]),
        # The host's own line of that name is none of a device.
        (f'plane 0 "/host:CPU"\nline 1 a\n{MARKERS}\nline 2 Steps\n5us +1us odd', [("train 1", 0), ("train 2", 20)]),
        # Loops of the host prevent grouping; the file's own steps are left.
        ('plane 0 "/host:CPU"\nline 1 a\n0us +1us ForOp\nplane 1 "/device:TPU:0"\nline 1 Steps\nline 2 Steps\n'
         "5us +4us one\n9us +4us two", [("one", 5), ("two", 9)]),
        ('plane 0 "/host:CPU"\nline 1 a\n0us +1us x', []),
    ],
)  # fmt: skip
def test_steps_of_the_ruler(text: str, found: list[tuple[str, int]]) -> None:
    assert steps(text) == found
