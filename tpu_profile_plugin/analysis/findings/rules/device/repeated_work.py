"""One program computes what another one computes as well, such as a loss for the log beside the gradient.

Fires if nearly all matrix products of a program are at the same lines and of the same sizes as some of a larger
program, and the smaller program takes at least {REPEATED_SHARE:.0%} of the time from step to step. That both get the
same data is not known.

Return all results that are needed from one program.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.products import MATRICES

REPEATED_SHARE = 0.1
"""Share of the step: what a smaller one costs, such as a metric on a few rows, is worth no change of the program."""
_NEARLY_ALL = 0.95

_TELLING = Telling(
    "{share:.1%} of the {base} is computed twice: {what}{most}",
    "Programs that repeat products of other programs take {share:.1%} of the {base}.",
    "Ops of the program that repeats another's, of the time of all ops",
    "device compute times the share of these ops in the ops' time",
    REPEATED_SHARE,
)

_Product = tuple[str, tuple[int, ...]]
"""Line and size of the result."""


def gather(host: HostView) -> OpKind | Silence:
    """The ops of the program of one host that repeats products of a larger one, with most time."""
    programs: dict[int, list[ProgramOp]] = {}
    work = work_of(host)
    for op in work.in_programs:
        programs.setdefault(op.rows.program.program_id, []).append(op)
    if not programs:
        return UNREAD
    # Those with less time make no finding; at most ten are left, each of which is compared with the others.
    programs = {number: ops for number, ops in programs.items() if time_ps(ops) >= REPEATED_SHARE * work.counted_ps}
    products = {number: _products(ops) for number, ops in programs.items()}
    ranked = sorted(programs, key=lambda number: -time_ps(programs[number]))
    found = [
        (programs[small], small, large)
        for row, large in enumerate(ranked)
        for small in ranked[row + 1 :]
        if _repeats(programs[small], products[large])
    ]
    if not found:
        return op_kind(host, [], REPEATED_SHARE)
    ops, small, large = max(found, key=lambda one: time_ps(one[0]))
    names = host.hlo.programs.names
    what = f"{names.get(small, small)} repeats products of {names.get(large, large)}"
    return replace(op_kind(host, ops, REPEATED_SHARE), what=what, advice=PARTS["twice"], confidence="medium")


def _products(ops: list[ProgramOp]) -> set[_Product]:
    return {key for op in ops if op.nature is Nature.MATRIX for key in _keys(op)}


def _keys(op: ProgramOp) -> list[_Product]:
    rows = op.rows
    inside = [one for one in rows.inside(op.at) if rows.opcodes[one] in MATRICES]
    return [(rows.place(one), tuple(sorted(rows.shape(one).dimensions))) for one in inside]


def _repeats(ops: list[ProgramOp], known: set[_Product]) -> bool:
    """Whether nearly all products of a program are among those of another one, at lines that are known."""
    mine = [op for op in ops if op.nature is Nature.MATRIX]
    same = [op for op in mine if (keys := _keys(op)) and all(key in known and key[0] for key in keys)]
    return bool(mine) and time_ps(same) >= _NEARLY_ALL * time_ps(mine)


RULE = kind_rule("repeated_work", "Work that two programs do", gather, _TELLING)
