"""Derivatives in forward mode: one pass for each parameter, as jax.jacfwd and jax.hessian make them.

Fires if ops that are batched over the directions of derivatives, in programs that batch none in reverse mode, take at
least {FORWARD_SHARE:.0%} of the time from step to step.

Take the gradient of a scalar in reverse mode, and products of a Hessian with vectors in place of the Hessian.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tpu_profile_plugin.analysis.blame.origin import common, of_program
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS

FORWARD_SHARE = 0.1
"""Such ops, as a share of the time from step to step: with less a tenth cannot be gained."""
_FORWARD = re.compile(r"(?:\A|[/;])vmap\(jvp\((?P<of_gradients>(?:vmap\()*(?:jvp|transpose)\()?")
"""What JAX names such ops after: the outermost change of the function comes first."""
_REVERSE = re.compile(r"(?:\A|[/;])vmap\(transpose\(")
"""A gradient per example has both."""
_TELLING = Telling(
    "Derivatives in forward mode, one pass for each direction, take {share:.1%} of the {base}{most}: {what}",
    "Derivatives in forward mode, one pass for each direction, take {share:.1%} of the {base}.",
    "These ops, of the time of all ops",
    "device compute times the share of these ops in the ops' time, at most: reverse mode, or a product with a vector, "
    "takes two to four passes",
    FORWARD_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The ops of one host that compute derivatives for many directions at once."""
    work = work_of(host)
    names = [op.rows.op_name(op.at) for op in work.in_programs]
    reverse = {id(op.rows) for op, name in zip(work.in_programs, names, strict=True) if _REVERSE.search(name)}
    found = [
        (op, match)
        for op, name in zip(work.in_programs, names, strict=True)
        if id(op.rows) not in reverse and (match := _FORWARD.search(name)) is not None
    ]
    kind = op_kind(host, [op for op, _ in found], FORWARD_SHARE)
    if not found:
        return kind if work.in_programs else UNREAD
    function = common([(of_program(op.rows, op.at), op.self_ps) for op, _ in found])
    what = "a Hessian" if any(match["of_gradients"] for _, match in found) else "a Jacobian"
    where = f" in {function}" if function else ""
    return replace(kind, what=what + where, advice=PARTS["forward derivatives"], confidence="medium")


RULE = kind_rule("forward_derivatives", "Derivatives in forward mode", gather, _TELLING)
