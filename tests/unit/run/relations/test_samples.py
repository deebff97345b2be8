"""Recorded runs: the tables have the sums of the pages that show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from builders.answers import answer, rows, run_of
from builders.recorded import chosen
from builders.relation_rows import table

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.budget import run_communication, run_decomposition
from tpu_profile_plugin.run.relations.event_choice import Choice
from tpu_profile_plugin.run.relations.listed_events import host_groups
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.memory.memory_profile import TOOL

DEMO = Path(__file__).parents[4] / "demo"
SAMPLES = Path(__file__).parents[5] / "shared/traces/logdir"
LOGDIRS = [DEMO, *([SAMPLES] if SAMPLES.is_dir() else [])]
FOLDERS = sorted({file.parent for logdir in LOGDIRS for file in logdir.rglob("*.xplane.pb") if chosen(file)})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder).rpartition("/plugins")[0][-40:])
def test_sums_are_those_of_the_pages(folder: Path) -> None:
    files = sorted(folder.glob("*.xplane.pb"))
    run = run_of(*files)
    _check_steps(run)
    _check_ops(run)
    _check_collectives(run)
    _check_allocations(run, files)


def _check_steps(run: Run) -> None:
    steps, budget = table(run, "steps"), run_decomposition(run)
    assert len(steps) == budget.duration_ps.size > 0
    parts = [int(steps[f"{category}_ps"].sum()) for category in CATEGORIES]
    assert parts == budget.time_ps.stacked(PARTS).sum(axis=(0, 1)).tolist()
    assert sum(parts) == steps["duration_ps"].sum() == budget.duration_ps.sum()


def _check_ops(run: Run) -> None:
    ops = table(run, "ops")
    try:
        page = run.ops()
    except NoData:
        assert not len(ops)
        return
    assert set(ops.column("name")) == set(page.name)
    for id_ in ("occurrences", "time_ps", "self_ps"):
        assert ops[id_].sum() == getattr(page, id_).sum()
    for id_ in ("flops", "bytes"):
        assert ops[id_].sum() == pytest.approx(getattr(page, id_).sum())


def _check_collectives(run: Run) -> None:
    found, page = table(run, "collectives"), run_communication(run)
    assert len(found) == sum(one.count for one in page.sums)
    for id_, name in (("duration_ps", "total_ps"), ("exposed_ps", "exposed_ps"), ("wait_ps", "wait_ps")):
        assert found[id_].sum() == sum(getattr(one, name) for one in page.sums)
    late = [ps for ps, device in zip(found.column("wait_ps"), found.column("late_device"), strict=True) if device]
    assert sum(late) == page.caused_ps.sum()


def _check_allocations(run: Run, files: Sequence[Path]) -> None:
    found = table(run, "allocations")
    of_rows = zip(*(found.column(id_) for id_ in ("host", "allocator", "at_peak", "in_use_bytes")), strict=True)
    live, highest = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for host, allocator, at_peak, in_use in of_rows:
        live[host, allocator] += at_peak
        highest[host, allocator] = max(highest[host, allocator], in_use)
    for host, file in zip(run.hosts, files, strict=True):
        memories = answer(TOOL, file, page=True)["memories"]
        assert {allocator for name, allocator in live if name == host} == {memory["id"] for memory in memories}
        for memory in memories:
            allocator, shown = memory["id"], rows(memory["live"], "op", "occurrences")
            recorded = [count for op, count in shown if op not in ("stack", "Allocated before or not recorded")]
            assert live[host, allocator] == sum(recorded)
            assert highest[host, allocator] == memory["peak"]["used"]
    names = ["MemoryAllocation", "MemoryDeallocation"]
    of_hosts = run.map_hosts(host_groups.given(Choice(names="^Memory"), ("name",)))
    events = [group for groups in of_hosts for group in groups]
    assert len(found) == sum(group.count for group in events if group.key[0] in names)
