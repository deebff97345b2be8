"""What the main thread's code costs the devices, whichever way tells."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.devices.cpu_tf import NAME as CPU_TENSORFLOW
from tpu_profile_plugin.analysis.findings.evidence.host.host_code import host_code
from tpu_profile_plugin.analysis.findings.evidence.host.host_only import code_on_host
from tpu_profile_plugin.analysis.findings.evidence.host.spans import HostCode
from tpu_profile_plugin.analysis.findings.host_view import HostView


def code_of(host: HostView) -> HostCode | None:
    """What the main thread's code costs the devices; None if they are hardly idle, or there are none."""
    return host.once(_code)


def _code(host: HostView) -> HostCode | None:
    if not host.budget.devices:
        return code_on_host(host)
    code = host_code(host)
    if code is None or host.budget.devices[0][0] != CPU_TENSORFLOW:
        return code
    # Calls into TensorFlow return when its ops have run, so that only the main thread tells what they wait for.
    main = code_on_host(host)
    return None if main is None else replace(main, compiling=code.compiling)
