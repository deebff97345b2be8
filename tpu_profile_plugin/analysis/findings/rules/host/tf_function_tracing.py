"""Calls of a tf.function trace it or run it eagerly for much of its time.

Fires if a tf.function spends at least {TRACED_SHARE:.0%} of its self time in {TRACED_CALLS} or more calls that trace it
or run it eagerly. The first call has to trace.

Pass tensors in place of Python values, and give the function an input_signature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import expensive_calls
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.thread_ops import EXPENSIVE_SHARE, expensive_functions

_NAMED = 3
TRACED_SHARE = EXPENSIVE_SHARE
"""Least share of tracing and eager execution in the self time of a function, as XProf has it."""
TRACED_CALLS = 2
"""Fewer are the first call, which every function has."""
ADVICE = PARTS["tracing of functions"]


def judge(run: RunView, gathered: Sequence[Counter[str]]) -> Finding | Silence:
    """The verdict on the functions of all hosts."""
    functions = [function for function in run.summary.functions if function.calls > 1]
    often = {name for counts in gathered for name, count in counts.items() if count >= TRACED_CALLS}
    if not functions:
        looked = bool(run.frameworks) and TENSORFLOW not in run.frameworks
        return Silence("No tf.function with several calls recorded.", looked)
    again = [function for function in functions if function.name in often]
    if not again:
        return Silence("No tf.function was traced or run eagerly more than once.")
    worst = expensive_functions(again)
    if not worst:
        share = max(function.expensive_share for function in again)
        return Silence(f"Tracing and eager execution take at most {share:.1%} of a tf.function's time.")
    names = ", ".join(f"{function.expensive_share:.1%} of {function.name}" for function in worst[:_NAMED])
    more = " and more" if len(worst) > _NAMED else ""
    return Finding(
        f"Tracing or eager execution takes {names}{more}",
        0,
        "no direct cost: `recompilation` has what tracing costs the steps",
        "medium",
        tuple(
            Evidence(f"Tracing and eager execution, of the time of {function.name}", 100 * function.expensive_share,
                     "%", "overview_page")
            for function in worst[:_NAMED]
        ),
        ADVICE,
    )  # fmt: skip


RULE = Rule(
    "tf_function_tracing",
    "Tracing of tf.functions",
    judge,
    expensive_calls,
    implied_by=("not_compiled", "recompilation"),
)
