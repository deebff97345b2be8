"""Sequential pipelines of tf.data: what makes one, and what is told of it."""

from __future__ import annotations

import pytest
from builders.profiles.planted import evidence, finding, findings, reason, tf_loop

ROOT = 'Iterator::Root {id=1, name=&"root"}'


def pipeline(stages, wait=300, more=""):
    """A batch is computed in `wait` us on the main thread by nested stages, `NAME STATS`, outermost first."""
    main = [f"0 {wait} IteratorGetNextOp::DoCompute", f"0 {wait} {ROOT}"]
    name = "Iterator::Root"
    for number, (kind, stats) in enumerate(stages, 2):
        name += f"::{kind}"
        main.append(f'0 {wait} {name} {{id={number}, parent_id={number - 1}, name=&"{kind}:{number}"{stats}}}')
    return tf_loop("\n".join([*main, *filter(None, [more])]), f"{wait} {1000 - wait} dense/MatMul:MatMul")


ALONE = ', parallelism=1, autotune="false"'


@pytest.mark.parametrize(
    ("stages", "how"),
    [
        ([("Prefetch", ""), ("Map", "")], "Map runs one element at a time"),
        ([("Prefetch", ""), ("ParallelMapV2", ALONE)], "ParallelMapV2 runs one element at a time"),
        ([("MapAndBatch", ALONE)], "MapAndBatch runs one element at a time"),
        ([("ParallelMapV2", ', parallelism=4, autotune="false"')], "ParallelMapV2 runs only when the program asks"),
        ([("BatchV2", ""), ("TensorSlice", "")], "TensorSlice runs only when the program asks"),
        ([("Prefetch", ""), ("ParallelMapV2", ', parallelism=1, autotune="true"')], ""),
        ([("Prefetch", ""), ("ParallelMapV2", ', parallelism=2, autotune="false"')], ""),
        ([("Prefetch", ""), ("BatchV2", ""), ("Generator", "")], ""),
    ],
)
def test_what_is_sequential(stages, how):
    (found,) = findings(pipeline(stages))["findings"]
    assert found["id"] == "input_bound"
    assert (how or "; the slowest transformation is") in found["title"]


def test_an_iterator_in_each_step():
    """Whatever runs in it: none of its buffers has been filled."""
    thread = pipeline([("Prefetch", ""), ("ParallelMapV2", ', parallelism=2, autotune="false"')])
    assert "new iterator" not in finding("input_bound", thread)["title"]
    again = pipeline(
        [("Prefetch", ""), ("ParallelMapV2", ', parallelism=2, autotune="false"')],
        more="995 2 MakeIterator::RootDataset",
    )
    found = finding("input_bound", again)
    assert (
        found["title"]
        == "Devices wait 30.0% of the step for input: a new iterator in each step fills its buffers again"
    )
    assert found["advice"].startswith("Call iter(dataset) once")


def test_the_stage_its_settings_and_the_wait():
    found = finding("input_bound", pipeline([("Prefetch", ""), ("ParallelMapV2", ALONE)]))
    assert found["saving_ps_per_step"] == 300 * 10**6
    told = evidence(found)
    assert {label: told[label] for label in list(told)[:2] + list(told)[4:8]} == {
        "Time lost to input, of the step": 30.0,
        "Time lost to input per step": 0.3,
        "Slowest transformation": "ParallelMapV2 (ParallelMapV2:3)",
        "Elements processed at once, set by the program": 1,
        "Mean wait of the program for a batch": 0.3,
        "Self time of this transformation, of the longest call": 100.0,
    }
    tools = {one["tool"] for one in found["evidence"]}
    assert tools > {"time_budget", "tf_data_bottleneck_analysis", "trace_viewer@"}
    assert found["advice"].startswith("Give the Dataset.map behind ParallelMapV2 num_parallel_calls=tf.data.AUTOTUNE.")


@pytest.mark.parametrize(("wait", "fires"), [(49, False), (50, True)])
def test_only_if_the_program_waits(wait, fires):
    assert (finding("input_bound", pipeline([("Map", "")], wait)) is not None) == fires


def test_without_a_pipeline():
    assert "No input events" in reason("input_bound", tf_loop("", "0 900 dense/MatMul:MatMul"))


def test_a_prefetch_whose_elements_were_made_before_is_not_the_cause():
    """The longest call shows only the wait in the buffer: its batch was begun before the recording."""
    lines = pipeline([("Prefetch", ""), ("Map", "")]).splitlines()
    of_first = [line.startswith("0us +300us") for line in lines]
    kept = [
        line.replace("0us +300us", "0us +350us") if first else line
        for line, first in zip(lines, of_first, strict=True)
        if not (first and "Map" in line)
    ]
    assert len(kept) == len(lines) - 1
    assert "Map runs one element at a time" in finding("input_bound", "\n".join(kept))["title"]
