"""Sentences about what takes the time of a run, most important first; every share names its base."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW, is_outside_compilation
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.ops.table import OpTable, framework_ops
from tpu_profile_plugin.analysis.ops.tf_functions import expensive_functions
from tpu_profile_plugin.analysis.steps.bottleneck import HALF_PRECISION_SHARE, InputVerdict
from tpu_profile_plugin.analysis.summary.host import RunSummary
from tpu_profile_plugin.run.steps import UNSEEN, Reading

EAGER_SHARE, OUTSIDE_SHARE = 0.1, 0.05
_INPUT = {
    "HIGHLY": "Input takes {0:.1f}% of the step time: it is prepared more slowly than the steps use it.",
    "MODERATELY": "Input takes {0:.1f}% of the step time.",
    "POTENTIALLY": "No event covers {0:.1f}% of the step time; it may be input, Python code or file access.",
    "NOT": "Input takes {0:.1f}% of the step time, so faster input can gain no more than that.",
    UNSEEN: "Whether the program waits for input is unknown: the profile has no event of an input pipeline.",
}


def statements(run: RunSummary, reading: Reading, uses_dataset: bool) -> list[dict[str, str]]:
    """The statements as objects with `topic`, `level` and `text`."""
    verdict = reading.verdict
    candidates = [
        ("input", verdict.input.level, input_text(verdict.input)),
        ("output", verdict.output.level, _share(verdict.output.level, verdict.output.percent, "goes into output")),
        ("idle", verdict.idle.level, _idle(run, reading)),
        ("sparse_core", verdict.sparse_core.level, _sparse_core(reading)),
        ("outside_compilation", "", outside_statement(run.device)),
        ("eager", "", eager_statement(run)),
        ("tf_function", "", function_statement(run)),
        ("collectives", verdict.collectives.level, _collectives(reading)),
        ("kernel_launch", verdict.kernel_launch.level, _launch(reading, uses_dataset)),
        ("all_other", verdict.all_others.level, _others(reading)),
        ("precision", "", precision_text(run)),
    ]
    return [{"topic": topic, "level": level, "text": text} for topic, level, text in candidates if text]


def input_text(verdict: InputVerdict) -> str:
    """The statement on input; "" without steps."""
    return _INPUT[verdict.level].format(verdict.percent) if verdict.level else ""


def _share(level: str, percent: float, what: str) -> str:
    return "" if level == "no" else f"{percent:.1f}% of the step time {what}."


def _idle(run: RunSummary, reading: Reading) -> str:
    idle = reading.verdict.idle
    if idle.level == "no":
        return ""
    once = "tf.function" if run.frameworks == (TENSORFLOW,) else "compiled loop"
    return (
        f"The device is idle for {idle.percent:.1f}% of the step time, and not because of input. If the host cannot "
        f"keep up, several steps in one {once} give it less to do."
    )


def _collectives(reading: Reading) -> str:
    found = reading.verdict.collectives
    return _share(found.level, found.percent, "goes into collectives; part of it may be waiting for a slower device")


def _others(reading: Reading) -> str:
    found = reading.verdict.all_others
    return _share(found.level, found.percent, "is covered by no event; it may be Python code")


def _launch(reading: Reading, uses_dataset: bool) -> str:
    launch = reading.verdict.kernel_launch
    text = _share(launch.level, launch.percent, "goes into launching kernels")
    if text and uses_dataset:
        text += (
            " Threads of tf.data may take the processor from it; TF_GPU_THREAD_MODE=gpu_private reserves some for it."
        )
    return text


def _sparse_core(reading: Reading) -> str:
    found = reading.verdict.sparse_core
    return _share(found.level, found.percent, "is spent waiting for the SparseCore")


def precision_text(run: RunSummary) -> str:
    """Recommends 16 bits; "" if they are in use or there is no device computation."""
    narrow, wide = run.precision.narrow_ps, run.precision.wide_ps
    share = 100.0 * ratio(narrow, narrow + wide)
    if not narrow + wide or share >= HALF_PRECISION_SHARE:
        return ""
    return (
        f"{share:.1f}% of the device's compute time is on data of at most 16 bits. Where the accuracy is enough, "
        "bfloat16 and float16 are faster."
    )


def eager_statement(run: RunSummary) -> str:
    """Statement on eager execution; "" if it takes little time."""
    shares = []
    for side, table in (("host", run.host.ops), ("device", framework_ops(run.device))):
        share = ratio(int(table.self_ps[table.eager].sum()), table.op_ps)
        if share > EAGER_SHARE:
            shares.append(f"{100.0 * share:.1f}% of the op time on the {side}")
    if not shares:
        return ""
    return f"{' and '.join(shares)} is eager execution. A tf.function runs the ops as one graph, which is faster."


def outside_statement(device: OpTable) -> str:
    """Statement on parts of a compiled program that run on the host; "" if they take little time."""
    outside = sum(
        int(ps)
        for ps, provenance, category in zip(device.self_ps, device.provenance, device.category, strict=True)
        if is_outside_compilation(provenance) or category == "host send-done"
    )
    share = ratio(outside, device.op_ps)
    if share <= OUTSIDE_SHARE:
        return ""
    return (
        f"{100.0 * share:.1f}% of the op time on the device is spent on ops that run on the host (outside "
        "compilation). Avoid them inside the training loop, or run them less often."
    )


def function_statement(run: RunSummary) -> str:
    """Statement on functions with expensive tracing or eager execution; "" without any."""
    worst = expensive_functions(run.functions)
    if not worst:
        return ""
    names = ", ".join(f"{function.name} ({100.0 * function.expensive_share:.1f}%)" for function in worst[:3])
    more = " and more" if len(worst) > 3 else ""
    return (
        f"Much of the time in these tf.functions is tracing or eager execution: {names}{more}. Pass tensors in place "
        "of Python values, and give the function an input_signature."
    )
