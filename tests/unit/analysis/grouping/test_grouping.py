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
