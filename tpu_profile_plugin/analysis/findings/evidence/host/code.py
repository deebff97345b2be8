"""What the main thread's code costs the devices, whichever way tells."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.common.spans import contains
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.findings.evidence.host.host_code import host_code
from tpu_profile_plugin.analysis.findings.evidence.host.host_only import code_on_host
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import periodic_work
from tpu_profile_plugin.analysis.findings.evidence.host.spans import HostCode, IdleSpans
from tpu_profile_plugin.analysis.findings.host_view import HostView


def code_of(host: HostView) -> HostCode | None:
    """What the main thread's code costs the devices; None if they are hardly idle, or there are none."""
    return host.once(_code_of_every_step)


def _code_of_every_step(host: HostView) -> HostCode | None:
    """Without what a finding about work of some steps explains: its cause is that work, not a wait or call in it."""
    code, work = host.once(_code), periodic_work(host)
    if code is None or work is None or not len(work.times[0]):
        return code

    def others(spans: IdleSpans) -> IdleSpans:
        return spans.where(~contains(work.times, spans.begin_ps + (spans.end_ps - spans.begin_ps) // 2))

    return replace(
        code,
        after_calls=others(code.after_calls),
        slow=others(code.slow),
        unknown=others(code.unknown),
        launching=others(code.launching),
    )


def _code(host: HostView) -> HostCode | None:
    if not host.budget.devices:
        return code_on_host(host)
    code = host_code(host)
    if code is None or host.budget.devices[0][0] not in RUNS_WITHIN_HOST_CALLS:
        return code
    # Calls into TensorFlow and PyTorch return when their ops have run: only the main thread tells what they wait for.
    main = code_on_host(host)
    return None if main is None else replace(main, compiling=code.compiling)
