"""From where on a rule speaks; every threshold with its reason."""

from __future__ import annotations

LEAST_SHARE = 0.05
"""Share of the step from which on a cause is worth a finding: below, measurement noise and other causes weigh more."""
CLEAR_SHARE = 0.10
"""Share of the step from which on a finding is the headline; a program without any such finding is called healthy."""
EXPOSED_SHARE = 0.10
"""Exposed communication: below, overlapping more gains less than a tenth."""

GLUE_PS = 200_000_000
"""Code between two calls into the runtime that is shorter (0.2 ms) is what it costs to call it, not slow code."""
BLOCKED_SHARE = 0.30
"""Waiting for results: share of the step that the host must spend in it. Healthy programs wait as well."""
AFTER_CALLS_SHARE = 0.10
"""Waiting for results: idle time after the calls, which tells a harmful wait from one while the devices work."""
COMPILE_SHARE = 0.05
"""Compilation: share of the time of steps from which on it is worth a finding even if it is in a single step."""
COMPILE_STEPS = 2
"""Compilation: steps from which on it is not the first call of a program, which every run has once."""
COMPILE_LEAST = 0.01
"""Compilation: share below which it costs nothing that could be noticed, in however many steps."""
BARRIER_PERCENT = 10.0
"""Barriers: percent of the step, as in XProf's rule BarrierCoresRule."""
