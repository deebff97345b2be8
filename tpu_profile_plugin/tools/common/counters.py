"""Shared by the tools of performance counters: availability, and the host column."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.planes import TPU_PREFIX
from tpu_profile_plugin.analysis.common.reasons import NO_COUNTERS, NO_TPU_COUNTERS, Reason
from tpu_profile_plugin.analysis.counters.units import declares_values
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.tables.table import texts

HOST_NAME = texts("hostname", "Host name", "Host of the sample.", extra=True)


def lacks_counters(facts: RunFacts) -> Reason | None:
    """None if a TPU has values of counters, else the reason."""
    if facts.counter_values:
        return None
    return NO_COUNTERS if facts.has_plane(TPU_PREFIX) else NO_TPU_COUNTERS


def tpu_planes(host: HostProfile) -> tuple[Plane, ...]:
    """The TPU planes of a host; planes that declare counter values are decoded."""
    planes = tuple(plane for plane in host.lazy.planes if plane.name.startswith(TPU_PREFIX))
    host.lazy.decode([plane for plane in planes if declares_values(plane)])
    return planes
