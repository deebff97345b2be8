"""Groups and derived lines of the sample profiles compared, event by event, with XProf's."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.shown import Shown, shown

from tpu_profile_plugin.analysis.common.planes import FIRST_DERIVED_ID
from tpu_profile_plugin.columns import load

SHARED = Path(__file__).parents[3] / "shared" / "traces"
INDEX = SHARED / "golden" / "index.json"
HOST_PROCESS = 1701
# Sorted and cut by the trace viewer itself: shown on some threads, hidden as internal events on others.
UNSHOWN = ("Prefetch", "Parallel", "MapAndBatch", "ParseExample", "MemoryAllocation", "MemoryDeallocation")


def answers() -> list[Any]:
    if not INDEX.exists():
        return []
    index = json.loads(INDEX.read_text())
    wanted = {"tag": "trace_viewer@", "resolution": "2000"}
    return [e for e in index if e["route"] == "data" and wanted.items() <= e["params"].items()]


def reference(entry: Any) -> Counter[tuple[Any, ...]]:
    answer = json.loads(gzip.decompress((SHARED / "golden" / entry["file"]).read_bytes()))
    out: Counter[tuple[Any, ...]] = Counter()
    for event in answer["traceEvents"]:
        if event.get("ph") == "X":
            group = int(event["args"].get("group_id", -1))
            begin, duration = round(event["ts"] * 1e6), round(event["dur"] * 1e6)
            out[(event["pid"], event["tid"], event["name"], begin, duration, group)] += 1
    return out


def process(event: Shown, ids: dict[str, int]) -> int:
    return HOST_PROCESS if event.plane.startswith("/host") else 1001 + ids[event.plane]


@pytest.mark.skipif(not INDEX.exists(), reason="needs ../shared/traces beside the checkout")
@pytest.mark.parametrize("entry", answers(), ids=lambda entry: entry["params"]["run"] + ":" + entry["params"]["host"])
def test_events_names_spans_and_groups_are_those_of_the_reference(entry: Any) -> None:
    run, _, session = entry["params"]["run"].rpartition("/")
    file = SHARED / "logdir" / run / "plugins" / "profile" / session / f"{entry['params']['host']}.xplane.pb"
    space = load(np.fromfile(file, dtype=np.uint8))
    ids = {plane.name: plane.id for plane in space.planes}
    expected = reference(entry)
    names = {(key[0], key[2]) for key in expected}
    ours: Counter[tuple[Any, ...]] = Counter()
    for event, count in shown(space).items():
        if event.plane.startswith(("/host:CPU", "/device:")):
            key = (process(event, ids), event.track, event.name, event.begin_ps, max(1, event.duration_ps), event.group)
            ours[key] += count
    assert expected - ours == Counter()
    added = {key for key in ours - expected if not str(key[2]).startswith(UNSHOWN)}
    assert {key for key in added if (key[0], key[2]) in names or key[1] >= FIRST_DERIVED_ID} == set()
