"""Groups of host events: roots, their order, their reach, their names."""

from __future__ import annotations

from typing import Any

import pytest
from builders.planes import host
from builders.shown import groups, profile

from tpu_profile_plugin.analysis.derived.preprocess import preprocess


def names(text: str) -> dict[int, str]:
    return dict(preprocess(profile(text)).group_names)


def links(text: str) -> list[tuple[int, int]]:
    above, below = preprocess(profile(text)).group_links
    return list(zip(above.tolist(), below.tolist(), strict=True))


NESTED = host(
    """
    0us +100us train {_r=1, step_num=7}
    10us +10us a
    15us +10us outlives
    16us +4us b
    50us +50us touches
    100us +0us at_end
    100us +5us over
    102us +1us after
    """,
    """
    0us +100us root {_r=1}
    10us +50us async {_a=1}
    20us +10us child
    30us +5us not_async {_a=0}
    31us +1us inside
    """,
)


def test_a_group_covers_what_its_root_includes() -> None:
    found = groups(profile(NESTED))
    assert found == {
        "train": [0],
        "a": [0],
        "outlives": [0],
        "b": [0],
        "touches": [0],
        "at_end": [0],
        "over": [-1],
        "after": [-1],
        "root": [1],
        "async": [-1],
        "child": [1],
        "not_async": [1],
        "inside": [1],
    }
    assert names(NESTED) == {0: "train 7", 1: "root 1"}


def test_roots_of_a_higher_level_go_first_and_end_the_reach_of_lower_ones() -> None:
    text = host(
        """
        0us +100us Foo {_r=1, iter_num=3, step_num=9}
        10us +50us Bar {_r=2, graph_type="fwd"}
        15us +5us Baz {_r=2}
        """
    )
    assert groups(profile(text)) == {"Foo": [1], "Bar": [0], "Baz": [0]}
    assert names(text) == {0: "fwd 3", 1: "Foo 3"}
    assert links(text) == [(1, 0)]


def test_implicit_roots_are_named_by_number_and_show_no_step_name() -> None:
    text = host(
        """
        200us +50us FunctionRun {_r=1, step_num=4}
        210us +10us inner {_r=1}
        300us +50us TraceContext {step_num=5}
        310us +5us TraceContext
        """
    )
    result = preprocess(profile(text))
    assert groups(profile(text)) == {"FunctionRun": [0], "inner": [0], "TraceContext": [1, 1]}
    assert dict(result.group_names) == {0: "4", 1: "TraceContext 5"}
    (host_plane,) = result.planes
    steps = [host_plane.step_names[code] for code in host_plane.step_code]
    assert (host_plane.step_event.tolist(), steps) == ([2], ["TraceContext 5"])


def test_batches_are_roots_by_name() -> None:
    text = host(
        """
        0us +10us ProcessBatch
        20us +10us BatchingSessionRun
        22us +2us ProcessBatch
        40us +10us "OrbaxServing::ProcessBatch" {_r=1}
        """
    )
    assert names(text) == {
        0: "ProcessBatch 0",
        1: "ProcessBatch 1",
        2: "OrbaxServing::ProcessBatch 2",
        3: "BatchingSessionRun 3",
    }
    assert links(text) == [(3, 1)]


def test_a_root_below_a_root_of_its_level_opens_no_group() -> None:
    text = host(
        """
        0us +10us outer {_r=1}
        1us +8us mid {_r=2}
        2us +6us inner {_r=1}
        3us +2us innermost {_r=2}
        """
    )
    assert names(text) == {0: "mid 0", 1: "outer 1"}


def test_function_runs_of_tf_data_are_no_roots() -> None:
    text = host(
        """
        0us +10us FunctionRun {_r=1, id=5}
        20us +10us FunctionRun {_r=1, id=6}
        30us +1us "InstantiatedCapturedFunction::RunAsync" {id=6}
        40us +10us train {_r=1, id=6}
        42us +2us FunctionRun {_r=2, id=7}
        """
    )
    found = groups(profile(text))
    assert (found["FunctionRun"], found["train"]) == ([1, -1, 0], [-1])


