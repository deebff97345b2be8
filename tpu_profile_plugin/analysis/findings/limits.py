"""Limits that several rules share, each with its rationale."""

from __future__ import annotations

LEAST_SHARE = 0.05
"""Smallest share of the step that is worth a finding: below it, noise and other causes weigh more."""
EXPOSED_SHARE = 0.10
"""Exposed communication, as a share of the step: below it, overlapping more gains less than a tenth."""
INPUT_SHARE = 0.05
"""Waiting for input, as a share of the step: from here XProf calls a run moderately input-bound."""
