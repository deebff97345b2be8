"""Every recorded profile against itself, and against itself with other numbers and names: nothing differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.answers import answer, rows
from builders.profiles.recompiled import recompiled
from builders.recorded import chosen

from tpu_profile_plugin.tools import registry

LOGDIR = Path(__file__).parents[3] / "shared/traces/logdir"
pytestmark = pytest.mark.skipif(not LOGDIR.is_dir(), reason="the recorded profiles (../shared/traces) are not here")
RUNS = sorted({file.parent for file in LOGDIR.rglob("*.xplane.pb") if chosen(file)})


@pytest.mark.parametrize("again", [False, True], ids=["itself", "recompiled"])
@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: str(folder.relative_to(LOGDIR)))
def test_no_sample_differs_from_itself(folder: Path, again: bool) -> None:
    base = [file.read_bytes() for file in sorted(folder.glob("*.xplane.pb"))]
    run = [recompiled(data) for data in base] if again else base
    found = answer(registry.find("compare"), *run, base=base)
    steps = found["run"]["steps"] > 0
    assert {time["delta"] for time in (found["length"], found["step"], *found["parts"].values())} == {
        0 if steps else None
    }
    assert rows(found["contributions"], "kind", "delta_ps_per_step") == ([["rest", 0]] if steps else [])
    assert {kind for (kind,) in rows(found["ops"], "kind")} <= {"same"}
    assert {kind for (kind,) in rows(found["programs"], "kind")} <= {"same", "renamed"}
    for ops, matched in rows(found["programs"], "ops", "matched"):
        assert ops == matched
    assert found["tone"] == ("same" if steps else "unknown")
