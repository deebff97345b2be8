"""The findings of a run: what each rule needs of each host, computed in parallel, and what the rules say of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.analysis.findings.find import Report, find, gather
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.toolkit.host import PerHost
from tpu_profile_plugin.tools.common.communications import COMMUNICATION, run_communication
from tpu_profile_plugin.tools.common.devices import host_devices, reader_of
from tpu_profile_plugin.tools.common.host_summaries import SUMMARY, groups_if_any, run_summary, summary_of
from tpu_profile_plugin.tools.common.op_summaries import hlo_ops_of
from tpu_profile_plugin.tools.common.time_budgets import BUDGET, run_budget

if TYPE_CHECKING:
    from tpu_profile_plugin.toolkit.host import HostProfile
    from tpu_profile_plugin.toolkit.inputs import Inputs


def make_gathered(host: HostProfile) -> dict[str, Any]:
    """What the rules need of one host, by their ids."""
    hlo = hlo_ops_of(host)
    shared = summary_of(host), host.compute(BUDGET), host.compute(COMMUNICATION)
    view = HostView(
        host.name, host.lazy, groups_if_any(host), hlo, shared, lambda: host_devices(host), reader_of(host)
    )
    return gather(view)


GATHERED = PerHost(make_gathered, prefetch=(BUDGET, COMMUNICATION, SUMMARY))


def run_findings(inputs: Inputs) -> tuple[RunView, Report]:
    """The run as the rules see it, and what they say."""
    gathered = inputs.map_hosts(GATHERED)
    summary, budget, communication = run_summary(inputs), run_budget(inputs), run_communication(inputs)
    run = RunView(tuple(host.name for host in inputs.readable), summary, budget, communication)
    return run, inputs.derive("findings", lambda _: find(run, gathered))
