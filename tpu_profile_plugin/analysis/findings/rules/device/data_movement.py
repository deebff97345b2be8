"""Ops rearrange data instead of computing: gathers, scatters, transposes, copies.

Fires if they take at least {SHARE_OF_STEP:.0%} of the time from step to step, {LINE_SHARE:.0%} of it one kind of op at
one line, or at least {LEAST_SHARE:.0%} of it and {MOVEMENT_SHARE:.0%} of the ops' time while matrix products take less
than {MATRIX_SHARE:.0%}. It names the op and its line. Programs that mostly copy whole buffers are left to
`buffer_copies`.

Change the layout where the data is made, or read and write contiguous blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.reasons import NO_COSTS
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind, Telling, op_kind, run_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, in_words, shares, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS, advice_of_ops
from tpu_profile_plugin.analysis.findings.rules.device.buffer_copies import copies_in
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.ops.op_nature import Nature

SHARE_OF_STEP = 0.25
"""Least share of the time from step to step beside other work: programs of layers, attention and convolutions that
leave nothing to mend rearrange data in up to 17% of their step."""
MOVEMENT_SHARE, MATRIX_SHARE = 0.5, 0.2
"""Least share of movement, and largest share of matrix products, in the ops' time of programs that do little else.
Programs of matrix products need some movement; on real captures these limits told the two kinds apart with a wide
margin."""

LINE_SHARE = 0.5
"""Least share of one kind of op at one line in the movement beside other work: many small moves at many places belong
to the program."""

_KINDS = 3
_NO_READERS = frozenset(("tuple", "get-tuple-element", "bitcast"))
_MOST_NAMED = 64
_INDEXED = frozenset(("gather", "scatter", "dynamic-slice", "dynamic-update-slice"))
_WRITES_WHOLE = frozenset(("select", "concatenate", "pad"))
_EXCHANGE = re.compile(r"\b(?:all_gather|all_to_all|reduce_scatter|ppermute|pbroadcast|psum|pmean)\w*\Z")
_TPU = " On TPUs the innermost dimension should be a multiple of 128."


_TELLING = Telling(
    "Rearranging data takes {share:.1%} of the {base}{most}: {what}",
    "Ops that rearrange data take {share:.1%} of the {base}; most are copies of whole buffers.",
    "Ops that rearrange data, of the time of all ops of known work",
    "device compute times the share of gathers, scatters, transposes and copies in the ops' time",
)


@dataclass(frozen=True, slots=True)
class Moved:
    """The ops of one host that move data; self times of those that do not or may not, and of copies of buffers.

    `line_ps`: of the kind of op and source line with most of the movement.
    """

    kind: OpKind
    unknown_ps: int
    copies_ps: int
    matrix_ps: int
    line_ps: float


def gather(host: HostView) -> Moved:
    """How much of the ops' time moves data."""
    work = work_of(host)
    moving, matrix = work.of(Nature.MOVEMENT), time_ps(work.of(Nature.MATRIX))
    kind = op_kind(host, moving, SHARE_OF_STEP)
    if moving:
        does, on_tpu = moving[0].does, host.summary.environment.hardware is Hardware.TPU
        advice = "by index" if does in _INDEXED else "whole" if does in _WRITES_WHOLE else "layout"
        evidence: tuple[Evidence, ...] = (
            Evidence("Matrix products, of the same time", 100 * matrix / work.counted_ps, "%"),
            Evidence("Kinds of these ops", in_words(shares((op.does, op.self_ps) for op in moving)[:_KINDS])),
        )
        first = moving[0]
        framework = first.rows.op_name(first.at) if isinstance(first, ProgramOp) else ""
        if exchanged := _EXCHANGE.search(framework):
            does, advice = f"{does} of {exchanged[0]}", "around a collective"
        if isinstance(first, ProgramOp) and (reader := _reader(first)):
            evidence = (*evidence, Evidence("Its result is for", reader))
            users = first.rows.links.users(first.at)
            if does == "broadcast" and any(_is_scatter(first.rows, user) for user in users):
                does, advice = "zeros for the dense gradient of a table", "dense gradient"
        told = Advice(PARTS[advice].general + (_TPU if on_tpu else ""))
        told = advice_of_ops(Nature.OTHER, does, ordinary=False) if does == "sort" else told
        kind = replace(kind, what=does, evidence=evidence, advice=told)
    named = moving[:_MOST_NAMED]
    # Ops without a line stand alone.
    lines = shares((f"{op.does} {op.place or op.index}", op.self_ps) for op in named)
    line_ps = lines[0][1] * time_ps(named) if lines else 0.0
    copies = time_ps([one.op for one in copies_in(work)])
    return Moved(kind, time_ps(work.of(Nature.UNKNOWN)), copies, matrix, line_ps)


def _is_scatter(rows: ProgramRows, row: int) -> bool:
    return any(rows.opcodes[one] == "scatter" for one in rows.inside(row))


def _reader(op: ProgramOp) -> str:
    """The first op that needs the result of one, and its line: it may ask for that order; "" if unknown."""
    users = (row for row in op.rows.links.users(op.at) if op.rows.opcodes[row] not in _NO_READERS)
    return next((f"{op.rows.opcodes[row]} ({place})" for row in users if (place := op.rows.place(row))), "")


def judge(run: RunView, parts: Sequence[Moved]) -> Finding | Silence:
    """The verdict on the ops of all hosts."""
    counted, moved = sum(part.kind.counted_ps for part in parts), sum(part.kind.ops_ps for part in parts)
    found = run_kind(run, [part.kind for part in parts])
    if isinstance(found, Silence) or 2 * sum(part.unknown_ps for part in parts) >= counted:
        return lacks(NO_COSTS, "No ops with known work recorded.")
    share, of_ops, matrix = found.lost.share, found.of_ops, sum(part.matrix_ps for part in parts) / counted
    clear = share >= SHARE_OF_STEP and max(part.line_ps / max(part.kind.ops_ps, 1) for part in parts) >= LINE_SHARE
    little_else = share >= LEAST_SHARE and of_ops >= MOVEMENT_SHARE and matrix < MATRIX_SHARE
    if not clear and not little_else:
        return Silence(
            f"Ops that rearrange data take {of_ops:.1%} of the ops' time ({share:.1%} of the {run.base}), matrix "
            f"products {matrix:.1%}."
        )
    if 2 * sum(part.copies_ps for part in parts) > moved:
        return Silence(found.told(run, _TELLING.silence))
    confidence: Confidence = "high" if little_else else "medium"
    return replace(found.finding(run, _TELLING), confidence=confidence)


RULE = Rule("data_movement", "Ops that only rearrange data", judge, gather)
