"""What preprocessing adds, on the timeline: threads, names, arguments, asynchronous events, and the ruler of steps."""

from __future__ import annotations

from typing import Any

import pytest
from builders.timeline import canvas, event, events, streaming

US = 10**6


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
