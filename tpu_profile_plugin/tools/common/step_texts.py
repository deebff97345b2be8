"""Statements about steps used by several pages. Their wording is part of the interface to other clients."""

from __future__ import annotations

from tpu_profile_plugin.analysis.steps.breakdown import HALF_PRECISION_SHARE, Aspect, InputVerdict, Verdict
from tpu_profile_plugin.run.figures.summary import Diagnostics
from tpu_profile_plugin.tables.table import Table, texts

UNKNOWN = "No step time measured. Therefore we cannot tell where the performance bottleneck is."
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
    'Consider using <a href="https://www.tensorflow.org/guide/data" target="_blank">the tf.data API</a> to enable '
    "profiler's host-side analysis for input pipeline. Profiler currently does not support custom input pipeline "
    "(please ignore Section 3 below)."
)
SEE_HOST_SIDE = "Look at Section 3 for the breakdown of input time on the host."
SKIP_REST = "You may skip the rest of this page."


def input_statement(verdict: InputVerdict) -> str:
    """Statement on the time waiting for input."""
    return _INPUT[verdict.level].format(verdict.percent) if verdict.level else UNKNOWN


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
    columns = (
        texts("severity", "Severity", "INFO, WARNING or ERROR."),
        texts("message", "Message", "What happened, and what to do."),
    )
    return Table(columns, diagnostics.columns())
