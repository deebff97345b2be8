"""Advice about pipelines of tf.data: what the program has done already is not advised again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders.profiles.planted import evidence, finding, tf_loop

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import Slowest
from tpu_profile_plugin.analysis.findings.rules.data.tf_data_advice import (
    advice_of,
    faulty,
    in_turn,
    of_stage,
    stage_share,
)
from tpu_profile_plugin.analysis.ops.pipeline_ops import PipelineOps

MAP = Slowest(
    "Host:0", 4, 10**9, (0, 10**9), "ParallelMapV2", "", 1.0, 4, alone=False, late=False, autotune=True, cpus=4
)


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, ["works on 4 elements at once, and the processors are the limit", "If epochs repeat", "write cache()"]),
        ({"cpus": 5}, ["work on 4 elements at once, of 5 that the processors allow", "later recording"]),
        ({"cpus": None}, ["works on 4 elements at once: make its function cheaper"]),
        ({"autotune": False, "cpus": 5}, ["now 4, to tf.data.AUTOTUNE"]),
        ({"autotune": False, "cpus": None}, ["now 4, to tf.data.AUTOTUNE"]),
        ({"autotune": False}, ["and the processors are the limit"]),
        ({"parallelism": 1, "cpus": 1}, ["works on 1 element at once, and the processors are the limit"]),
        ({"late": True}, ["End the pipeline with prefetch(tf.data.AUTOTUNE)"]),
        ({"alone": True}, ["Give the Dataset.map behind ParallelMapV2 num_parallel_calls=tf.data.AUTOTUNE."]),
        ({"passes": 1}, ["If epochs repeat"]),
        ({"passes": 2}, ["Each pass over the data repeats this work: write cache() behind it"]),
        ({"cached": True, "caches": True, "passes": 2}, ["A cache() follows", "record a later one"]),
        ({"caches": True, "passes": 2}, ["make its function cheaper"]),
        ({"name": "Generator", "parallelism": None, "late": True}, ["a Python generator, one at a time", "prefetch"]),
    ],
)
def test_by_the_recorded_settings(settings, parts):
    advice = advice_of(replace(MAP, **settings)).general
    assert all(part in advice for part in parts)
    assert ("prefetch" in advice) == bool(settings.get("late"))
    asks = settings.get("alone") or (settings.get("autotune") is False and settings.get("cpus", 4) != 4)
    assert ("num_parallel_calls" in advice) == bool(asks)
    assert ("If epochs repeat" in advice) == (
        not any(settings.get(name) for name in ("late", "alone", "caches")) and settings.get("passes", 0) < 2
    )


def mapped(python_us, rest_us, thread="tf_data_private_threadpool/12", root=""):
    """A parallel map behind a prefetch; its function's ops in each step."""
    wait = 400
    path = "Iterator::Root"
    main = [f"0 {wait} IteratorGetNextOp::DoCompute", f'0 {wait} {path} {{id=1, name=&"root", cpu_budget=2}}']
    for number, (kind, stats) in enumerate(
        (("Prefetch", ', buffer_limit=3, autotune="true"'), ("ParallelMapV2", ', parallelism=2, autotune="true"')), 2
    ):
        path += f"::{kind}"
        main.append(f'0 {wait} {path} {{id={number}, parent_id={number - 1}, name=&"{kind}:{number}"{stats}}}')
    lines = [f'line 9 "{thread}"']
    for step in range(4):
        lines.append(f"{1000 * step}us +{python_us}us PyFunc:PyFunc")
        lines.append(f"{1000 * step + python_us}us +{rest_us}us resize/ResizeBicubic:ResizeBicubic")
        lines.append(f"{1000 * step + 990}us +1us {path}::ForeverRepeat[{root}]::TensorSlice" if root else "")
    return tf_loop("\n".join(main), "400 600 dense/MatMul:MatMul", other="\n".join(lines))


@pytest.mark.parametrize(("python_us", "named"), [(149, False), (150, True), (151, True)])
def test_a_python_function_that_takes_half_of_the_work_is_named(python_us, named):
    found = finding("input_bound", mapped(python_us, 300 - python_us))
    assert found["title"].endswith("the slowest transformation is the Python function of ParallelMapV2") == named
    assert ("Write what the Python function" in found["advice"]) == named
    assert ("If it waits, for files or the network, set num_parallel_calls" in found["advice"]) == named
    assert "prefetch" not in found["advice"]


