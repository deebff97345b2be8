"""XProf's reading of steps: the tables of overview and input pipeline analyzer, and the sentences about them."""

from __future__ import annotations

import re

import numpy as np

from tpu_profile_plugin.analysis.common.statistics import Statistics, statistics
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.steps.breakdown import (
    HALF_PRECISION_SHARE,
    Aspect,
    GenericBreakdown,
    InputVerdict,
    TpuBreakdown,
    Verdict,
)
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.figures.steps import HostTimes, StepAnalysis
from tpu_profile_plugin.run.figures.summary import Diagnostics
from tpu_profile_plugin.tables.table import Column, Table
from tpu_profile_plugin.tools.common.steps import (
    BudgetCategory,
    BudgetPart,
    DecomposedSteps,
    Decomposition,
    StepReading,
    WaitingShare,
)
from tpu_profile_plugin.units import PS_PER_MS

GENERIC_COLUMNS = (
    Column("stepnum", "Step number", "string"),
    Column("deviceComputeTimeMs", "Device compute", "number"),
    Column("deviceToDeviceTimeMs", "Device to device", "number"),
    Column("deviceCollectivesTimeMs", "Device collective communication", "number"),
    Column("hostComputeTimeMs", "Host compute", "number"),
    Column("kernelLaunchTimeMs", "Kernel launch", "number"),
    Column("infeedTimeMs", "Input", "number"),
    Column("outfeedTimeMs", "Output", "number"),
    Column("compileTimeMs", "Compilation", "number"),
    Column("otherTimeMs", "All others", "number"),
    Column("tooltip", "tooltip", "string", role="tooltip"),
    Column("stepTimeMs", "Step time", "number"),
)
_GENERIC_TOOLTIP = (
    ("other", "All others"),
    ("compile", "Compilation"),
    ("outfeed", "Output"),
    ("infeed", "Input"),
    ("kernel_launch", "Kernel launch"),
    ("host_compute", "Host compute"),
    ("device_collectives", "Device collectives"),
    ("device_to_device", "Device to device"),
    ("device_compute", "Device compute"),
)
_SCV0 = (
    Column("scv0ComputeTimeMs", "SparseCoreV0 compute (in ms)", "number"),
    Column("scv0InfeedTimeMs", "SparseCoreV0 input (in ms)", "number"),
)
_TPU_FIRST = (
    Column("stepnum", "stepnum", "string"),
    Column("tcComputeTimeMs", "TensorCore compute (in ms)", "number"),
)
_TPU_LAST = (
    Column("tcInfeedTimeMs", "TensorCore input (in ms)", "number"),
    Column("tcOutfeedTimeMs", "TensorCore output (in ms)", "number"),
    Column("tcIdleTimeMs", "TensorCore idle (in ms)", "number"),
    Column("hostTransferTimeMs", "Host transfer (in ms)", "number"),
    Column("tooltip", "tooltip", "string", role="tooltip"),
    Column("infeedPercentAverage", "% step time waiting for input data", "number"),
    Column("infeedPercentMin", "Infeed percent min", "number", role="interval"),
    Column("infeedPercentMax", "Infeed percent max", "number", role="interval"),
)
_GENERIC_IDS = ",".join(column.id for column in GENERIC_COLUMNS[:10]) + ", tooltip"


def step_table(analysis: StepAnalysis, hardware: Hardware) -> Table:
    """The step table for the kind of device."""
    if analysis.tpu is not None:
        return tpu_table(analysis, analysis.tpu)
    assert analysis.generic is not None
    return generic_table(analysis, analysis.generic, hardware)


