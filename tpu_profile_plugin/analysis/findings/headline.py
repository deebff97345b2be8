"""What limits a run, in one line: the largest finding, else what the step is spent on; and whether it is healthy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tpu_profile_plugin.analysis.findings.run_view import RunView

CLEAR_SHARE = 0.10
"""Least share of the time for a headline: a run without such a finding may be healthy."""
BAD_SHARE = 0.20
"""From this share on the headline is alarming."""
HEALTHY_SHARE = 0.75
"""Least share of computation in a healthy step: with less, a quarter or more is lost without a known cause."""
NOTABLE_SHARE = 0.01
"""Smaller parts are left out of sentences."""

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
    "kernel_launch": "waits for launches",
    "input": "waits for input",
    "output": "waits for output to the host",
    "compilation": "waits for compilation",
    "exposed_copy": "waits for host copies",
    "idle_other": "is unexplained idle time",
    "between_steps": "is between steps",
}
"""Categories of the time budget, and parts of the last one, after "... of the step"."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline.

    Attributes:
      title: one line.
      tone: "good": healthy; "fair", "bad": time is lost; "none": no verdict.
      finding: id of the rule whose finding it is; None if it is about the parts of the step.
    """

    title: str
    tone: Tone
    finding: str | None = None


def is_healthy(run: RunView, largest_share: float) -> bool:
    """Whether no finding could save a tenth of the time, and most of it is computation."""
    return run.has_devices and largest_share < CLEAR_SHARE and _shares(run)["device_compute"] >= HEALTHY_SHARE


def headline(run: RunView, first: tuple[str, str, float] | None, *, healthy: bool) -> Headline:
    """The headline of a run; `first`: id, title and share of the finding with the largest saving."""
    told = _verdict(run, first, healthy=healthy)
    return told if told.tone == "none" else replace(told, title=_qualifier(run) + told.title)


def _qualifier(run: RunView) -> str:
    """What limits the verdict: few steps, inferred ones, or steps that cover little of the recording."""
    few, what = run.steps < FEW_STEPS and not run.whole_recording, "step" if run.steps == 1 else "steps"
    number = f"{run.steps} " if few else ""
    steps = f"{number}{'inferred ' if run.inferred else ''}{what}"
    if run.covered < LEAST_COVERED:
        return f"In the {run.covered:.1%} of the recording that {steps} cover{'s' if run.steps == 1 else ''}: "
    if few:
        return f"{steps.capitalize()} only: "
    return "Inferred steps: " if run.inferred else ""


def _verdict(run: RunView, first: tuple[str, str, float] | None, *, healthy: bool) -> Headline:
    if first is not None and first[2] >= CLEAR_SHARE:
        name, title, share = first
        return Headline(title, "bad" if share >= BAD_SHARE else "fair", name)
    shares = _shares(run)
    if not run.has_devices:
        if not any(shares.values()):
            return Headline("No device in the profile: its time cannot be accounted for", "none")
        most = max(shares, key=lambda name: shares[name])
        spent = "is host code" if most == "host_compute" else _SPENT[most]
        return Headline(f"No device recorded; {shares[most]:.1%} of the {run.base} {spent}", "none")
    compute = f"{shares.pop('device_compute'):.1%} of the {run.base} is device compute"
    rest = sorted(((name, share) for name, share in shares.items() if share > 0), key=lambda one: -one[1])
    if healthy:
        notable = [f"{share:.1%} {_SPENT[name]}" for name, share in rest if share >= NOTABLE_SHARE][:2]
        return Headline(f"Healthy: {', '.join([compute, *notable])}", "good")
    if not rest:
        return Headline(compute, "none")
    largest, share = rest[0]
    title = f"{share:.1%} of the {run.base} {_SPENT[largest]}"
    if largest == "idle_other":
        return Headline(f"{title}: no event was recorded for it", "fair")
    known = first is not None and first[2] > 0
    return Headline(f"{title}; {'no finding explains most of it' if known else 'no check found the cause'}", "fair")


def _shares(run: RunView) -> dict[str, float]:
    """The categories of the time budget; the last one, which has nothing in common, by its parts."""
    shares = run.group_shares()
    del shares["other"]
    return {**shares, **{part: run.budget.share(part) for part in ("exposed_copy", "idle_other")}}
