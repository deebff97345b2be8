"""Ops of one kind: what is told of them on a host, and the finding that they make over all hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tpu_profile_plugin.analysis.blame.host_groups import MOST
from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ReadOp, shares, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, OpOf, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import cell, in_timeline, most_in, most_label
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_US

UNREAD = lacks(NO_PROGRAMS, "No ops with known programs recorded.")
"""What a rule says of a host without HLO programs, from which alone it knows its kind."""
_NO_ADVICE = Advice("")
_MOST_OPS = 200
"""The lines of so many ops are added up."""


@dataclass(frozen=True, slots=True)
class OpKind:
    """Ops of one kind on one host; times over all cores in ps.

    Attributes:
      counted_ps: self time of all ops that compute or move data; ops_ps: of those of the kind.
      saving_ps: what of the latter could be saved at most.
      of_ops: share of the kind in the time of all ops, 0 to 1: on CPUs in their wall time, else in their self time.
      most: the op, or the line, that has most of it or the largest part, for the end of the title; "" without ops;
        of_op: evidence of the op.
      what: what it does, for the end of the title.
      evidence, advice, confidence: as of a finding; evidence of the kind on this host.
      excuse: why the ops are as they should be, whatever they take; "" if nothing speaks for them.
    """

    counted_ps: int
    ops_ps: int = 0
    saving_ps: float = 0
    of_ops: float = 0
    most: str = ""
    of_op: tuple[Evidence, ...] = ()
    what: str = ""
    evidence: tuple[Evidence, ...] = ()
    advice: Advice = _NO_ADVICE
    confidence: Confidence = "high"
    excuse: str = ""


def op_kind(host: HostView, ops: Sequence[ReadOp], least: float, saving_ps: float | None = None) -> OpKind:
    """Ops of a host, the most telling first, whose longest run is searched if they take at least `least` of all."""
    work, spent = work_of(host), time_ps(ops)
    saving_ps = spent if saving_ps is None else saving_ps
    if not ops:
        return OpKind(work.counted_ps)
    share, of_ops = ops[0].self_ps / max(spent, 1), spent / max(work.counted_ps, 1)
    if host.on_cpus and (whole := _wall_ps(host, work.read)):
        # Ops run at the same time there, and some in parts of which one is recorded.
        of_ops = _wall_ps(host, ops) / whole
    label, evidence = _of_op(host, ops[0].index, longest=saving_ps >= least * work.counted_ps, share=share)
    return OpKind(work.counted_ps, spent, saving_ps, of_ops, _most(host, ops, label, share), evidence)


def _wall_ps(host: HostView, ops: Sequence[ReadOp]) -> int:
    """The wall time of ops, as blamed."""
    names = {(host.ops.module[op.index], host.ops.name[op.index]) for op in ops}
    mine = np.append([(op.program, op.name) in names for op in host.blame.ops], False).astype(np.bool_)
    return int(host.blame.ps[mine[host.blame.op]].sum())


def _most(host: HostView, ops: Sequence[ReadOp], label: str, share: float) -> str:
    """The most costly op if most of the time is in it, else the line of most of it, else how much the op has."""
    if share <= MOST:
        lines = shares((_place_of(host, op.index), op.self_ps) for op in ops[:_MOST_OPS])
        line, of_line = next(((line, of) for line, of in lines if line), ("", 0.0))
        of_line *= time_ps(ops[:_MOST_OPS]) / max(time_ps(ops), 1)
        if of_line > MOST:
            return f", most of it at {line}, the largest part, {share:.0%}, in {host.ops.name[ops[0].index]}"
    return most_in(label, share)


def _longest_run(host: HostView, program: int, name: str) -> tuple[int, int] | None:
    """Begin and end of the longest run of an op on any device; None if there is none."""
    longest: tuple[int, int] | None = None
    for device in host.devices:
        numbers = [i for i, op in enumerate(device.ops) if op.name == name and op.program == program]
        rows = np.flatnonzero(np.isin(device.runs.op, numbers))
        begin, end = device.runs.begin_ps[rows], device.runs.end_ps[rows]
        if len(rows):
            at = int((end - begin).argmax())
            found = int(begin[at]), int(end[at])
            longest = max(longest or found, found, key=lambda one: one[1] - one[0])
    return longest


def _place_of(host: HostView, row: int) -> str:
    """`file:line` of an op of the host's op table, "" if its program does not tell."""
    found = host.hlo.located(host.ops.module[row], host.ops.name[row])
    return "" if found is None else found[0].place(found[1])


