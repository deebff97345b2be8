"""For all tests: which run, which skips CI allows, and that a thread that never ends fails the run with its stack."""

import faulthandler
import gc
from collections.abc import Generator

import pytest
from builders.checks.skips import pytest_make_collect_report, pytest_runtest_makereport
from builders.rings import pytest_collection_modifyitems

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_unconfigure",
]

_END_S = 60

# Tests make trees of many objects; looking for cycles after each 700 would take a fifth of their time.
gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_unconfigure() -> Generator[None, None, None]:
    """Python waits for all threads before it exits: after this time their stacks are printed and the status is 1."""
    yield
    faulthandler.dump_traceback_later(_END_S, exit=True)
