"""Many clients while files appear and disappear: correct answers or expected errors; scripts/soak/load runs longer."""

from __future__ import annotations

import pytest
from builders.servers.load import load


@pytest.mark.night
@pytest.mark.timeout(300)  # on a busy machine
def test_clients_of_two_boards_get_right_answers_while_files_change(tmp_path):
    figures = load(tmp_path, clients=24, seconds=6.0, least=400)
    assert figures.failures == []
    assert {"data", "report", "SQL", "AGENT", "source_text"} <= figures.kinds.keys()
    assert figures.refusals["run_not_found"] > 0, "nothing vanished, so that nothing was tried"
    assert sum(figures.resident_mb[-1]) < 1024
