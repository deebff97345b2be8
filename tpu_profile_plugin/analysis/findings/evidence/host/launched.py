"""Whether the steps of a host are compiled, and whether it waits for what it launches."""

from __future__ import annotations

from tpu_profile_plugin.analysis.devices.launched import Launched, launched
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE

PROGRAMS_PER_STEP = 30
"""Program runs per step and device from which launching is the host's main work. Two layers trained without compilation
run about as many; compiled loops run fewer than ten."""
STEPS_OF_RECORDING = 10
"""Step count assumed when none are marked: people record about as many."""
EAGER_CALLS_PER_STEP = 50
"""Eager ops per step: compiled Keras loops make fewer than 20, each of tens of microseconds."""
DISTINCT_PROGRAMS = 8
"""Kinds of programs or eager ops in the steps: a loop that calls a few compiled functions has fewer."""
TINY_OP_PS = 20_000_000
"""Median op: a call costs the host about as long (20 us)."""
SYNCED_LAUNCHES = 1 / 3
"""Waits per launch from which the host cannot launch ahead, so that the waits are the cause: a value that Python
decides by is often computed by a launch of its own."""
WAITS_PER_STEP = 3
"""Fewer waits than these in a step may be at its end, where programs that lose nothing wait as well."""
MOSTLY_BUSY = 0.50
"""Devices that compute for more than half of the step are fed fast enough."""
BUSY = ("device_compute", "exposed_communication", "peer_transfer", "exposed_copy", "input_copy", "output_copy")
BETWEEN_PROGRAMS = ("idle_launch", "idle_host", "idle_transfer", "idle_other")


def launched_by(host: HostView, steps: StepWindows) -> Launched:
    """What a host's steps launch."""
    return launched(host.devices, host.plane, steps, host.time.takes_part)


def synced(host: HostView, steps: StepWindows, waits: int) -> bool:
    """Whether the host waits for most of what it launches; `waits`: how often, in all steps."""
    return waits >= SYNCED_LAUNCHES * launched_by(host, steps).per_step * len(steps) > 0


def starved(host: HostView) -> bool:
    """Whether the time budget alone tells that devices are idle between programs for much of the time."""
    busy, between = (sum(map(host.time.part_ps, parts)) for parts in (BUSY, BETWEEN_PROGRAMS))
    return between >= LEAST_SHARE * host.time.step_ps > 0 and busy <= MOSTLY_BUSY * host.time.step_ps


def uncompiled(host: HostView) -> Launched | None:
    """What a host's steps launch if they are not compiled, as far as it alone tells; else None."""
    if not starved(host) or host.steps is None:
        return None
    launches = launched_by(host, host.steps)
    return launches if is_uncompiled(launches) else None


def is_uncompiled(launches: Launched) -> bool:
    """Whether a step consists of very many tiny programs or eager ops."""
    least = EAGER_CALLS_PER_STEP if launches.eager else PROGRAMS_PER_STEP
    if launches.whole:
        least *= STEPS_OF_RECORDING
    return launches.per_step >= least and launches.distinct >= DISTINCT_PROGRAMS and launches.median_ps < TINY_OP_PS
