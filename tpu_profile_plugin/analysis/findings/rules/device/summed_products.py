"""Gradients of single examples that are only added up: a product per example in place of one over all.

Fires if batched matrix products whose results are only summed over the batch, and the sums, take at least
{SUMMED_SHARE:.0%} of the time from step to step.

Differentiate the mean or sum of the losses: it is the same, without a copy of each weight's gradient per example.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.blame.origin import common, of_program
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.summed import summed
from tpu_profile_plugin.analysis.ops.op_nature import Nature

SUMMED_SHARE = 0.1
"""Such products and sums, as a share of the time from step to step: with less a tenth cannot be gained."""
_TELLING = Telling(
    "Products of single examples that are only added up take {share:.1%} of the {base}{most}: {what}",
    "Products of single examples that are only added up take {share:.1%} of the {base}.",
    "These products and their sums, of the time of all ops",
    "device compute times the share of these products and sums in the ops' time, at most: the work of one product over "
    "all examples is left",
    SUMMED_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The products of one host that are only added up over their batch, and the ops that add them up."""
    work = work_of(host)
    found = [
        (op, *one)
        for op in work.in_programs
        if op.nature is Nature.MATRIX and (one := summed(op.rows, op.at)) is not None
    ]
    products = [op for op, *_ in found]
    rows = {(id(op.rows), user) for op, _, users in found for user in users}
    sums = [op for op in work.in_programs if (id(op.rows), op.at) in rows]
    kind = op_kind(host, [*products, *sums], SUMMED_SHARE)
    if not found:
        return kind if work.in_programs else UNREAD
    assert found[0][1].sizes is not None
    batch, height, width, _ = found[0][1].sizes
    function = common([(of_program(op.rows, op.at), op.self_ps) for op in (*products, *sums)])
    return replace(
        kind,
        what=f"{batch} of {height} x {width}" + (f" in {function}" if function else ""),
        evidence=(Evidence("The products alone, of this time", 100 * time_ps(products) / kind.ops_ps, "%"),),
        advice=PARTS["summed products"],
        confidence="medium",
    )


RULE = kind_rule("summed_products", "Gradients of single examples that are added up", gather, _TELLING)