def test_executor_iterations_group_instead_of_roots() -> None:
    text = host(
        """
        0us +10us "ExecutorState::Process" {id=5, iter_num=0}
        1us +1us x
        20us +10us "ExecutorState::Process" {id=5, iter_num=1}
        21us +1us y
        40us +10us "ExecutorState::Process" {id=6, iter_num=0}
        60us +10us train {_r=1, step_num=3}
        80us +10us "ExecutorState::Process" {id=9, iter_num=1}
        """,
        """
        5us +10us "ExecutorState::Process" {id=5, iter_num=0}
        6us +1us z
        25us +10us "ExecutorState::Process" {id=5, iter_num=1}
        41us +10us "ExecutorState::Process" {id=6, iter_num=0}
        100us +1us "InstantiatedCapturedFunction::Run" {id=9}
        """,
    )
    found = groups(profile(text))
    assert found["ExecutorState::Process"] == [0, 1, -1, -1, 0, 1, -1]
    assert (found["x"], found["y"], found["z"], found["train"]) == ([0], [1], [0], [-1])
    assert names(text) == {0: "0", 1: "1"}


@pytest.mark.parametrize("loop", ["WhileOp-EvalCond", "WhileOp-StartBody", "ForOp", "ParallelForOp", "ForeverOp"])
def test_loops_of_the_host_prevent_grouping(loop: str) -> None:
    text = host(f"0us +10us train {{_r=1}}\n 2us +2us {loop}")
    assert groups(profile(text)) == {"train": [-1], loop: [-1]}
    assert names(text) == {}


def test_numbers_come_from_the_nearest_event_around_even_across_threads() -> None:
    text = host(
        """
        0us +100us outside {step_num=9}
        5us +1us send {_pt=3, _p=8}
        """,
        "10us +10us root {_r=1, _ct=3, _c=8}",
    )
    assert names(text) == {0: "root 9"}


@pytest.mark.parametrize(
    ("stats", "name"),
    [
        ("step_num=u7", "A 0"),
        ("iter_num=u8", "A 0"),
        ("iter_num=u8, step_num=3", "A 0"),
        ('graph_type=&"ref"', "ref 0"),
        ("iter_num=8, step_num=3", "A 8"),
    ],
)
def test_numbers_count_only_as_int64(stats: str, name: str) -> None:
    assert names(host(f"0us +10us A {{_r=1, {stats}}}")) == {0: name}


def test_root_levels_written_as_uint64_are_level_0() -> None:
    text = host("400us +10us x {_r=0}\n 500us +10us y {_r=u1}\n 600us +10us z {_r=1}")
    assert names(text) == {0: "z 0", 1: "x 1", 2: "y 2"}


@pytest.mark.parametrize(("producers", "consumers", "linked"), [(64, 64, False), (63, 70, True), (70, 63, True)])
def test_contexts_shared_by_many_on_both_sides_link_nothing(producers: int, consumers: int, linked: bool) -> None:
    sent = "\n".join(f"{i + 1}us +1ns p {{_pt=3, _p=8}}" for i in range(producers))
    received = "\n".join(f"{2000 + i}us +1ns c {{_ct=3, _c=8}}" for i in range(consumers))
    found: Any = groups(profile(host("0us +1000us train {_r=1}\n" + sent, received)))
    assert found["c"] == [0 if linked else -1] * consumers


def test_a_profile_with_groups_is_taken_as_it_is() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +100us train {_r=1, group_id=3, step_name="hey", is_eager=1}
    5us +1us x
    plane 3 "/device:TPU:0"
    line 1 Steps
    10us +10us "0" {_pt=3, _p=8, group_id=4}
    21us +9us "1"
    """
    result = preprocess(profile(text))
    assert groups(profile(text), 0) == {"train": [3], "x": [-1]}
    assert groups(profile(text), 1) == {"0": [4], "1": [-1]}
    assert result.planes[0].step_names == ("hey",)
    assert (result.planes[1].lines, dict(result.group_names)) == ((), {})


def test_groups_of_the_file_stay_where_grouping_gives_none() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +100us train {_r=1, step_num=4, group_id=77}
    200us +1us other {group_id=5}
    plane 2 "/host:metadata"
    """
    assert groups(profile(text)) == {"train": [0], "other": [5]}


def test_a_function_iterates_whatever_other_functions_do() -> None:
    text = host(
        """
        0us +5us "ExecutorState::Process" {id=4, iter_num=0}
        10us +10us "ExecutorState::Process" {id=6, iter_num=0}
        12us +2us "ExecutorState::Process" {id=4, iter_num=0}
        30us +10us "ExecutorState::Process" {id=6, iter_num=1}
        50us +10us "ExecutorState::Process" {id=6}
        """,
        """
        20us +10us "ExecutorState::Process" {id=6, iter_num=0}
        41us +10us "ExecutorState::Process" {id=4, iter_num=0}
        """,
    )
    # Function 4 runs inside the first iteration of function 6, and again on another thread, where nothing is around it.
    assert groups(profile(text)) == {"ExecutorState::Process": [-1, 0, 0, 1, -1, 0, -1]}


