"""Diagnostics of a recording: errors, warnings and missing steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NO_STEP_MARKER = (
    "No step marker observed and hence the step time is unknown. This may happen if (1) training steps are not "
    "instrumented (e.g., if you are not using Keras) or (2) the profiling duration is shorter than the step time. For "
    "(1), you need to add step instrumentation; for (2), you may try to profile longer."
)
EMPTY_INTERSECTION = (
    "Although there are steps observed on some host(s), the intersection of the steps over all hosts is empty. "
    "Consequently, the overview of the steps is not available. Profile all hosts at the same time, or one host alone."
)
NO_DEVICE_TRACE = (
    "No TensorCore device trace was collected. The devices may have been idle or busy with another profile; try again "
    "a little later."
)


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Messages for users by severity, without duplicates."""

    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def columns(self) -> tuple[list[str], list[str]]:
        """Severities and messages in display order."""
        severities = ["WARNING"] * len(self.warnings) + ["ERROR"] * len(self.errors)
        return severities, [*self.warnings, *self.errors]


def step_warnings(steps: int, empty_intersection: bool) -> tuple[str, ...]:
    """Yields the reason why there are no steps; nothing if there are steps."""
    if steps:
        return ()
    return (EMPTY_INTERSECTION if empty_intersection else NO_STEP_MARKER,)


def run_diagnostics(
    errors: Iterable[str], warnings: Iterable[str], device_type: str, device_cores: int, about_steps: tuple[str, ...]
) -> Diagnostics:
    """Combines messages of the profiler with warnings about missing data."""
    distinct_errors = tuple(sorted(set(errors)))
    if not distinct_errors and device_type != "CPU" and device_cores <= 0:
        distinct_errors = (NO_DEVICE_TRACE,)
    return Diagnostics(warnings=(*dict.fromkeys(warnings), *about_steps), errors=distinct_errors)
