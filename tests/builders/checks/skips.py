"""Plugin of pytest: where CI=true, a skip whose reason is not in tests/allowed_skips.txt is a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

LIST = Path(__file__).parents[2] / "allowed_skips.txt"


@cache
def allowed() -> dict[str, str]:
    """Reasons that are legitimate, with why."""
    lines = (line for line in LIST.read_text().splitlines() if line and not line.startswith("#"))
    return {reason: why for reason, _, why in (line.partition(" | ") for line in lines)}


def _judge(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome != "skipped" or os.environ.get("CI") != "true":
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix(
        "Skipped: "
    )
    if hasattr(report, "wasxfail") or reason not in allowed():
        report.outcome = "failed"
        report.longrepr = f"skipped, and {LIST.name} does not allow it in CI: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judges a test that skipped itself, was marked, or has no parameters."""
    report = yield
    _judge(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judges a module that was skipped as a whole."""
    report = yield
    _judge(report)
    return report
