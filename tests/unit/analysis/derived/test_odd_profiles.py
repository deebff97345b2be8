"""Preprocessing of profiles that no profiler writes: it may say anything, but it ends and does not fail."""

from __future__ import annotations

from typing import Any

from builders.messages import XSpace
from builders.rings import many
from builders.shown import profile
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.columns import load

PLANES = ("/host:CPU", "/device:TPU:0", "/device:TPU:0 SparseCore 0", "/device:GPU:0", "/host:metadata", "odd")
LINES = ("Steps", "XLA Modules", "XLA Ops", "Sparse Core Steps", "Stream #1(Compute)", "")
EVENTS = ("train", "TraceContext", "ExecutorState::Process", "ThreadpoolListener::StartRegion", "EagerExecute", "a:B",
          "ThreadpoolListener::StopRegion", "DoEnqueueProgram", "copy-start.1 S(5)", "copy-done.1 S(5)")  # fmt: skip
STATS = ("_r", "_pt", "_p", "_ct", "_c", "_pid", "_a", "id", "iter_num", "step_num", "graph_type", "group_id", "flow",
         "run_id", "queue_id", "device_ordinal", "correlation_id", "device_id", "kernel_details", "hlo_op", "tf_op",
         "hlo_module", "source", "step_name", "device_offset_ps", "device_duration_ps", "process_id",
         "is_func")  # fmt: skip
NUMBERS = st.sampled_from([0, 1, 2, -1, 2**31, 2**62, -(2**63), 2**63 - 1])
VALUES = st.one_of(NUMBERS, st.sampled_from(["", "x", "a/b:C", "a::b"]), st.just(0.5))
STAT = st.tuples(st.integers(0, len(STATS) - 1), VALUES)
EVENT = st.tuples(st.integers(0, len(EVENTS) - 1), NUMBERS, NUMBERS, st.lists(STAT, max_size=5))
LINE = st.tuples(st.sampled_from(LINES), NUMBERS, st.lists(EVENT, max_size=8))
PLANE = st.tuples(st.sampled_from(PLANES), st.lists(LINE, max_size=4), st.lists(STAT, max_size=2))


def add_stats(owner: Any, stats: list[tuple[int, Any]]) -> None:
    kinds = {int: "int64_value", str: "str_value", float: "double_value"}
    for number, value in stats:
        owner.stats.add(metadata_id=number, **{kinds[type(value)]: value})


@settings(max_examples=many(37, 150), deadline=None)
@given(st.lists(PLANE, max_size=4), st.booleans())
def test_any_profile_is_preprocessed(planes: list[Any], derive: bool) -> None:
    space = XSpace()
    for name, lines, stats in planes:
        plane = space.planes.add(name=name)
        for number, text in enumerate(STATS):
            plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, text
        for number, text in enumerate(EVENTS):
            entry = plane.event_metadata[number]
            entry.id, entry.name, entry.display_name = number, text, text.partition(" ")[0]
        add_stats(plane, stats)
        for line_name, line_id, events in lines:
            line = plane.lines.add(name=line_name, id=line_id)
            for metadata, offset, duration, event_stats in events:
                event = line.events.add(metadata_id=metadata, offset_ps=offset, duration_ps=duration)
                add_stats(event, event_stats)
    columns = load(space.SerializeToString())
    result = preprocess(columns, derive=derive)
    assert len(result.planes) == len(columns.planes)
    for plane, extras in zip(columns.planes, result.planes, strict=True):
        assert extras.group_id is None or len(extras.group_id) == len(plane.events)
        for line in extras.lines:
            assert len(line.begin_ps) == len(line.duration_ps) == len(line.metadata) > 0
            assert len(line.names) == len(line.display_names) > int(line.metadata.max())


def test_groups_of_an_earlier_preprocessing_are_kept() -> None:
    grouped = 'plane 0 "/host:CPU"\nline 1 a\n0us +1us x {group_id=3, is_eager=1}\n1us +1us y {is_eager=0}\n2us +1us z'
    found = preprocess(profile(f'{grouped}\nplane 1 "Task Environment"')).planes[0]
    assert found.group_id is not None
    assert found.group_id.tolist() == [3, -1, -1]
    assert (found.eager_event.tolist(), found.eager_value.tolist()) == ([0, 1], [1, 0])
