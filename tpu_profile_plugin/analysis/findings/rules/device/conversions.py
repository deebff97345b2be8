"""Ops that only convert numbers to another type, such as bfloat16 to float32, take much of the time.

Fires if ops that do nothing else take at least {CONVERSION_SHARE:.0%} of the time from step to step. Conversions inside
ops that compute cost next to nothing and do not count.

Keep the value in one type: convert it once where it is made or stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.findings.evidence.device.op_shares import OpShare, op_share, run_share
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ReadOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import leaves, type_name

CONVERSION_SHARE = 0.1
"""Conversions, as a share of the time from step to step: mixed precision converts its weights once per step, which
takes a few percent."""

_CONVERTS = re.compile(r"(?:^|/)(?:convert_element_type|Cast|_to_copy|convert)(?:[_.\d]*)$")
"""The framework's op that converts: the program asks for it."""
_KINDS = 3
_ASKED = Advice(
    "Keep the value in one type: convert it where it is made or stored, once, not in every step or layer. An op that "
    "only converts reads and writes the whole value and computes nothing.",
    jax="Cast once, outside the jitted step or the scan, and store the value in the type that the products use; "
    "remove pairs of astype that undo each other. An op that only converts reads and writes the whole value.",
    tensorflow="Store the value in the type that the products use, or set the precision by a policy "
    "(mixed_bfloat16) instead of tf.cast around single ops. An op that only converts reads and writes the whole value.",
)
_ADDED = Advice(
    "The compiler converts because this device has no such op in the program's type, or because neighbouring ops have "
    "different types. Use the type that the device computes in (float32 on CPUs), and the same one for ops that follow "
    "each other."
)


@dataclass(frozen=True, slots=True)
class Converted:
    """The conversions of one host, (from and to, self time in ps) most first, and the time the program asks for."""

    share: OpShare
    kinds: tuple[tuple[str, int], ...] = ()
    asked_ps: int = 0


def gather(host: HostView) -> Converted | None:
    """The ops of one host that only convert; None if no program is known."""
    work = work_of(host)
    known = [(op, op.rows, op.at) for op in work.read if op.rows is not None and op.at is not None]
    if not known:
        return None
    times: dict[str, int] = {}
    asked, ops = 0, list[ReadOp]()
    for op, rows, at in known:
        kind = _conversion(rows, at) if op.does == "convert" else ""
        if kind:
            ops.append(op)
            times[kind] = times.get(kind, 0) + work.time_ps([op])
            asked += work.time_ps([op]) if _CONVERTS.search(rows.own_op_name(at)) else 0
    kinds = sorted(times.items(), key=lambda one: -one[1])[:_KINDS]
    return Converted(op_share(host, ops, CONVERSION_SHARE), tuple(kinds), asked)


def _conversion(rows: ProgramRows, row: int) -> str:
    """Which type a conversion reads and writes, such as `bf16 to f32`; "" if they are the same."""
    operands = [one for one in rows.links.operands(row) if one >= 0]
    if not operands:
        return ""
    read = max(operands, key=rows.bytes)
    first, last = (next((leaf for _, leaf in leaves(rows.shape(one))), None) for one in (read, row))
    if first is None or last is None or first.element_type == last.element_type:
        return ""
    return f"{type_name(first.element_type)} to {type_name(last.element_type)}"


def judge(run: RunView, parts: Sequence[Converted | None]) -> Finding | Silence:
    """The verdict on the conversions of all hosts."""
    known = run.present(parts)
    if not known:
        return lacks(NO_PROGRAMS, "No ops with known programs recorded.")
    found = run_share(run, [None if part is None else part.share for part in parts])
    if found is None or found.lost.share < CONVERSION_SHARE:
        share = found.lost.share if found else 0.0
        return Silence(f"Ops that only convert take {share:.1%} of the {run.base}.")
    part = next(part for part, host in known if host == found.host)
    kinds = ", ".join(f"{kind} {ps / part.share.ops_ps:.0%}" for kind, ps in part.kinds)
    return Finding(
        f"Conversions between types take {found.lost.share:.1%} of the {run.base}, most of it in {found.most.label}: "
        f"{part.kinds[0][0]}",
        found.lost.ps,
        "device compute times the share of ops that only convert in the ops' time",
        "high",
        (
            Evidence("Ops that only convert, of the time of all ops", 100 * found.of_ops, "%"),
            Evidence("Kinds of these ops", kinds),
            Evidence("The program asks for, of their time", 100 * part.asked_ps / part.share.ops_ps, "%"),
            *found.evidence(),
        ),
        _ASKED if 2 * part.asked_ps >= part.share.ops_ps else _ADDED,
        found.hosts,
        found.lost.segments,
    )


RULE = Rule("conversions", "Ops that only convert types", judge, gather)