def test_runs_of_a_function_that_does_not_iterate_have_nothing_in_common() -> None:
    text = host(
        """
        10us +10us "ExecutorState::Process" {id=6, iter_num=0}
        12us +2us "ExecutorState::Process" {id=4, iter_num=0}
        30us +10us "ExecutorState::Process" {id=6, iter_num=1}
        """,
        '41us +10us "ExecutorState::Process" {id=4, iter_num=0}',
    )
    assert groups(profile(text)) == {"ExecutorState::Process": [0, 0, 1, -1]}


def test_roots_of_several_planes_are_named_each_by_its_own() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +10us train {_r=1}
    20us +10us eval {_r=1}
    30us +10us A {_r=1, graph_type=&"forward"}
    40us +10us B {_r=1, graph_type=&"backward"}
    plane 2 "/host:CPU [77]"
    line 1 a
    50us +10us load {_r=1}
    60us +10us save {_r=1}
    70us +10us C {_r=1, graph_type="update"}
    80us +10us D {_r=1, graph_type=""}
    """
    assert list(names(text).values()) == [
        *("train 0", "eval 1", "forward 2", "backward 3"),
        *("load 4", "save 5", "update 6", "D 7"),
    ]
    assert groups(profile(text), 1) == {"load": [4], "save": [5], "C": [6], "D": [7]}


def test_groups_are_looked_up_by_number() -> None:
    found = preprocess(profile(host("0us +10us train {_r=1}\n20us +10us train {_r=1}"))).group_names
    assert (list(found), len(found), found[1]) == ([0, 1], 2, "train 1")
    assert [number in found for number in (-1, 0, 1, 2)] == [False, True, True, False]


def test_a_profile_with_groups_says_what_ran_eagerly() -> None:
    text = 'plane 1 "/host:CPU"\nline 1 a\n0us +1us "a:A" {group_id=3, is_eager=1}\n1us +1us "a:A" {is_eager=0}'
    (plane,) = preprocess(profile(text)).planes
    assert (plane.eager_event.tolist(), plane.eager_value.tolist()) == ([0, 1], [1, 0])


def test_a_profile_of_devices_alone_is_grouped_by_the_numbers_of_its_steps() -> None:
    text = """
    plane 1 "/device:TPU:0"
      line 1 Steps
        0us +100us s0 {step_num=5}
        100us +100us s1 {step_num=6}
      line 2 "XLA Ops"
        10us +5us op
        110us +5us op
    """
    assert groups(profile(text)) == {"s0": [0], "s1": [1], "op": [0, 1]}
    assert names(text) == {0: "5", 1: "6"}


def test_iterations_may_be_numbered_below_0() -> None:
    """A function with one iteration, number 0, is no loop; one with the iterations -1 and 0 is."""
    text = host(
        """
        0us +10us "ExecutorState::Process" {id=4, iter_num=0}
        20us +10us "ExecutorState::Process" {id=5, iter_num=-1}
        40us +10us "ExecutorState::Process" {id=5, iter_num=0}
        """
    )
    assert groups(profile(text)) == {"ExecutorState::Process": [-1, 0, 1]}


def test_a_core_counts_with_its_line_of_steps_wherever_that_is_in_the_file() -> None:
    """Ops before and after it have numbers and types of their own, which name no other event."""
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +10us train {_r=1}
    20us +10us eval {_r=1}
    plane 3 "/device:TPU:0"
    line 1 "XLA Ops"
    201us +5us early {step_num=70, graph_type="early"}
    line 2 Steps
    200us +10us s0 {step_num=5, graph_type="forward"}
    220us +10us s1 {step_num=6, graph_type="backward"}
    line 3 "Framework Ops"
    221us +5us late {step_num=80, graph_type="late"}
    plane 4 "/host:CPU [77]"
    line 1 a
    50us +10us load {_r=1}
    """
    assert names(text) == {0: "train 0", 1: "eval 1", 2: "load 2", 3: "forward 5", 4: "backward 6"}
    assert groups(profile(text), 1) == {"early": [3], "s0": [3], "s1": [4], "late": [4]}
    assert groups(profile(text), 2) == {"load": [2]}


def test_a_step_of_a_core_is_reached_wherever_its_line_is_in_the_file() -> None:
    text = """
    plane 1 "/host:CPU"
    line 1 a
    0us +100us train {_r=1}
    5us +1us p {_pt=12, _p=1}
    plane 3 "/device:TPU:0"
    line 1 "XLA Ops"
    11us +5us before {_ct=12, _c=2}
    31us +5us op
    line 2 Steps
    10us +10us s0
    30us +10us s1 {_ct=12, _c=1}
    """
    assert groups(profile(text), 1) == {"before": [-1], "op": [0], "s0": [-1], "s1": [0]}


