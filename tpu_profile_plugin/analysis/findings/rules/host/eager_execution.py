"""TensorFlow runs ops one by one from Python, outside of a tf.function.

Fires if eager execution takes more than {EAGER_SHARE:.0%} of the self time of all ops, on the host or on devices.

Put the ops into a tf.function, which runs them as one graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, OpOf, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.analysis.findings.run_view import RunView

EAGER_SHARE = 0.1
"""Least share of the op time: programs run a few ops outside of their functions."""
ADVICE = PARTS["eager execution"]


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """The verdict on the larger share, of the host's ops or of the devices'."""
    tables = {"host": run.summary.host.ops, "device": run.summary.device}
    eager = {side: int(table.self_ps[table.eager].sum()) for side, table in tables.items()}
    shares = {side: ratio(eager[side], table.op_ps) for side, table in tables.items() if table.op_ps}
    if TENSORFLOW not in run.frameworks or not shares:
        looked = bool(run.frameworks) and TENSORFLOW not in run.frameworks
        return Silence("No TensorFlow ops recorded.", looked)
    side = max(shares, key=lambda name: shares[name])
    what = f"Eager execution takes {shares[side]:.1%} of the op time on the {side}"
    if shares[side] <= EAGER_SHARE:
        return Silence(f"{what}.")
    table = tables[side]
    most = next(row for row in table.by_self_time() if table.eager[row])
    return Finding(
        what,
        0,
        "no direct cost: the ops are needed, launching them one by one is not",
        "medium",
        (
            *(Evidence(f"Eager execution, of the op time on the {name}", 100 * shares[name], "%") for name in shares),
            Evidence(
                "Eager op with most self time",
                table.name[most],
                "",
                "framework_op_stats",
                {"t1.row": cell("operation", table.name[most])},
                OpOf(table.name[most]),
            ),
        ),
        ADVICE,
    )


RULE = Rule("eager_execution", "Eager execution in TensorFlow", judge, implied_by=("not_compiled", "recompilation"))