def _of_op(host: HostView, row: int, *, longest: bool, share: float) -> tuple[str, tuple[Evidence, ...]]:
    """An op of the host's op table: its name with its line, and name, time and source as HLO statistics have them.

    With its longest run, if that is asked for and known; `share`: its part of what the finding is about.
    """
    table = host.ops
    name, program, self_ps = table.name[row], table.module[row], int(table.self_ps[row])
    place, found = _place_of(host, row), host.hlo.located(program, name)
    framework = table.provenance[row].partition(":")[0] or ("" if found is None else found[0].op_name(found[1]))
    page = {"host": host.name, "row": f"{cell('hlo_op_name', name)};{cell('program_id', str(program))}"}
    of, busy = OpOf(name, program), 100.0 * self_ps / max(1, int(table.self_ps.sum()))
    numbers: list[tuple[str, str | float, str]] = [
        (most_label(share), name, ""),
        (f"Self time of {name}, all runs on {host.name}", self_ps / PS_PER_US, "us"),
        (f"Busy share of {name}", busy, "%"),
    ]
    numbers += [("Its framework op", framework, "")] if framework else []
    numbers += [("Its source line", place, "")] if place else []
    run = in_timeline(host.name, of, _longest_run(host, program, name)) if longest else []
    evidence = [Evidence(label, value, unit, "hlo_stats", page, of) for label, value, unit in numbers]
    return (f"{name} ({place})" if place else name), (*evidence, *run)


@dataclass(frozen=True, slots=True)
class Telling:
    """How a rule tells of its kind; `{share}`, of the `{base}`, `{most}` and `{what}` are filled in.

    Attributes:
      title, formula: of the finding; silence: the reason why there is none.
      label: of the evidence of their share in the time of all ops; without one there is none.
      least: the share of the base that makes a finding.
      moves: ops that move data are among them, so that the time budget may count them apart from computation.
    """

    title: str
    silence: str
    label: str
    formula: str
    least: float = 0.0
    moves: bool = True


@dataclass(frozen=True, slots=True)
class RunKind:
    """The kind over all hosts: of_ops, 0 to 1, of the time of all ops; `kind` of the host with most of it."""

    of_ops: float
    lost: Lost
    kind: OpKind
    hosts: tuple[str, ...]

    def told(self, run: RunView, text: str) -> str:
        """A text of a telling, filled in."""
        return text.format(
            share=self.lost.share, base=run.base, most=self.kind.most, what=self.kind.what, ops=self.of_ops
        )

    def finding(self, run: RunView, telling: Telling) -> Finding:
        """The finding, whatever the share."""
        share = Evidence(telling.label, 100 * self.of_ops, "%") if telling.label else None
        return Finding(
            self.told(run, telling.title),
            self.lost.ps,
            telling.formula,
            self.kind.confidence,
            (*filter(None, (share,)), *self.kind.evidence, *self.kind.of_op),
            self.kind.advice,
            self.hosts,
            self.lost.segments,
        )


def run_kind(run: RunView, parts: Sequence[OpKind | Silence | None], *, moves: bool = True) -> RunKind | Silence:
    """The kind over all hosts, lost in the parts of the time budget that ops take; why not, if no host could look."""
    known = [(part, host) for part, host in run.present(parts) if isinstance(part, OpKind)]
    if not known:
        return next(part for part in parts if isinstance(part, Silence))
    counted = max(sum(part.counted_ps for part, _ in known), 1)
    spent = run.part_ps("compute") + (run.part_ps("data_movement") if moves else 0)
    of_ops = [part.of_ops * part.counted_ps / counted for part, _ in known]
    saving = sum(one * part.saving_ps / max(part.ops_ps, 1) for one, (part, _) in zip(of_ops, known, strict=True))
    return RunKind(
        sum(of_ops),
        run.lost_in("device_compute" if moves else "compute", ps=saving * spent),
        max((part for part, _ in known), key=lambda one: one.saving_ps),
        tuple(host for part, host in known if part.saving_ps),
    )


def judge_kind(telling: Telling, run: RunView, parts: Sequence[OpKind | Silence]) -> Finding | Silence:
    """The verdict on the ops of all hosts."""
    found = run_kind(run, parts, moves=telling.moves)
    if isinstance(found, Silence):
        return found
    if found.lost.share < telling.least or not found.kind.most:
        return Silence(found.told(run, telling.silence))
    if found.kind.excuse:
        return Silence(f"{found.told(run, telling.silence).rstrip('.')}; {found.kind.excuse}.")
    return found.finding(run, telling)


def kind_rule(
    id_: str,
    looks_for: str,
    gather: Callable[[HostView], OpKind | Silence],
    telling: Telling,
    implied_by: tuple[str, ...] = (),
) -> Rule:
    """A rule that adds up ops of a kind; the module of `gather` documents it."""
    return Rule(id_, looks_for, partial(judge_kind, telling), gather, implied_by)
