"""Ops that compute a value of the forward pass a second time to save memory."""

from __future__ import annotations

from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ReadOp
from tpu_profile_plugin.analysis.ops.op_tables import is_rematerialized


def recomputed(work: OpWork) -> list[ReadOp]:
    """The ops that the framework or the compiler recomputes, the most costly first."""
    return [op for op in work.read if by_the_compiler(op) or _by_the_framework(op)]


def by_the_compiler(op: ReadOp) -> bool:
    """XLA's own rematerialisation adds to the instruction's name."""
    return op.rows is not None and op.at is not None and is_rematerialized(op.rows.program.names[op.at], "")


def _by_the_framework(op: ReadOp) -> bool:
    """The framework's adds to the name of its op."""
    return op.rows is not None and op.at is not None and is_rematerialized("", op.rows.own_op_name(op.at))
