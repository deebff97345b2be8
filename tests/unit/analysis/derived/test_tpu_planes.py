"""TPU cores: lock step, merged steps, groups of their events, and the lines derived on TensorCores."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from builders.shown import groups, profile

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import ABSENT, ExtraLine
from tpu_profile_plugin.analysis.derived.preprocess import preprocess

HOST = 'plane 1 "/host:CPU"\nline 1 main\n'


def core(*lines: str, number: int = 0) -> str:
    return f'plane {number + 3} "/device:TPU:{number}"\n' + "\n".join(lines) + "\n"


def line_of(text: str, name: str, plane: int = 1) -> ExtraLine:
    line = preprocess(profile(text)).planes[plane].line(name)
    assert line is not None
    return line


def events(line: ExtraLine) -> list[tuple[str, int, int]]:
    """(shown name, begin, duration) in microseconds; begins and durations that are no whole ones stay in ps."""
    names = [line.display_names[row] or line.names[row] for row in line.metadata]
    scale = 10**6 if not (line.begin_ps % 10**6).any() and not (line.duration_ps % 10**6).any() else 1
    return list(zip(names, (line.begin_ps // scale).tolist(), (line.duration_ps // scale).tolist(), strict=True))


def test_without_roots_the_cores_count_in_lock_step() -> None:
    steps = core('line 1 Steps\n10us +10us "0"\n20us +10us "1"', 'line 2 "XLA Modules"\n11us +2us m')
    modules = core('line 2 "XLA Modules"\n10us +9us m\n 20us +5us m\n 30us +5us m', number=1)
    text = HOST + "0us +100us x\n" + steps + modules
    result = preprocess(profile(text))
    assert groups(profile(text), 1) == {"0": [0], "1": [1], "m": [0]}
    assert groups(profile(text), 2) == {"m": [0, 1, 2]}
    assert dict(result.group_names) == {0: "0", 1: "1", 2: "2"}


def test_cores_that_a_root_reached_do_not_count() -> None:
    text = HOST + "0us +50us train {_r=1, step_num=50}\n1us +1us p {_pt=12, _p=1}\n"
    text += core('line 2 "XLA Modules"\n10us +9us m {_ct=12, _c=1}\n20us +5us m')
    text += core('line 2 "XLA Modules"\n10us +9us n', number=1)
    assert groups(profile(text), 1) == {"m": [0, -1]}
    assert groups(profile(text), 2) == {"n": [-1]}


@pytest.mark.parametrize(("level", "counted"), [(0, -1), (1, 0)])
def test_cores_below_a_root_of_level_0_do_not_count(level: int, counted: int) -> None:
    text = HOST + f'9us +80us "InstantiatedCapturedFunction::Run" {{_r={level}, _pt=3, _p=2, id=5}}\n'
    text += core('line 1 Steps\n10us +9us "0" {_ct=3, _c=2}')
    assert groups(profile(text), 1) == {"0": [counted]}


def test_launch_keys_tie_module_runs_to_the_host() -> None:
    text = (
        HOST
        + """
    0us +100us train {_r=1}
    50us +10us DoEnqueueProgram {run_id=5, queue_id=1, device_ordinal=1, core_type=0}
    55us +1us DoEnqueueProgram {run_id=6, queue_id=1, device_ordinal=0}
    """
    )
    runs = "60us +10us m {run_id=u5, queue_id=u1, core_type=u0}", "80us +1us m {run_id=6, queue_id=1}"
    text += core('line 2 "XLA Modules"', *runs, number=1)
    assert groups(profile(text), 1) == {"m": [0, -1]}


def test_contexts_of_other_lines_count_for_the_grouping_event_around_them() -> None:
    text = HOST + "0us +50us train {_r=1}\n1us +1us p {_pt=12, _p=1}\n2us +1us p {_pt=12, _p=2}\n"
    text += core(
        'line 1 Steps\n10us +10us "0"\n20us +10us "1"\n30us +10us "2"',
        'line 2 "XLA Modules"\n20us +10us m {_ct=12, _c=1}\n29us +2us m {_ct=12, _c=2}',
    )
    assert groups(profile(text), 1)["1"] == [0]
    assert (groups(profile(text), 1)["0"], groups(profile(text), 1)["2"]) == ([-1], [-1])


MERGED = (
    HOST
    + """
    0us +50us train {_r=1, step_num=50}
    1us +1us p {_pt=12, _p=1}
    3us +1us p {_pt=12, _p=2}
    4us +1us p {_pt=12, _p=3}
    60us +50us train {_r=1, step_num=51}
    61us +1us p {_pt=12, _p=4}
    62us +1us p {_pt=12, _p=6}
    """
    + core(
        """
        line 1 Steps
        10us +9us "0" {_ct=12, _c=1, device_offset_ps=100, device_duration_ps=50, step_idle_time_ps=3}
        20us +9us "1" {_ct=12, _c=2, device_offset_ps=u200, device_duration_ps=u50, step_idle_time_ps=u4}
        30us +5us "2" {device_offset_ps=300, device_duration_ps=50}
        35us +4us "3" {_ct=12, _c=3, device_offset_ps=350, device_duration_ps=50}
        40us +9us "4" {step_idle_time_ps=3}
        60us +9us "5" {_ct=12, _c=4, step_idle_time_ps=3}
        70us +9us "6" {device_offset_ps=700, device_duration_ps=50}
        """,
        """
        line 2 "XLA Modules"
        30us +4us m
        34us +5us m
        40us +9us m
        70us +4us m {_ct=12, _c=6}
        82us +4us m
        """,
    )
)


def test_neighbouring_steps_of_a_group_become_one_and_others_are_dropped() -> None:
    extras = preprocess(profile(MERGED)).planes[1]
    steps = line_of(MERGED, "Steps")
    assert steps.step_code is not None
    names = [extras.step_names[code] for code in steps.step_code]
    spans = list(zip((steps.begin_ps // 10**6).tolist(), (steps.duration_ps // 10**6).tolist(), strict=True))
    assert names == ["train 50", "train 50", "train 51"]
    assert spans == [(10, 19), (35, 4), (60, 19)]
    args: Any = steps.extra_args
    assert args["step_idle_time_ps"].tolist() == [7, 0, 3]
    assert args["device_offset_ps"].tolist() == [100, 350, -1]
    assert args["device_duration_ps"].tolist() == [150, 50, -1]
    assert extras.removed is not None
    assert extras.removed.tolist() == [True] * 7 + [False] * 5


def test_other_lines_take_the_group_of_the_first_step_they_touch() -> None:
    # The second run begins where a dropped step was and reaches into the next one.
    assert groups(profile(MERGED), 1)["m"] == [-1, 0, -1, 1, -1]


def test_steps_without_any_group_stay_as_they_are() -> None:
    text = HOST + "0us +9us train {_r=1}\n1us +1us p {_pt=12, _p=1}\n2us +1us ForOp\n"
    text += core('line 1 Steps\n10us +9us "0" {step_idle_time_ps=3}\n20us +9us "1"')
    extras = preprocess(profile(text)).planes[1]
    assert (extras.group_id, extras.removed, extras.lines) == (None, None, ())


def test_module_runs_that_touch_join_the_earlier_group() -> None:
    text = HOST + core(
        'line 2 "XLA Modules"\n0us +10us m\n10us +10us m\n30us +5us m',
        'line 3 "XLA Ops"\n10us +1us o\n20us +1us o\n29us +1us o\n36us +1us o',
    )
    assert groups(profile(text), 1) == {"m": [0, 0, 2], "o": [0, 1, 2, -1]}


def test_a_row_of_module_runs_that_touch_joins_the_group_of_the_first() -> None:
    text = HOST + "0us +50us train {_r=1}\n1us +1us p {_pt=12, _p=1}\n"
    text += core(
        'line 2 "XLA Modules"\n0us +10us m {_ct=12, _c=1}\n10us +10us m\n20us +10us m\n40us +10us m',
        'line 3 "XLA Ops"\n15us +1us o\n25us +1us o\n45us +1us o',
    )
    assert groups(profile(text), 1) == {"m": [0, 0, 0, -1], "o": [0, 0, -1]}


def test_sparse_cores_are_grouped_by_roots_but_do_not_count() -> None:
    text = (
        HOST
        + """
    0us +100us train {_r=1, step_num=4}
    5us +1us p {_pt=3, _p=8}
    plane 3 "/device:TPU:0"
    line 1 Steps
    10us +10us "0"
    plane 4 "/device:TPU:0 SparseCore 0"
    line 1 "Sparse Core Steps"
    10us +10us "0" {_ct=3, _c=8}
    21us +9us "1"
    line 3 "Sparse Core Ops"
    12us +1us o {tf_op="a/b:C"}
    22us +3us o
    plane 6 "/device:TPU:1 Weird"
    line 2 "XLA Modules"
    11us +3us m
    """
    )
    assert groups(profile(text), 1) == {"0": [1]}
    assert groups(profile(text), 2) == {"0": [0], "1": [-1], "o": [0, -1]}
    assert groups(profile(text), 3) == {"m": [-1]}
    assert [line.name for line in preprocess(profile(text)).planes[2].lines] == ["Sparse Core Steps"]


DERIVED = HOST + core(
    """
    metadata f1 {tf_op="a/b/c:MatMul", source="x/y.py:3"}
    metadata f2 {tf_op="a/b/d:Add", source="x/y.py:3"}
    metadata f3 {tf_op=&"jit(f)/jit(main)/add:"}
    metadata f4 {tf_op="weird name"}
    line 3 "XLA Ops"
    0us +10us f1
    20us +5us f2
    30us +5us f2 {_a=1}
    36us +5us f2 {_a=u1}
    61us +10us f3
    75us +1us f3
    100us +1us f4 {tf_op="over/ride:Op"}
    200us +1us f4
    """
)


def test_framework_ops_scopes_and_source_lines() -> None:
    assert events(line_of(DERIVED, "Framework Ops")) == [
        ("MatMul", 0, 10),
        ("Add", 20, 5),
        ("add", 61, 15),
        ("Op", 100, 1),
        ("weird name", 200, 1),
    ]
    assert "a/b/c:MatMul" in line_of(DERIVED, "Framework Ops").names
    assert events(line_of(DERIVED, "Source code")) == [("x/y.py:3", 0, 25)]
    # The second level of one span ends a nanosecond early.
    assert events(line_of(DERIVED, "Framework Name Scope")) == [
        ("a", 0, 25_000_000),
        ("b", 0, 24_999_000),
        ("jit(f)", 61_000_000, 15_000_000),
        ("jit(main)", 61_000_000, 14_999_000),
        ("over", 100_000_000, 1_000_000),
    ]
    ids = {line.name: line.id - 0xDEADBEEF for line in preprocess(profile(DERIVED)).planes[1].lines}
    assert ids == {"Framework Name Scope": 2, "Framework Ops": 3, "Source code": 7}


def test_derived_events_merge_within_a_group_whatever_the_gap_and_never_across() -> None:
    text = HOST + core(
        'line 2 "XLA Modules"\n0us +50us m\n60us +50us m',
        'metadata f {source="x.py:1"}\nline 3 "XLA Ops"\n0us +1us f\n49us +1us f\n61us +1us f',
    )
    line = line_of(text, "Source code")
    assert line.group_id is not None
    assert (events(line), line.group_id.tolist()) == ([("x.py:1", 0, 50), ("x.py:1", 61, 1)], [0, 1])


def test_copies_to_host_memory_are_paired_into_rows() -> None:
    text = HOST + core(
        """
        metadata "%c S(5)" {raw_bytes_accessed=4, shape_with_layout="(f32[8], f32[8]S(5))"} display="copy-start.7"
        metadata "%d S(5)" {raw_bytes_accessed=32, shape_with_layout="f32[8]"} display="copy-done.7"
        metadata "%e S(5)" display="dynamic-slice-start"
        metadata "%f S(5)" display="dynamic-slice-done"
        metadata "%i S(5)" display="async-copy-start.1.2"
        metadata "%j S(5)" display="async-copy-done.1.2"
        metadata "%k S(1)" display="copy-start.9"
        metadata "%l S(1)" display="copy-done.9"
        line 3 "XLA Ops"
        0us +1us "%c S(5)"
        1us +1us "%e S(5)"
        3us +1us "%i S(5)"
        4us +1us "%k S(1)"
        10us +1us "%d S(5)"
        11us +1us "%f S(5)"
        13us +1us "%j S(5)"
        14us +1us "%l S(1)"
        20us +1us "%c S(5)"
        25us +1us "%d S(5)"
        30us +1us "%d S(5)"
        """
    )
    space = profile(text)
    lines = preprocess(space).planes[1].lines
    assert [(line.name, line.id - 0xDEADBEEF, events(line)) for line in lines] == [
        ("Host Offload Ops row 0", 8, [("offload-copy.7", 0, 11), ("offload-copy.7", 20, 6)]),
        ("Host Offload Ops row 1", 9, [("offload-dynamic-slice.0", 1, 11)]),
        ("Host Offload Ops row 2", 10, [("offload-async-copy.2", 3, 11)]),
    ]
    args: Any = lines[0].extra_args
    shapes, texts = args["shape_with_layout"]
    assert [texts[code] for code in shapes.tolist()] == ["(f32[8], f32[8]S(5))"] * 2
    assert args["raw_bytes_accessed"].tolist() == [32, 32]
    other: Any = lines[1].extra_args
    assert (other["raw_bytes_accessed"].tolist(), other["shape_with_layout"][0].tolist()) == ([ABSENT], [-1])


def test_equal_spans_are_walked_as_the_reference_walks_them() -> None:
    # Three copies end at once; which of them is paired first decides the rows. XProf's unstable sort leaves
    # twenty equal events as 10, 19, 18, ..., 11, 0, 9, ..., 1.
    names = [f"copy-done.{number}" for number in range(20)]
    starts = "\n".join(f'{number}us +1us "%s{number} S(5)"' for number in range(20))
    dones = "\n".join(f'100us +0us "%d{number} S(5)"' for number in range(20))
    metadata = "".join(
        f'metadata "%s{n} S(5)" display="copy-start.{n}"\nmetadata "%d{n} S(5)" display="copy-done.{n}"\n'
        for n in range(20)
    )
    text = HOST + core(metadata, "line 2 a\n" + starts, "line 3 b\n" + dones)
    rows = Counter(line.name for line in preprocess(profile(text)).planes[1].lines)
    assert (len(names), sum(rows.values())) == (20, 20)


@pytest.mark.parametrize("count", [17, 40, 100])
def test_the_walk_is_sorted_whatever_the_ties(count: int) -> None:
    begin, duration = np.arange(count, dtype=np.int64) // 7, np.arange(count, dtype=np.int64) % 2
    order = _native.walk_order(begin, duration, np.arange(count))
    keys = list(zip(begin[order].tolist(), duration[order].tolist(), strict=True))
    assert keys == sorted(keys)
    assert sorted(order.tolist()) == list(range(count))


def test_an_op_may_say_itself_what_its_metadata_does_not() -> None:
    text = HOST + core(
        """
        metadata known {tf_op="a/x:X"}
        metadata plain
        metadata beside {tf_op="a/w:W", _a=1}
        metadata in_turn {tf_op="a/v:V", _a=0}
        line 3 "XLA Ops"
        0us +1us known
        10us +1us plain {tf_op="a/y:Y"}
        20us +1us plain
        30us +1us plain {tf_op="a/z:Z"}
        40us +1us beside
        50us +1us in_turn
        60us +1us known
        """
    )
    ops = [("X", 0, 1), ("Y", 10, 1), ("Z", 30, 1), ("V", 50, 1), ("X", 60, 1)]
    assert events(line_of(text, "Framework Ops")) == ops
    assert events(line_of(text, "Framework Name Scope")) == [("a", begin, 1) for begin in (0, 10, 30, 50, 60)]


def test_ops_of_which_no_metadata_says_anything() -> None:
    text = HOST + core('line 3 "XLA Ops"\n0us +1us plain {tf_op="a/y:Y", source="x.py:1"}\n20us +1us plain')
    assert events(line_of(text, "Framework Ops")) == [("Y", 0, 1)]
    assert events(line_of(text, "Source code")) == [("x.py:1", 0, 1)]


def test_ops_that_only_say_where_they_stand() -> None:
    ops = 'metadata f {source="x.py:1"}\nmetadata g {source="y.py:2"}\nline 3 "XLA Ops"\n0us +1us f\n2us +1us g'
    (line,) = preprocess(profile(HOST + core(ops))).planes[1].lines
    assert (line.name, events(line)) == ("Source code", [("x.py:1", 0, 1), ("y.py:2", 2, 1)])


BEHIND_OPS = (
    HOST
    + """
    0us +5us other {_r=1, step_num=3}
    10us +50us train {_r=1, step_num=4}
    11us +1us p {_pt=12, _p=1}
    12us +1us p {_pt=12, _p=2}
    13us +1us p {_pt=12, _p=3}
    99us +1us last
    """
    + core(
        """
        line 3 "XLA Ops"
        10us +5us a
        35us +1us b
        90us +1us c {_ct=12, _c=3}
        """,
        """
        line -5 Steps
        10us +9us "0" {_ct=12, _c=1, device_offset_ps=100, device_duration_ps=50, step_idle_time_ps=3}
        20us +9us "1" {_ct=12, _c=2, device_offset_ps=900, step_idle_time_ps=4}
        40us +9us "2" {step_idle_time_ps=50}
        """,
    )
)


def test_steps_may_lie_behind_other_lines() -> None:
    steps = line_of(BEHIND_OPS, "Steps")
    assert (steps.id, events(steps)) == (2**32 - 5, [("0", 10, 19)])
    args: Any = steps.extra_args
    # A part without a duration of its own says nothing about the device's clock.
    assert {name: value.tolist() for name, value in args.items()} == {
        "step_idle_time_ps": [7],
        "device_offset_ps": [100],
        "device_duration_ps": [50],
    }
    assert groups(profile(BEHIND_OPS), 1) == {"a": [1], "b": [-1], "c": [-1], "0": [1], "1": [1], "2": [-1]}


def test_contexts_of_lines_before_the_steps_count_for_the_step_around_them() -> None:
    text = HOST + "0us +9us train {_r=1}\n1us +1us p {_pt=12, _p=1}\n"
    text += core('line 3 "XLA Ops"\n21us +1us a {_ct=12, _c=1}', "line 4 Steps\n20us +9us s\n30us +9us s")
    assert groups(profile(text), 1) == {"a": [0], "s": [0, -1]}


def test_steps_of_any_one_group_are_merged() -> None:
    text = (
        HOST + "0us +5us other {_r=1}\n10us +9us train {_r=1}\n11us +1us p {_pt=12, _p=1}\n12us +1us p {_pt=12, _p=2}\n"
    )
    text += core("line 3 Steps\n10us +9us s {_ct=12, _c=1}\n20us +9us s {_ct=12, _c=2}")
    assert events(line_of(text, "Steps")) == [("s", 10, 19)]


def test_steps_say_themselves_what_they_are_steps_of() -> None:
    steps = 'line 4 Steps\n1us +1us s\n3us +1us s {graph_type="eval"}\n5us +1us s {graph_type="fit", step_num=7}'
    text = HOST + core('line 3 "XLA Ops"\n1us +1us a\n2us +1us a', steps)
    assert dict(preprocess(profile(text)).group_names) == {0: "0", 1: "eval 1", 2: "fit 7"}


def test_a_context_outside_all_steps_reaches_nothing() -> None:
    assert groups(profile(BEHIND_OPS), 0)["last"] == [-1]


def test_contexts_of_a_core_without_steps_reach_nothing() -> None:
    text = HOST + "0us +50us train {_r=1}\n1us +1us p {_pt=12, _p=1}\n"
    text += core('line 3 "XLA Ops"\n10us +1us a {_ct=12, _c=1}')
    assert groups(profile(text), 1) == {"a": [-1]}


def test_launch_keys_of_module_runs_behind_other_lines() -> None:
    text = HOST + "0us +9us train {_r=1}\n5us +1us DoEnqueueProgram {run_id=5, queue_id=1, device_ordinal=0}\n"
    text += core('line 1 "XLA Ops"\n1us +1us a', 'line 2 "XLA Modules"\n60us +10us m {run_id=5, queue_id=1}')
    assert groups(profile(text), 1) == {"a": [-1], "m": [0]}


def test_what_a_step_says_of_itself_names_its_group() -> None:
    ops = 'line 2 "XLA Ops"\n1us +1us a {step_num=99}\n3us +1us a'
    later = 'line 4 "XLA TraceMe"\n1us +1us t {step_num=98}\n3us +1us t {step_num=98}'
    steps = "line 3 Steps\n1us +1us s {step_num=5}\n3us +1us s {step_num=6}\n5us +1us s"
    text = HOST + core(ops, steps, later)
    assert dict(preprocess(profile(text)).group_names) == {0: "5", 1: "6", 2: "2"}
    plain = HOST + core('line 2 "XLA Ops"\n1us +1us a', "line 3 Steps\n1us +1us s\n3us +1us s")
    result = preprocess(profile(plain))
    assert (dict(result.group_names), groups(profile(plain), 1)["s"]) == ({0: "0", 1: "1"}, [0, 1])


def test_a_run_keeps_group_0_though_it_begins_as_another_ends() -> None:
    text = HOST + "0us +50us train {_r=1}\n1us +1us p {_pt=12, _p=1}\n"
    text += core(
        'line 2 "XLA Modules"\n0us +10us m\n10us +10us m {_ct=12, _c=1}', 'line 3 "XLA Ops"\n12us +1us o\n15us +1us o'
    )
    assert groups(profile(text), 1) == {"m": [-1, 0], "o": [0, 0]}


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ('tf_op="a/b:Add"', [("Framework Name Scope", [("a", 10, 5)]), ("Framework Ops", [("Add", 10, 5)])]),
        ('source="m.py:3"', [("Source code", [("m.py:3", 10, 5)])]),
    ],
)
def test_cores_with_ops_or_sources_alone_have_the_lines_of_these(
    stat: str, expected: list[tuple[str, list[tuple[str, int, int]]]]
) -> None:
    text = HOST + core(f'line 3 "XLA Ops"\n10us +5us f {{{stat}}}\n20us +5us g')
    assert [(line.name, events(line)) for line in preprocess(profile(text)).planes[1].lines] == expected


def test_events_of_a_core_keep_the_group_of_the_file_for_tables_be_it_0() -> None:
    steps = 'line 1 Steps\n10us +10us "0"\n20us +10us "1"'
    ops = 'line 3 "XLA Ops"\n21us +1us zero {group_id=0}\n22us +1us five {group_id=5}\n23us +1us none'
    counted = preprocess(profile(HOST + core(steps, ops)), derive=False).planes[1]
    assert counted.group_id is not None
    assert counted.group_id.tolist() == [0, 1, 0, 5, 1]


def test_an_input_stage_is_shown_by_its_last_part() -> None:
    text = HOST + core('metadata f {tf_op="Iterator::Root::Map"}\nline 3 "XLA Ops"\n0us +1us f')
    assert events(line_of(text, "Framework Ops")) == [("Iterator::Map", 0, 1)]


def test_the_group_of_an_event_in_the_file_counts_for_tables_and_not_for_the_trace_viewer() -> None:
    text = HOST + core(
        'line 2 "XLA Modules"\n0us +50us m\n60us +50us m',
        'metadata f {source="x.py:1"}\nline 3 "XLA Ops"',
        "0us +1us f {group_id=9}\n61us +1us f {group_id=9}\n70us +1us g",
    )
    shown, counted = (preprocess(profile(text), derive=derive).planes[1] for derive in (True, False))
    assert shown.group_id is not None
    assert counted.group_id is not None
    assert (shown.group_id.tolist(), counted.group_id.tolist()) == ([0, 1, 0, 1, 1], [0, 1, 9, 9, 1])
    assert events(line_of(text, "Source code")) == [("x.py:1", 0, 1), ("x.py:1", 61, 1)]