def generic_table(analysis: StepAnalysis, steps: GenericBreakdown, hardware: Hardware) -> Table:
    """The table of CPU and GPU steps."""
    parts = [list(values) for values in steps.parts_ms.values()]
    tooltips = _generic_tooltips(steps)
    properties = {"hardware_type": hardware.value, **_times("steptime_ms", steps.step_time, 1)}
    for name, values in steps.parts.items():
        properties[f"{name}_time_ms_avg"] = f"{values.average:.1f}"
        properties[f"{name}_time_ms_sdv"] = f"{values.deviation:.1f}"
    verdict, uses_dataset = analysis.verdict, analysis.input.uses_dataset
    statements = {
        "device_collectives": collectives_statement(verdict.collectives),
        "kernel_launch": kernel_launch_statement(verdict.kernel_launch, uses_dataset),
        "all_other": all_others_statement(verdict),
    }
    for name, text in statements.items():
        properties[f"{name}_bottleneck"] = properties[f"{name}_statement"] = text
    properties["input_conclusion"] = input_statement(verdict.input)
    properties["summary_nextstep"] = as_html(next_step(verdict.input, uses_dataset))
    properties["step_time_graph_column_ids"] = _GENERIC_IDS
    return Table(GENERIC_COLUMNS, (list(steps.labels), *parts, tooltips, list(steps.total_ms)), properties)


def _generic_tooltips(steps: GenericBreakdown) -> list[str]:
    lines = ["Step %s, duration: %.2f ms", *(f"-{label}: %.2f ms" for _, label in _GENERIC_TOOLTIP)]
    columns = (steps.labels, steps.total_ms, *(steps.parts_ms[name] for name, _ in _GENERIC_TOOLTIP))
    return list(map("\n".join(lines).__mod__, zip(*columns, strict=True)))


def tpu_table(analysis: StepAnalysis, steps: TpuBreakdown) -> Table:
    """The table of TPU steps; with SparseCores, without the columns of version 0 SparseCores."""
    sparse = len(steps.sparse_step) > 0
    columns = (*_TPU_FIRST, *(() if sparse else _SCV0), *_TPU_LAST)
    scv0 = () if sparse else (steps.scv0_compute, steps.scv0_infeed)
    waiting = steps.infeed + steps.scv0_infeed
    tooltips = [
        f"step {label}:\nTime waiting for input data = {wait:.3f} ms, Step time = {total:.3f} ms"
        for label, wait, total in zip(steps.labels, waiting.tolist(), steps.displayed.tolist(), strict=True)
    ]
    data = (
        list(steps.labels),
        steps.compute,
        *scv0,
        steps.infeed,
        steps.outfeed,
        steps.idle,
        steps.host_transfer,
        tooltips,
        steps.infeed_percent_average,
        steps.infeed_percent_minimum,
        steps.infeed_percent_maximum,
    )
    graph = [column.id for column in columns[: columns.index(_TPU_LAST[4]) + 1]]
    return Table(columns, data, {**_tpu_properties(analysis, steps), "step_time_graph_column_ids": ",".join(graph)})


def _tpu_properties(analysis: StepAnalysis, steps: TpuBreakdown) -> dict[str, str]:
    verdict = analysis.verdict
    properties = {
        "hardware_type": "TPU",
        **_times("steptime_ms", steps.step_time, 2),
        **_times("infeed_percent", statistics(steps.infeed_percent_maximum.tolist()), 1),
        "input_conclusion": input_statement(verdict.input),
        "output_conclusion": output_statement(verdict.output),
        "summary_nextstep": as_html(next_step(verdict.input, analysis.input.uses_dataset)),
    }
    averages = {
        "tc_compute": steps.compute,
        "tc_infeed": steps.infeed,
        "tc_outfeed": steps.outfeed,
        "tc_idle": steps.idle,
        "host_transfer": steps.host_transfer,
        "active_steptime": steps.active_on_any,
        "tc_active": steps.active,
    }
    if len(steps.sparse_step):
        averages |= {
            "sc_compute": steps.sparse_compute,
            "sc_infeed": steps.sparse_infeed,
            "sc_outfeed": steps.sparse_outfeed,
            "sc_idle": steps.sparse_idle,
            "sc_active": steps.sparse_active,
        }
        properties["sc_step_time_ms_average"] = f"{_mean(steps.sparse_step):.1f}"
    else:
        averages |= {"scv0_compute": steps.scv0_compute, "scv0_infeed": steps.scv0_infeed}
    properties |= {f"{name}_ms_average": f"{_mean(values):.2f}" for name, values in averages.items()}
    return properties


def _times(name: str, values: Statistics, digits: int) -> dict[str, str]:
    return {
        f"{name}_average": f"{values.average:.{digits}f}",
        f"{name}_standard_deviation": f"{values.deviation:.{digits}f}",
        f"{name}_minimum": f"{values.minimum:.{digits}f}",
        f"{name}_maximum": f"{values.maximum:.{digits}f}",
    }


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    # Added up in order so that the last digit is XProf's.
    return float(np.add.accumulate(values)[-1]) / len(values) if len(values) else 0.0


