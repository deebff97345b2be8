"""The headline: a clear finding, a healthy run, else the largest part of the step; at, below and above each limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tpu_profile_plugin.analysis.budget.categories import GROUP_OF
from tpu_profile_plugin.analysis.findings.headline import Headline, headline, is_healthy


def run(parts: dict[str, float], base: str = "step", **other: Any) -> Any:
    """What the headline reads of a run."""
    groups = dict.fromkeys((*GROUP_OF.values(), "between_steps"), 0.0)
    for name, share in parts.items():
        groups[GROUP_OF.get(name, name)] += share
    facts: dict[str, Any] = {"steps": 3, "covered": 1.0, "inferred": False, "whole_recording": base == "recording"}
    budget = SimpleNamespace(share=lambda name: parts.get(name, 0.0))
    view = {"base": base, "group_shares": groups.copy, "budget": budget, "has_devices": bool(parts)}
    return SimpleNamespace(**view, **{**facts, **other})


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
            {"compute": 0.7, "data_movement": 0.1, "idle_host": 0.12, "idle_input": 0.07, "idle_launch": 0.009},
            True,
            "Healthy: 80.0% of the step is device compute, 12.0% waits for host code, 7.0% waits for input",
            "good",
        ),
        ({"compute": 0.995, "idle_other": 0.005}, True, "Healthy: 99.5% of the step is device compute", "good"),
        ({"compute": 1.0, "idle_other": 0.0}, False, "100.0% of the step is device compute", "none"),
        (
            {"compute": 0.6, "idle_other": 0.3, "exposed_copy": 0.1},
            False,
            "30.0% of the step is unexplained idle time: no event was recorded for it",
            "fair",
        ),
        (
            {"compute": 0.6, "exposed_copy": 0.4},
            False,
            "40.0% of the step waits for host copies; no check found the cause",
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
    parts = run({"compute": 0.6, "idle_peer": 0.4}, base="recording", steps=1)
    title = "40.0% of the recording goes to exposed collectives and waits for late devices; "
    assert headline(parts, ("x", "X", 0.05), healthy=False).title == f"{title}no finding explains most of it"
    assert headline(parts, ("x", "X", 0.0), healthy=False).title == f"{title}no check found the cause"


@pytest.mark.parametrize(
    ("facts", "qualifier"),
    [
        ({"covered": 0.5}, ""),
        ({"covered": 0.4999}, "In the 50.0% of the recording that steps cover: "),
        ({"covered": 0.008, "steps": 1}, "In the 0.8% of the recording that 1 step covers: "),
        ({"covered": 0.1, "inferred": True}, "In the 10.0% of the recording that inferred steps cover: "),
        ({"steps": 1}, "1 step only: "),
        ({"steps": 2, "inferred": True}, "2 inferred steps only: "),
        ({"inferred": True}, "Inferred steps: "),
    ],
)
def test_what_limits_the_verdict_is_said_first(facts: dict[str, Any], qualifier: str) -> None:
    told = headline(run({"compute": 1.0}, **facts), ("x", "Title", 0.5), healthy=False)
    assert told == Headline(f"{qualifier}Title", "bad", "x")
