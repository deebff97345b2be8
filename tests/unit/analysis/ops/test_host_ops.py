"""Ops of the host's threads, input processing, tf.functions."""

import numpy as np
import pytest
from builders.answers import summary
from builders.xspace_text import build

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.ops.thread_ops import (
    HostOps,
    InfeedEnqueue,
    TfFunction,
    combine_functions,
    combine_host_ops,
    declares_ops,
    expensive_functions,
    host_ops,
    ops_only,
)
from tpu_profile_plugin.analysis.steps.breakdown import InputBreakdown, input_breakdown
from tpu_profile_plugin.columns import load, load_lazily

US = 1_000_000
NO_EVENTS = np.zeros(0, np.int64)


def ops(text, eager=NO_EVENTS):
    space = load(np.frombuffer(build(text), np.uint8))
    return host_ops(space, host_plane(space), eager)


def shown(host):
    table = host.ops
    columns = (table.name, table.category, table.occurrences, table.time_ps // US, table.self_ps // US)
    return sorted(tuple(row) for row in zip(*(list(c) for c in columns), strict=True))


def test_ops_nested_on_a_thread_and_the_ops_that_events_name():
    host = ops("""
    plane 0 "/host:CPU"
      line 1 a @5us
        0us +100us "outer:Outer"
        10us +30us traceme
        20us +10us "inner:Inner"
        50us +0us MemoryAllocation {tf_op="inner"}
        60us +20us "inner:Inner"
      line 2 b
        0us +5us nothing
      line 3735928559 derived
        0us +50us "outer:Outer"
    """)
    assert shown(host) == [("inner", "Inner", 3, 30, 30), ("outer", "Outer", 1, 100, 70)]
    assert (host.ops.total_ps, host.ops.idle_ps) == (100 * US, 0)


@pytest.mark.parametrize(
    ("event", "declares"),
    [('foo {tf_op="a"}', True), ("foo {_ipl_stage_id=5}", True), ('"MatMul:MatMul"', True), ("foo {x=1}", False)],
)
def test_a_host_declares_ops_by_a_name_a_stage_or_an_op(event, declares):
    plane = load(np.frombuffer(build(f'plane 0 "/host:CPU"\nline 1 a\n0us +9us {event}'), np.uint8)).planes[0]
    assert declares_ops(plane) is declares


def test_an_op_that_another_outlives_is_lost():
    host = ops('plane 0 "/host:CPU"\nline 1 a\n0us +10us "a:A"\n5us +10us "b:B"\n20us +5us "a:A"')
    assert shown(host) == [("a", "A", 2, 15, 15)]
    assert host.ops.total_ps == 25 * US


def test_the_time_of_a_thread_is_at_least_the_self_time_of_its_ops() -> None:
    """b outlives a and is lost, with the time of c that it would take from a."""
    host = ops('plane 0 "/host:CPU"\nline 1 a\n0us +10us "a:A"\n1us +10us "b:B"\n2us +7us "c:C"')
    assert shown(host) == [("a", "A", 1, 10, 10), ("c", "C", 1, 7, 7)]
    assert (host.ops.total_ps, host.ops.idle_ps) == (17 * US, 0)
    # Of another thread it is the 33 us from its first op to its last.
    two = 'line 1 a\n0us +10us "a:A"\n1us +10us "b:B"\n2us +7us "c:C"\nline 2 b\n5us +2us "d:D"\n35us +3us "d:D"'
    host = ops(f'plane 0 "/host:CPU"\n{two}')
    assert (host.ops.total_ps, host.ops.idle_ps) == (50 * US, 28 * US)


def test_a_thread_without_ops_has_no_idle_time_and_eager_is_any_run():
    host = ops('plane 0 "/host:CPU"\nline 1 a\n0us +10us "a:A"\n10us +10us "a:A"\nline 2 b\n0us +90us x', np.array([1]))
    assert (host.ops.total_ps, host.ops.eager.tolist()) == (20 * US, [True])


def test_events_beside_input_stages_are_no_ops_of_theirs():
    host = ops("""
    plane 0 "/host:CPU"
      line 1 a
        0us +10us "grain read" {_ipl_stage_id=7, _ipl_stage_cat="read"}
        20us +10us "grain map" {_ipl_stage_id=8, _ipl_stage_cat="map"}
        40us +5us traceme
        50us +5us "a:A"
    """)
    assert shown(host) == [("a", "A", 1, 5, 5), ("grain map", "map", 1, 10, 10), ("grain read", "read", 1, 10, 10)]


@pytest.mark.parametrize(
    ("stage", "kept"),
    [('{_ipl_stage_id=7, _ipl_stage_cat="read"}', ["grain read", "a:A", "traceme"]), ("", ["a:A"])],
)
def test_beside_input_stages_every_event_may_be_an_op(stage, kept):
    lines = f'line 1 a\n0us +10us "grain read" {stage}\n20us +5us "a:A"\n30us +5us traceme'
    space = load_lazily(np.frombuffer(build(f'plane 0 "/host:CPU"\n{lines}'), np.uint8))
    plane = ops_only(space, host_plane(space))
    assert [plane.event_metadata.names[row] for row in plane.events.metadata.tolist()] == kept


def test_input_stages_are_ops_by_their_id():
    host = ops("""
    plane 0 "/host:CPU"
      line 1 a
        0us +10us "grain read" {_ipl_stage_id=7, _ipl_stage_cat="read"}
        20us +10us "grain read" {_ipl_stage_id=7, _ipl_stage_cat="read"}
        40us +5us odd {_ipl_stage_id=8}
    """)
    assert shown(host) == [("grain read", "read", 2, 20, 20)]
    assert host.ops.module == (7,)


def test_ids_of_input_stages_and_of_event_metadata_are_the_same_numbers():
    """As in XProf. Metadata is numbered from 1: foo, bar:Bar, grain read, grain map, grain late, ..."""
    host = ops("""
    plane 0 "/host:CPU"
      line 1 a
        0us +10us foo
        10us +10us "bar:Bar"
        20us +10us "grain read" {_ipl_stage_id=1, _ipl_stage_cat="read"}
        30us +10us "grain map" {_ipl_stage_id=2}
        40us +10us "grain late" {_ipl_stage_id=9}
        50us +10us "grain late" {_ipl_stage_id=9, _ipl_stage_cat="preprocessing"}
        60us +10us "" {_ipl_stage_id=11, _ipl_stage_cat="read"}
        70us +10us other {_ipl_stage_id=12, _ipl_stage_cat=7}
        80us +10us "baz:Baz" {_ipl_stage_id=77}
        90us +10us "baz:Baz"
    """)
    assert sorted(
        zip(host.ops.name, host.ops.category, host.ops.module, host.ops.occurrences.tolist(), strict=True)
    ) == [
        ("bar", "Bar", 0, 2),  # and the stage 2 without a category of its own
        ("baz", "Baz", 0, 1),
        ("grain late", "preprocessing", 9, 2),
        ("grain read", "read", 1, 2),  # and foo
        ("other", "", 12, 1),
    ]


def test_infeed_enqueues_that_follow_each_other():
    one = "InfeedEnqueueTuple:InfeedEnqueueTuple"
    host = ops(f'plane 0 "/host:CPU"\nline 1 a\n0us +10us "{one}"\n40us +20us "{one}"\n90us +5us "{one}"')
    assert host.infeed == InfeedEnqueue(30 * US, 90 * US)
    both = combine_host_ops([host, host])
    assert (both.infeed.distance_ps, both.ops.occurrences.tolist()) == (180 * US, [6])


def test_infeed_enqueues_follow_each_other_on_their_thread_only() -> None:
    one = "InfeedEnqueueTuple:InfeedEnqueueTuple"
    line = "line {0} t{0}\n{1}us +5us " + f'"{one}"'
    pair = f'{line.format(2, 10)}\n30us +7us "{one}"'
    assert ops(f'plane 0 "/host:CPU"\n{pair}').infeed == InfeedEnqueue(5 * US, 20 * US)
    several = ops("\n".join(['plane 0 "/host:CPU"', line.format(1, 0), pair, line.format(3, 50)]))
    assert several.infeed == InfeedEnqueue(5 * US, 20 * US)
    assert ops(f'plane 0 "/host:CPU"\n{line.format(1, 0)}').infeed == InfeedEnqueue()


def test_a_stage_is_no_other_op_and_its_id_has_64_bits() -> None:
    host = ops("""
    plane 0 "/host:CPU"
      line 1 a
        0us +10us "a:A" {_ipl_stage_id=-1, _ipl_stage_cat="read"}
        20us +5us "b:B"
    """)
    assert shown(host) == [("a:A", "read", 1, 10, 10), ("b", "B", 1, 5, 5)]
    assert sorted(host.ops.module) == [0, 2**64 - 1]


def test_ops_are_eager_each_for_itself() -> None:
    host = ops('plane 0 "/host:CPU"\nline 1 a\n0us +10us "a:A"\n10us +10us "b:B"\n30us +10us "a:A"', np.array([1]))
    assert dict(zip(host.ops.name, host.ops.eager.tolist(), strict=True)) == {"a": False, "b": True}


def test_the_functions_that_cost_most_come_first() -> None:
    functions = [TfFunction("a", 1, 100, 20), TfFunction("b", 1, 100, 19), TfFunction("c", 1, 100, 50)]
    assert [one.name for one in expensive_functions(functions)] == ["c", "a"]
    assert [one.expensive_share for one in functions] == [0.2, 0.19, 0.5]
    assert TfFunction("d", 1, 0, 0).expensive_share == 0


def test_enqueuing_in_a_small_share_of_the_time_leaves_the_rest_unclassified():
    text = 'plane 0 "/host:CPU"\nline 1 a\n0us +90us "MEMCPYHtoD"'
    found = input_breakdown(ops(text), 0.02)
    assert (found.enqueue_us, found.unclassified_us) == (90.0, pytest.approx(4410.0))
    assert not found.uses_dataset
    assert [InputBreakdown(**{f"{kind}_us": 1.0}).uses_dataset for kind in
            ("demanded_read", "advanced_read", "preprocessing", "enqueue")] == [True, True, True, False]  # fmt: skip
    assert input_breakdown(HostOps(OpTable()), 0.5).ops == ()


def test_reading_and_preprocessing_are_scaled_to_what_is_not_enqueuing():
    text = """
    plane 0 "/host:CPU"
      line 1 a
        0us +10us Iterator::TFRecord
        20us +20us Iterator::Prefetch::TFRecord
        60us +30us Iterator::Map
        100us +20us MEMCPYHtoD
    """
    plain = input_breakdown(ops(text), 0.0)
    shown_us = (plain.demanded_read_us, plain.advanced_read_us, plain.preprocessing_us, plain.enqueue_us)
    assert shown_us == pytest.approx((10, 20, 30, 20))
    assert [(op.name, op.category) for op in plain.ops][:2] == [
        ("Iterator::Map", "Preprocessing"),
        ("Iterator::Prefetch::TFRecord", "Advanced file read"),
    ]
    assert plain.ops[0].self_share == pytest.approx(30 / 80)
    scaled = input_breakdown(ops(text), 0.5)
    assert (scaled.demanded_read_us, scaled.preprocessing_us) == pytest.approx((20 / 6, 10))
    assert scaled.unclassified_us == 0.0


def test_infeed_enqueues_tell_the_share_of_enqueuing():
    one = "InfeedEnqueueTuple:InfeedEnqueueTuple"
    line = f'line 1 a\n0us +10us "{one}"\n40us +20us "{one}"\n90us +5us "{one}"\n100us +10us Iterator::TFRecord'
    found = input_breakdown(ops(f'plane 0 "/host:CPU"\n{line}'), 0.9)
    # 30 of 90 us, so that the rest takes twice as long as all enqueuing.
    assert (found.enqueue_us, found.demanded_read_us) == pytest.approx((35, 70))
    assert [(op.count, op.time_share) for op in found.ops] == [(3, pytest.approx(35 / 45)), (1, pytest.approx(10 / 45))]


def test_functions_that_trace_again_and_again():
    text = """
    plane 0 "/host:CPU"
      line 1 a
        0us +100us f {tf_function_call="traced-nonXla", tracing_count=1}
        10us +40us g {tf_function_call="notTraced-nonXla", tracing_count=1}
        200us +100us f {tf_function_call="notTraced-nonXla", tracing_count=1}
    """
    found = summary(text).functions
    assert [(f.name, f.calls, f.self_ps // US, f.expensive_ps // US) for f in found] == [
        ("f", 2, 160, 60),
        ("g", 1, 40, 0),
    ]
    assert [f.name for f in expensive_functions(found)] == ["f"]
    assert combine_functions([found, found])[0] == TfFunction("f", 4, 320 * US, 120 * US)