def test_steps_of_a_device_without_names_are_named_by_their_numbers() -> None:
    text = 'plane 1 "/device:TPU:0"\nline 1 Steps\n0us +100us s0\n100us +100us s1'
    found = preprocess(profile(text)).group_names
    assert (dict(found), found.nbytes) == ({0: "0", 1: "1"}, 2 * (4 + 8))


def test_the_shortest_of_several_cores_does_not_end_the_numbers() -> None:
    """Cores count alike; lines beside the steps, and what the file says of them, stay."""
    text = """
    plane 1 "/device:TPU:0"
    line 1 Steps
    0us +100us s0
    100us +100us s1
    line 2 other
    500us +1us x {group_id=9}
    plane 2 "/device:TPU:1"
    line 1 "XLA Ops"
    120us +1us op
    line 2 Steps
    100us +100us t0
    plane 3 "/device:TPU:2"
    line 1 "XLA Ops"
    120us +1us op
    plane 4 "/device:TPU:0 SparseCore 0"
    line 1 "Sparse Core Steps"
    0us +10us 0
    10us +10us 1
    20us +10us 2
    """
    assert groups(profile(text)) == {"s0": [0], "s1": [1], "x": [9]}
    assert groups(profile(text), 1) == {"op": [0], "t0": [0]}
    assert names(text) == {0: "0", 1: "1"}


@pytest.mark.parametrize("first", ["ops", "steps"])
def test_contexts_of_ops_are_those_of_the_steps_around_them(first: str) -> None:
    ops = 'line 1 "XLA Ops"\n5us +1us outside {_ct=12, _c=1}\n31us +5us op {_ct=12, _c=1}'
    steps = "line 2 Steps\n10us +10us s0\n30us +10us s1"
    lines = f"{ops}\n{steps}" if first == "ops" else f"{steps}\n{ops}"
    text = f"""
    plane 1 "/host:CPU"
    line 1 a
    0us +100us train {{_r=1}}
    5us +1us p {{_pt=12, _p=1}}
    plane 3 "/device:TPU:0"
    {lines}
    line 3 "Framework Ops"
    50us +1us after {{_ct=12, _c=1}}
    """
    assert groups(profile(text), 1) == {"outside": [-1], "op": [0], "s0": [-1], "s1": [0], "after": [-1]}


def test_steps_of_cores_are_linked_without_roots() -> None:
    core = 'plane {0} "/device:TPU:{0}"\nline 1 Steps\n0us +100us s {{{1}}}\n100us +100us s {{{2}}}\n'
    text = core.format(0, "_pt=12, _p=1", "") + core.format(1, "", "_ct=12, _c=1")
    assert (groups(profile(text), 0), groups(profile(text), 1)) == ({"s": [0, 1]}, {"s": [0, 0]})


@pytest.mark.parametrize(
    ("level", "steps"),
    [
        ("_r=u1", [-1, -1]),  # level 0, that of steps
        ("_r=1", [0, 1]),
    ],
)
def test_steps_below_a_function_of_tf_data_have_no_numbers_of_their_own(level: str, steps: list[int]) -> None:
    text = f"""
    plane 1 "/host:CPU"
    line 1 a
    0us +100us FunctionRun {{{level}, id=6}}
    5us +1us p {{_pt=12, _p=1}}
    200us +1us "InstantiatedCapturedFunction::Run" {{id=6}}
    plane 3 "/device:TPU:0"
    line 1 Steps
    10us +10us s {{_ct=12, _c=1}}
    30us +10us s
    """
    assert groups(profile(text), 1) == {"s": steps}


@pytest.mark.parametrize(
    ("event", "steps"),
    [
        ("root {_r=u1}", [1, 2]),  # leads to no step
        ("EagerExecute {is_func=0}", [0, 1]),
        ("EagerExecute {is_func=0}\n2us +1us ForOp", [-1, -1]),
    ],
)
def test_steps_that_nothing_leads_to_are_numbered_unless_the_host_loops(event: str, steps: list[int]) -> None:
    core = 'plane 3 "/device:TPU:0"\nline 1 Steps\n10us +10us s\n30us +10us s'
    assert groups(profile(f'plane 1 "/host:CPU"\nline 1 a\n0us +9us {event}\n{core}'), 1) == {"s": steps}