def test_settings_and_ops_are_shown():
    shown = evidence(finding("input_bound", mapped(100, 200)))
    assert shown["Elements processed at once, chosen by tf.data"] == 2
    assert shown["Processors that tf.data may use"] == 2
    assert shown["Batches that prefetch holds"] == 3
    assert shown["ResizeBicubic, of the op time of input pipelines"] == pytest.approx(66.667, abs=0.001)
    assert "Passes over the data begun so far" not in shown


def test_ops_of_threads_that_the_model_uses_as_well_tell_nothing():
    found = finding("input_bound", mapped(300, 0, thread="tf_Compute/12"))
    assert "the slowest transformation is ParallelMapV2" in found["title"]
    assert not any("op time of input pipelines" in label for label in evidence(found))


@pytest.mark.parametrize(("last", "again"), [("0", False), ("1", True), ("7", True)])
def test_data_that_is_begun_again(last, again):
    found = finding("input_bound", mapped(100, 200, root=last))
    assert ("Each pass over the data repeats this work" in found["advice"]) == again
    assert evidence(found).get("Passes over the data begun so far") == (int(last) + 1 if again else None)


def test_a_generator_of_keras_has_workers():
    generator = advice_of(replace(MAP, name="Generator"))
    assert generator.of([TENSORFLOW], keras=True).startswith("Give a keras.utils.PyDataset workers")
    assert generator.of([TENSORFLOW]).startswith("The elements come from a Python generator")
    assert not advice_of(MAP).keras


def test_a_pipeline_with_a_cache_is_not_told_to_cache():
    advice = advice_of(replace(MAP, caches=True, passes=9)).general
    assert "cache()" not in advice


def test_a_buffer_is_no_cause():
    for name in ("Prefetch", "Root"):
        advice = advice_of(replace(MAP, name=name, parallelism=None, passes=9)).general
        assert advice.startswith(f"The profile does not show what {name} waited for")
        assert "cache()" not in advice


@pytest.mark.parametrize(
    ("settings", "turns"),
    [
        ({}, False),
        ({"alone": True}, True),
        ({"late": True}, True),
        ({"alone": True, "share": 0.3}, True),
        ({"alone": True, "late": True, "share": 0.2999}, False),
        ({"share": 0.1, "remade": True}, True),
    ],
)
def test_one_element_at_a_time_for_much_of_the_longest_call(settings, turns):
    worst = replace(MAP, **settings)
    assert in_turn(worst) is turns
    buffer = replace(worst, name="Prefetch")
    assert faulty(buffer) is turns
    assert faulty(worst)


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (
            {"share": 0.4, "passes": 2, "buffer": 3, "ops": PipelineOps(8, "Resize", 2, 1)},
            [("Elements processed at once, chosen by tf.data", 4, ""), ("Processors that tf.data may use", 4, ""),
             ("Batches that prefetch holds", 3, ""), ("Passes over the data begun so far", 2, ""),
             ("Mean wait of the program for a batch", 1.0, "ms"),
             ("Resize, of the op time of input pipelines", 25.0, "%"),
             ("Self time of this transformation, of the longest call", 40.0, "%")],
        ),
        (
            {"share": 0.5, "passes": 1, "autotune": False, "cpus": None, "mean_ps": 5 * 10**8},
            [("Elements processed at once, set by the program", 4, ""),
             ("Mean wait of the program for a batch", 0.5, "ms"),
             ("Self time of this transformation, of the longest call", 50.0, "%")],
        ),
        (
            {"parallelism": None, "cpus": None},
            [("Mean wait of the program for a batch", 1.0, "ms"),
             ("Self time of this transformation, of the longest call", 100.0, "%")],
        ),
    ],
)  # fmt: skip
def test_what_is_shown_of_a_transformation(settings, shown):
    worst = replace(MAP, **settings)
    found = [*of_stage(worst, "h0"), stage_share(worst)]
    assert (found[0].value, found[0].query) == ("ParallelMapV2", {"host": "h0"})
    assert [(one.label, one.value, one.unit) for one in found[1:]] == shown
