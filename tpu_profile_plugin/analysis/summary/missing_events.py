"""Says which work of devices ran and was not recorded, and what the profiler reports as lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpu_profile_plugin.analysis.budget.host_time import telling_events
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.reasons import (
    DEVICE_PLANES_MISSING,
    EVENTS_DROPPED,
    EVENTS_MISSING,
    GRAPH_EVENTS_MISSING,
    Reason,
)
from tpu_profile_plugin.analysis.devices.host import devices_of
from tpu_profile_plugin.analysis.devices.unrecorded import Unrecorded, launches_of_host, may_launch, unrecorded
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.errors import Problem

FEW = 0.02
"""Up to this share of the launches may lack their event: the recording ends while the last ones wait."""
_ON_TPU = re.compile(r"Tfrt?TpuExecutable|\bTpuExecutable|TpuCompiledExecutable|\btpu::System::Execute")
_ON_GPU = re.compile(r"\bGpuExecutable|TfrtGpuExecutable|PjRtStreamExecutor")
_LOSS = re.compile(
    r"\bdropp(?:ed|ing)\b|truncat|\bbuffers?\b.*\b(?:full|overflow|exceed|limit)|overflow|\blost\b|too many events"
    r"|maximum number of (?:events|records)|event limit",
    re.IGNORECASE,
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
        for device, one in zip(devices, lost, strict=True):
            if len(one) > FEW * (len(one) + one.recorded):
                name = "the TPUs" if device.kind == "tpu" and len(devices) > 1 else device.name
                yield _problem(_missing(name, one), frameworks, len(one))
    elif kind := _executes_elsewhere(space, host):
        yield _problem(DEVICE_PLANES_MISSING.said(f"{kind}, and no plane of the device was recorded."), frameworks)


def lost_event_messages(texts: Sequence[str]) -> list[str]:
    """The messages of the profiler that tell of lost events, each once."""
    return [text.strip()[:300] for text in dict.fromkeys(texts) if _LOSS.search(text)]


def _problem(reason: Reason, frameworks: Sequence[str], count: int | None = None) -> Problem:
    return Problem(reason.code, reason.sentence, remedy=reason.remedy.of(frameworks), count=count)


def _missing(device: str, lost: Unrecorded) -> Reason:
    """What is missing of a device: graphs, an end, a begin, or events here and there."""
    launches = f"{len(lost):,} of {len(lost) + lost.recorded:,} launches have no event of the device"
    if lost.graphs == len(lost):
        count = "1 graph launch has" if len(lost) == 1 else f"{len(lost):,} graph launches have"
        return GRAPH_EVENTS_MISSING.said(f"{count} no kernel events on {device}: idle time is unknown.")
    if not lost.recorded:
        return EVENTS_MISSING.said(f"Of {device}: {launches}.")
    if lost.ends_early or lost.begins_late:
        verb, share = ("end", lost.share) if lost.ends_early else ("begin", 1 - lost.share)
        return EVENTS_MISSING.said(
            f"Device events of {device} {verb} at {share:.0%} of the time of the launches: {launches}."
        )
    return EVENTS_MISSING.said(f"Of {device}: {launches}.")


def _executes_elsewhere(space: XSpace, host: Plane) -> str:
    """What the host says it runs on a device of which there is no plane; "" if it says nothing."""
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
