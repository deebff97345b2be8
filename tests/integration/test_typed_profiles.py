"""Random plausible profiles with absent and odd values: every tool answers or refuses, none fails with 500."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.damage.ask import Asker
from builders.fuzzing.typed_profiles import typed_case
from builders.rings import many

PROFILES, CHUNK = many(12, 300), many(12, 50)


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Asker:
    return Asker(Path(tmp_path_factory.mktemp("typed")))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, PROFILES, CHUNK))
def test_no_profile_makes_a_tool_fail(first: int, asker: Asker) -> None:
    reports = [asker.ask(typed_case(seed)) for seed in range(first, first + CHUNK)]
    complaints = [f"{report.case}: {complaint}" for report in reports for complaint in report.complaints]
    assert not complaints, "\n".join(complaints[:20])
    assert sum(report.codes.get("ok", 0) for report in reports) > 20 * CHUNK
