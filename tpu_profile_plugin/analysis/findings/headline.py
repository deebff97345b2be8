"""What limits a run, in one line: the largest finding, else what the step is spent on; and whether it is healthy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import duration

CLEAR_SHARE = 0.10
"""Least share of the time for a headline: a run with such a finding, or such a part without one, is not healthy."""
BAD_SHARE = 0.20
"""From this share on the headline is alarming."""
BUSY_SHARE = 0.75
"""Least share of computation in a busy step: with less, a quarter or more is lost without a known cause."""
NOTABLE_SHARE = 0.01
"""Smaller parts are left out of sentences, and exceptional steps that cost less do not count."""

FEW_STEPS = 3
"""With fewer steps, one of them may be an exception."""
LEAST_COVERED = 0.5
"""Where steps cover less of the recording, most of what was recorded is not judged."""

Tone = Literal["good", "fair", "bad", "none"]
_SPENT = {
    "device_compute": "is device compute",
    "device_to_device": "goes to exposed transfers between devices",
    "collectives": "goes to exposed collectives and waits for late devices",
    "host_compute": "waits for host code",
    "kernel_launch": "waits for launched work",
    "input": "waits for input",
    "output": "waits for output to the host",
    "compilation": "waits for compilation",
    "exposed_copy": "waits for host copies",
    "idle_gap": "goes to gaps between ops",
    "idle_other": "is unexplained idle time",
    "between_steps": "is between steps",
}
"""Categories of the time budget, and parts of the last one, after "... of the step"."""
_PLACES = ("largest_part", "exposed_communication")
"""Rules whose findings say where most of the time goes, even if nothing says that it is lost."""
_ALONE = {"host_compute": "is host code", "compilation": "is compilation; record later, or for longer"}
"""The same of a host of which no device was recorded."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline.

    Attributes:
      title: one line.
      tone: "good": healthy; "fair", "bad": time is lost; "none": no verdict, or busy and nothing speaks against it.
      finding: id of the rule whose finding it is; None if it is about the parts of the step.
    """

    title: str
    tone: Tone
    finding: str | None = None


def is_busy(run: RunView, largest_share: float) -> bool:
    """Whether devices compute most of the time, and neither a finding nor any other part has a tenth of it."""
    shares = _shares(run) if run.has_devices else {"device_compute": 0.0}
    compute = shares.pop("device_compute")
    return compute >= BUSY_SHARE and max(largest_share, *shares.values(), 0.0) < CLEAR_SHARE


def is_healthy(run: RunView, largest_share: float) -> bool:
    """Whether a run is busy, its steps are marked and alike and cover the recording, and its devices are used well."""
    return is_busy(run, largest_share) and not (_unsure(run) or _slow_steps(run) or _use(run))


def headline(
    run: RunView, first: tuple[str, str, float] | None, *, busy_with: str = "", compiling: float = 0.0
) -> Headline:
    """The headline of a run.

    Args:
      run: the run.
      first: id, title and share of the finding with the largest saving.
      busy_with: what the devices compute, after "... is device compute, "; "" if unknown.
      compiling: without devices and steps, the share of the recording in which programs are compiled.
    """
    if first is not None and first[2] >= CLEAR_SHARE:
        name, title, share = first
        return Headline(_qualifier(run) + title, "bad" if share >= BAD_SHARE else "fair", name)
    if not run.has_devices:
        return Headline(_no_device(run, compiling), "none")
    title, tone = _verdict(run, first, busy_with)
    return Headline(_qualifier(run) + title, tone)


def _qualifier(run: RunView) -> str:
    """What limits the verdict: few steps, inferred ones, or steps that cover little of the recording."""
    few, what = run.steps < FEW_STEPS and not run.whole_recording, "step" if run.steps == 1 else "steps"
    number = f"{run.steps} " if few else ""
    steps = f"{number}{'inferred ' if run.inferred else ''}{what}"
    if (judged := _judged(run)) < LEAST_COVERED:
        between = " with what is between them" if judged > run.covered else ""
        return f"In the {judged:.1%} of the recording that {steps}{between} cover{'s' if run.steps == 1 else ''}: "
    if few:
        return f"{steps.capitalize()} only: "
    return "Inferred steps: " if run.inferred else ""


def _unsure(run: RunView) -> bool:
    """Whether steps are too few, not marked, or cover too little to call a run healthy.

    Inferred steps last from one execution to the next, so that nothing is ever between them.
    """
    return run.steps < FEW_STEPS or run.inferred or run.whole_recording or _judged(run) < LEAST_COVERED


def _judged(run: RunView) -> float:
    """The share of the recording that is judged: what steps cover, and what is between them if that is in the base."""
    return min(run.covered / max(1 - _between(run), run.covered, 1e-9), 1.0)


def _between(run: RunView) -> float:
    return run.group_shares()["between_steps"] if run.has_devices else 0.0


def _slow_steps(run: RunView) -> str:
    """That single steps are far longer than the others; "" if not."""
    slow = run.outliers
    # Long steps in which devices end work that other steps launched are as good as short ones.
    if not len(slow) or slow.idle_ps_per_step < max(NOTABLE_SHARE * run.base_ps, slow.excess_ps_per_step / 2):
        return ""
    worst = float(slow.length_ps.max()) / slow.median_ps if slow.median_ps else 0.0
    take = "takes" if len(slow) == 1 else "take up to"
    return f"{len(slow)} of {len(slow.length_ps)} steps {take} {worst:.1f} times the median"


def _use(run: RunView) -> str:
    """What is wrong with, or not known about, the use of the devices; "" if it is high enough."""
    use = run.use_while_busy
    if use is None:
        return "the use of the devices' peak rates is unknown"
    return use.sentence if use.low else ""


def _verdict(run: RunView, first: tuple[str, str, float] | None, busy_with: str) -> tuple[str, Tone]:
    """Title and tone of a run with devices and without a clear finding."""
    shares = _shares(run)
    compute = f"{shares.pop('device_compute'):.1%} of the {run.base} is device compute"
    rest = sorted(((name, share) for name, share in shares.items() if share > 0), key=lambda one: -one[1])
    largest_finding = first[2] if first is not None else 0.0
    if is_busy(run, largest_finding):
        notable = [f"{share:.1%} {_SPENT[name]}" for name, share in rest if share >= NOTABLE_SHARE][:2]
        if is_healthy(run, largest_finding):
            return f"Healthy: {', '.join([compute, *notable])}", "good"
        told = ", ".join([compute, busy_with] if busy_with else [compute, *notable])
        slow, use = _slow_steps(run), _use(run)
        lost = bool(slow or (use and run.use_while_busy))
        return "; ".join([f"Busy: {told}", *filter(None, (slow, use))]), "fair" if lost else "none"
    if not rest:
        return compute, "none"
    largest, share = rest[0]
    if largest == "between_steps":
        pause, step = duration(share * run.base_ps), duration((1 - share) * run.base_ps)
        return f"The program pauses {pause} between steps of {step}, {share:.1%} of the {run.base}", "fair"
    title = f"{share:.1%} of the {run.base} {_SPENT[largest]}"
    if first is not None and not first[2] and first[0] in _PLACES:
        return (f"{first[1]}; {title}" if first[0] == "largest_part" else first[1]), "fair"
    if largest == "idle_other":
        return f"{title}: no event was recorded for it", "fair"
    return f"{title}; {'no finding explains most of it' if largest_finding else 'no check found the cause'}", "fair"


def _no_device(run: RunView, compiling: float) -> str:
    """What the host does, if that is known."""
    shares = _shares(run)
    if not any(shares.values()):
        if compiling >= CLEAR_SHARE:
            return f"No device ran: {compiling:.1%} of the recording {_ALONE['compilation']}"
        return "No device in the profile: its time cannot be accounted for"
    most = max(shares, key=lambda name: shares[name])
    return f"No device recorded; {shares[most]:.1%} of the {run.base} {_ALONE.get(most, _SPENT[most])}"


def _shares(run: RunView) -> dict[str, float]:
    """The categories of the time budget; the last one, which has nothing in common, by its parts."""
    shares = run.group_shares()
    del shares["other"]
    return {**shares, **{part: run.budget.share(part) for part in ("exposed_copy", "idle_gap", "idle_other")}}
