"""Memory snapshots of PyTorch in the tools of memory, the verb and the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders.answers import answer
from builders.logdirs import write
from builders.snapshots import MIB, dumped, training

import tpu_profile_plugin as tp
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.tools.memory.memory_profile import TOOL
from tpu_profile_plugin.tools.memory.over_time import ALLOCATOR


def space(weights: int = 4) -> bytes:
    return unpack(dumped(training(weights))).space.tobytes()


def cells(table: dict[str, Any], *names: str) -> list[list[Any]]:
    columns = {column["id"]: column["values"] for column in table["columns"]}
    return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]


def test_the_page_has_lines_and_segments() -> None:
    (memory,) = answer(TOOL, space(), page=True)["memories"]
    peak = memory["peak"]
    assert {name: peak[name] // MIB for name in ("used", "heap", "stack", "free", "segments", "largest_free")} == {
        **{"used": 18, "heap": 18, "stack": 0, "free": 0, "segments": 40, "largest_free": 12}
    }
    assert peak["capacity"] == 0
    assert cells(memory["live"], "op", "allocation", "region", "source") == [
        ["forward/aten::mm", 8 * MIB, None, "/home/me/train.py:12"],
        ["forward/aten::mm", 6 * MIB, None, "/home/me/train.py:12"],
        ["__init__", 4 * MIB, "before the recording", "/home/me/train.py:4"],
    ]
    assert cells(memory["timeline"], "event", "used", "segments") == [
        ["allocation", 4 * MIB, 20 * MIB],
        ["allocation", 10 * MIB, 20 * MIB],
        ["allocation", 18 * MIB, 40 * MIB],
        ["deallocation", 12 * MIB, 40 * MIB],
    ]


def test_blocks_at_a_moment_have_their_calls() -> None:
    found = answer(ALLOCATOR, space(), page=True, instant="1")
    own = "/home/me/train.py:12 (forward)"
    library = "/usr/lib/site-packages/torch/nn/x.py:9 (forward)"
    assert cells(found["live"], "size", "source", "calls", "freed_by") == [
        [6 * MIB, "/home/me/train.py:12", f"{library}\n{own}", "MmBackward0:PyTorch"],
        [4 * MIB, "/home/me/train.py:4", "/home/me/train.py:4 (__init__)", ""],
    ]
    assert [(one["name"], one["bytes"]) for one in found["stacks"]["line"]] == [
        ("/home/me/train.py:12", [0, 6 * MIB, 14 * MIB, 8 * MIB]),
        ("/home/me/train.py:4", [4 * MIB] * 4),
    ]


def test_the_run_says_what_it_is_and_offers_what_has_data(tmp_path: Path) -> None:
    write(tmp_path, {"plugins/profile/s/r0.pickle": dumped(training())})
    run = tp.open(tmp_path).run("s")
    findings = run.findings()
    assert findings.headline.title == (
        "Memory snapshot: 18 MiB at the peak of GPU_0_caching, 14 MiB of it by train.py:12"
    )
    assert not len(findings)
    offered = [tool for tool, reason in run.tools().items() if reason is None]
    assert offered == ["overview_page", "trace_viewer@", "memory_profile", "profile_contents", "query"]
    assert run.tools()["time_budget"] == "The run is a memory snapshot: it has allocations, but neither ops nor steps."
