"""Products of whole sequences of which a row is read: all logits for the next token, or all positions once per token.

Fires if matrix products of which a quarter of the rows or less is read, take at least {UNREAD_SHARE:.0%} of the time
from step to step: the last one before the rows are cut out, and all of a program that runs {CALLS} times per step or
more and reads one row that it is told.

Cut the rows out before the product; keep what earlier positions gave for the next ones.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.unread_rows import unread_rows
from tpu_profile_plugin.analysis.ops.op_nature import Nature

UNREAD_SHARE = 0.1
"""Such products, as a share of the time from step to step: with less a tenth cannot be gained. Of 126 programs with
nothing to mend none has any."""
CALLS = 4
"""Calls per step of a program that computes a sequence anew for each further token."""
_TELLING = Telling(
    "{share:.1%} of the {base} computes {what}{most}",
    "Products of which few rows are read take {share:.1%} of the {base}.",
    "These products and what follows on them, of the time of all ops",
    "device compute times the share of these products, and of the ops until the rows are cut out, in the ops' time, "
    "without the rows that are read",
    UNREAD_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The products of one host of which few rows are read, of the program with most time in them."""
    programs: dict[int, list[ProgramOp]] = {}
    for op in work_of(host).in_programs:
        programs.setdefault(id(op.rows), []).append(op)
    best, steps = op_kind(host, [], UNREAD_SHARE), len(host.marks[0])
    for ops in programs.values():
        rows, matrices = ops[0].rows, [op for op in ops if op.nature is Nature.MATRIX]
        for found in unread_rows(rows) if matrices else ():
            calls = host.ops.occurrences[matrices[0].index] / max(steps, 1)
            again = found.moving and found.read == 1 and steps and calls >= CALLS
            chosen = matrices if again else [op for op in ops if op.at in found.ops]
            kind = op_kind(host, chosen, UNREAD_SHARE, time_ps(chosen) * (1 - found.read / found.rows))
            if kind.saving_ps > best.saving_ps:
                name = host.hlo.programs.names.get(rows.program.program_id, "")
                what = f"{found.rows:,} rows of which {found.read:,} {'is' if found.read == 1 else 'are'} read"
                if again:
                    what = f"{found.rows:,} rows anew in each of {calls:,.0f} calls of {name}, for one that is read"
                advice = PARTS["whole sequence" if again else "unread rows"]
                best = replace(kind, what=what, advice=advice, confidence="medium")
    return best if programs else UNREAD


RULE = kind_rule("unread_rows", "Whole sequences for a single row", gather, _TELLING)
