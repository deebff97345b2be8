"""Which tests run: those of a push, or with TEST_ALL=1, as at night, all of them and in full number."""

from __future__ import annotations

import os

import pytest

ALL = os.environ.get("TEST_ALL") == "1"


def many(push: int, night: int) -> int:
    """How many cases a test tries: `push` after a change, `night` with TEST_ALL=1."""
    return night if ALL else push


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what has the mark `night`, unless all tests run or tests are named one by one."""
    if ALL or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("night")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("night")]
