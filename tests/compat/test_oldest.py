"""All dependencies at the lower bounds of pyproject.toml give the same answers as the newest versions."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from builders.servers.frameworks import python_of

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]


def test_the_environment_has_the_lower_bounds() -> None:
    declared = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert declared is not None
    # Those for newer versions of Python are not of this environment.
    bounds = {one.replace(">=", "==") for one in re.findall(r'"([^"]+)"', declared[1]) if ";" not in one}
    script = (ROOT / "scripts" / "setup_frameworks").read_text()
    assert bounds <= set(re.findall(r"[\w-]+==[\d.]+", script[script.index("environment oldest") :]))


def test_answers_and_captures_are_the_same() -> None:
    python = python_of("oldest")
    # The package of this checkout, whose native core supports every Python from 3.10 on.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    tests = ["tests/golden", "tests/integration/test_routes.py", "tests/unit/capture/test_capture_response.py"]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
