"""Input pipeline analyzer: time waiting for input, and the host time to prepare it."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, TENSORFLOW
from tpu_profile_plugin.analysis.steps.breakdown import InputBreakdown, TpuBreakdown
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.figures.budget import budget
from tpu_profile_plugin.run.figures.steps import analyse
from tpu_profile_plugin.run.figures.summary import Diagnostics, host_summary, run_summary, step_warnings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, numbers, texts
from tpu_profile_plugin.tools.common import step_texts
from tpu_profile_plugin.tools.common.step_tables import step_table
from tpu_profile_plugin.tools.common.steps import step_reading
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_MS

_SHARE = "as a fraction of the self time of all input ops"
INPUT_OP_COLUMNS = (
    texts("opName", "Input Op", "Name of the op or stage."),
    numbers("count", "Count", "", "Number of runs."),
    numbers("timeInMs", "Total Time (in ms)", "ms", "Time of all runs, including nested ops."),
    numbers("timeInPercent", "Total Time (as % of total input-processing time)", "",
            f"Total time {_SHARE}; the sum exceeds 1 if ops are nested."),
    numbers("selfTimeInMs", "Total Self Time (in ms)", "ms", "Time of all runs, excluding nested ops."),
    numbers("selfTimeInPercent", "Total Self Time (as % of total input-processing time)", "",
            f"Total self time {_SHARE}."),
    texts("category", "Category", "Reading ahead or on demand, preprocessing, or enqueuing."),
)  # fmt: skip
_API = "https://www.tensorflow.org/api_docs/python/tf/data/"


def _link(address: str, text: str) -> str:
    return f'<a href="{address}" target="_blank">{text}</a>'


_READER = _API + "TFRecordDataset#class_tfrecorddataset"
RECOMMENDATIONS = (
    "Enqueuing data: you may want to combine small input data chunks into fewer but larger chunks.",
    f"Data preprocessing: you may increase num_parallel_calls in {_link(_API + 'Dataset#map', 'Dataset map()')} "
    "or preprocess the data OFFLINE.",
    "Reading data from files in advance: you may tune parameters in the following tf.data API "
    f"({_link(_API + 'Dataset#prefetch', 'prefetch size')}, "
    f"{_link(_API + 'Dataset#interleave', 'interleave cycle_length')}, {_link(_READER, 'reader buffer_size')})",
    "Reading data from files on demand: you should read data IN ADVANCE using the following tf.data API "
    f"({_link(_API + 'Dataset#prefetch', 'prefetch')}, {_link(_API + 'Dataset#interleave', 'interleave')}, "
    f"{_link(_READER, 'reader buffer')})",
    "Other data reading or processing: you may consider using the "
    f"{_link('https://www.tensorflow.org/programmers_guide/datasets', 'tf.data API')} (if you are not using it now)",
)


PARAMS = (Param("extended", "bool", False, "Adds a sixth element with the decomposition of the steps."),)


def build(run: Run, query: Query) -> tuple[Table, ...] | Json:
    """Five tables: cores with the longest wait, steps, input ops, recommendations, diagnostics.

    With the parameter `extended` a sixth element follows, the members of `steps.StepReading` with `next`: what
    to do about the input, "" if nothing is to be said; and `no_ops`: why there are no input ops.
    """
    summary = run_summary(run)
    analysis = analyse(summary)
    warnings = step_warnings(analysis.steps, summary.steps.empty_intersection)
    tables = (
        Table((), ()) if analysis.tpu is None else _waiting_cores(summary, analysis.tpu),
        step_table(analysis, summary.environment.hardware),
        input_op_table(analysis.input),
        Table((texts("link", "link", "What to try."),), [RECOMMENDATIONS]),
        step_texts.diagnostics_table(Diagnostics(warnings=warnings)),
    )
    if not query.flag("extended"):
        return tables
    reading = step_reading(run, summary)
    return Json(
        [
            *tables,
            {
                **vars(reading),
                "next": next_step(reading.input.level, summary, analysis.input),
                "no_ops": no_input_ops(summary),
            },
        ]
    )


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
    """What to do about the input; "" if it takes little time."""
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


def _waiting_cores(summary: RunSummary, steps: TpuBreakdown) -> Table:
    """Per step the core that waited longest for input: two rows, one column per step."""
    index = texts("index", "Index", "Name of the row.")
    columns = [texts(str(i), str(i), f"Step {label}.") for i, label in enumerate(steps.labels)]
    cores = [_core_name(summary, core) for core in steps.infeed_core]
    return Table((index, *columns), [("Step number", "Core name"), *zip(steps.labels, cores, strict=True)])


def _core_name(summary: RunSummary, core: int) -> str:
    host, ordinal = summary.cores.get(core, ("", -1))
    return f"{host}:{ordinal}" if ordinal >= 0 else "unknown"


def input_op_table(source: InputBreakdown) -> Table:
    """The host's input ops, with the breakdown of input processing as properties."""
    data = {
        **attributes(source.ops, "count", "category", opName="name"),
        **attributes(source.ops, timeInPercent="time_share", selfTimeInPercent="self_share"),
        "timeInMs": [op.time_ps / PS_PER_MS for op in source.ops],
        "selfTimeInMs": [op.self_ps / PS_PER_MS for op in source.ops],
    }
    properties = {
        "enqueue_us": source.enqueue_us,
        "demanded_file_read_us": source.demanded_read_us,
        "advanced_file_read_us": source.advanced_read_us,
        "preprocessing_us": source.preprocessing_us,
        "unclassified_nonequeue_us": source.unclassified_us,
    }
    return Table(INPUT_OP_COLUMNS, data, {name: f"{us:.3f}" for name, us in properties.items()})


TOOL = Tool(
    id="input_pipeline_analyzer",
    title="Input Pipeline Analyzer",
    group="Summary",
    summary="Time spent waiting for input, and time of the host's input ops.",
    build=build,
    params=PARAMS,
    needs=(host_summary, budget),
)
