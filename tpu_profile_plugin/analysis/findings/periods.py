"""What of a run its steps cover: a share of steps that are short against the time between them means little."""

from __future__ import annotations

from tpu_profile_plugin.analysis.findings.run_view import RunView


def covered(run: RunView) -> float:
    """Share of the time from the first step to the last that is within steps, 0 to 1; 1 without devices."""
    inside, between = int(run.budget.duration_ps.sum()), int(run.budget.between_ps.sum())
    return inside / (inside + between) if inside else 1.0


def share_of_period(run: RunView, ps: float) -> float:
    """Of the time from step to step, what is a time per step and device; 0 without steps."""
    return run.share(ps) * covered(run)
