"""What a profile must have recorded for the silence of a rule to mean that its cause is not there.

A rule whose events are missing finds nothing, whatever the program does: it says what to record instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES, NO_FRAMES, NO_HOST_EVENTS, Reason
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView


@dataclass(frozen=True, slots=True)
class Need:
    """What a rule needs.

    Attributes:
      recorded: whether a run has it.
      missing: what is missing, and how to record it.
    """

    recorded: Callable[[RunView], bool]
    missing: Reason


def _waits_are_short(run: RunView) -> bool:
    """Whether too little time is left for any cause outside of devices: events of the host would change nothing."""
    shares = run.group_shares()
    known = sum(shares[name] for name in ("device_compute", "device_to_device", "collectives"))
    return run.has_devices and run.base_ps > 0 and 1 - known < LEAST_SHARE


DEVICES = Need(
    lambda run: run.has_devices, NO_DEVICES.said("No device was recorded: capture while the program computes.")
)
HOST = Need(lambda run: run.summary.host_events or _waits_are_short(run), NO_HOST_EVENTS)
FRAMES = Need(lambda run: run.summary.python_frames or _waits_are_short(run), NO_FRAMES)
INPUT = replace(FRAMES, recorded=lambda run: run.summary.input_events or FRAMES.recorded(run))
NEEDS: Mapping[str, tuple[Need, ...]] = {
    "recompilation": (HOST,),
    "not_compiled": (DEVICES, HOST),
    "debug_callbacks": (HOST,),
    "host_sync": (DEVICES, HOST, FRAMES),
    "repeated_transfer": (DEVICES, HOST),
    "input_bound": (HOST, INPUT),
    "output_bound": (DEVICES, HOST),
    "slow_host_code": (HOST, FRAMES),
    "busy_thread": (HOST, FRAMES),
    "exposed_copy": (DEVICES,),
    "sparse_core_wait": (DEVICES,),
    "barrier": (DEVICES,),
    "launch_bound": (DEVICES, HOST),
    "eager_execution": (HOST,),
    "tf_function_tracing": (HOST,),
}
"""By the rule's id, for rules whose own conditions do not tell that something is missing."""


def qualified(rule: str, run: RunView, silence: Silence) -> Silence:
    """What a rule says, as unknown with what to record if it could not have seen its cause."""
    missing = next((need for need in NEEDS.get(rule, ()) if not need.recorded(run)), None)
    if missing is None or silence.failed or (missing is DEVICES and not silence.looked):
        return silence
    lacked = missing.missing
    told = lacked.sentence if missing is DEVICES else lacked.in_full(run.frameworks)
    return replace(silence, reason=f"{silence.reason} {told}", looked=False, missing=lacked)
