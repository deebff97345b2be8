"""tf.data pipelines: times, bottlenecks, the way from a bottleneck to the program, boxes of a run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from builders.messages import XSpace
from builders.profiles.tf_data import PREFETCH, SYNCHRONOUS, one_run
from builders.rings import many
from builders.xspace_text import build
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_profile_plugin.analysis import tf_data as run_module
from tpu_profile_plugin.analysis.tf_data import (
    MAX_STAGES,
    Boxes,
    DataCalls,
    Iterator,
    IteratorTimes,
    Run,
    Settings,
    Stage,
    TfData,
    _bounded,
    _chain,
    _merged,
    _stages,
    data_calls,
    events_at,
    run_detail,
    settings_at,
    summarize_tf_data,
)
from tpu_profile_plugin.columns import load

US = 1_000_000


def found(text: str | bytes, rows: int = 1000) -> TfData:
    space = load(text if isinstance(text, bytes) else build(text))
    return summarize_tf_data(space, data_calls(space), rows)


def calls(text: str) -> tuple[Any, DataCalls]:
    space = load(build(text))
    known = data_calls(space)
    assert known is not None
    return space, known


def told(run: Run) -> list[tuple[str, int, int, int, bool]]:
    """Name, total and self time in us, calls, whether blocking."""
    return [
        (one.iterator.name, one.duration_ps // US, one.self_ps // US, one.calls, one.blocking) for one in run.iterators
    ]


def bottleneck(run: Run) -> str | None:
    return None if run.bottleneck is None else run.iterators[run.bottleneck].iterator.name


def test_producers_on_another_thread():
    (pipeline,) = found(PREFETCH).pipelines
    slow, quick = pipeline.runs
    assert told(slow) == [("Prefetch", 100, 20, 1, True), ("Range", 80, 80, 1, True)]
    assert told(quick) == [("Prefetch", 20, 20, 1, True), ("Range", 80, 80, 1, False)]
    assert (bottleneck(slow), bottleneck(quick)) == ("Range", "Prefetch")
    assert (pipeline.min_ps, pipeline.mean_ps, pipeline.max_ps) == (20 * US, 60 * US, 100 * US)
    assert (pipeline.calls, pipeline.slow_calls, pipeline.name, pipeline.is_device) == (2, 1, "Host:0", False)
    assert (pipeline.root.long_name, pipeline.root.dataset) == ("Iterator::Prefetch", "PrefetchDataset:4")
    assert [one.iterator.parent for one in slow.iterators] == [0, 123]
    assert (slow.begin_ps, quick.begin_ps) == (0, 200 * US)


def test_everything_on_one_thread():
    (pipeline,) = found(SYNCHRONOUS).pipelines
    (run,) = pipeline.runs
    assert told(run) == [("Batch", 500, 140, 1, True), ("Map", 360, 280, 4, True), ("TFRecord", 80, 80, 4, True)]
    assert [one.start_ps // US for one in run.iterators] == [0, 10, 10]
    assert bottleneck(run) == "Map"


@pytest.mark.parametrize(
    "kind", ["Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch"]
)
def test_every_asynchronous_transformation_hands_over(kind: str):
    (pipeline,) = found(
        PREFETCH.replace("PrefetchConsume", f"{kind}Consume").replace("PrefetchProduce", f"{kind}Produce")
    ).pipelines
    assert told(pipeline.runs[0])[1] == ("Range", 80, 80, 1, True)


def test_what_lies_between_two_calls_hides_the_inner_one():
    text = one_run(100, '10us +80us "Iterator::Root::Map" {id=2, parent_id=1}', "20us +60us op",
                   '30us +40us "Iterator::Root::Map::Range" {id=3, parent_id=2}')  # fmt: skip
    (pipeline,) = found(text).pipelines
    assert told(pipeline.runs[0]) == [("Root", 100, 20, 1, True), ("Map", 80, 80, 1, True)]


def test_asynchronous_events_neither_enclose_nor_lie_inside():
    text = one_run(100, '10us +80us "Iterator::Root::Map" {id=2, parent_id=1, _a=1}',
                   '20us +60us "Iterator::Root::Range" {id=3, parent_id=1}')  # fmt: skip
    (pipeline,) = found(text).pipelines
    assert told(pipeline.runs[0]) == [("Root", 100, 40, 1, True), ("Range", 60, 60, 1, True)]


def test_ids_are_whole_however_they_are_written():
    big, bigger = 2**63 + 5, 2**64 - 1
    text = one_run(100, f'10us +80us "Iterator::Root::Map" {{id=u{bigger}, parent_id=u{big}}}').replace(
        "id=1}", f"id=u{big}}}"
    )
    (pipeline,) = found(text).pipelines
    assert [(one.iterator.id, one.iterator.parent) for one in pipeline.runs[0].iterators] == [(big, 0), (bigger, big)]
    # The same pattern of bits written with a sign is the same iterator.
    (same,) = found(text.replace(f"parent_id=u{big}", f"parent_id={big - 2**64}")).pipelines
    assert same.runs[0].iterators[1].iterator.parent == big


def test_a_call_must_last_longer_than_50_us_to_be_slow():
    text = "".join(
        f'    {100 * i}us +{ps}ps "Iterator::Root" {{id=1}}\n' for i, ps in enumerate([50 * US, 50 * US + 1])
    )
    (pipeline,) = found(f'plane "/host:CPU"\n  line 1 "main"\n{text}').pipelines
    assert (pipeline.calls, pipeline.slow_calls) == (2, 1)


def test_pipelines_are_named_as_they_are_first_seen():
    text = """
    plane 1 "/host:CPU"
      line 1 "a"
        50us +10us "Iterator::Root" {id=30}
        70us +10us "Iterator::Root" {id=20}
      line 2 "b"
        0us +99us "Iterator::Root" {id=10}
    """
    assert [(one.name, one.root.id) for one in found(text).pipelines] == [
        ("Host:0", 30),
        ("Host:1", 20),
        ("Host:2", 10),
    ]


DEVICES = """
plane 1 "/host:CPU"
  line 1 "a"
    0us +80us "Iterator::Root" {id=1}
    10us +60us "Iterator::Root::Prefetch" {id=2, parent_id=1}
    20us +40us "Iterator::Root::Prefetch::Generator" {id=3, parent_id=2}
    100us +90us "Iterator::Root" {id=5}
    110us +60us "Iterator::Root::Prefetch" {id=6, parent_id=5}
    200us +70us "Iterator::Prefetch" {id=7}
    210us +40us "Iterator::Prefetch::Generator" {id=8, parent_id=7}
