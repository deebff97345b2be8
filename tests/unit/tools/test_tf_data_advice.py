"""Advice for tf.data bottlenecks: what is recorded about them decides what to write."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_profile_plugin.analysis.tf_data import BottleneckFacts, Settings, Stage
from tpu_profile_plugin.tools.data.iterator_advice import Guide, advice_for


def first_step(name: str, cpus: int | None = None, *, consumers: tuple[Stage, ...] = (), **more: Any) -> str:
    """The first suggestion for a bottleneck with the given settings, inputs and dataset name."""
    own = {key: more.pop(key) for key in ("inputs", "dataset", "calls", "input_calls") if key in more}
    root = Stage("Root", settings=Settings(cpu_budget=cpus))
    facts = BottleneckFacts(Stage(name, settings=Settings(**more), **own), (*consumers, root))
    return advice_for(facts).steps[0].text.replace("num_parallel_calls=tf.data.AUTOTUNE", "AUTO")


@pytest.mark.parametrize(
    ("settings", "cpus", "wanted"),
    [
        (
            {"parallelism": 1, "autotune": False},
            8,
            "It works on one element at a time, fixed by the program (tf.data may use 8 CPUs). Write `.map(f, AUTO)`.",
        ),
        (
            {"parallelism": 4, "autotune": False},
            None,
            "It works on 4 elements at a time, fixed by the program. Write `.map(f, AUTO)`.",
        ),
        (
            {"parallelism": 8, "autotune": False},
            8,
            "It works on 8 elements at a time, fixed by the program (tf.data may use 8 CPUs). A higher number helps "
            "only where its function waits, for files or for the network.",
        ),
        (
            {"parallelism": 2, "autotune": True},
            8,
            "It works on 2 elements at a time, chosen by autotuning (tf.data may use 8 CPUs). Autotuning needs some "
            "elements to settle: profile later in the run, or fix a higher number, `num_parallel_calls=8`.",
        ),
        (
            {"parallelism": 1, "autotune": True},
            1,
            "It works on one element at a time, chosen by autotuning, which is as much as its CPUs allow (tf.data may "
            "use 1 CPU).",
        ),
        (
            {"parallelism": 3},
            8,
            "Its parallelism is 3 in this call; whether it is autotuned is not recorded. Write `.map(f, AUTO)`.",
        ),
        (
            {"parallelism": 3, "autotune": True},
            None,
            "It works on 3 elements at a time, chosen by autotuning. Autotuning needs some elements to settle: profile "
            "later in the run, or fix a higher number, `num_parallel_calls=6`.",
        ),
        (
            {"parallelism": 1, "autotune": False},
            1,
            "It works on one element at a time, fixed by the program (tf.data may use 1 CPU). Write `.map(f, AUTO)`.",
        ),
        ({}, 8, "Its parallelism and whether it is autotuned are not recorded. Write `.map(f, AUTO)`."),
    ],
)
def test_the_advice_for_parallel_maps_depends_on_what_is_recorded(
    settings: dict[str, Any], cpus: int | None, wanted: str
):
    assert first_step("ParallelMapV2", cpus, **settings) == wanted


FILES = "`tf.data.Dataset.list_files(pattern).interleave"


@pytest.mark.parametrize(
    ("name", "settings", "code"),
    [
        ("MapAndBatch", {"parallelism": 1, "autotune": False, "batch_size": 32}, ".map(f, AUTO).batch(32)"),
        ("ParallelBatch", {"parallelism": 1, "autotune": False, "batch_size": 8}, ".batch(8, AUTO)"),
        ("BatchV2", {"batch_size": 16}, ".batch(16, AUTO)"),
        ("PaddedBatchV2", {"batch_size": 16}, ".ragged_batch(16)"),
        (
            "ParallelInterleaveV4",
            {"parallelism": 2, "cycle_length": 8, "autotune": False},
            ".interleave(f, cycle_length=8, AUTO)",
        ),
        (
            "ParallelInterleaveV4",
            {"parallelism": 8, "cycle_length": 8, "autotune": True},
            ".interleave(f, cycle_length=16, AUTO)",
        ),
        ("Interleave", {"cycle_length": 4}, ".interleave(f, AUTO, deterministic=False)"),
        ("FlatMap", {}, ".interleave(f, AUTO, deterministic=False)"),
        (
            "LegacyParallelInterleaveV2",
            {"cycle_length": 2},
            "tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)",
        ),
        ("ShuffleV3", {"buffer_size": 1000}, ".shuffle(n)"),
        ("Filter", {}, ".map(f, AUTO)"),
        ("Unbatch", {}, ".rebatch(n)"),
        ("TFRecord", {}, FILES + "(tf.data.TFRecordDataset, AUTO, deterministic=False)"),
        ("TextLine", {}, FILES + "(tf.data.TextLineDataset, AUTO, deterministic=False)"),
        ("TensorSlice", {}, ".shuffle(len(x)).batch(n).map(lambda i: tf.gather(x, i), AUTO)"),
    ],
)
def test_the_advice_says_what_to_write(name: str, settings: dict[str, Any], code: str):
    assert f"{code}`" in first_step(name, 8, **settings)


@pytest.mark.parametrize(("cycle", "state"), [(1, "It reads 1 file at once. "), (2, "It reads 2 files at once. ")])
def test_files_that_are_read_at_once_are_counted(cycle: int, state: str):
    assert first_step("LegacyParallelInterleaveV2", cycle_length=cycle).startswith(state)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"buffer_limit": 1, "autotune": False}, "Its buffer holds 1 element, fixed by the program. Write `.prefetch("),
        ({"buffer_limit": 4, "autotune": True}, "Its buffer holds 4 elements in this call, chosen by tf.data: a fixed"),
        ({}, "Write `.prefetch(tf.data.AUTOTUNE)`. A larger buffer"),
        ({"autotune": True}, "Write `.prefetch(tf.data.AUTOTUNE)`. A larger buffer"),
        ({"buffer_limit": 4}, "Write `.prefetch(tf.data.AUTOTUNE)`. A larger buffer"),
    ],
)
def test_the_advice_for_prefetch_depends_on_its_buffer(settings: dict[str, Any], wanted: str):
    facts = BottleneckFacts(Stage("Prefetch", settings=Settings(**settings)))
    assert advice_for(facts).steps[1].text.startswith(wanted)


def test_a_shuffle_buffer_that_fills_is_named_first():
    shuffle = Stage("ShuffleV3", settings=Settings(buffer_size=20_000), calls=4, input_calls=20_003)
    filling = "In this call ShuffleV3 fetched 20,003 elements for 4 that it returned: it filled its buffer of 20,000 "
    assert first_step("Range", consumers=(shuffle,)).startswith(filling)
    assert first_step("ShuffleV3", buffer_size=20_000, calls=4, input_calls=20_003).startswith(filling)
    twice = "In this call ShuffleV3 fetched 8 elements for 4 that"
    assert first_step("ShuffleV3", calls=4, input_calls=8).startswith(twice)
    assert first_step("ShuffleV3", calls=4, input_calls=7).startswith("A shuffle buffer")
    assert first_step("ShuffleV3", calls=4, input_calls=4).startswith("A shuffle buffer moves every element")


def test_a_source_below_an_interleave_is_read_in_parallel_already():
    interleave = Stage("ParallelInterleaveV4", settings=Settings(parallelism=2, cycle_length=4, autotune=False))
    assert first_step("TFRecord", consumers=(Stage("FlatMap"), interleave)) == (
        "ParallelInterleaveV4 reads 2 files in parallel, fixed by the program. If there are more files, read more of "
        "them at once: `.interleave(f, cycle_length=8, AUTO, deterministic=False)`."
    )


def test_what_surrounds_the_bottleneck_is_taken_into_account():
    root, cache, prefetch = Stage("Root"), Stage("MemoryCache"), Stage("Prefetch")

    def told(*consumers: Stage, name: str = "Map", **own: Any) -> str:
        return advice_for(BottleneckFacts(Stage(name, **own), consumers)).text()

    assert "End the pipeline with `.prefetch(tf.data.AUTOTUNE)`" in told(root)
    assert "End the pipeline" not in told(prefetch, root)
    assert "A cache() follows: this work is done in the first epoch only." in told(cache, root)
    assert "write `.cache()` right after it" in told(root)
    assert "accepts whole batches" not in told(root, inputs=("BatchV2",))
    assert "come from a Python generator" not in told(root, name="FlatMap")
    assert "come from a Python generator" in told(root, name="FlatMap", inputs=("Generator",))
    assert "`.repeat().shuffle(n)` fills it once" in told(Stage("ForeverRepeat"), root, name="Shuffle")


MORE = "If it has more inputs, such as files, write `.interleave(f, cycle_length={}, AUTO)`."


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"parallelism": 8, "cycle_length": 8}, "It reads 8 of 8 inputs at once. " + MORE.format(16)),
        (
            {"parallelism": 8, "cycle_length": 8, "autotune": True},
            "It reads 8 of 8 inputs at once, chosen by autotuning. " + MORE.format(16),
        ),
        (
            {"parallelism": 8, "cycle_length": 8, "autotune": False},
            "It reads 8 of 8 inputs at once, fixed by the program. " + MORE.format(16),
        ),
        ({"parallelism": 1, "cycle_length": 1}, "It reads one input at a time. " + MORE.format(4)),
        (
            {"parallelism": 2, "cycle_length": 3, "autotune": False},
            "It reads 2 of 3 inputs at once, fixed by the program. Write `.interleave(f, cycle_length=3, AUTO)`.",
        ),
        (
            {"parallelism": 2, "cycle_length": 3, "autotune": True},
            "It reads 2 of 3 inputs at once, chosen by autotuning. " + MORE.format(6),
        ),
        ({"parallelism": 2}, "Write `.interleave(f, cycle_length=n, AUTO)` with n larger than now."),
        ({"cycle_length": 2}, "Write `.interleave(f, cycle_length=n, AUTO)` with n larger than now."),
    ],
)
def test_the_advice_for_interleaves_depends_on_what_is_recorded(settings: dict[str, Any], wanted: str):
    assert first_step("ParallelInterleaveV4", 8, **settings) == wanted


@pytest.mark.parametrize(
    ("settings", "tally"),
    [
        ({"passed": 9_000, "filtered": 1_000}, " So far it dropped 1,000 of 10,000 elements."),
        ({"filtered": 7}, " So far it dropped 7 of 7 elements."),
        ({"passed": 9_000, "filtered": 0}, ""),
        ({"passed": 9_000}, ""),
        ({}, ""),
    ],
)
def test_filters_that_drop_elements_say_how_many(settings: dict[str, Any], tally: str):
    assert first_step("Filter", **settings).startswith(f"`filter()` tests one element at a time.{tally} Filter before")


@pytest.mark.parametrize(
    ("cycle", "inputs"), [(None, " its inputs on"), (1, " one input at a time on"), (2, " its 2 inputs on")]
)
def test_inputs_of_an_interleave_are_counted(cycle: int | None, inputs: str):
    assert f"reads{inputs} one thread" in first_step("Interleave", cycle_length=cycle)


def steps(name: str, *consumers: Stage) -> list[str]:
    return [step.text for step in advice_for(BottleneckFacts(Stage(name), (*consumers, Stage("Root")))).steps]


def test_what_makes_a_function_cheaper_is_no_advice_for_batches():
    assert len(steps("ParallelMapV2")) == len(steps("ParallelBatch")) + 1


def test_a_shuffle_that_is_repeated_is_filled_again():
    again = "the buffer is filled again in each epoch"
    assert [any(again in one for one in steps(name)) for name in ("ShuffleAndRepeatV2", "ShuffleV3")] == [True, False]
    assert any(again in one for one in steps("ShuffleV3", Stage("Repeat")))


@pytest.mark.parametrize(
    ("name", "code", "links"),
    [
        ("TFRecord", "`tf.data.TFRecordDataset(files, buffer_size=16 << 20)`", (Guide.TFRECORD,)),
        ("TextLine", "`tf.data.TextLineDataset(files, buffer_size=16 << 20)`", ()),
        (
            "FixedLengthRecord",
            "`tf.data.FixedLengthRecordDataset(files, record_bytes, buffer_size=16 << 20)`",
            (),
        ),
        ("CSV", None, ()),
    ],
)
def test_files_are_read_in_larger_blocks_where_their_format_allows(name: str, code: str | None, links: tuple[Any, ...]):
    blocks = [step for step in advice_for(BottleneckFacts(Stage(name))).steps if "larger blocks" in step.text]
    if code is None:
        assert blocks == []
    else:
        ((text, found),) = ((step.text, step.links) for step in blocks)
        assert (code in text, found) == (True, links)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"parallelism": 1, "cycle_length": 4}, "reads 1 file in parallel"),
        ({"parallelism": 2, "cycle_length": 4}, "reads 2 files in parallel"),
        ({"cycle_length": 3}, "reads 3 files in parallel"),
        ({}, "reads several files in parallel"),
    ],
)
def test_files_that_are_read_in_parallel_are_counted(settings: dict[str, int], count: str):
    stage = Stage("ParallelInterleaveV4", settings=Settings(**settings))
    assert f" {count}. If" in first_step("TFRecord", consumers=(stage,))
