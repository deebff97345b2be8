"""What to do about the slowest transformation of a tf.data pipeline, by its recorded settings and ops."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.findings.evidence.host.pipelines import Slowest
from tpu_profile_plugin.analysis.findings.kinds import KINDS
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.units import PS_PER_MS

PYTHON_SHARE = 0.50
"""Least share of the pipelines' op time in Python functions that makes them the cause: most of it, so that the rest
alone would be at least twice as fast."""
BOTTLENECK_SHARE = 0.30
"""Least share of a slow call that its slowest transformation must take itself to be named as the cause."""
_WORKERS = "Give a keras.utils.PyDataset workers and use_multiprocessing=True."
PAGE = "tf_data_bottleneck_analysis"


def is_python(worst: Slowest) -> bool:
    """Whether the pipeline spends most of its time in Python functions."""
    return worst.python_share >= PYTHON_SHARE


def faulty(worst: Slowest) -> bool:
    """Whether a known transformation takes the time, rather than a buffer that waits for threads."""
    return in_turn(worst) or is_python(worst) or not worst.is_buffer


def said(worst: Slowest) -> str:
    """What the slowest transformation does, for the end of a title: that it runs one element at a time, if it does."""
    if worst.remade:
        return ": a new iterator in each step fills its buffers again"
    if in_turn(worst):
        how = "one element at a time" if worst.alone else "only when the program asks for an element"
        return f": {worst.name} runs {how}"
    named = f"the Python function of {'the pipeline' if worst.is_buffer else worst.name}"
    return f"; the slowest transformation is {named if is_python(worst) else worst.shown}"


def in_turn(worst: Slowest) -> bool:
    """Whether it works on one element at a time, or not ahead of the program, for much of the longest call."""
    return worst.remade or (worst.share >= BOTTLENECK_SHARE and (worst.alone or worst.late))


def advice_of(worst: Slowest) -> Advice:
    """For what the program has not done yet."""
    if worst.remade:
        return KINDS[Purpose.ITERATOR].advice
    general = " ".join(_sentences(worst))
    return Advice(general, keras=f"{_WORKERS} {general}") if worst.name == "Generator" else Advice(general)


def _sentences(worst: Slowest) -> Iterator[str]:
    if not faulty(worst):
        yield PARTS["waits of a buffer"].general.replace("{name}", worst.name)
        return
    ready = not worst.alone and not worst.late
    if worst.cached:
        yield "A cache() follows: this work is done in the first epoch only, so record a later one."
    elif worst.passes > 1 and not worst.caches:
        yield "Each pass over the data repeats this work: write cache() behind it, before anything random."
    if is_python(worst):
        yield PARTS["python generator" if worst.name == "Generator" else "python functions of a pipeline"].general
    elif worst.alone:
        call = "interleave" if "Interleave" in worst.name else "map"
        yield f"Give the Dataset.{call} behind {worst.name} num_parallel_calls=tf.data.AUTOTUNE."
    elif worst.parallelism is not None:
        yield _parallel(worst, worst.parallelism)
    if worst.late:
        yield "End the pipeline with prefetch(tf.data.AUTOTUNE), so that it works while the devices compute."
    if ready and worst.passes <= 1 and not worst.caches:
        yield "If epochs repeat this work and its results fit in memory, write cache() behind it."


def _parallel(worst: Slowest, parallelism: int) -> str:
    name, cpus = worst.name, worst.cpus
    spare = cpus is None or parallelism < cpus
    if spare and worst.autotune is False:
        return f"Set num_parallel_calls of {name}, now {parallelism}, to tf.data.AUTOTUNE, which uses all processors."
    elements = "1 element" if parallelism == 1 else f"{parallelism} elements"
    if cpus is not None and spare and worst.autotune:
        return (
            f"Autotuning lets {name} work on {elements} at once, of {cpus} that the processors allow. It needs some "
            "time to settle: compare with a later recording."
        )
    limit = "" if spare else ", and the processors are the limit"
    return (
        f"{name} works on {elements} at once{limit}: make its function cheaper, apply it to whole batches, or do its "
        "work offline."
    )


def stage_share(worst: Slowest) -> Evidence:
    """How much of the longest call the transformation takes itself."""
    return Evidence("Self time of this transformation, of the longest call", 100 * worst.share, "%")


def of_stage(worst: Slowest, host: str) -> list[Evidence]:
    """The transformation, and what was recorded of it and of the pipeline's ops."""
    page = {"host": host}
    evidence = [Evidence("Slowest transformation", worst.shown, "", PAGE, page)]
    if worst.parallelism is not None:
        chosen = {True: ", chosen by tf.data", False: ", set by the program", None: ""}[worst.autotune]
        evidence.append(Evidence(f"Elements processed at once{chosen}", worst.parallelism, "", PAGE, page))
    if worst.cpus is not None:
        evidence.append(Evidence("Processors that tf.data may use", worst.cpus, "", PAGE, page))
    if worst.buffer is not None:
        evidence.append(Evidence("Batches that prefetch holds", worst.buffer, "", PAGE, page))
    if worst.passes > 1:
        evidence.append(Evidence("Passes over the data begun so far", worst.passes))
    evidence.append(Evidence("Mean wait of the program for a batch", worst.mean_ps / PS_PER_MS, "ms", PAGE, page))
    if worst.ops is not None:
        label = f"{worst.ops.most}, of the op time of input pipelines"
        evidence.append(Evidence(label, 100 * worst.ops.most_share, "%"))
    return evidence
