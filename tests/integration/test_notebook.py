"""The notebook of the demo: from the slow run to the line of the program, as a user runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parents[2] / "demo" / "which_run_is_slow.ipynb"


def text_of(cell: Any) -> str:
    """What a cell shows, as a browser would."""
    shown = [output.get("data", {}) for output in cell.outputs]
    return "".join(output.get("text", "") for output in cell.outputs) + "".join(
        one.get("text/html", "") for one in shown
    )


def test_five_cells_lead_from_the_slow_run_to_the_line_of_the_program() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) == 5
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells), "stored without outputs"
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    listed, steps, why, repaired, ops = map(text_of, cells)
    assert "5 runs" in listed
    slow, fast = steps.splitlines()
    assert slow.startswith("train_slow_input/")
    assert slow.endswith(": 36.5 ms")
    assert fast.endswith(": 23.6 ms")
    assert "Devices wait 44.5% of the step for input, most of it in train_images.py:36 decode" in why
    assert "36.49 to 23.61 ms" in repaired
    assert "Waits for input" in repaired
    assert "/srv/demo/train_images.py" in ops
    assert "<td>100</td>" in ops
    assert "<script" not in listed + why + repaired
