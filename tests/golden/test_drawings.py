"""The drawings of graph_viewer have the nodes and edges that XProf 2.24.2 draws; its sets are stored in drawings/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.programs.buffers import profile
from builders.programs.drawings import digest, requests, sets_of, together
from builders.programs.graphs import PROGRAMS
from builders.recorded import chosen
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.drawing import draw_around, draw_computation
from tpu_profile_plugin.analysis.hlo.graph import Links, everything
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.tools.ops.graph_pictures import Picture, dot

HERE = Path(__file__).parent
ROOTS = {"demo": HERE.parents[1] / "demo", "shared": HERE.parents[2] / "shared/traces/logdir"}
STORED = {name: json.loads((HERE / f"drawings/{name}.json").read_text()) for name in ("typed", "demo", "shared")}


def drawn(links: Links, name: str, width: str, merge: str) -> dict[str, Any]:
    """The sets of the DOT text that answers these parameters."""
    names, fusions = links.program.computation_names, merge == "true"
    selection = everything()
    if name in names:
        drawing = draw_computation(links, names.index(name), merge_fusion=fusions)
    else:
        drawing, selection = draw_around(links, links.program.row_of[name], int(width), merge_fusion=fusions)
    return sets_of(dot(Picture(links.program, links, drawing, selection), metadata=False))


def check(data: bytes, stored: dict[str, dict[str, Any]]) -> None:
    programs = hlo_programs(load(data))
    for module, recorded in stored.items():
        number = programs.id_of(module)
        program = None if number is None else programs.program(number)
        assert program is not None
        links, found = Links(program), {}
        for label, asked in requests(program.computation_names, program.names):
            sets = [drawn(links, *one) for one in asked]
            found[label] = together([digest(one) for one in sets])
            if module.startswith("test(") and "entry" in program.computation_names and label.startswith("computations"):
                whole = sets[program.computation_names.index("entry")]
                found[f"entry, {label.partition(', ')[2]}"] = json.loads(json.dumps(whole))
        assert found == recorded, module


def test_typed_in_programs() -> None:
    check(build(profile(**PROGRAMS)), STORED["typed"])


@pytest.mark.parametrize(("root", "file"), [(root, file) for root in ROOTS for file in STORED[root] if chosen(file)])
def test_recorded_programs(root: str, file: str) -> None:
    path = ROOTS[root] / file
    if not path.exists():
        pytest.skip("needs ../shared/traces beside the checkout")
    check(path.read_bytes(), STORED[root][file])