# XProf's steps in the form of our documents.

_CATEGORIES = {
    "deviceComputeTimeMs": "device_compute",
    "deviceToDeviceTimeMs": "device_to_device",
    "deviceCollectivesTimeMs": "collectives",
    "hostComputeTimeMs": "host_compute",
    "kernelLaunchTimeMs": "kernel_launch",
    "infeedTimeMs": "input",
    "outfeedTimeMs": "output",
    "compileTimeMs": "compilation",
    "otherTimeMs": "other",
    "tcComputeTimeMs": "device_compute",
    "scv0ComputeTimeMs": "sparse_compute",
    "scv0InfeedTimeMs": "sparse_input",
    "tcInfeedTimeMs": "input",
    "tcOutfeedTimeMs": "output",
    "tcIdleTimeMs": "idle",
    "hostTransferTimeMs": "host_transfer",
}
"""Columns of the step tables, and the categories of our pages whose colours they have."""


def step_time_ms(analysis: StepAnalysis) -> Statistics:
    """Statistics over the steps, each as long as on its slowest host."""
    breakdown = analysis.tpu or analysis.generic
    return breakdown.step_time if breakdown else Statistics()


def xprof_steps(analysis: StepAnalysis, hardware: Hardware) -> StepReading:
    """The step table as a decomposition in XProf's categories, with XProf's verdict on input."""
    table, none = step_table(analysis, hardware), np.empty(0, np.int64)
    columns = {_CATEGORIES[column.id]: column for column in table.columns if column.id in _CATEGORIES}
    groups = [
        BudgetPart(id_, column.label.removesuffix(" (in ms)"), f"{column.sentence}\nSource: trace.")
        for id_, column in columns.items()
    ]
    parts_ps = {id_: table[column.id] * PS_PER_MS for id_, column in columns.items() if len(table)}
    average_ps = {id_: float(ps.mean()) for id_, ps in parts_ps.items()}
    total_ms = table["stepTimeMs"] if analysis.tpu is None else analysis.tpu.displayed
    steps = DecomposedSteps(
        name=table.column("stepnum"),
        number=np.arange(len(table)),
        duration_ps=np.asarray(total_ms, np.float64) * PS_PER_MS,
        parts_ps=parts_ps,
        devices=none,
        slowest=none,
        begin_ps=none,
        end_ps=none,
    )
    return StepReading(
        decomposition=Decomposition(
            base="step",
            base_ps=sum(average_ps.values()),
            step_ps=step_time_ms(analysis).average * PS_PER_MS,
            source="device" if analysis.tpu else "host",
            left_out=0,
            groups=[BudgetCategory(part.id, part.name, part.help, [part]) for part in groups],
            average_ps=average_ps,
            steps=steps,
            devices=[],
        ),
        input=analysis.verdict.input,
        hosts=HostTimes({}, {}, 0.0, {}, []),
        recording=None,
        notes=[],
    )


def waiting_share(summary: RunSummary, steps: TpuBreakdown) -> WaitingShare:
    """The shares of step time that cores wait for input."""
    return WaitingShare(
        average=steps.infeed_percent_average,
        minimum=steps.infeed_percent_minimum,
        maximum=steps.infeed_percent_maximum,
        longest=statistics(steps.infeed_percent_maximum.tolist()),
        cores=[core_name(summary, core) for core in steps.infeed_core],
    )


def core_name(summary: RunSummary, core: int) -> str:
    """Host and ordinal of a core; "unknown" for -1, and for a core without a recorded ordinal."""
    host, ordinal = summary.cores.get(core, ("", -1))
    return f"{host}:{ordinal}" if ordinal >= 0 else "unknown"


# The sentences, with links as in Markdown.


def as_html(text: str) -> str:
    """The text with links as XProf writes them."""
    return re.sub(r"\[([^][]+)\]\(([^()]+)\)", r'<a href="\2" target="_blank">\1</a>', text)


