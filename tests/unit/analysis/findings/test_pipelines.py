"""The transformation of a tf.data pipeline that the program waits for, of typed-in pipelines and times."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN, HostBlame
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, COMPUTE, IDLE_INPUT, INPUT_COPY
from tpu_profile_plugin.analysis.findings.evidence.host import pipelines
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import (
    PipelineOps,
    Slowest,
    input_time,
    passes,
    pipeline_ops,
    slowest_stage,
)
from tpu_profile_plugin.analysis.tf_data import BottleneckFacts, Iterator, IteratorTimes, Pipeline, Run, Settings, Stage

HOST = """
plane 1 "/host:CPU"
line 1 main
0 +100 "Map:Skipped"
0 +10 "Iterator::Root::Repeat[0]"
20 +10 "Iterator::Root::Repeat[2]::Map"
40 +10 "Iterator::Repeat[12] "
60 +10 "Root::Repeat[99]"
line 2 tf_data_private/1
0 +7 "map:PyFunc"
10 +20 "Decode:DecodeJpeg"
40 +5 "a:b:Other"
50 +3 "x:EagerPyFunc"
line 3 tf_data_2
0 +9 "map:PyFunc"
20 +10 "Decode:DecodeJpeg"
60 +0 "Zero:Zero"
70 +8 "no:lower"
"""


def plane_of(text: str) -> Any:
    return profile(text).planes[0]


def test_ops_on_threads_of_pipelines():
    found = pipeline_ops(plane_of(HOST))
    assert found == PipelineOps(7 + 20 + 3 + 9 + 10, "DecodeJpeg", 30, 19)
    assert found is not None
    assert (found.python_share, found.most_share) == (19 / 49, 30 / 49)
    assert pipeline_ops(plane_of('plane 1 "/host:CPU"\nline 1 worker\n0 +5 "map:PyFunc"')) is None


def test_how_often_the_data_was_begun():
    assert passes(plane_of(HOST)) == 13
    assert passes(plane_of('plane 1 "/host:CPU"\nline 1 main\n0 +5 "Iterator::Root"')) == 0


def waiting(*rows: tuple[int, int], beside: tuple[int, int] = (0, 0), text: str = HOST, on_cpus: bool = True) -> Any:
    """A host with this idle time by part, of which pipelines take some of the computation in and between steps."""
    part, ps = np.array(rows, np.int64).reshape(-1, 2).T
    taken = np.zeros(len(CATEGORIES) + 1, np.int64)
    taken[[COMPUTE, -1]] = beside
    blame = HostBlame(part, np.full(len(part), -1), np.full(len(part), -1), ps, step=np.full(len(part), -1))
    plane = plane_of(text) if text else None
    return SimpleNamespace(blame=blame, plane=plane, on_cpus=on_cpus, beside=lambda times: taken, derived={})


WAITS = ((IDLE_INPUT, 600), (COMPUTE, 5000), (INPUT_COPY, 300), (IDLE_INPUT + BETWEEN, 100))


@pytest.mark.parametrize(
    ("host", "ps", "counts"),
    [
        (waiting(*WAITS, beside=(40, 11)), {IDLE_INPUT: 600, INPUT_COPY: 300, COMPUTE: 40, BETWEEN: 111}, True),
        (waiting(*WAITS, beside=(40, 10)), {IDLE_INPUT: 600, INPUT_COPY: 300, COMPUTE: 40, BETWEEN: 110}, False),
        (waiting(*WAITS, beside=(400, 0), on_cpus=False), {IDLE_INPUT: 600, INPUT_COPY: 300, BETWEEN: 100}, False),
        (waiting(*WAITS, beside=(400, 0), text=""), {IDLE_INPUT: 600, INPUT_COPY: 300, BETWEEN: 100}, False),
        (
            waiting(*WAITS, beside=(400, 0), text='plane 1 "/host:CPU"\nline 1 main\n0 +5 f'),
            {IDLE_INPUT: 600, INPUT_COPY: 300, BETWEEN: 100},
            False,
        ),
    ],
)
def test_waits_for_input_with_what_pipelines_take_of_cpus(host, ps, counts):
    """From more than a twentieth of the waits on it counts: 50 of 1000."""
    found, more = input_time(host)
    assert {part: time for part, time in enumerate(found.tolist()) if time} == ps
    assert more is counts


def stage(name: str, **settings: Any) -> Stage:
    return Stage(name, f"the {name}", Settings(**settings))


def times(name: str, self_ps: int) -> IteratorTimes:
    return IteratorTimes(Iterator(1, 0, name, name, ""), 0, 50, self_ps, 1, blocking=True)


def run_of(name: str, begin: int, duration: int, self_ps: int, bottleneck: int | None = 1) -> Run:
    return Run(begin, duration, (times("Root", 0), times(name, self_ps)), 0, bottleneck)


ROOT = Iterator(1, 0, "Root", "Iterator::Root", "")
MAP = Pipeline(
    "Host:0", False, ROOT, 10, 0, 0, 60, 0,
    (run_of("ParallelMapV2", 100, 50, 40),),
    BottleneckFacts(
        stage("ParallelMapV2", parallelism=1, autotune=False),
        (stage("MemoryCache"), stage("Prefetch", buffer_limit=3), stage("Root", cpu_budget=4)),
    ),
)  # fmt: skip
FACTS = MAP.facts
assert FACTS is not None


@pytest.fixture
def slowest(monkeypatch):
    """What the host's only pipelines are slowed by; `share` of the steps is idle, `part` with what is beside it."""

    def find(
        *known: Pipeline,
        share: float = 0.05,
        waits: int = 0,
        text: str = HOST,
        steps: int | None = None,
        facts: BottleneckFacts | None = None,
        calls: bool = True,
    ) -> Slowest | None:
        plane = plane_of(text)
        monkeypatch.setattr(pipelines, "lost_to", lambda time, part: SimpleNamespace(share=share))
        monkeypatch.setattr(pipelines, "data_calls", lambda space: SimpleNamespace(plane=plane) if calls else None)
        monkeypatch.setattr(pipelines, "summarize_tf_data", lambda space, calls, most: SimpleNamespace(pipelines=known))
        monkeypatch.setattr(pipelines, "bottleneck_facts", lambda space, plane, asked: [facts])
        host = waiting((IDLE_INPUT, waits))
        host.time = SimpleNamespace(base_ps=1000, cells=4)
        host.space, host.steps = None, None if steps is None else range(steps)
        return slowest_stage(host)

    return find


