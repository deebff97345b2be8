"""What to look at next: tools and documents that fit the devices, the framework and what the profile holds."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.common.op_names import JAX, TENSORFLOW
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.table import IDLE
from tpu_profile_plugin.analysis.summary.host import RunSummary
from tpu_profile_plugin.run.steps import Reading

_GUIDE = "https://www.tensorflow.org/guide/"
_MARK = {
    JAX: 'jax.profiler.StepTraceAnnotation("train", step_num=i) around each step, with block_until_ready inside',
    TENSORFLOW: 'tf.profiler.experimental.Trace("train", step_num=i, _r=1) around each step; Keras does it itself',
}
_NAMES = {Hardware.TPU: "TPU", Hardware.GPU: "GPU"}


def advice(run: RunSummary, reading: Reading, *, uses_dataset: bool, serves: bool) -> list[dict[str, Any]]:
    """What to look at; `serves`: requests of a model server were recorded, which have no steps.

    Objects with `text`, `tool` (an id, or None) and `url` (or None), most useful first.
    """
    return [
        {"text": text, "tool": tool, "url": url}
        for text, tool, url in (
            *([] if serves else _marking(run, reading)),
            *_input(reading),
            *_ops(run),
            *_times(run, reading),
            *_documents(run, uses_dataset),
        )
    ]


Advice = tuple[str, "str | None", "str | None"]


def _marking(run: RunSummary, reading: Reading) -> list[Advice]:
    if len(reading.steps):
        return []
    return [(f"Mark the steps: {_MARK[name]}.", None, None) for name in run.frameworks if name in _MARK]


def _input(reading: Reading) -> list[Advice]:
    if not reading.sees_input or reading.verdict.input.level not in ("HIGHLY", "MODERATELY", "POTENTIALLY"):
        return []
    return [("how long each step waits for input, and which input ops take the time", "input_pipeline_analyzer", None)]


def _ops(run: RunSummary) -> list[Advice]:
    found: list[Advice] = []
    hardware = _NAMES.get(run.environment.hardware)
    if any(category != IDLE for category in run.device.category) and hardware:
        found.append((f"which ops take the time of the {hardware}, and how well they use it", "op_profile", None))
    elif run.cpu_ops:
        found.append(("which XLA ops take the time of the CPU", "op_profile", None))
    if run.environment.hardware is Hardware.GPU:
        found.append(("which kernels take the time of the GPU", "kernel_stats", None))
    if TENSORFLOW in run.frameworks and len(run.host.ops):
        found.append(("which TensorFlow ops take the time of the host", "framework_op_stats", None))
    return found


def _times(run: RunSummary, reading: Reading) -> list[Advice]:
    hardware = _NAMES.get(run.environment.hardware)
    where = f"on each {hardware} and on the host's threads" if hardware else "on the host's threads"
    found: list[Advice] = [(f"what ran when {where}", "trace_viewer", None)]
    if len(reading.steps) and (len(run.host_names) > 1 or len(run.steps.dense_cores) > 1):
        found.insert(0, ("which worker is slow in which step", "pod_viewer", None))
    return found


def _documents(run: RunSummary, uses_dataset: bool) -> list[Advice]:
    found: list[Advice] = []
    if JAX in run.frameworks:
        found.append(("Profiling JAX programs", None, "https://docs.jax.dev/en/latest/profiling.html"))
    if TENSORFLOW in run.frameworks:
        found.append(("Profiling TensorFlow programs", None, f"{_GUIDE}profiler"))
    if uses_dataset:
        found.append(("Performance of tf.data", None, f"{_GUIDE}data_performance"))
        found.append(("Analysis of tf.data with the profiler", None, f"{_GUIDE}data_performance_analysis"))
    return found
