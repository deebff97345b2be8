"""Step breakdown tables of the overview and the input pipeline analyzer, for CPUs and GPUs and for TPUs."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.statistics import Statistics, statistics
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.steps.breakdown import GenericBreakdown, TpuBreakdown
from tpu_profile_plugin.run.figures.steps import StepAnalysis
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common import step_texts

GENERIC_COLUMNS = (
    texts("stepnum", "Step number", "Name of the step, or its number if it has none."),
    numbers("deviceComputeTimeMs", "Device compute", "ms", "Kernels on the device."),
    numbers("deviceToDeviceTimeMs", "Device to device", "ms", "Copies between devices."),
    numbers("deviceCollectivesTimeMs", "Device collective communication", "ms", "Collectives between devices."),
    numbers("hostComputeTimeMs", "Host compute", "ms", "Work on the host."),
    numbers("kernelLaunchTimeMs", "Kernel launch", "ms", "Launches of work on the device."),
    numbers("infeedTimeMs", "Input", "ms", "Waiting for input, and copying it to the device."),
    numbers("outfeedTimeMs", "Output", "ms", "Copying results to the host."),
    numbers("compileTimeMs", "Compilation", "ms", "Compiling programs."),
    numbers("otherTimeMs", "All others", "ms", "Time that no recorded event covers, such as Python."),
    texts("tooltip", "tooltip", "The row as text.", role="tooltip"),
    numbers("stepTimeMs", "Step time", "ms", "Duration of the step."),
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
    numbers("scv0ComputeTimeMs", "SparseCoreV0 compute (in ms)", "ms", "Waiting for V0 SparseCores."),
    numbers("scv0InfeedTimeMs", "SparseCoreV0 input (in ms)", "ms", "Waiting for input of V0 SparseCores."),
)
_TPU_FIRST = (
    texts("stepnum", "stepnum", "Number of the step."),
    numbers("tcComputeTimeMs", "TensorCore compute (in ms)", "ms", "Compute time of the fastest TensorCore."),
)
_TPU_LAST = (
    numbers("tcInfeedTimeMs", "TensorCore input (in ms)", "ms", "Longest input time of a TensorCore."),
    numbers("tcOutfeedTimeMs", "TensorCore output (in ms)", "ms", "Mean output time of the TensorCores."),
    numbers("tcIdleTimeMs", "TensorCore idle (in ms)", "ms", "Step time minus all other parts."),
    numbers("hostTransferTimeMs", "Host transfer (in ms)", "ms", "Longest transfer to or from the host."),
    texts("tooltip", "tooltip", "The row as text.", role="tooltip"),
    numbers("infeedPercentAverage", "% step time waiting for input data", "%", "Mean over the TensorCores."),
    numbers("infeedPercentMin", "Infeed percent min", "%", "Core with the shortest wait.", role="interval"),
    numbers("infeedPercentMax", "Infeed percent max", "%", "Core with the longest wait.", role="interval"),
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
        "device_collectives": step_texts.collectives_statement(verdict.collectives),
        "kernel_launch": step_texts.kernel_launch_statement(verdict.kernel_launch, uses_dataset),
        "all_other": step_texts.all_others_statement(verdict),
    }
    for name, text in statements.items():
        properties[f"{name}_bottleneck"] = properties[f"{name}_statement"] = text
    properties["input_conclusion"] = step_texts.input_statement(verdict.input)
    properties["summary_nextstep"] = step_texts.next_step(verdict.input, uses_dataset)
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
        "input_conclusion": step_texts.input_statement(verdict.input),
        "output_conclusion": step_texts.output_statement(verdict.output),
        "summary_nextstep": step_texts.next_step(verdict.input, analysis.input.uses_dataset),
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