def test_the_slowest_transformation(slowest):
    found = slowest(MAP)
    expected = Slowest(
        "Host:0", 10, 60, (100, 150), "ParallelMapV2", "the ParallelMapV2", 0.8, 1, alone=True, late=False,
        autotune=False, cpus=4, cached=True, buffer=3, passes=13, ops=PipelineOps(49, "DecodeJpeg", 30, 19),
    )  # fmt: skip
    assert found == expected
    assert (found.shown, found.python_share, found.is_buffer) == ("ParallelMapV2 (the ParallelMapV2)", 19 / 49, False)
    assert replace(found, dataset="").shown == "ParallelMapV2"
    assert replace(found, ops=None).python_share == 0
    assert replace(found, ops=None, name="Generator").python_share == 1
    assert [replace(found, name=name).is_buffer for name in ("Prefetch", "Root", "Rooted", "Map")] == [
        *(True, True, False, False),
    ]
    bare = replace(MAP, facts=BottleneckFacts(stage("MapV2"), (stage("Batch"),)), runs=(run_of("MapV2", 100, 0, 40),))
    found = slowest(bare, text=f'{HOST}line 5 more\n0 +5 "Iterator::Root::MemoryCache"')
    assert found == replace(
        expected, window=(100, 100), name="MapV2", dataset="the MapV2", share=1.0, parallelism=None, late=True,
        autotune=None, cpus=None, cached=False, buffer=None, caches=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "waits", "looks"), [(0.05, 0, True), (0.0499, 199, False), (0.0499, 200, True), (0.0499, 201, True)]
)
def test_enough_time_waits_for_input(slowest, share, waits, looks):
    """From a twentieth of the steps on, or of their time with what pipelines take: 200 of 4 times 1000."""
    assert (slowest(MAP, share=share, waits=waits) is not None) == looks


