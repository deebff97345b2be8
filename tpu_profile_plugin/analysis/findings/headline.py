"""What limits a run, in one line: the largest finding, else what the step is spent on; and whether it is healthy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tpu_profile_plugin.analysis.findings.run_view import RunView

CLEAR_SHARE = 0.10
"""Least share of the step for a headline: a run without such a finding may be healthy."""
BAD_SHARE = 0.20
"""From this share on the headline is alarming."""
HEALTHY_SHARE = 0.75
"""Least share of computation in a healthy step: with less, a quarter or more is lost without a known cause."""
NOTABLE_SHARE = 0.01
"""Smaller parts are left out of sentences."""

Tone = Literal["good", "fair", "bad", "none"]
_WORDS = {
    "compute": "computation",
    "exposed_communication": "communication that no computation hides",
    "exposed_copy": "copies that no computation hides",
    "idle_input": "idle, waiting for input",
    "idle_compile": "idle, waiting for compilation",
    "idle_host": "idle, waiting for code on the host",
    "idle_transfer": "idle while the host waits for results",
    "idle_launch": "idle, waiting for work to be launched",
    "idle_peer": "waiting for another device",
    "idle_other": "idle",
}
"""Parts of the time budget after "... of the step is"."""


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
    """Whether no finding could save a tenth of the step, and most of it is computation."""
    return largest_share < CLEAR_SHARE and dict(_parts(run)).get("compute", 0.0) >= HEALTHY_SHARE


def headline(run: RunView, first: tuple[str, str, float] | None, *, healthy: bool) -> Headline:
    """The headline of a run; `first`: id, title and share of the finding with the largest saving."""
    if first is not None and first[2] >= CLEAR_SHARE:
        name, title, share = first
        return Headline(title, "bad" if share >= BAD_SHARE else "fair", name)
    parts = [(name, share) for name, share in _parts(run) if share > 0]
    if not parts:
        return Headline("No device in the profile: its time cannot be accounted for", "none")
    compute = f"{dict(parts).get('compute', 0.0):.1%} of the {run.base} is computation"
    rest = [(name, share) for name, share in parts if name != "compute"]
    if healthy:
        notable = [f"{share:.1%} {_WORDS[name]}" for name, share in rest if share >= NOTABLE_SHARE][:2]
        return Headline(f"Healthy: {', '.join([compute, *notable])}", "good")
    if not rest:
        return Headline(compute, "none")
    largest, share = rest[0]
    title = f"{share:.1%} of the {run.base} is {_WORDS[largest]}"
    if largest == "idle_other":
        return Headline(f"{title} and no event tells why", "fair")
    known = first is not None and first[2] > 0
    return Headline(f"{title}, and {'no finding explains most of it' if known else 'no rule knows the cause'}", "fair")


def _parts(run: RunView) -> list[tuple[str, float]]:
    """Every part of the time budget with its share, largest first; empty without devices."""
    return run.parts() if run.budget.devices else []