"""


def test_pipelines_that_feed_devices_come_last_and_count_on_their_own():
    pipelines = found(DEVICES).pipelines
    assert [(one.name, one.is_device, one.root.id) for one in pipelines] == [
        ("Host:0", False, 5),
        ("Device:0", True, 1),
        ("Device:1", True, 7),
    ]


def test_a_generator_behind_other_transformations_feeds_no_device():
    text = DEVICES.replace("Root::Prefetch::Generator", "Root::Prefetch::FlatMap[0]::Generator")
    assert [one.name for one in found(text).pipelines] == ["Host:0", "Host:1", "Device:0"]


def test_no_time_of_its_own_is_no_bottleneck():
    text = one_run(100, '0us +100us "Iterator::Root::Map" {id=2, parent_id=1}',
                   '0us +60us "Iterator::Root::Map::A" {id=3, parent_id=2}',
                   '60us +40us "Iterator::Root::Map::B" {id=4, parent_id=2}')  # fmt: skip
    run = found(text).pipelines[0].runs[0]
    assert bottleneck(run) == "A"
    empty = found(one_run(0)).pipelines[0]
    assert (empty.runs[0].bottleneck, empty.max_ps) == (None, 0)


def test_of_equal_times_the_smaller_id_is_the_bottleneck():
    text = one_run(100, '0us +50us "Iterator::Root::B" {id=9, parent_id=1}',
                   '50us +50us "Iterator::Root::A" {id=4, parent_id=1}')  # fmt: skip
    assert bottleneck(found(text).pipelines[0].runs[0]) == "A"


def test_rows_are_bounded_and_the_longest_run_of_every_pipeline_is_kept():
    lines = "".join(f'{100 * i}us +{1 + i}us "Iterator::Root" {{id={1 + i % 2}}}\n' for i in range(10))
    few = found(f'plane "/host:CPU"\nline 1 "a"\n{lines}', rows=1)
    assert [[run.duration_ps // US for run in one.runs] for one in few.pipelines] == [[9], [10]]
    more = found(f'plane "/host:CPU"\nline 1 "a"\n{lines}', rows=5)
    assert [[run.duration_ps // US for run in one.runs] for one in more.pipelines] == [[9, 7], [10, 8, 6]]
    assert [one.calls for one in few.pipelines] == [5, 5]


@pytest.mark.parametrize(
    "text",
    [
        "",
        'plane "/host:CPU"',
        'plane "/device:TPU:0"\nline 1 a\n0us +1us "Iterator::Root" {id=1}',
        'plane "/host:CPU"\nline 1 a\n0us +1us "Iterator::Root"',
        'plane "/host:CPU"\nline 1 a\n0us +1us "Iterator::Root::Map" {id=1}',
    ],
)
def test_without_a_call_of_the_program_there_is_nothing(text: str):
    assert found(text) == TfData()


def test_the_summary_travels_between_processes():
    summary = found(PREFETCH)
    assert pickle.loads(pickle.dumps(summary)) == summary
    assert summary.host == "vm"
    assert summary.nbytes < 10_000


def test_one_run_on_a_time_axis():
    space, known = calls(PREFETCH)
    detail = run_detail(space, known, 1, 2000)
    assert [(track.pid, track.tid, track.name) for track in detail.tracks] == [
        (701, 1, "main"),
        (701, 77, "tf_data_prefetch"),
    ]
    boxes = detail.boxes
    assert boxes.iterator.tolist() == [0, 1]
    assert boxes.track.tolist() == [0, 1]
    assert boxes.begin_ps.tolist() == [200 * US, 100 * US]
    assert boxes.duration_ps.tolist() == [20 * US, 80 * US]
    assert boxes.blocking.tolist() == [True, False]
    assert boxes.count.tolist() == [1, 1]
    assert detail.window_ps == (100 * US, 220 * US)
    assert (detail.executions, detail.truncated, detail.cut, detail.unit_ps) == (2, False, False, 60_000)


def test_short_neighbours_become_one_box():
    inner = [f'{i}us +1us "Iterator::Root::Range" {{id=2, parent_id=1}}' for i in range(0, 100, 2)]
    space, known = calls(one_run(100, *inner))
    boxes = run_detail(space, known, 0, 10).boxes
    assert boxes.iterator.tolist() == [0] + [1] * 10
    assert boxes.count.tolist() == [1] + [5] * 10
    assert boxes.begin_ps.tolist() == [0, *(10 * US * i for i in range(10))]
    assert boxes.duration_ps.tolist() == [100 * US, *(9 * US for _ in range(10))]


def boxes(detail: Any) -> list[tuple[int, int, int, int]]:
    """Iterator, begin and duration in us, and how many calls a box stands for."""
    found = detail.boxes
    columns = (found.iterator, found.begin_ps // US, found.duration_ps // US, found.count)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_call_of_a_unit_or_longer_is_a_box_of_its_own():
    inner = [(0, 10), (20, 200), (300, 10), (310, 10), (320, 100), (500, 10), (510, 10)]
    each = [f'{begin}us +{length}us "Iterator::Root::Range" {{id=2, parent_id=1}}' for begin, length in inner]
    space, known = calls(one_run(1000, *each))
    assert boxes(run_detail(space, known, 0, 10)) == [
        (0, 0, 1000, 1),
        *((1, 0, 10, 1), (1, 20, 200, 1), (1, 300, 20, 2), (1, 320, 100, 1), (1, 500, 20, 2)),
    ]


def test_too_many_boxes_are_merged_with_larger_units(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_module, "MAX_BOXES", 3)
    each = [f'{100 * i}us +10us "Iterator::Root::Range" {{id=2, parent_id=1}}' for i in range(10)]
    detail = run_detail(*calls(one_run(1000, *each)), 0, 10)
    # Units of 100, 200 and 400 us leave more than three.
    assert (detail.unit_ps, detail.truncated, detail.executions) == (800 * US, False, 11)
    assert boxes(detail) == [(0, 0, 1000, 1), (1, 0, 710, 8), (1, 800, 110, 2)]


def test_of_boxes_that_cannot_be_merged_the_longest_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_module, "MAX_BOXES", 3)
    each = [f'{100 * i}us +{10 * i}us "Iterator::Root::R{i}" {{id={1 + i}, parent_id=1}}' for i in range(1, 5)]
    detail = run_detail(*calls(one_run(1000, *each)), 0, 10)
    assert (detail.truncated, [(begin, length) for _, begin, length, _ in boxes(detail)]) == (
        True,
        [(0, 1000), (300, 30), (400, 40)],
    )
    assert not run_detail(*calls(one_run(1000, *each[:2])), 0, 10).truncated


def test_calls_nested_a_hundred_thousand_deep():
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    plane.stat_metadata[1].id, plane.stat_metadata[1].name = 1, "id"
    for number, name in ((1, "Iterator::Root"), (2, "Iterator::Root::Map")):
        plane.event_metadata[number].id, plane.event_metadata[number].name = number, name
    line = plane.lines.add(name="main")
    for i in range(100_000):
        event = line.events.add(metadata_id=2 if i else 1, offset_ps=i, duration_ps=200_000 - 2 * i)
        event.stats.add(metadata_id=1, int64_value=i + 1)
    run = found(space.SerializeToString()).pipelines[0].runs[0]
    assert [one.iterator.id for one in run.iterators] == list(range(1, 102))
    assert {one.self_ps for one in run.iterators} == {2}


def test_iterators_that_are_their_own_ancestors():
    text = one_run(100, '10us +80us "Iterator::Root::Map" {id=2, parent_id=3}',
                   '20us +60us "Iterator::Root::Range" {id=3, parent_id=2}',
                   '30us +40us "Iterator::Root::Map" {id=2, parent_id=2}')  # fmt: skip
    (pipeline,) = found(text).pipelines
    assert told(pipeline.runs[0]) == [("Root", 100, 20, 1, True), ("Map", 120, 60, 2, True), ("Range", 60, 20, 1, True)]


def test_negative_durations_count_as_none():
    text = one_run(100, '10us +-80us "Iterator::Root::Map" {id=2, parent_id=1}')
    assert told(found(text).pipelines[0].runs[0])[0] == ("Root", 100, 100, 1, True)
    (pipeline,) = found(text.replace("+100us", "+-100us", 1)).pipelines
    assert (pipeline.min_ps, pipeline.slow_calls) == (0, 0)


def test_the_same_elements_over_and_over():
    """n producers and n consumers of one element: neither n^2 links nor n^2 time."""
    count = 3_000
    main = "".join(
        f'{10 * i}us +10us "Iterator::Root" {{id=1}}\n{10 * i}us +9us PrefetchConsume {{element_id=7}}\n'
        for i in range(count)
    )
    other = "".join(
        f"{10 * i}us +5us PrefetchProduce {{element_id=7}}\n"
        f'{10 * i}us +4us "Iterator::Root::Range" {{id=2, parent_id=1}}\n'
        for i in range(count)
    )
    (pipeline,) = found(f'plane "/host:CPU"\nline 1 a\n{main}line 2 b\n{other}', rows=50).pipelines
    assert pipeline.calls == count
    assert all(told(run) == [("Root", 10, 6, 1, True), ("Range", 4, 4, 1, True)] for run in pipeline.runs)


NAMES = ("Iterator::Root", "Iterator::Prefetch", "Iterator::Root::Map", "Iterator::Root::Prefetch::Generator",
         "Iterator::Prefetch::Generator", "PrefetchProduce", "PrefetchConsume", "MapAndBatchProduce", "op")  # fmt: skip
STATS = ("id", "parent_id", "element_id", "_a", "name")
NUMBERS = st.sampled_from([0, 1, 2, 3, -1, 2**31, 2**62, -(2**63), 2**63 - 1])
TIMES = st.one_of(st.integers(0, 20), NUMBERS)
VALUES = st.one_of(st.integers(0, 3), NUMBERS, st.sampled_from(["", "x"]), st.just(0.5))
STAT = st.tuples(st.integers(0, len(STATS) - 1), VALUES)
EVENT = st.tuples(st.integers(0, len(NAMES)), TIMES, TIMES, st.lists(STAT, max_size=3))


@settings(max_examples=many(37, 150), deadline=None)
@given(st.lists(st.lists(EVENT, max_size=12), max_size=3))
def test_any_profile_has_an_answer(lines: list[Any]) -> None:
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    for number, text in enumerate(STATS):
        plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, text
    for number, text in enumerate(NAMES):
        plane.event_metadata[number].id, plane.event_metadata[number].name = number, text
    kinds = {int: "int64_value", str: "str_value", float: "double_value"}
    for events in lines:
        line = plane.lines.add(name="x")
        for metadata, offset, duration, stats in events:
            event = line.events.add(metadata_id=metadata, offset_ps=offset, duration_ps=duration)
            for number, value in stats:
                event.stats.add(metadata_id=number, **{kinds[type(value)]: value})
    columns = load(space.SerializeToString())
    known = data_calls(columns)
    summary = summarize_tf_data(columns, known, 100)
    for pipeline in summary.pipelines:
        assert 0 <= pipeline.min_ps <= pipeline.mean_ps <= pipeline.max_ps
        assert pipeline.slow_calls <= pipeline.calls
        assert pipeline.runs[0].iterators
    for run in range(0 if known is None else len(known.run)):
        assert known is not None
        detail = run_detail(columns, known, run, 10)
        assert int(detail.boxes.count.sum()) == detail.executions >= 1


def test_what_is_kept_of_more_is_more() -> None:
    few, many = found(one_run(100)), found(PREFETCH)
    assert TfData().nbytes > 0
    assert TfData().nbytes < few.nbytes < many.nbytes
    (_, short), (_, long) = calls(one_run(100)), calls(PREFETCH)
    assert 0 < short.nbytes < long.nbytes


def run_of(parents: dict[int, int], bottleneck: int | None) -> Run:
    times = [
        IteratorTimes(Iterator(id_, parent, f"i{id_}", "", ""), 0, 1, 1, 1, blocking=True)
        for id_, parent in sorted(parents.items())
    ]
    return Run(0, 1, tuple(times), 0, bottleneck)


@pytest.mark.parametrize(
    ("parents", "bottleneck", "expected"),
    [
        ({1: 0, 2: 1, 3: 2, 4: 2}, 2, [3, 2, 1]),
        ({1: 0, 2: 1}, 0, [1]),
        ({1: 0, 2: 1}, None, []),
        # One that is its own parent, a ring, a parent that is not in the profile.
        ({1: 1}, 0, [1]),
        ({1: 2, 2: 1}, 1, [2, 1]),
        ({5: 4}, 0, [5]),
    ],
)
def test_a_chain_goes_up_to_the_root(parents: dict[int, int], bottleneck: int | None, expected: list[int]) -> None:
    assert [times.iterator.id for times in _chain(run_of(parents, bottleneck))] == expected


@pytest.mark.parametrize("stages", [MAX_STAGES - 1, MAX_STAGES, MAX_STAGES + 1])
def test_a_chain_has_so_many_stages_at_most(stages: int) -> None:
    parents = {id_: id_ - 1 for id_ in range(1, stages + 1)}
    assert len(_chain(run_of(parents, stages - 1))) == min(stages, 100)


def boxes_of(*calls: tuple[int, int], iterator: int = 0, track: int = 0, blocking: bool = True) -> Boxes:
    begin, duration = (np.array(column, np.int64) for column in zip(*calls, strict=True))
    same = np.ones(len(calls), np.int64)
    return Boxes(same * iterator, same * track, begin, duration, same.astype(np.bool_) & blocking, same)


def shown(found: Boxes) -> list[tuple[int, int, int]]:
    """(begin, duration, calls)"""
    return list(zip(found.begin_ps.tolist(), found.duration_ps.tolist(), found.count.tolist(), strict=True))


@pytest.mark.parametrize(
    ("calls", "unit", "expected"),
    [
        ([(0, 1), (2, 1), (5, 1)], 1, [(0, 1, 1), (2, 1, 1), (5, 1, 1)]),
        ([(0, 1), (2, 1), (5, 1)], 4, [(0, 3, 2), (5, 1, 1)]),
        ([(0, 4), (4, 3), (6, 1), (8, 1)], 4, [(0, 4, 1), (4, 3, 2), (8, 1, 1)]),
        ([(0, 3), (1, 1), (2, 1)], 4, [(0, 3, 3)]),
        # A call as long as the unit is a box of its own, and the calls around it are not merged across it.
        ([(0, 1), (1, 4), (2, 1), (3, 1)], 4, [(0, 1, 1), (1, 4, 1), (2, 2, 2)]),
    ],
)
def test_short_calls_within_a_unit_are_one_box(calls: list[tuple[int, int]], unit: int, expected: object) -> None:
    assert shown(_merged(boxes_of(*calls), unit)) == expected


@pytest.mark.parametrize("other", [{"iterator": 1}, {"track": 1}, {"blocking": False}])
def test_calls_of_another_kind_are_other_boxes(other: dict[str, int]) -> None:
    first, second = boxes_of((0, 1), (1, 1)), boxes_of((2, 1), (3, 1), **other)
    columns = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in Boxes.__slots__)
    assert shown(_merged(Boxes(*columns), 8)) == [(0, 2, 2), (2, 2, 2)]


@pytest.mark.parametrize(
    ("calls", "unit", "expected"),
    [
        # Two boxes are few enough.
        ([(0, 1), (9, 1)], 1, ([(0, 1, 1), (9, 1, 1)], 1)),
        ([(0, 1), (1, 1), (2, 1), (3, 1)], 1, ([(0, 2, 2), (2, 2, 2)], 2)),
        # As long as the unit is not yet shorter than the unit.
        ([(0, 4), (4, 4), (8, 4)], 4, ([(0, 8, 2), (8, 4, 1)], 8)),
        # Merging ends with the first unit that is longer than every call.
        ([(0, 3), (10, 3), (20, 3)], 1, ([(0, 3, 1), (10, 3, 1), (20, 3, 1)], 4)),
        ([(0, 3), (10, 3), (20, 3)], 0, ([(0, 3, 1), (10, 3, 1), (20, 3, 1)], 4)),
        ([(0, 1 << 62), (1, 1 << 62), (2, 1 << 62)], 1 << 63, ([(i, 1 << 62, 1) for i in range(3)], 1 << 62)),
    ],
)
def test_units_double_until_there_are_few_boxes_or_all_are_shorter(
    calls: list[tuple[int, int]], unit: int, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "MAX_BOXES", 2)
    found, used = _bounded(boxes_of(*calls), unit)
    assert (shown(found), used) == expected


@pytest.mark.parametrize(
    ("stats", "known"),
    [
        ('autotune="true", deterministic="false"', {"autotune": True, "deterministic": False}),
        ("autotune=1, deterministic=u0", {"autotune": True, "deterministic": False}),
        ('autotune="unavailable", deterministic=5', {}),
        ("autotune=1.0", {}),
        ("parallelism=4, buffer_size=u7", {"parallelism": 4, "buffer_size": 7}),
        ("parallelism=0, buffer_size=-3, passed=0, filtered=2", {"passed": 0, "filtered": 2}),
        ("passed=-1, batch_size=1", {"batch_size": 1}),
        ('parallelism="4", batch_size=2.0, other=3', {}),
        ("parallelism=4, parallelism=5", {"parallelism": 4}),
    ],
)
def test_settings_are_those_that_mean_something(stats: str, known: dict[str, Any]) -> None:
    space = load(build(f'plane 1 "/host:CPU"\nline 1 a\n0us +1us other {{parallelism=9}}\n1us +1us x {{{stats}}}'))
    assert settings_at(space, space.planes[0], 1).known() == known


def test_the_first_of_equal_events_is_found() -> None:
    text = """
