"""GPU planes: filled groups, steps, the lines of each stream, launch statistics."""

from __future__ import annotations

from typing import Any

from builders.messages import XSpace
from builders.programs.hlo import op, program
from builders.shown import groups, profile
from builders.xspace_text import build_message

from tpu_profile_plugin.analysis.common.planes import ExtraLine
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.columns import load

LAUNCHED = """
plane 1 "/host:CPU"
line 1 main
0us +100us train {_r=1, step_num=7}
10us +10us launchA {device_id=0, correlation_id=11}
30us +4us cuLaunchKernel {device_id=0, correlation_id=12}
40us +6us launchB {device_id=u0, correlation_id=u13}
60us +8us launchC {device_id=1, correlation_id=14}
200us +50us train {_r=1, step_num=8}
210us +5300ns launchA {device_id=0, correlation_id=15}
300us +5us launchA {device_id=0, correlation_id=16}
310us +5us launchA {device_id=7, correlation_id=16}
plane 2 "/device:GPU:2"
line 5 "Stream #5" @0ns
20us +5us k1 {correlation_id=11}
50us +5us k2 {correlation_id=u13}
90us +5us x
220us +5us k1 {correlation_id=15}
400us +5us k1 {correlation_id=16}
line 3735928559 Steps
10us +1us "9"
plane 3 "/device:GPU:0"
line 6 "Stream #6" @0ns
70us +5us k3 {correlation_id=14}
"""


