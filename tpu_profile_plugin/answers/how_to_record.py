"""What to change in the next recording so that a check becomes possible, by what it lacks."""

from __future__ import annotations

import re

PROFILE = (
    "Record while the program computes on its devices, for some steps, each marked with "
    "jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace: `tpu-profile capture HOST:PORT LOGDIR`."
)
STEPS = (
    "Enclose each step in `with jax.profiler.StepTraceAnnotation(name, step_num=number):` or "
    "tf.profiler.experimental.Trace, and record at least ten."
)
_BY_WORD = (
    ("Python functions", "Record Python functions: `tpu-profile capture --python-tracer 1`."),
    ("events of the host", "Record events of the host: `tpu-profile capture --host-tracer 2`."),
    ("several hosts", "Record all hosts of a program that several compute, in one session."),
    ("several devices", "Record a program that computes on several devices, with all of its hosts."),
    ("ollectives", "Record a program that computes on several devices, with all of its hosts."),
    ("3 TPUs or GPUs", "Record a program that computes on at least three devices."),
    ("peak rates", "Record on a TPU or GPU whose peak rates are known; those of CPUs are not."),
    ("matrix units", "Record on a TPU or GPU whose peak rates are known; those of CPUs are not."),
    (
        "enclose only the dispatch",
        "Wait for the result inside the marker of each step: `jax.block_until_ready(result)`.",
    ),
    ("Only TPUs", "Only a recording of a TPU tells this."),
    ("allocators", "Record allocations (`--host-tracer 2`) and the programs' HLO, which is the default."),
    ("program", "Record while the programs run, with their HLO, which is the default."),
    ("input", "Record an input pipeline of tf.data, with host events (`--host-tracer 2`)."),
    ("tf.data", "Record an input pipeline of tf.data, with host events (`--host-tracer 2`)."),
    ("TensorFlow", "Only a program of TensorFlow has what this check looks at."),
    ("tf.function", "Only a program of TensorFlow has what this check looks at."),
    ("step", STEPS),
)
"""The first word that a reason has tells what is missing."""
_RECORDERS = ("`tpu-profile", "torch.profiler")
_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")


def how_to_record(reason: str) -> str:
    """What to change before recording again, for the reason why a check was not possible."""
    told = [sentence for sentence in _SENTENCE.split(reason) if any(tool in sentence for tool in _RECORDERS)]
    return told[-1] if told else next((text for word, text in _BY_WORD if word in reason), PROFILE)
