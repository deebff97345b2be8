"""In CI a test is skipped only for a reason from the list."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders.checks.skips import allowed

TESTS = """
import pytest

def test_passes(): pass

@pytest.mark.skipif(True, reason="for scripts/soak/compat")
def test_for_a_listed_reason(): raise AssertionError

@pytest.mark.skipif(True, reason="the sample profiles are not here")
def test_for_another_reason(): raise AssertionError

def test_skips_itself(): pytest.skip("not installed: s3fs")

@pytest.mark.parametrize("file", [])
def test_of_no_files(file): raise AssertionError

@pytest.mark.xfail(strict=True)
def test_expected_to_fail(): raise AssertionError
"""
MODULE = 'import pytest\npytest.importorskip("no_such_module")\n'


def run(tmp_path: Path, ci: str, text: str) -> list[str]:
    """What pytest says of each test of a module: lines `NAME OUTCOME`, and its last line."""
    (tmp_path / "test_it.py").write_text(text)
    plugins = ["-p", "no:cacheprovider", "-p", "builders.checks.skips"]
    command = [sys.executable, "-m", "pytest", "-v", "--tb=line", *plugins]
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "test_it.py"],
        env={**os.environ, "CI": ci, "PYTHONPATH": paths, "PYTEST_ADDOPTS": ""},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    tests = [line.split("::")[1].split() for line in lines if line.startswith("test_it.py::")]
    return [" ".join(words[:2]) for words in tests] + [lines[-1].strip("= ").partition(" in ")[0]]


def test_on_a_developers_machine_nothing_fails_by_being_skipped(tmp_path: Path) -> None:
    assert run(tmp_path, "", TESTS) == [
        "test_passes PASSED",
        "test_for_a_listed_reason SKIPPED",
        "test_for_another_reason SKIPPED",
        "test_skips_itself SKIPPED",
        "test_of_no_files[NOTSET] SKIPPED",
        "test_expected_to_fail XFAIL",
        "1 passed, 4 skipped, 1 xfailed",
    ]


def test_in_ci_only_the_listed_reason_skips(tmp_path: Path) -> None:
    assert run(tmp_path, "true", TESTS) == [
        "test_passes PASSED",
        "test_for_a_listed_reason SKIPPED",
        "test_for_another_reason ERROR",
        "test_skips_itself FAILED",
        "test_of_no_files[NOTSET] ERROR",
        "test_expected_to_fail FAILED",
        "2 failed, 1 passed, 1 skipped, 2 errors",
    ]


@pytest.mark.parametrize(("ci", "last"), [("", "1 skipped"), ("true", "1 error")])
def test_a_module_that_skips_itself(tmp_path: Path, ci: str, last: str) -> None:
    assert run(tmp_path, ci, MODULE) == [last]


def test_every_listed_reason_is_explained_and_used() -> None:
    tests = Path(__file__).parents[1]
    folders = ("integration", "compat", "unit", "builders")
    files = [file for folder in folders for file in (tests / folder).rglob("*.py") if file != Path(__file__)]
    sources = "".join(file.read_text() for file in [*files, *(tests / "browser").glob("*.js")])
    for reason, why in allowed().items():
        assert len(why) > 10, reason
        assert reason in sources, f"no test is skipped for this reason any more: {reason}"
