"""Some steps take far longer than the typical one, because of work that only they do: checkpoints, evaluation, logging,
garbage collection.

Fires if steps far above the median cost at least {LEAST_SHARE:.0%} of the time from step to step, and most of that is
work of a known purpose, or of a function or program that runs only in them or five times as long. Work without a known
purpose counts if it recurs.

Do it less often, or while the devices compute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tpu_profile_plugin.analysis.common.reasons import DISPATCHED_STEPS, FEW_STEPS, NO_FRAMES
from tpu_profile_plugin.analysis.common.spans import no_time
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import Kind, PeriodicWork, periodic_work
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import Purpose
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.rules.host.kinds import KINDS, advice, again
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.summary.outliers import StepOutliers, period_of
from tpu_profile_plugin.units import PS_PER_MS

MOST_NUMBERS = 10
"""Numbers of steps that evidence lists."""
_BUILT_IN = re.compile(r"\$(?P<module>[\w.]+|<unknown>) (?P<name>\w+)\Z")
"""A function in C, `<unknown>` if it is the method of an object."""
_COMPILED = re.compile(
    r"PjitFunction\((.+)\)\Z|(?:EagerLocalExecute: )?__inference_(.+)_\d+\Z|EagerLocalExecute: (.+)\Z"
)
"""A call of a compiled function, or an op of TensorFlow."""


def gather(host: HostView) -> PeriodicWork | None:
    """The exceptions of one host; None without any that are worth a finding."""
    work = periodic_work(host)
    return None if work is None else replace(work, times=no_time())


def judge(run: RunView, gathered: Sequence[PeriodicWork | None]) -> Finding | Silence:
    """The verdict on the host whose exceptions cost most."""
    steps = run.outliers
    if "dispatch" in run.budget.sources:
        return lacks(
            DISPATCHED_STEPS, "Steps are equal parts of the whole time: their markers enclose only the dispatch."
        )
    if not steps.judged:
        return lacks(FEW_STEPS, f"{_count(len(steps.length_ps))} recorded: too few to tell a typical one.")
    known = run.present(gathered)
    if not known:
        return Silence(f"{_slow(steps)}.")
    worst, host = max(known, key=lambda one: (len(one[0].kinds) > 0, one[0].steps.share))
    lost = run.located([one.by_part for one, _ in known])
    if not worst.kinds:
        return _unexplained(worst)
    if lost.share < LEAST_SHARE:
        return Silence(f"{_slow(worst.steps)}; devices compute most of that time.")
    first = worst.kinds[0]
    return Finding(
        _title(run, worst, lost),
        lost.ps,
        "time of these steps above the median, less what devices computed that other steps launched; divided by all "
        "steps",
        _confidence(first),
        (*_costs(run, lost), *_evidence(run, worst, host)),
        advice(first),
        (host,),
        lost.segments,
    )


def _slow(steps: StepOutliers) -> str:
    count = len(steps.length_ps)
    if not len(steps):
        return f"No step of {count} is far longer than the median ({steps.median_ps / PS_PER_MS:.4g} ms)"
    are = "is" if len(steps) == 1 else "are"
    return f"{len(steps)} of {count} steps {are} far longer than the median, {steps.share:.1%} of the time"


def _unexplained(worst: PeriodicWork) -> Silence:
    what = _slow(worst.steps)
    for reason, count in worst.others.items():
        if count >= len(worst.steps) / 2:
            return Silence(f"{what}, because of {reason}.")
    if worst.single:
        return Silence(f"{what}; the work that runs only there does not recur.")
    if not worst.traced:
        return lacks(NO_FRAMES, f"{what}; Python functions were not recorded, so the cause is unknown.")
    return Silence(f"{what}, but nothing runs in them that does not run in others.")


def _confidence(kind: Kind) -> Confidence:
    return "high" if kind.purpose not in (Purpose.UNKNOWN, Purpose.QUEUE) or kind.only else "medium"


def _title(run: RunView, worst: PeriodicWork, lost: Lost) -> str:
    first, *others = worst.kinds
    named = shown(first.function) or (f"program {first.program}" if first.program else _called(first.call))
    place = f": {named}" if named else ""
    period, count = period_of(first.rows), len(worst.steps.length_ps)
    if len(first.rows) == 1:
        when = f"one of {count} steps"
    elif period is not None:
        when = f"every {_ordinal(period)} step"
    else:
        when = f"{len(first.rows)} of {count} steps"
    more = f", and to {_work(others[0])} in other steps" if others else ""
    return f"{lost.share:.1%} of the {run.base} goes to {_work(first)} in {when}{place}{more}"


def _work(kind: Kind) -> str:
    told = KINDS.get(kind.purpose)
    return told.work if told is not None else "work"


def _costs(run: RunView, lost: Lost) -> tuple[Evidence, ...]:
    return share_of("Work of the slow steps", lost, run.base), per_step("Work of the slow steps", lost, run.per)


def _evidence(run: RunView, worst: PeriodicWork, host: str) -> list[Evidence]:
    first, steps = worst.kinds[0], worst.steps
    numbers = list(map(str, worst.numbers[list(first.rows)].tolist()))
    longest = max(first.rows, key=lambda row: float(steps.length_ps[row]))
    window = int(worst.windows[0][longest]), int(worst.windows[1][longest])
    length, where = float(steps.length_ps[longest]) / PS_PER_MS, timeline(host, *window)
    evidence = [
        Evidence(f"Longest of these steps: {worst.numbers[longest]}", length, "ms", TIMELINE, where),
        Evidence("Median step", steps.median_ps / PS_PER_MS, "ms"),
        Evidence(f"Steps with this work, of {len(steps.length_ps)}", len(first.rows)),
        Evidence("Their numbers", ", ".join(numbers[:MOST_NUMBERS]) + (", ..." if len(numbers) > MOST_NUMBERS else "")),
    ]
    period = period_of(first.rows)
    if period is not None:
        evidence.append(Evidence("Steps from one to the next", period))
    for label, name, text in (("Function", first.function, shown), ("Call", first.call, _called)):
        if name:
            evidence.append(Evidence(label, text(name), "", TIMELINE, timeline(host, *window, name)))
    if first.program:
        evidence.append(Evidence("Program that runs only there", first.program))
    total = sum(kind.lost_ps for kind in worst.kinds)
    for kind in worst.kinds[1:]:
        name = shown(kind.function) or kind.program or _called(kind.call)
        label = f"In other steps, of that time: {_work(kind)}"
        evidence.append(Evidence(f"{label} ({name})" if name else label, 100 * kind.lost_ps / total, "%"))
    return evidence if worst.traced or first.call or first.program else [*evidence, again(run.frameworks)]


def _called(event: str) -> str:
    """A call as programs write it: `$_pickle dump` is pickle.dump, `PjitFunction(f)` and `__inference_f_12` are f."""
    match = _COMPILED.match(event)
    if match is not None:
        return str(next(filter(None, match.groups())))
    match = _BUILT_IN.match(event)
    if match is None:
        return shown(event)
    return match["name"] if match["module"] == "<unknown>" else f"{match['module'].removeprefix('_')}.{match['name']}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _count(steps: int) -> str:
    return "No steps" if not steps else "One step" if steps == 1 else f"{steps} steps"


RULE = Rule("periodic_work", "Work of some steps only", judge, gather)
