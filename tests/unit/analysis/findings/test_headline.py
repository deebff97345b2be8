"""The headline: a clear finding, a healthy run, else the largest part of the step; at, below and above each limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tpu_profile_plugin.analysis.findings.headline import Headline, headline, is_healthy


def run(parts: dict[str, float], base: str = "step") -> Any:
    """What the headline reads of a run."""
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    return SimpleNamespace(base=base, parts=lambda: ordered, budget=SimpleNamespace(devices=parts))


@pytest.mark.parametrize(
    ("share", "tone"), [(0.0999, None), (0.1, "fair"), (0.1999, "fair"), (0.2, "bad"), (0.9, "bad")]
)
def test_a_clear_finding_is_the_headline(share: float, tone: str | None) -> None:
    found = headline(run({"compute": 0.8, "idle_host": 0.2}), ("x", "Title", share), healthy=False)
    if tone is None:
        assert found.finding is None
    else:
        assert found == Headline("Title", tone, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("compute", "largest", "healthy"),
    [(0.75, 0.0999, True), (0.7499, 0.0, False), (0.75, 0.1, False), (1.0, 0.0, True)],
)
def test_healthy_is_mostly_computation_without_a_clear_finding(compute: float, largest: float, healthy: bool) -> None:
    assert is_healthy(run({"compute": compute, "idle_other": 1 - compute}), largest) is healthy


@pytest.mark.parametrize(
    ("parts", "healthy", "title", "tone"),
    [
        (
            {"compute": 0.8, "idle_host": 0.12, "idle_input": 0.07, "idle_launch": 0.009},
            True,
            "Healthy: 80.0% of the step is computation, 12.0% idle, waiting for code on the host, "
            "7.0% idle, waiting for input",
            "good",
        ),
        ({"compute": 0.995, "idle_other": 0.005}, True, "Healthy: 99.5% of the step is computation", "good"),
        ({"compute": 1.0, "idle_other": 0.0}, False, "100.0% of the step is computation", "none"),
        ({"compute": 0.6, "idle_other": 0.4}, False, "40.0% of the step is idle and no event tells why", "fair"),
        (
            {"compute": 0.6, "exposed_copy": 0.4},
            False,
            "40.0% of the step is copies that no computation hides, and no rule knows the cause",
            "fair",
        ),
        ({}, False, "No device in the profile: its time cannot be accounted for", "none"),
    ],
)
def test_without_a_finding_the_parts_of_the_step_tell(
    parts: dict[str, float], healthy: bool, title: str, tone: str
) -> None:
    assert headline(run(parts), None, healthy=healthy) == Headline(title, tone)  # type: ignore[arg-type]


def test_a_small_finding_is_not_the_cause_of_a_large_part() -> None:
    parts = run({"compute": 0.6, "idle_peer": 0.4}, base="recording")
    title = "40.0% of the recording is waiting for another device, and "
    assert headline(parts, ("x", "X", 0.05), healthy=False).title == f"{title}no finding explains most of it"
    assert headline(parts, ("x", "X", 0.0), healthy=False).title == f"{title}no rule knows the cause"
