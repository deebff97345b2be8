"""Work that no step changes: a part of the program that depends neither on its state nor on what changes by itself.

Fires if such ops take at least {UNCHANGED_SHARE:.0%} of the time from step to step. The program shows what they depend
on: no argument that it returns a new value of, such as parameters in training, an optimizer's state or a sample that is
refined. What depends on no argument at all is the same in every step; what depends on some may be new data in each, so
that no cost is claimed.

Compute it once, before the loop, and give the step its result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tpu_profile_plugin.analysis.blame.origin import common, of_program, shared
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, judge_kind, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.unchanged import Unchanged

UNCHANGED_SHARE = 0.1
"""Such work, as a share of the time from step to step: casts and masks in good programs take less."""
_MOST_ARGUMENTS, _LEAST_ARGUMENT = 4, 0.1
"""So many arguments are named, each of which so much of the work depends on."""

_NETWORK = 4
"""So many arrays under one name are the weights of a network; fewer may be a batch, which is another in each step."""
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?:\[['\w]+\])?")

_TELLING = Telling(
    "{share:.1%} of the {base} does not depend on the step before: {what}",
    "Work that does not depend on the step before takes {share:.1%} of the {base}.",
    "Ops that depend on nothing that the step before computed, of the time of all ops",
    "device compute times the share of these ops in the ops' time",
    UNCHANGED_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The ops of one host that depend on nothing that their program changes."""
    work = work_of(host)
    programs = {op.rows: Unchanged(op.rows) for op in {id(op.rows): op for op in work.in_programs}.values()}
    found = [(op, names) for op in work.in_programs if (names := programs[op.rows].arguments(op.at)) is not None]
    ops = [op for op, _ in found]
    kind = op_kind(host, ops, UNCHANGED_SHARE)
    if not ops:
        return kind if work.in_programs else UNREAD
    arguments, leaves = Counter[str](), set[str]()
    for op, names in found:
        arguments.update(dict.fromkeys(map(_short, names), op.self_ps))
        leaves.update(names)
    names = [name for name, ps in arguments.most_common(_MOST_ARGUMENTS) if ps >= _LEAST_ARGUMENT * kind.ops_ps]
    what = _where(ops, work.in_programs) or ops[0].place or host.ops.name[ops[0].index]
    always = time_ps([op for op, of in found if not of]) >= kind.ops_ps / 2
    network = max(Counter(name.partition("[")[0].partition(".")[0] for name in leaves).values(), default=0) >= _NETWORK
    return replace(
        kind,
        what=what + (f", from {', '.join(names)}" if names else ""),
        evidence=(Evidence("Arguments that it depends on", ", ".join(names) or "none"),),
        advice=PARTS["unchanged work" if always else "work from some arguments"],
        confidence="high" if always else "medium" if network else "low",
    )


def _short(name: str) -> str:
    """An argument by the first level of what it is nested in: `params['encoder']` for all weights of the encoder."""
    found = _NAME.match(name)
    return found[0] if found else name


def _where(ops: Sequence[ProgramOp], all_ops: Sequence[ProgramOp]) -> str:
    """The function that nearly all of some ops are traced in, unless all of the step is; else those that share them."""
    mine, everything = ([(of_program(op.rows, op.at), op.self_ps) for op in some] for some in (ops, all_ops))
    function = common(mine)
    return function if function != common(everything) else ", ".join(place for place, _ in shared(mine)[:2])


def judge(run: RunView, parts: Sequence[OpKind | Silence]) -> Finding | Silence:
    """The verdict on the ops of all hosts; without a cost if they depend on arguments."""
    found = judge_kind(_TELLING, run, parts)
    if isinstance(found, Silence) or found.confidence == "high":
        return found
    return replace(found, saving_ps=0.0, segments=())


RULE = Rule("unchanged_work", "Work that no step changes", judge, gather)
