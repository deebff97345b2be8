"""Input pipeline analyzer: time waiting for input, and the host time to prepare it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, TENSORFLOW
from tpu_profile_plugin.analysis.steps.breakdown import InputBreakdown
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.facts import lacks_time
from tpu_profile_plugin.run.figures.budget import budget
from tpu_profile_plugin.run.figures.steps import analyse
from tpu_profile_plugin.run.figures.summary import NO_STEP_MARKER, Diagnostics, host_summary, run_summary, step_warnings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table, attributes, numbers, texts
from tpu_profile_plugin.tools.common.steps import Message, StepReading, XprofReading, messages_of, step_reading
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_MS

_SHARE = "as a fraction of the self time of all input ops"
OPS = (
    texts("opName", "Input op", "Name of the op or stage."),
    numbers("count", "Count", "", "Number of runs."),
    numbers("timeInMs", "Total time", "ms", "Time of all runs, including nested ops."),
    numbers("timeInPercent", "Total time (share)", "fraction",
            f"Total time {_SHARE}; the sum exceeds 1 if ops are nested."),
    numbers("selfTimeInMs", "Self time", "ms", "Time of all runs, excluding nested ops."),
    numbers("selfTimeInPercent", "Self time (share)", "fraction", f"Total self time {_SHARE}."),
    texts("category", "Category", "Reading ahead or on demand, preprocessing, or enqueuing."),
)  # fmt: skip


@dataclass(frozen=True)
class InputProcessing:
    """A kind of input processing of the host.

    Attributes:
      kind: "other", "demanded", "advanced", "preprocessing" or "enqueue".
      tip: what may make it faster, with links as in Markdown.
    """

    kind: str
    name: str
    help: str
    us: float
    tip: str


@dataclass(frozen=True)
class InputPipeline(Document):
    """How long steps wait for input, and what the host does to prepare it.

    Attributes:
      processing: self times of the input ops by kind, scaled to the time outside enqueuing.
      next: what to do about the input, with links as in Markdown; "" if it takes little time.
      no_ops: why a profile without input ops has none.
      xprof: null in our reading.
    """

    steps: StepReading
    ops: Table
    processing: Sequence[InputProcessing]
    messages: Sequence[Message]
    next: str
    no_ops: str
    xprof: XprofReading | None = None


def build(run: Run, query: Query) -> InputPipeline:
    """The input of the chosen hosts."""
    summary = run_summary(run)
    analysis = analyse(summary)
    reading = step_reading(run, summary)
    warnings = step_warnings(analysis.steps, summary.steps.empty_intersection)
    return InputPipeline(
        steps=reading,
        ops=Table(OPS, input_op_cells(analysis.input)),
        processing=input_processing(analysis.input),
        messages=messages_of(Diagnostics(warnings=warnings), {NO_STEP_MARKER}),
        next=next_step(reading.input.level, summary, analysis.input),
        no_ops=no_input_ops(summary),
    )


_API = "https://www.tensorflow.org/api_docs/python/tf/data"
_PREFETCH, _INTERLEAVE = f"{_API}/Dataset#prefetch", f"{_API}/Dataset#interleave"
_READER = f"{_API}/TFRecordDataset#class_tfrecorddataset"
_GUIDE = "https://www.tensorflow.org/programmers_guide/datasets"


def input_processing(source: InputBreakdown) -> list[InputProcessing]:
    """Every kind of input processing, in the order of display."""
    return [
        InputProcessing(
            "other",
            "Other data reading or processing",
            "Input processing that is not attributed to an op of the table.",
            source.unclassified_us,
            "Other data reading or processing: you may consider using the "
            f"[tf.data API]({_GUIDE}) (if you are not using it now)",
        ),
        InputProcessing(
            "demanded",
            "Reading data from files on demand",
            "Reads without caching, prefetching or interleaving, each of which the program waits for.",
            source.demanded_read_us,
            "Reading data from files on demand: you should read data IN ADVANCE using the following tf.data API "
            f"([prefetch]({_PREFETCH}), [interleave]({_INTERLEAVE}), [reader buffer]({_READER}))",
        ),
        InputProcessing(
            "advanced",
            "Reading data from files in advance",
            "Reads with caching, prefetching or interleaving.",
            source.advanced_read_us,
            "Reading data from files in advance: you may tune parameters in the following tf.data API "
            f"([prefetch size]({_PREFETCH}), [interleave cycle_length]({_INTERLEAVE}), "
            f"[reader buffer_size]({_READER}))",
        ),
        InputProcessing(
            "preprocessing",
            "Data preprocessing",
            "Transformations such as decompressing and parsing.",
            source.preprocessing_us,
            f"Data preprocessing: you may increase num_parallel_calls in [Dataset map()]({_API}/Dataset#map) "
            "or preprocess the data OFFLINE.",
        ),
        InputProcessing(
            "enqueue",
            "Enqueuing data to be transferred to the device",
            "Putting data into the device's infeed queue.",
            source.enqueue_us,
            "Enqueuing data: you may want to combine small input data chunks into fewer but larger chunks.",
        ),
    ]


def no_input_ops(summary: RunSummary) -> str:
    """Why a profile without ops of an input pipeline has none."""
    if PYTORCH in summary.frameworks:
        return (
            "PyTorch's DataLoader records how long the program waits for each batch (enumerate(DataLoader) in the "
            "trace viewer). Its workers are other processes, which are not in the trace."
        )
    return (
        "The profile contains no op of an input pipeline. Only pipelines that record their stages appear here, "
        "such as tf.data."
    )


def next_step(level: str, summary: RunSummary, source: InputBreakdown) -> str:
    """Advice on the input; "" if it takes little time."""
    if level not in ("HIGHLY", "MODERATELY"):
        return ""
    if source.ops:
        return "Section 3 shows which input ops take the time of the host."
    if PYTORCH in summary.frameworks:
        return (
            "Batches are ready earlier with more workers (num_workers), prefetch_factor and pin_memory=True of "
            "torch.utils.data.DataLoader; without workers the program itself makes each batch."
        )
    if TENSORFLOW in summary.frameworks:
        return "Input through tf.data is recorded by op; other input pipelines are not, so section 3 is empty."
    return "The profile does not show what prepares the input; the trace viewer shows what the host does meanwhile."


def input_op_cells(source: InputBreakdown) -> dict[str, list[object]]:
    """Cells of `OPS`: the host's input ops."""
    return {
        **attributes(source.ops, "count", "category", opName="name"),
        **attributes(source.ops, timeInPercent="time_share", selfTimeInPercent="self_share"),
        "timeInMs": [op.time_ps / PS_PER_MS for op in source.ops],
        "selfTimeInMs": [op.self_ps / PS_PER_MS for op in source.ops],
    }


TOOL = Tool(
    id="input_pipeline_analyzer",
    title="Input Pipeline Analyzer",
    group="Summary",
    summary="Time spent waiting for input, and time of the host's input ops.",
    build=build,
    lacks=lacks_time,
    needs=(host_summary, budget),
)