_UNKNOWN = "No step time measured. Therefore we cannot tell where the performance bottleneck is."
_INPUT = {
    "HIGHLY": (
        "Your program is HIGHLY input-bound because {0:.1f}% of the total step time sampled is waiting for input. "
        "Therefore, you should first focus on reducing the input time."
    ),
    "MODERATELY": (
        "Your program is MODERATELY input-bound because {0:.1f}% of the total step time sampled is waiting for input. "
        "Therefore, you would need to reduce both the input time and other time."
    ),
    "POTENTIALLY": (
        "Your program is POTENTIALLY input-bound because {0:.1f}% of the total step time sampled is spent on "
        "'All Others' time (which could be due to I/O or Python execution or both)."
    ),
    "NOT": (
        "Your program is NOT input-bound because only {0:.1f}% of the total step time sampled is waiting for input. "
        "Therefore, you should focus on reducing other time."
    ),
}
_OUTPUT = {
    "high": (
        "Your program is HIGHLY output-bound because {0:.1f}% of the total step time sampled is spent on output. "
        "Therefore, you should first focus on reducing the output time."
    ),
    "moderate": (
        "Your program is MODERATELY output-bound because {0:.1f}% of the total step time sampled is spent on output. "
        "Therefore, you would need to reduce both the output time and other time."
    ),
}
USE_DATASET = (
    "Consider using [the tf.data API](https://www.tensorflow.org/guide/data) to enable "
    "profiler's host-side analysis for input pipeline. Profiler currently does not support custom input pipeline "
    "(please ignore Section 3 below)."
)
SEE_HOST_SIDE = "Look at Section 3 for the breakdown of input time on the host."
SKIP_REST = "You may skip the rest of this page."


def input_statement(verdict: InputVerdict) -> str:
    """Statement on the time waiting for input."""
    return _INPUT[verdict.level].format(verdict.percent) if verdict.level else _UNKNOWN


def output_statement(output: Aspect) -> str:
    """Statement on the output time of a TPU program; "" if it is low."""
    return _OUTPUT[output.level].format(output.percent) if output.level in _OUTPUT else ""


def all_others_statement(verdict: Verdict) -> str:
    """Statement on unexplained time; "" if it is low or covered by the input statement."""
    if verdict.all_others.level == "no":
        return ""
    return (
        f"{verdict.all_others.percent:.1f} % of the total step time sampled is spent on 'All Others' time. "
        "This could be due to Python execution overhead."
    )


def collectives_statement(collectives: Aspect) -> str:
    """Statement on communication between devices; "" if it is low."""
    if collectives.level == "no":
        return ""
    return f"{collectives.percent:.1f} % of the total step time sampled is spent on 'Device Collective Communication'."


def kernel_launch_statement(launch: Aspect, uses_dataset: bool) -> str:
    """Statement on kernel launches; "" if their time is low."""
    if launch.level == "no":
        return ""
    text = f"{launch.percent:.1f} % of the total step time sampled is spent on 'Kernel Launch'."
    if uses_dataset:
        text += (
            " It could be due to CPU contention with tf.data. In this case, you may try to set the environment "
            "variable TF_GPU_THREAD_MODE=gpu_private."
        )
    return text


def precision_statement(percent_16: float, has_compute: bool) -> str:
    """Recommends half precision; "" if it is in use or there is no device computation."""
    if not has_compute or percent_16 >= HALF_PRECISION_SHARE:
        return ""
    return (
        f"Only {percent_16:.1f}% of device computation is 16 bit. So you might want to replace more 32-bit Ops by "
        "16-bit Ops to improve performance (if the reduced accuracy is acceptable)."
    )


def next_step(verdict: InputVerdict, uses_dataset: bool) -> str:
    """The recommended next step on the input pipeline page."""
    if verdict.bottleneck not in ("host", "both"):
        return SKIP_REST
    return SEE_HOST_SIDE if uses_dataset else USE_DATASET


def diagnostics_table(diagnostics: Diagnostics) -> Table:
    """The table of diagnostics."""
    columns = (Column("severity", "Severity", "string"), Column("message", "Message", "string"))
    severities = ["WARNING"] * len(diagnostics.warnings) + ["ERROR"] * len(diagnostics.errors)
    return Table(columns, (severities, [*diagnostics.warnings, *diagnostics.errors]))
