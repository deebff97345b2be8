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

from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.reasons import DISPATCHED_STEPS, FEW_STEPS, NO_FRAMES, Reason
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import Kind, PeriodicWork, periodic_work
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.kinds import KINDS, OTHER, advice, again
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE as LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
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


def gather(host: HostView) -> HostLoss | None:
    """The exceptions of one host; None without any that are worth a finding."""
    work = periodic_work(host)
    if work is None:
        return None
    traced = calls_of(host).main.traced
    if not work.kinds:
        why, lacking = _why(work, traced)
        return HostLoss(work.by_part, "", (), OTHER, harmless=f"{_slow(work.steps)}{why}", lacking=lacking)
    (first, *others), steps = work.kinds, work.steps
    count, period, numbers = len(steps.length_ps), period_of(first.rows), host.time.number
    longest = max(first.rows, key=lambda row: float(steps.length_ps[row]))
    window = int(host.windows[0][longest]), int(host.windows[1][longest])
    length, where = float(steps.length_ps[longest]) / PS_PER_MS, timeline(host.name, *window)
    listed = [*map(str, numbers[list(first.rows[:MOST_NUMBERS])].tolist()), *["..."][: len(first.rows) > MOST_NUMBERS]]
    evidence = [
        Evidence(f"Longest of these steps: {numbers[longest]}", length, "ms", TIMELINE, where),
        Evidence("Median step", steps.median_ps / PS_PER_MS, "ms"),
        Evidence(f"Steps with this work, of {count}", len(first.rows)),
        Evidence("Their numbers", ", ".join(listed)),
    ]
    if period is not None:
        evidence.append(Evidence("Steps from one to the next", period))
    for label, name, text in (("Function", first.function, shown), ("Call", first.call, _called)):
        if name:
            evidence.append(Evidence(label, text(name), "", TIMELINE, timeline(host.name, *window, name)))
    if first.program:
        evidence.append(Evidence("Program that runs only there", first.program))
    for kind in others:
        name = shown(kind.function) or kind.program or _called(kind.call)
        label = f"In other steps, of that time: {_work(kind)}" + (f" ({name})" if name else "")
        evidence.append(Evidence(label, 100 * kind.lost_ps / sum(one.lost_ps for one in work.kinds), "%"))
    if not (traced or first.call or first.program):
        evidence.append(again(host.summary.frameworks))
    when = f"{len(first.rows)} of {count} steps" if period is None else f"every {_ordinal(period)} step"
    when = f"one of {count} steps" if len(first.rows) == 1 else when
    named = shown(first.function) or (f"program {first.program}" if first.program else _called(first.call))
    more = f", and to {_work(others[0])} in other steps" if others else ""
    what = f"{_work(first)} in {when}{f': {named}' if named else ''}{more}"
    sure = first.only or first.purpose not in (Purpose.UNKNOWN, Purpose.QUEUE)
    return HostLoss(work.by_part, what, tuple(evidence), advice(first), "high" if sure else "medium")


def _slow(steps: StepOutliers) -> str:
    count = len(steps.length_ps)
    if not len(steps):
        return f"No step of {count} is far longer than the median ({steps.median_ps / PS_PER_MS:.4g} ms)"
    are = "is" if len(steps) == 1 else "are"
    return f"{len(steps)} of {count} steps {are} far longer than the median, {steps.share:.1%} of the time"


def _why(work: PeriodicWork, traced: bool) -> tuple[str, Reason | None]:
    """Why the exceptions are no finding, after a sentence on how many there are; and what the profile lacks."""
    for reason, count in work.others.items():
        if count >= len(work.steps) / 2:
            return f", because of {reason}.", None
    if work.single:
        return "; the work that runs only there does not recur.", None
    if not traced:
        return "; Python functions were not recorded, so the cause is unknown.", NO_FRAMES
    return ", but nothing runs in them that does not run in others.", None


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host whose exceptions cost most."""
    steps = run.outliers
    if "dispatch" in run.budget.sources:
        return lacks(
            DISPATCHED_STEPS, "Steps are equal parts of the whole time: their markers enclose only the dispatch."
        )
    if not steps.judged:
        return lacks(FEW_STEPS, f"{_count(len(steps.length_ps))} recorded: too few to tell a typical one.")
    return verdict(
        run,
        gathered,
        title="{share} of the {base} goes to {what}",
        label="Work of the slow steps",
        formula="time of these steps above the median, less what devices computed that other steps launched; divided "
        "by all steps",
        nothing=f"{_slow(steps)}.",
        little=f"{_slow(steps)}; without what devices computed, that is {{share}} of the {{base}}.",
    )


def _work(kind: Kind) -> str:
    told = KINDS.get(kind.purpose)
    return told.work if told is not None else "work"


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