plane 1 "/host:CPU"
  line 1 a
    0us +1us other {id=1}
    5us +9us Iterator {id=1}
    5us +2us Iterator {id=1}
    5us +2us Iterator {id=2}
    7us +1us Iterator {id=1}
    9us +1us "Iterator::Map" {id=3}
"""
    space = load(build(text))
    plane = space.planes[0]
    wanted = [(1, 7), (2, 5), (1, 5), (3, 9), (1, 9), (4, 5), (2**64 - 1, 5), (1, 20)]
    ids, begins = [one for one, _ in wanted], [begin * US for _, begin in wanted]
    found = events_at(space, plane, ids, ["Iterator"] * 3 + ["Iterator::Map"] * 5, begins)
    assert found == [4, 3, 1, 5, None, None, None, None]
    assert events_at(space, plane, [], [], []) == []


def test_inputs_of_a_stage_are_told_the_longest_first() -> None:
    def times(number: int, parent: int, name: str, duration: int, calls: int) -> IteratorTimes:
        return IteratorTimes(
            Iterator(number, parent, name, f"Iterator::{name}", f"{name}:1"), 0, duration, 0, calls, True
        )

    every = (
        *(times(1, 1, "Root", 100, 1), times(2, 1, "Zip", 90, 2), times(3, 2, "Range", 10, 5)),
        *(times(4, 2, "Map", 60, 7), times(5, 2, "Range", 50, 11)),
    )
    run = Run(0, 100, every, 0, 1)
    settings = Settings(parallelism=3), Settings()
    found = _stages(run, [every[1], every[0]], iter(settings))
    assert found == [
        Stage("Zip", "Zip:1", settings[0], ("Map", "Range"), 2, 23),
        Stage("Root", "Root:1", settings[1], ("Zip",), 1, 2),
    ]


def test_pipelines_beyond_the_most_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f'{100 * i}us +{10 + i}us "Iterator::Root{i}" {{id={i + 1}}}\n' for i in range(5))
    text = f'plane 1 "/host:CPU"\nline 1 main\n{lines}'
    for most, names in ((5, ["Host:0", "Host:1", "Host:2", "Host:3", "Host:4"]), (3, ["Host:2", "Host:3", "Host:4"])):
        monkeypatch.setattr(run_module, "MAX_PIPELINES", most)
        kept = found(text)
        assert ([one.name for one in kept.pipelines], kept.left_out) == (names, 5 - most)
