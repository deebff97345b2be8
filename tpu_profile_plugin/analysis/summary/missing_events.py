"""Events that a recording lacks, and those whose times were mended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpu_profile_plugin.analysis.budget.host_time import telling_events
from tpu_profile_plugin.analysis.common.op_names import searcher
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.reasons import (
    DEVICE_PLANES_MISSING,
    EVENTS_DROPPED,
    EVENTS_MISSING,
    GRAPH_EVENTS_MISSING,
    Reason,
)
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.unrecorded import Unrecorded, launches_of_host, may_launch, unrecorded
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import DeviceClock, ImpossibleTimes, Plane, XSpace
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.units import duration

FEW = 0.02
"""Up to this share of the launches may lack their event: the recording ends while the last ones wait."""
_ON_TPU = re.compile(r"Tfrt?TpuExecutable|\bTpuExecutable|TpuCompiledExecutable|\btpu::System::Execute")
_ON_GPU = re.compile(r"\bGpuExecutable|TfrtGpuExecutable|PjRtStreamExecutor")
_LOSS = searcher(
    r"\bdropp(?:ed|ing)\b|truncat|\bbuffers?\b.*\b(?:full|overflow|exceed|limit)|overflow|\blost\b|too many events"
    r"|maximum number of (?:events|records)|event limit",
    ignore_case=True,
)


def missing_events(space: XSpace, programs: HloPrograms, frameworks: Sequence[str]) -> Iterator[Problem]:
    """A problem for each device without events of what the host launched, and for each message about lost events.

    Args:
      space: the profile of a host, whose planes may be decoded for it.
      programs: its programs.
      frameworks: that wrote it; remedies are for the first of them.
    """
    for text in lost_event_messages((*space.errors, *space.warnings)):
        yield _problem(EVENTS_DROPPED.said(f"The profiler reports lost events: {text}"), frameworks)
    host = host_plane(space)
    if host is None:
        return
    if any(plane.name.startswith(("/device:GPU:", "/device:TPU:")) for plane in space.planes):
        devices = devices_of(space, programs)
        lost = unrecorded(space, host if host.decoded else telling_events(space), devices)
        for device, launches in zip(devices, lost, strict=True):
            if len(launches) > FEW * (len(launches) + launches.recorded):
                name = "the TPUs" if device.kind == "tpu" and len(devices) > 1 else device.name
                yield _problem(_missing(name, launches), frameworks, len(launches))
    elif kind := _executes_elsewhere(space, host):
        yield _problem(DEVICE_PLANES_MISSING.said(f"{kind}, and no plane of the device was recorded."), frameworks)


def lost_event_messages(texts: Sequence[str]) -> list[str]:
    """The messages of the profiler that tell of lost events, each once."""
    return [text.strip()[:300] for text in dict.fromkeys(texts) if _LOSS(text)]


def _problem(reason: Reason, frameworks: Sequence[str], count: int | None = None) -> Problem:
    return Problem(reason.code, reason.sentence, remedy=reason.remedy.of(frameworks), count=count)


def _missing(device: str, lost: Unrecorded) -> Reason:
    """Why launches of a device have no event: graphs, an early end, a late begin, or events here and there."""
    launches = f"{len(lost):,} of {len(lost) + lost.recorded:,} launches have no event of the device"
    if lost.graphs == len(lost):
        count = "1 graph launch has" if len(lost) == 1 else f"{len(lost):,} graph launches have"
        return GRAPH_EVENTS_MISSING.said(f"{count} no kernel events on {device}: idle time is unknown.")
    where = f"Of {device}"
    if lost.recorded and (lost.ends_early or lost.begins_late):
        verb, share = ("end", lost.share) if lost.ends_early else ("begin", 1 - lost.share)
        where = f"Device events of {device} {verb} at {share:.0%} of the time of the launches"
    return EVENTS_MISSING.said(f"{where}: {launches}.")


def _executes_elsewhere(space: XSpace, host: Plane) -> str:
    """Sentence about work that the host runs on a device of which there is no plane; "" without any."""
    if any(_ON_TPU.search(name) for name in host.declared.event_metadata.names):
        return "Programs ran on a TPU"
    if any(_ON_GPU.search(name) for name in host.declared.event_metadata.names):
        return "Programs ran on a GPU"
    if not may_launch(host):
        return ""
    telling = host if host.decoded else telling_events(space)
    if telling is not None and (count := len(launches_of_host(telling))):
        return f"The host launched work on a GPU {count:,} times"
    return ""


_MOST_NAMED = 3
_TIMES = "an impossible time (0, negative, or far from all others)"
_DURATIONS = "a duration that spans many later events of its stream"


def mended_times(lines: Sequence[ImpossibleTimes], clocks: Sequence[DeviceClock]) -> Iterator[Problem]:
    """A problem for each kind of times that cannot be as recorded: how many, and what was done."""
    yield from _impossible_times(lines)
    yield from _clock_skews(clocks)


def _impossible_times(lines: Sequence[ImpossibleTimes]) -> Iterator[Problem]:
    """Per kind the lines with most of the events."""
    for code, counts, what, done, kept in (
        ("impossible_times", [line.left_out for line in lines], _TIMES, "left out", "counted here"),
        ("impossible_durations", [line.shortened for line in lines], _DURATIONS, "cut short", "counted in full here"),
    ):
        total = sum(counts)
        if not total:
            continue
        affected = [(count, line) for count, line in zip(counts, lines, strict=True) if count]
        most = sorted(affected, key=lambda counted: -counted[0])
        named = [
            f"{count:,} on {line.line[:100] or 'an unnamed line'} of {line.plane[:100]}"
            for count, line in most[:_MOST_NAMED]
        ]
        more = len(most) - _MOST_NAMED
        named += [f"the others on {more} more {'line' if more == 1 else 'lines'}"] if more > 0 else []
        events, are = ("1 event has", "is") if total == 1 else (f"{total:,} events have", "are")
        verdict = kept if any(line.kept for _, line in most) else done
        yield Problem(code, f"{events} {what} and {are} {verdict}: {', '.join(named)}.", count=total)


def _clock_skews(clocks: Sequence[DeviceClock]) -> Iterator[Problem]:
    """Per device by how much its clock disagrees with its host's."""
    for clock in clocks:
        device = clock.device.removeprefix("/device:").replace(":", " ")
        count = (
            f"all {clock.pairs:,}" if clock.impossible == clock.pairs else f"{clock.impossible:,} of {clock.pairs:,}"
        )
        proof = f"{count} launches and waits cannot have been as recorded"
        if clock.offset_ps:
            which = "behind" if clock.offset_ps > 0 else "ahead of"
            far = duration(abs(clock.offset_ps))
            text = f"The clock of {device} is {far} {which} its host's: {proof}. Its times are moved."
        else:
            text = f"The clock of {device} disagrees with its host's: {proof}, and no offset makes them agree."
        yield Problem("clock_skew", text, count=clock.impossible)