def events(line: ExtraLine | None) -> list[tuple[str, int, int]]:
    assert line is not None
    names = [line.display_names[row] or line.names[row] for row in line.metadata]
    return list(zip(names, (line.begin_ps // 1000).tolist(), (line.duration_ps // 1000).tolist(), strict=True))


def test_events_without_a_group_take_the_latest_one_before_them() -> None:
    assert groups(profile(LAUNCHED), 1) == {"k1": [0, 1, 1], "k2": [0], "x": [0], "9": [-1]}


def test_steps_span_the_events_of_a_group() -> None:
    extras = preprocess(profile(LAUNCHED)).planes[1]
    steps = extras.line("Steps")
    assert events(steps) == [("0", 20_000, 75_000), ("1", 220_000, 185_000)]
    assert steps is not None
    assert steps.id == 0xDEADBEEF
    assert steps.step_code is not None
    assert [extras.step_names[code] for code in steps.step_code] == ["train 7", "train 8"]


def test_launch_statistics_per_device_and_group() -> None:
    result = preprocess(profile(LAUNCHED))
    first, second = result.planes[1].line("Launch Stats"), result.planes[2].line("Launch Stats")
    assert events(first) == [("Launch Stats for train 7", 10_000, 36_000), ("Launch Stats for train 8", 210_000, 5_300)]
    assert events(second) == [("Launch Stats for train 7", 60_000, 8_000)]
    assert first is not None
    args: Any = first.extra_args
    assert args["num_launches"].tolist() == [2, 1]
    assert (args["max_launch_time_us"][1], args["avg_launch_time_us"][1]) == (("10", "5.3"), ("8", "5.3"))


def test_events_of_a_device_without_a_correlation_launch_nothing() -> None:
    text = LAUNCHED.replace("40us +6us launchB", "35us +30us synchronize {device_id=0}\n40us +6us launchB")
    assert text != LAUNCHED
    line = preprocess(profile(text)).planes[1].line("Launch Stats")
    assert events(line) == [("Launch Stats for train 7", 10_000, 36_000), ("Launch Stats for train 8", 210_000, 5_300)]


def test_launches_of_groups_that_only_the_file_knows_are_left_out() -> None:
    text = """
plane 1 "/host:CPU"
line 1 main
0us +100us train {_r=1, step_num=7}
10us +10us launchA {device_id=0, correlation_id=11}
200us +10us launchB {device_id=0, correlation_id=12, group_id=5}
plane 2 "/device:GPU:0"
line 5 "Stream #5" @0ns
20us +5us k1 {correlation_id=11}
"""
    line = preprocess(profile(text)).planes[1].line("Launch Stats")
    assert events(line) == [("Launch Stats for train 7", 10_000, 10_000)]
    alone = text.replace("0us +100us train {_r=1, step_num=7}", "").replace("group_id=5", "group_id=0")
    assert preprocess(profile(alone)).planes[1].line("Launch Stats") is None


def test_without_derive_only_steps_are_made() -> None:
    result = preprocess(profile(LAUNCHED), derive=False)
    assert [[line.name for line in plane.lines] for plane in result.planes] == [[], ["Steps"], ["Steps"]]
    assert [len(plane.flow_event) for plane in result.planes] == [0, 0, 0]


STREAMS = """
plane 1 "/host:CPU"
plane 2 "/device:GPU:0"
line 5 "Stream #5" @0ns
20us +5us k {kernel_details="regs:1", hlo_op="a::b", hlo_module="mod", program_id=3, scope_range_id=4}
30us +5us k {kernel_details="regs:1", hlo_op="a::b", hlo_module="mod", program_id=3, scope_range_id=5}
40us +5us k {kernel_details="regs:1", hlo_op="a::c", hlo_module="mod", program_id=u3}
60us +5us k {kernel_details="regs:1", hlo_op="a::c", hlo_module="mod"}
70us +5us k {kernel_details="regs:1", tf_op="x/y:Z"}
80us +5us k {kernel_details="", tf_op="x/y:Z"}
90us +5us k {cuda_graph_exec_id=3, tf_op="x/y/q:Z"}
120us +5us memcpy {memcpy_details="x:1", tf_op="m/n:C"}
line 8 "Stream #8(MemcpyH2D)"
0us +1us copy
line 6 "Compute late" @0ns
30us +5us k {kernel_details="regs:1", hlo_op="z", hlo_module="mod2"}
"""


def test_lines_of_a_stream() -> None:
    lines = {line.name: line for line in preprocess(profile(STREAMS)).planes[1].lines}
    assert sorted(lines) == [
        "Framework Name Scope - from #5",
        "Framework Ops - from #5",
        "XLA Modules - from #5",
        "XLA Modules - from #6",
        "XLA Ops - from #5",
        "XLA Ops - from #6",
    ]
    assert events(lines["XLA Modules - from #5"]) == [
        ("mod(3)", 20_000, 5_000),
        ("mod(3)", 30_000, 15_000),
        ("mod", 60_000, 5_000),
    ]
    # One level per part of the op's name; equal spans are set apart by a nanosecond once they are closed.
    assert events(lines["XLA Ops - from #5"]) == [
        ("a", 20_000, 5_000),
        ("b", 20_000, 4_999),
        ("a", 30_000, 15_000),
        ("b", 30_000, 5_000),
        ("c", 40_000, 5_000),
        ("a", 60_000, 5_000),
        ("c", 60_000, 5_000),
    ]
    assert set(lines["XLA Ops - from #5"].names) == {"3/a", "3/b", "3/c", "0/a", "0/c"}
    assert events(lines["Framework Ops - from #5"]) == [("Z", 70_000, 5_000), ("Z", 90_000, 5_000)]
    assert events(lines["Framework Name Scope - from #5"]) == [("x", 70_000, 25_000), ("y", 90_000, 5_000)]


def test_compute_streams_come_first_then_the_busiest() -> None:
    extras = preprocess(profile(STREAMS)).planes[1]
    assert extras.line_display_id is not None
    assert extras.line_display_id.tolist() == [8, 15, 1]
    assert {line.name: line.display_id for line in extras.lines} == {
        "XLA Modules - from #6": 4,
        "XLA Ops - from #6": 5,
        "Framework Name Scope - from #5": 9,
        "Framework Ops - from #5": 10,
        "XLA Modules - from #5": 11,
        "XLA Ops - from #5": 12,
    }


def hlo_proto() -> bytes:
    conv = {"op_type": "Conv2D", "op_name": "net/conv", "source_file": "/src/model.py", "source_line": 12}
    dot = {"op_type": "Dot", "op_name": "net/dot", "source_file": "/src/dot.py", "source_line": 3}
    ops = [
        op("conv.1", "convolution", "f32[]", **conv),
        op("copy.2", "copy", "f32[]"),
        op("dot.3", "dot", "f32[]", **dot),
    ]
    return program(ops, module="mod")


def with_program(text: str, program_id: int) -> Any:
    message = build_message(text)
    assert isinstance(message, XSpace)
    plane = message.planes.add(name="/host:metadata")
    plane.stat_metadata[1].id, plane.stat_metadata[1].name = 1, "Hlo Proto"
    entry = plane.event_metadata[program_id]
    entry.id, entry.name = program_id, f"mod({program_id})"
    entry.stats.add(metadata_id=1, bytes_value=hlo_proto())
    return load(message.SerializeToString())


def test_the_program_says_what_an_op_is_and_where_it_stands() -> None:
    text = """
    plane 1 "/host:CPU"
    plane 2 "/device:GPU:0"
    line 5 s
    0us +5us k {kernel_details="r:1", hlo_op="fused::conv.1", hlo_module="mod", program_id=-3, tf_op="ignored:Here"}
    10us +5us k {kernel_details="r:1", hlo_op="copy.2", hlo_module="mod", program_id=-3}
    20us +5us k {kernel_details="r:1", hlo_op="unknown", hlo_module="mod", program_id=-3}
    """
    lines = {line.name: events(line) for line in preprocess(with_program(text, -3)).planes[1].lines}
    assert lines["XLA Modules - from #5"] == [(f"mod({2**64 - 3})", 0, 25_000)]
    assert lines["Framework Ops - from #5"] == [("Conv2D", 0, 5_000), (":", 10_000, 5_000)]
    assert lines["Framework Name Scope - from #5"] == [("net", 0, 5_000)]
    assert lines["Source code - from #5"] == [("model.py:12", 0, 5_000)]


def test_events_before_the_first_group_have_none_and_derived_lines_do_not_count() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 main
    0us +100us train {_r=1, step_num=7}
    10us +10us launch {correlation_id=11}
    plane 2 "/device:GPU:0"
    line 5 "Stream #5"
    5us +1us early
    20us +5us k {correlation_id=11}
    30us +5us late
    line 3735928559 Steps
    40us +90us "9"
    """
    assert groups(profile(text), 1) == {"early": [-1], "k": [0], "late": [0], "9": [-1]}
    assert events(preprocess(profile(text)).planes[1].line("Steps")) == [("0", 20_000, 15_000)]


def test_a_group_that_only_the_file_knows_has_no_step_name() -> None:
    text = """
    plane 1 "/host:CPU"
    plane 2 "/device:GPU:0"
    line 5 "Stream #5"
    5us +1us a {group_id=77}
    7us +1us b {group_id=78}
    """
    steps = preprocess(profile(text)).planes[1].line("Steps")
    assert events(steps) == [("77", 5_000, 1_000), ("78", 7_000, 1_000)]
    assert steps is not None
    assert steps.step_code is not None
    assert steps.step_code.tolist() == [-1, -1]


KERNEL = 'us +5us k {kernel_details="regs:1"'
MIXED = f"""
plane 1 "/host:CPU"
plane 2 "/device:GPU:0"
line 4 "Stream #4"
1us +1us unmarked
line 5 "Stream #5"
10{KERNEL}, hlo_op="conv.1", hlo_module="mod", program_id=-3}}
20{KERNEL}, hlo_op="dot.3", hlo_module="mod", program_id=-3}}
30{KERNEL}, hlo_op="copy.2", hlo_module="mod", program_id=-3, scope_range_id=4}}
40{KERNEL}, hlo_op="copy.2", hlo_module="mod", program_id=-3, scope_range_id=5}}
50{KERNEL}}}
60{KERNEL}, tf_op="x/y:Z", scope_range_id=4}}
70{KERNEL}, tf_op="x/y:Z", scope_range_id=5}}
line 6 "Stream #6"
10{KERNEL}, hlo_op="conv.1", hlo_module="mod", program_id=-3}}
20us +1us unmarked
"""


def test_what_a_kernel_does_not_say_is_not_shown() -> None:
    lines = {line.name: events(line) for line in preprocess(with_program(MIXED, -3)).planes[1].lines}
    # Ops are set apart where their scope range changes; kernels without an op have no range.
    assert lines["XLA Ops - from #5"] == [
        ("conv.1", 10_000, 5_000),
        ("dot.3", 20_000, 5_000),
        ("copy.2", 30_000, 5_000),
        ("copy.2", 40_000, 5_000),
    ]
    assert lines["Framework Ops - from #5"] == [
        ("Conv2D", 10_000, 5_000),
        ("Dot", 20_000, 5_000),
        (":", 30_000, 5_000),
        (":", 40_000, 5_000),
        ("Z", 60_000, 15_000),
    ]
    assert lines["Source code - from #5"] == [("model.py:12", 10_000, 5_000), ("dot.py:3", 20_000, 5_000)]
    assert lines["XLA Ops - from #6"] == [("conv.1", 10_000, 5_000)]


def test_lines_of_streams_have_ids_of_their_own() -> None:
    lines = preprocess(with_program(MIXED, -3)).planes[1].lines
    assert {line.name: line.id - 0xDEADBEEF - 290 for line in lines} == {
        "Framework Name Scope - from #5": 0,
        "Framework Ops - from #5": 1,
        "XLA Modules - from #5": 2,
        "XLA Ops - from #5": 3,
        "Source code - from #5": 4,
        "Framework Name Scope - from #6": 6,
        "Framework Ops - from #6": 7,
        "XLA Modules - from #6": 8,
        "XLA Ops - from #6": 9,
        "Source code - from #6": 10,
    }
    assert preprocess(profile(LAUNCHED)).planes[1].lines[-1].id == 0xDEADBEEF + 1


def test_streams_with_more_events_come_first_and_at_most_sixteen_have_lines() -> None:
    kernel = '0us +1us k {kernel_details="r:1", hlo_op="o", hlo_module="m"}'
    streams = [f"line {number} s{number}\n" + f"{kernel}\n" * count for number, count in enumerate((1, 3, 2))]
    streams += [f"line {number} s{number}\n{kernel}" for number in range(3, 18)]
    extras = preprocess(profile('plane 1 "/device:GPU:0"\n' + "\n".join(streams))).planes[0]
    assert extras.line_display_id is not None
    # Seven rows for each stream: itself, and up to six lines; the last two of eighteen stay as they are.
    assert extras.line_display_id.tolist() == [15, 1, 8, *range(22, 112, 7), 0, 0]
    ops = [line.name for line in extras.lines if line.name.startswith("XLA Ops")]
    assert ops == [f"XLA Ops - from #{number}" for number in (1, 2, 0, *range(3, 16))]