def test_hosts_without_a_known_bottleneck(slowest):
    assert slowest() is None
    assert slowest(replace(MAP, is_device=True)) is None
    assert slowest(replace(MAP, facts=None)) is None
    assert slowest(MAP, calls=False) is None
    host = waiting((IDLE_INPUT, 10**9), text="")
    host.time = SimpleNamespace(base_ps=1000, cells=4)
    assert slowest_stage(host) is None


def test_the_pipeline_with_most_time_counts(slowest):
    """Its calls take 600 altogether, those of the others less, one at a time longer."""
    others = replace(MAP, name="Host:1", calls=1, mean_ps=599), replace(MAP, name="Host:2", calls=599, mean_ps=1)
    found = slowest(others[0], MAP, others[1], replace(MAP, name="TPU:0", is_device=True, calls=99))
    assert found.pipeline == "Host:0"


@pytest.mark.parametrize(
    ("name", "settings", "alone"),
    [
        ("ParallelMapV2", {"parallelism": 1, "autotune": False}, True),
        ("ParallelMapV2", {"parallelism": 2, "autotune": False}, False),
        ("ParallelMapV2", {"parallelism": 1, "autotune": True}, False),
        ("ParallelMapV2", {"parallelism": 1}, False),
        ("MapAndBatch", {"parallelism": 1, "autotune": False}, True),
        ("Map", {}, True),
        ("InterleaveV4", {}, True),
        ("MapVertices", {}, False),
        ("Batch", {"parallelism": 1, "autotune": False}, False),
    ],
)
def test_transformations_that_work_on_one_element_at_a_time(slowest, name, settings, alone):
    assert slowest(replace(MAP, facts=replace(FACTS, own=stage(name, **settings)))).alone is alone


@pytest.mark.parametrize(
    ("own", "consumers", "late"),
    [
        ("Map", ("Root",), True),
        ("Map", ("Batch", "Prefetch", "Root"), False),
        ("Map", ("ParallelBatch", "Root"), False),
        ("Prefetch", ("Root",), False),
        ("PrefetchX", (), False),
    ],
)
def test_elements_that_nothing_prefetches(slowest, own, consumers, late):
    facts = BottleneckFacts(stage(own), tuple(stage(name) for name in consumers))
    assert slowest(replace(MAP, facts=facts)).late is late


@pytest.mark.parametrize(("steps", "made", "remade"), [(3, 2, True), (4, 2, False), (2, 2, False), (None, 2, False)])
def test_most_steps_make_the_iterator_anew(slowest, steps, made, remade):
    text = HOST + "line 7 more\n" + "\n".join(f'{10 * i} +5 "MakeIterator::RootDataset"' for i in range(made))
    assert slowest(MAP, text=text, steps=steps).remade is remade


def test_the_longest_call_that_waits_for_more_than_a_buffer(slowest):
    """The first calls find elements that were prepared before the recording began."""
    buffer = BottleneckFacts(stage("Prefetch"), (stage("Root"),))
    first, second, third = (run_of("Prefetch", 10 * i, 50, 20) for i in range(3))
    runs = first, replace(second, bottleneck=None), third, run_of("MapV2", 500, 40, 10), run_of("Batch", 700, 30, 30)
    pipeline = replace(MAP, facts=buffer, runs=runs)
    found = slowest(pipeline, facts=BottleneckFacts(stage("MapV2")))
    assert (found.name, found.window, found.share) == ("MapV2", (500, 540), 0.25)
    for kept in (slowest(pipeline, facts=None), slowest(replace(pipeline, runs=runs[:3]), facts=FACTS)):
        assert (kept.name, kept.window, kept.share) == ("Prefetch", (0, 50), 0.4)


def test_the_calls_of_a_pipeline_stay_as_they_are():
    """Another call comes first, the rest in their order."""
    runs = (
        run_of("Prefetch", 0, 50, 20),
        run_of("Prefetch", 10, 50, 20),
        run_of("MapV2", 500, 40, 10),
        run_of("X", 7, 3, 1),
    )
    pipeline = replace(MAP, facts=BottleneckFacts(stage("Prefetch")), runs=runs)
    asked = []
    host: Any = SimpleNamespace(space=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines, "bottleneck_facts", lambda space, plane, of: asked.extend(of) or [FACTS])
        found = pipelines._told(host, None, pipeline)
    assert found.runs == asked[0].runs == (runs[2], runs[0], runs[1], runs[3])
    assert found.facts is FACTS
