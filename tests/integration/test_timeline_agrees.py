"""What ran in a window: sums over the very events that the trace viewer shows there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from builders.recorded import chosen, opened

from tpu_profile_plugin.analysis.common.planes import is_derived_line, is_step_line
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

HERE = Path(__file__).parents[2]
ROOTS = (HERE.parent / "shared/traces/logdir", HERE / "demo")
RUNS = [(root, run.name) for root in ROOTS if root.is_dir() for run in opened(root) if chosen(run.name)]


def shown(run: OpenRun, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Name, begin and duration in ps of each event that the page requests for a window, without derived lines."""
    for host in run.hosts:
        window = {"start_time_ms": begin / PS_PER_MS, "end_time_ms": end / PS_PER_MS}
        events = run.answer("trace_viewer@", host, **window, resolution=0, full_dma=True)["traceEvents"]
        place = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one.get("name") == "thread_name"}
        ends = {(one["pid"], one["id"]): one["ts"] for one in events if one.get("ph") == "e"}
        for one in events:
            line = place.get((one["pid"], one.get("tid")), "")
            if one.get("ph") not in ("X", "b") or is_step_line(line) or _is_derived(one, line):
                continue
            duration = ends[one["pid"], one["id"]] - one["ts"] if one["ph"] == "b" else one["dur"]
            yield _recorded(one["name"]), round(one["ts"] * PS_PER_US), max(round(duration * PS_PER_US), 1)


def _is_derived(event: dict[str, Any], line: str) -> bool:
    of_regions = event["name"] == "ThreadpoolListener::Region"  # from begin to end, which are events of the file
    return of_regions or " - from #" in line or is_derived_line(event.get("tid", 0))


def _recorded(name: str) -> str:
    """The name in the file: the viewer adds the number of the step."""
    return re.sub(r"^(train|encode|BatchingSessionRun|ProcessBatch) \d+$", r"\1", name)


def window(run: OpenRun) -> tuple[int, int]:
    """A step in the middle of a run; without steps a third of the recording."""
    with suppress(NoData):
        steps = run.steps()
        at = len(steps) // 2
        return int(steps.begin_ps[at]), int(steps.begin_ps[at] + steps.duration_ps[at])
    whole = run.timeline()
    third = (whole.end_ps - whole.begin_ps) // 3
    return whole.begin_ps + third, whole.end_ps - third


@pytest.mark.parametrize(("root", "name"), RUNS)
def test_sums_are_of_the_events_of_the_page(root: Path, name: str) -> None:
    run = opened(root).run(name)
    begin, end = window(run)
    found = run.timeline(begin, end)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in found.table:
        one = sums[row["name"]]
        one[0], one[1], one[2] = one[0] + row["count"], one[1] + row["total_ps"], max(one[2], row["longest_ps"])
    page: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for event, at, duration in shown(run, begin, end):
        if at < end and at + duration > begin:
            time = min(at + duration, end) - max(at, begin)
            one = page[event]
            one[0], one[1], one[2] = one[0] + 1, one[1] + time, max(one[2], duration)
    assert page.keys() == sums.keys()
    # The viewer draws an event without duration, 1 ps long; its times are in us with 6 digits or more.
    wrong = {
        event: (one, page[event])
        for event, one in sums.items()
        if one[0] != page[event][0] or any(abs(a - b) > 2 * one[0] for a, b in zip(one, page[event], strict=True))
    }
    assert not wrong
