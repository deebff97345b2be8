"""The headline: a clear finding, a healthy or busy run, else the largest part of the step; around each limit."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.answers import answer

from tpu_profile_plugin.analysis.budget.categories import GROUP_OF
from tpu_profile_plugin.analysis.findings.headline import Headline, headline, is_busy, is_healthy
from tpu_profile_plugin.analysis.summary.outliers import outliers_of
from tpu_profile_plugin.analysis.summary.use import Use
from tpu_profile_plugin.tools import registry

WELL = Use(45.0, 30.0, False)


def steps(*lengths: int, idle: Sequence[int] | None = None) -> Any:
    waits = None if idle is None else np.array(idle, np.float64)
    return outliers_of(np.array(lengths, np.float64), np.arange(len(lengths)), waits)


def run(parts: dict[str, float], base: str = "step", **other: Any) -> Any:
    """What the headline reads of a run."""
    groups = dict.fromkeys((*GROUP_OF.values(), "between_steps"), 0.0)
    for name, share in parts.items():
        groups[GROUP_OF.get(name, name)] += share
    facts: dict[str, Any] = {"steps": 10, "covered": 1.0, "inferred": False, "whole_recording": base == "recording"}
    budget = SimpleNamespace(share=lambda name: parts.get(name, 0.0))
    view = {"base": base, "base_ps": 100.0, "group_shares": groups.copy, "budget": budget, "has_devices": bool(parts)}
    view |= {"outliers": steps(*([100] * 10)), "use_while_busy": WELL}
    return SimpleNamespace(**{**view, **facts, **other})


@pytest.mark.parametrize(
    ("share", "tone"), [(0.0999, None), (0.1, "fair"), (0.1999, "fair"), (0.2, "bad"), (0.9, "bad")]
)
def test_a_clear_finding_is_the_headline(share: float, tone: str | None) -> None:
    found = headline(run({"compute": 0.8, "idle_host": 0.2}), ("x", "Title", share))
    if tone is None:
        assert found.finding is None
    else:
        assert found == Headline("Title", tone, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "largest", "busy"),
    [
        ({"compute": 0.75, "idle_other": 0.09, "idle_host": 0.09, "idle_launch": 0.07}, 0.0999, True),
        ({"compute": 0.7499, "idle_other": 0.09, "idle_host": 0.09, "idle_launch": 0.0701}, 0.0, False),
        ({"compute": 0.95, "idle_other": 0.05}, 0.1, False),
        ({"compute": 1.0}, 0.0, True),
        ({"compute": 0.9001, "idle_host": 0.0999}, 0.0, True),
        ({"compute": 0.9, "idle_host": 0.1}, 0.0, False),
        ({"compute": 0.9001, "between_steps": 0.0999}, 0.0, True),
        ({"compute": 0.9, "between_steps": 0.1}, 0.0, False),
        ({}, 0.0, False),
    ],
)
def test_busy_is_mostly_computation_without_a_loss_of_a_tenth(
    parts: dict[str, float], largest: float, busy: bool
) -> None:
    assert is_busy(run(parts), largest) is busy
    assert is_healthy(run(parts), largest) is busy


@pytest.mark.parametrize(
    ("facts", "healthy"),
    [
        ({"steps": 3}, True),
        ({"steps": 2}, False),
        ({"inferred": True}, False),
        ({"whole_recording": True}, False),
        ({"covered": 0.5}, True),
        ({"covered": 0.4999}, False),
        ({"use_while_busy": None}, False),
        ({"use_while_busy": Use(20.0, 0.0, False)}, True),
        ({"use_while_busy": Use(0.0, 40.0, True)}, True),
        ({"use_while_busy": Use(19.9, 39.9, True)}, False),
        # One step of 150 among nine of 100 is not above its limit; one of 151 costs 5.1 per average step.
        ({"outliers": steps(*([100] * 9), 150)}, True),
        ({"outliers": steps(*([100] * 9), 151)}, False),
        # One of 200 steps that takes twice the median costs half a percent; one that takes three times costs 1%.
        ({"outliers": steps(*([100] * 199), 200)}, True),
        ({"outliers": steps(*([100] * 199), 300)}, False),
        # One of ten that takes twice the median costs a tenth: of that, devices have to wait for half.
        ({"outliers": steps(*([100] * 9), 200, idle=[0] * 9 + [49])}, True),
        ({"outliers": steps(*([100] * 9), 200, idle=[0] * 9 + [50])}, False),
        # And for a hundredth of the step on average.
        ({"outliers": steps(*([100] * 9), 160, idle=[0] * 9 + [60]), "base_ps": 601.0}, True),
        ({"outliers": steps(*([100] * 9), 160, idle=[0] * 9 + [60]), "base_ps": 600.0}, False),
    ],
)
def test_healthy_must_be_earned(facts: dict[str, Any], healthy: bool) -> None:
    busy = run({"compute": 1.0}, **facts)
    assert is_busy(busy, 0.0)
    assert is_healthy(busy, 0.0) is healthy
    assert headline(busy, None).title.split(": ")[-2:][0] == ("Healthy" if healthy else "Busy")


@pytest.mark.parametrize(
    ("parts", "title", "tone"),
    [
        (
            {"compute": 0.8, "data_movement": 0.1, "idle_host": 0.06, "idle_input": 0.03, "idle_launch": 0.009},
            "Healthy: 90.0% of the step is device compute, 6.0% waits for host code, 3.0% waits for input",
            "good",
        ),
        ({"compute": 0.995, "idle_other": 0.005}, "Healthy: 99.5% of the step is device compute", "good"),
        (
            {"compute": 0.9, "idle_host": 0.01, "idle_input": 0.04, "exposed_copy": 0.05},
            "Healthy: 90.0% of the step is device compute, 5.0% waits for host copies, 4.0% waits for input",
            "good",
        ),
        (
            {"compute": 0.99, "idle_host": 0.01},
            "Healthy: 99.0% of the step is device compute, 1.0% waits for host code",
            "good",
        ),
        ({"compute": 0.74}, "74.0% of the step is device compute", "none"),
        (
            {"compute": 0.6, "idle_other": 0.3, "exposed_copy": 0.1},
            "30.0% of the step is unexplained idle time: no event was recorded for it",
            "fair",
        ),
        ({"compute": 0.6, "exposed_copy": 0.4}, "40.0% of the step waits for host copies; no check found the cause",
         "fair"),
        ({}, "No device in the profile: its time cannot be accounted for", "none"),
    ],
)  # fmt: skip
def test_without_a_finding_the_parts_of_the_step_tell(parts: dict[str, float], title: str, tone: str) -> None:
    assert headline(run(parts), None) == Headline(title, tone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "title", "tone"),
    [
        (
            {"use_while_busy": None},
            "Busy: 98.0% of the step is device compute, 41.0% of it in dot.7; the use of the devices' peak rates is "
            "unknown",
            "none",
        ),
        (
            {"use_while_busy": Use(5.0, 12.0, True)},
            "Busy: 98.0% of the step is device compute, 41.0% of it in dot.7; matrix units are used to 5.0% of their "
            "peak, HBM bandwidth to 12.0%",
            "fair",
        ),
        (
            {"outliers": steps(*([100] * 9), 320)},
            "Busy: 98.0% of the step is device compute, 41.0% of it in dot.7; 1 of 10 steps takes 3.2 times the median",
            "fair",
        ),
        (
            {"outliers": steps(*([100] * 8), 320, 200)},
            "Busy: 98.0% of the step is device compute, 41.0% of it in dot.7; 2 of 10 steps take up to 3.2 times the "
            "median",
            "fair",
        ),
        ({"inferred": True}, "Inferred steps: Busy: 98.0% of the step is device compute, 41.0% of it in dot.7", "none"),
    ],
)
def test_busy_says_with_what_and_why_not_more(facts: dict[str, Any], title: str, tone: str) -> None:
    found = headline(run({"compute": 0.98, "idle_other": 0.02}, **facts), None, busy_with="41.0% of it in dot.7")
    assert found == Headline(title, tone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("share", "title"),
    [
        (0.1, "No device ran: 10.0% of the recording is compilation; record later, or for longer"),
        (0.0999, "No device in the profile: its time cannot be accounted for"),
    ],
)
def test_a_recording_of_compilation_says_so(share: float, title: str) -> None:
    assert headline(run({}), None, compiling=share) == Headline(title, "none")


def test_a_small_finding_is_not_the_cause_of_a_large_part() -> None:
    parts = run({"compute": 0.6, "idle_peer": 0.4}, base="recording", steps=1)
    title = "40.0% of the recording goes to exposed collectives and waits for late devices; "
    assert headline(parts, ("x", "X", 0.05)).title == f"{title}no finding explains most of it"
    assert headline(parts, ("x", "X", 0.0)).title == f"{title}no check found the cause"


@pytest.mark.parametrize(
    ("name", "saving", "title"),
    [
        ("largest_part", 0.0, "X; 40.0% of the step waits for host code"),
        ("exposed_communication", 0.0, "X"),
        ("largest_part", 0.05, "40.0% of the step waits for host code; no finding explains most of it"),
        ("x", 0.0, "40.0% of the step waits for host code; no check found the cause"),
    ],
)
def test_the_place_of_most_of_the_time_is_told_if_nothing_is_known_to_be_lost(
    name: str, saving: float, title: str
) -> None:
    parts = run({"compute": 0.6, "idle_host": 0.4})
    assert headline(parts, (name, "X", saving)) == Headline(title, "fair")


def test_busy_without_a_name_says_what_else_devices_do() -> None:
    parts = {"compute": 0.9, "idle_host": 0.01, "idle_input": 0.0099, "idle_other": 0.0801}
    title = "Busy: 90.0% of the step is device compute, 8.0% is unexplained idle time, 1.0% waits for host code"
    assert headline(run(parts, whole_recording=True), None) == Headline(title, "none")


@pytest.mark.parametrize(
    ("parts", "title"),
    [
        ({"idle_host": 0.7, "idle_input": 0.3}, "70.0% of the step is host code"),
        ({"idle_host": 0.3, "idle_input": 0.7}, "70.0% of the step waits for input"),
        ({"idle_compile": 0.7}, "70.0% of the step is compilation; record later, or for longer"),
    ],
)
def test_what_a_host_without_devices_does(parts: dict[str, float], title: str) -> None:
    view = run(parts, has_devices=False)
    assert headline(view, None, compiling=0.9) == Headline(f"No device recorded; {title}", "none")
    assert not is_busy(view, 0.0)


@pytest.mark.parametrize(
    ("covered", "between", "title"),
    [
        (0.086, 0.913, "The program pauses 9.13 ms between steps of 870 us, 91.3% of the time from step to step"),
        (
            0.03,
            0.8,
            "In the 15.0% of the recording that steps with what is between them cover: "
            "The program pauses 8 ms between steps of 2 ms, 80.0% of the time from step to step",
        ),
    ],
)
def test_pauses_are_no_part_of_the_recording_that_is_not_judged(covered: float, between: float, title: str) -> None:
    """Steps of a base of 10 ms, most of which is between them."""
    parts = {"compute": 1 - between, "between_steps": between}
    view = run(parts, base="time from step to step", base_ps=1e10, covered=covered)
    assert headline(view, None).title == title


@pytest.mark.parametrize(
    ("facts", "qualifier"),
    [
        ({"covered": 0.5}, ""),
        ({"covered": 0.4999}, "In the 50.0% of the recording that steps cover: "),
        ({"covered": 0.008, "steps": 1}, "In the 0.8% of the recording that 1 step covers: "),
        ({"covered": 0.1, "inferred": True}, "In the 10.0% of the recording that inferred steps cover: "),
        ({"steps": 1}, "1 step only: "),
        ({"steps": 3}, ""),
        ({"steps": 1, "whole_recording": True}, ""),
        ({"covered": 0.25, "steps": 3}, "In the 25.0% of the recording that steps cover: "),
        ({"covered": 0.25, "steps": 2}, "In the 25.0% of the recording that 2 steps cover: "),
        ({"steps": 2, "inferred": True}, "2 inferred steps only: "),
        ({"inferred": True}, "Inferred steps: "),
    ],
)
def test_what_limits_the_verdict_is_said_first(facts: dict[str, Any], qualifier: str) -> None:
    told = headline(run({"compute": 1.0}, **facts), ("x", "Title", 0.5))
    assert told == Headline(f"{qualifier}Title", "bad", "x")


@pytest.mark.parametrize(
    ("events", "title"),
    [
        ("0us +600us PjRtCpuClient::Compile", "No device ran: 60.0% of the recording is compilation"),
        ("0us +600us compute", "No device in the profile"),
    ],
)
def test_a_host_alone_that_compiles(events: str, title: str) -> None:
    text = f'host h0\nplane 1 "/host:CPU"\nline 1 main\n{events}\n600us +400us other'
    found = answer(registry.find("smart_suggestion"), text, page=True)["headline"]["title"]
    assert found.startswith(title)
