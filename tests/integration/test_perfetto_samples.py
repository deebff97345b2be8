"""The Perfetto export of every recorded profile, read with Perfetto's messages, holds what our timeline shows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.checks.pftrace import Read, Slice, read
from builders.recorded import chosen, opened

from tpu_profile_plugin.analysis.timeline.host import HostTrace, titles
from tpu_profile_plugin.analysis.timeline.packets import DAY_NS
from tpu_profile_plugin.analysis.timeline.tracks import CONTEXT_ARGS
from tpu_profile_plugin.analysis.timeline.window import event_args, trace_args
from tpu_profile_plugin.export.timelines import PERFETTO
from tpu_profile_plugin.export.write import Options
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.time.trace_viewer.timelines import page_timeline_of

REPOSITORY = Path(__file__).parents[2]
DEMO, LOGDIR = REPOSITORY / "demo", REPOSITORY.parent / "shared/traces/logdir"
RUNS = sorted({file.parent for folder in (DEMO, LOGDIR) for file in folder.rglob("*.xplane.pb") if chosen(file)})
EXACT = 1 << 53

# By process and track: (begin ns, end ns or None, name, group, duration in ps).
Line = tuple[int, int | None, str, int | None, int]


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: "/".join(folder.parts[-4:-3] + folder.parts[-1:]))
def test_slices_flows_and_counters_are_those_of_the_timeline(folder: Path, tmp_path: Path) -> None:
    run = opened(folder.parents[2]).run(folder.name)
    PERFETTO.write(run, tmp_path / "made.pftrace", Options(), lambda _: None)
    found = read(tmp_path / "made.pftrace")
    several = len(run.profiles) > 1
    origins = [page_timeline_of(host, 0).time_origin_ns for host in run.profiles]
    origin = origins[0] or DAY_NS
    lines: dict[tuple[str, str], list[Line]] = defaultdict(list)
    flows: list[list[tuple[int, str]]] = []
    counters = 0
    for host in run.profiles:
        trace = page_timeline_of(host, 0)
        of_host: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for place, event, flow in events(host, trace, origin, several=several):
            lines[place].append(event)
            if flow is not None:
                of_host[flow].append((event[0], event[2]))
        flows += [sorted(ends) for ends in of_host.values()]
        counters += len(trace.counters)
    assert found.clocks == ({} if origins[0] is None else {1: origin, 6: origin})
    assert {place: sorted(map(line, slices), key=repr) for place, slices in found.lines().items()} == {
        place: sorted(expected, key=repr) for place, expected in lines.items()
    }
    assert sorted(found.flows().values()) == sorted(flows)
    assert sum(lane.descriptor.HasField("counter") for lane in found.lanes.values()) == counters
    check_arguments(run, found, origin, several=several)


def line(one: Slice) -> Line:
    rounded = 0 if one.end_ns is None else 1000 * (one.end_ns - one.begin_ns)
    return one.begin_ns, one.end_ns, one.name, one.args.get("group_id"), one.args.get("duration_ps", rounded)


def places(host: HostProfile, trace: HostTrace, *, several: bool) -> Iterator[tuple[int, tuple[str, str]]]:
    """Each track's index, and the names of process and track."""
    shown = titles(host.space, trace)
    sections = {section.pid: shown.sections.get(section.pid, section.name) for section in trace.sections}
    for i, track in enumerate(trace.tracks):
        process = sections[track.pid]
        yield i, (f"{host.name} {process}" if several else process, shown.tracks.get(i, track.name))


def events(
    host: HostProfile, trace: HostTrace, origin: int, *, several: bool
) -> Iterator[tuple[tuple[str, str], Line, int | None]]:
    """Every event of a timeline, with its place and the number of its flow."""
    sizes = trace.native.track_sizes().tolist()
    for i, place in places(host, trace, several=several):
        for index in range(sizes[i]):
            name, begin, duration, _, group, _ = trace.native.event(i, index) or pytest.fail("no event")
            flow = trace.native.flow(i, index)
            end = None if duration <= 0 else origin + (begin + duration) // 1000
            event = (origin + begin // 1000, end, trace.names[name], None if group < 0 else group, max(duration, 0))
            yield place, event, None if flow is None else flow[0]


def check_arguments(run: Run, found: Read, origin: int, *, several: bool) -> None:
    """Some slices of every track have the arguments of their event, in the order of their kind."""
    lines = found.lines()
    for host in run.profiles:
        trace = page_timeline_of(host, 0)
        args = trace_args(host.space, trace, folded=True, hidden=CONTEXT_ARGS)
        sizes = trace.native.track_sizes().tolist()
        for i, place in places(host, trace, several=several):
            for index in range(0, sizes[i], max(1, sizes[i] // 8)):
                name, begin, _, source, _, _ = trace.native.event(i, index) or pytest.fail("no event")
                wanted = {key: shown(value) for key, value in json.loads(event_args(args, source)).items()}
                wanted = {key: value for key, value in wanted.items() if value != "<opaque bytes>"}
                category = wanted.pop("hlo_category", None)
                own = [
                    one
                    for one in lines[place]
                    if (one.begin_ns, one.name) == (origin + begin // 1000, trace.names[name])
                ]
                made = [{key: shown(value) for key, value in one.args.items()} for one in own]
                made = [{key: one[key] for key in one if key not in ("group_id", "duration_ps")} for one in made]
                assert wanted in made
                assert category is None or category in {one.category for one in own}


def shown(value: Any) -> Any:
    """A value as JSON has it."""
    return str(value) if isinstance(value, int) and abs(value) > EXACT else value
