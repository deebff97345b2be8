"""From where on a rule speaks; every threshold with its reason."""

from __future__ import annotations

LEAST_SHARE = 0.05
"""Share of the step from which on a cause is worth a finding: below, measurement noise and other causes weigh more."""
CLEAR_SHARE = 0.10
"""Share of the step from which on a finding is the headline; a program without any such finding is called healthy."""
EXPOSED_SHARE = 0.10
"""Exposed communication: below, overlapping more gains less than a tenth."""
