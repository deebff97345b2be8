"""Real profiles: the demo's, which are part of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

_DEMO = Path(__file__).resolve().parents[3] / "demo"


@pytest.fixture(scope="session")
def real_profiles() -> list[Path]:
    paths = sorted(_DEMO.glob("**/*.xplane.pb"))
    assert paths, "the demo logdir holds profiles"
    return paths
