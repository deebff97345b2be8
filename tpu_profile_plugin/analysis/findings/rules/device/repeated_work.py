"""One program computes what another one computes as well, such as a loss for the log beside the gradient.

Fires if nearly all matrix products of one or several programs are at the same lines and of the same sizes as some of a
larger program, and the smaller ones take at least {REPEATED_SHARE:.0%} of the time from step to step. That all get the
same data is not known.

Return all results that are needed from one program.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.products import MATRICES
from tpu_profile_plugin.analysis.ops.op_nature import Nature

REPEATED_SHARE = 0.1
"""Share of the step: what a smaller one costs, such as a metric on a few rows, is worth no change of the program."""
_NEARLY_ALL = 0.95
_LEAST, _MOST = 0.02, 30
"""Least share of one program in the ops' time, and most programs that are compared with each other."""

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
    """The ops of the programs of one host that repeat products of the same larger one, with most time."""
    programs: dict[int, list[ProgramOp]] = {}
    work = work_of(host)
    for op in work.in_programs:
        programs.setdefault(op.rows.program.program_id, []).append(op)
    if not programs:
        return UNREAD
    ranked = sorted(programs, key=lambda number: -time_ps(programs[number]))[:_MOST]
    ranked = [number for number in ranked if time_ps(programs[number]) >= _LEAST * work.counted_ps]
    products = {number: _products(programs[number]) for number in ranked}
    repeats: dict[int, list[int]] = {}
    for row, small in enumerate(ranked):
        for large in ranked[:row]:
            if _repeats(programs[small], products[large]):
                repeats.setdefault(large, []).append(small)
                break
    if not repeats:
        return op_kind(host, [], REPEATED_SHARE)
    large, several = max(repeats.items(), key=lambda one: sum(time_ps(programs[number]) for number in one[1]))
    ops = [op for number in several for op in programs[number]]
    names = [host.hlo.programs.names.get(number, str(number)) for number in (large, *several)]
    verb = "repeats" if len(several) == 1 else "repeat"
    what = f"{', '.join(names[1:])} {verb} products of {names[0]}"
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
