"""Ops that only convert numbers to another type, such as bfloat16 to float32, take much of the time.

Fires if ops that do nothing else take at least {CONVERSION_SHARE:.0%} of the time from step to step. Conversions inside
ops that compute cost next to nothing and do not count.

Keep the value in one type: convert it once where it is made or stored.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, in_words, shares, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.shapes import leaves, type_name

CONVERSION_SHARE = 0.1
"""Conversions, as a share of the time from step to step: mixed precision converts its weights once per step, which
takes a few percent."""

_CONVERTS = re.compile(r"(?:^|/)(?:convert_element_type|Cast|_to_copy|convert)(?:[_.\d]*)$")
"""The framework's op that converts: the program asks for it."""
_KINDS = 3
_TELLING = Telling(
    "Conversions between types take {share:.1%} of the {base}{most}: {what}",
    "Ops that only convert take {share:.1%} of the {base}.",
    "Ops that only convert, of the time of all ops",
    "device compute times the share of ops that only convert in the ops' time",
    CONVERSION_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The ops of one host that only convert."""
    work = work_of(host)
    ops = [op for op in work.in_programs if op.does == "convert" and _conversion(op)]
    found = op_kind(host, ops, CONVERSION_SHARE)
    if not ops:
        return found if work.in_programs else UNREAD
    kinds = shares((_conversion(op), op.self_ps) for op in ops)
    asked = time_ps([op for op in ops if _CONVERTS.search(op.rows.own_op_name(op.at))]) / found.ops_ps
    told = (
        Evidence("Kinds of these ops", in_words(kinds[:_KINDS])),
        Evidence("The program asks for, of their time", 100 * asked, "%"),
    )
    return replace(
        found, what=kinds[0][0], evidence=told, advice=PARTS["conversions" + " by the compiler" * (asked < 0.5)]
    )


def _conversion(op: ProgramOp) -> str:
    """Which type a conversion reads and writes, such as `bf16 to f32`; "" if they are the same."""
    operands = [one for one in op.rows.links.operands(op.at) if one >= 0]
    if not operands:
        return ""
    read = max(operands, key=op.rows.bytes)
    first, last = (next((leaf for _, leaf in leaves(op.rows.shape(one))), None) for one in (read, op.at))
    if first is None or last is None or first.element_type == last.element_type:
        return ""
    return f"{type_name(first.element_type)} to {type_name(last.element_type)}"


RULE = kind_rule("conversions", "Ops that only convert types", gather, _TELLING)
