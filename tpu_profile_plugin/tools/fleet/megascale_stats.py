"""Megascale stats: slack, stalls and bandwidth of collectives over the data-centre network, one row per rendezvous.

A list with one table, as XProf. Times come from the first TPU of each host; `host_stall` is "-": profiles lack the
traces of hosts that it needs.

With `timeline=true` (ours) the parts of collectives on all TPUs and the flows between parts:
`{"kinds": [name], "hosts": [{"host", "names": [rendezvous], "parts": {"device", "run", "rendezvous", "kind",
"begin_ps", "end_ps"}, "flows": [[from], [to]]}]}`; members of `parts` are lists, flows are places in them, run ids are
texts.

With `perfetto=true` a compressed trace for Perfetto, as XProf's: a file to keep or to open in a local viewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tpu_profile_plugin.analysis.common.planes import tensor_core
from tpu_profile_plugin.analysis.common.reasons import NO_MEGASCALE, Reason
from tpu_profile_plugin.analysis.megascale.collectives import PLANE, Collective, collectives, combine, send_recv_ops
from tpu_profile_plugin.analysis.megascale.flows import add_flows, flows
from tpu_profile_plugin.analysis.megascale.network import counters
from tpu_profile_plugin.analysis.megascale.perfetto import TraceWriter
from tpu_profile_plugin.analysis.megascale.trace import KINDS, collective_parts, hide_tiny_events, load
from tpu_profile_plugin.analysis.megascale.trace import PLANE as COPIES
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table, attributes, numbers, texts
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Json, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import US_PER_MS

NO_LIMIT = 2**31 - 1
"""Required bandwidth without slack."""
_GIGABITS_PER_BYTE, _SECONDS_PER_US = 8e-9, 1e-6

COLUMNS = (
    texts("rendezvous_name", "Rendezvous Name", "Name shared by sender and receiver."),
    texts("recv_op_name", "Recv Op Name", "The recv-done op."),
    texts("send_op_name", "Send Op Name", "The send op."),
    texts("transfer_type", "Transfer Type", "Kind of collective."),
    numbers("slack_time", "Slack Time (ms)", "ms",
            "Time from the send to the begin of the recv-done, without sends and receives in between: what the network "
            "may take without holding the TPU up."),
    Column("host_stall", "Host Stall (ms)", "string", "ms",
           "Delay caused by the host; not recorded."),
    numbers("observed_duration", "Observed Duration (ms)", "ms",
            "Time from the begin of the send to the end of the recv-done."),
    numbers("send_stall", "Send Stall (ms)", "ms", "Time of the send op."),
    numbers("send_done_stall", "SendDone Stall (ms)", "ms", "Time of the send-done op."),
    numbers("recv_stall", "Recv Stall (ms)", "ms", "Time of the recv op; XProf makes it a million times smaller."),
    numbers("recv_done_stall", "RecvDone Stall (ms)", "ms", "Time of the recv-done op."),
    numbers("stall_duration", "Stall Duration (ms)", "ms", "Time of all four ops, with nothing else on the TPU."),
    numbers("total_stall", "Aggregated Total Stall (ms)", "ms", "Stall duration of all runs."),
    numbers("occurrences", "Occurrences", "", "Number of runs."),
    numbers("net_tx_bytes", "Data Transmitted Size", "bytes",
            "Bytes sent over the network per run, from the size of the result and the number of participants."),
    numbers("required_bandwidth", "Required Bandwidth (Gbps)", "Gbit/s",
            "Bandwidth needed to finish within the slack; 2147483647 without slack."),
)  # fmt: skip


@per_host()
def host_collectives(host: HostProfile) -> tuple[Collective, ...]:
    """The collectives of one host."""
    plane = next((plane for plane in host.lazy.planes if plane.name == PLANE), None)
    return () if plane is None else collectives(send_recv_ops(host.lazy, plane, programs_of(host)))


@per_host()
def host_timeline(host: HostProfile) -> dict[str, Any]:
    """The parts and flows of one host."""
    space = host.lazy
    space.decode([plane for plane in space.planes if plane.name == COPIES or tensor_core(plane.name) is not None])
    parts = collective_parts(space)
    source, target = flows(parts)
    columns = ("device", "rendezvous", "kind", "begin_ps", "end_ps")
    return {
        "host": host.name,
        "names": list(parts.names),
        "parts": {
            **{name: getattr(parts, name).tolist() for name in columns},
            "run": [str(run) for run in parts.run.tolist()],
        },
        "flows": [source.tolist(), target.tolist()],
    }


def build(run: Run, query: Query) -> tuple[Table] | Json | Raw:
    """One row per rendezvous, of one host or averaged over all; or the timeline, or a file of Perfetto."""
    if query.flag("timeline"):
        return Json({"kinds": list(KINDS), "hosts": run.map_hosts(host_timeline)})
    if query.flag("perfetto"):
        return _perfetto(run, query)
    return (_table(combine(run.map_hosts(host_collectives))),)


def _perfetto(run: Run, query: Query) -> Raw:
    if len(run.profiles) > 1:
        raise BadRequest("A Perfetto trace shows one host: choose it with host=NAME.", parameter="host")
    trace = load(run.profiles[0].lazy)
    if query.flag("group_tiny_events"):
        hide_tiny_events(trace)
    add_flows(trace, receives=query.flag("recv_done"))
    name = quote(f"{run.name}-{run.profiles[0].name}.perfetto-trace.gz", safe="")
    shown = (("Content-Disposition", f"attachment; filename*=UTF-8''{name}"),)
    return Raw(TraceWriter(trace).compressed(counters(trace)), BINARY_TYPE, headers=shown)


def _table(listed: Sequence[Collective]) -> Table:
    data = {
        **attributes(listed, rendezvous_name="rendezvous", recv_op_name="recv_op", send_op_name="send_op"),
        **attributes(listed, "transfer_type", occurrences="runs", net_tx_bytes="bytes"),
        "slack_time": [one.slack_us / US_PER_MS for one in listed],
        "host_stall": ["-"] * len(listed),
        "observed_duration": [one.observed_us / US_PER_MS for one in listed],
        "send_stall": [one.send_us / US_PER_MS for one in listed],
        "send_done_stall": [one.send_done_us / US_PER_MS for one in listed],
        "recv_stall": [one.recv_us / US_PER_MS for one in listed],
        "recv_done_stall": [one.recv_done_us / US_PER_MS for one in listed],
        "stall_duration": [one.stall_us / US_PER_MS for one in listed],
        "total_stall": [one.stall_us * one.runs / US_PER_MS for one in listed],
        "required_bandwidth": [_required_gigabits(one) for one in listed],
    }
    return Table(COLUMNS, data, formatted={"net_tx_bytes": [bytes_text(one.bytes) for one in listed]})


def _required_gigabits(collective: Collective) -> float:
    return (
        collective.bytes / collective.slack_us * (_GIGABITS_PER_BYTE / _SECONDS_PER_US)
        if collective.slack_us
        else NO_LIMIT
    )


def bytes_text(count: int) -> str:
    """A number of bytes as XProf writes it here: "600B", "22.9K", "1.25M"."""
    if count < 1024:
        return f"{count}B"
    unit = 0
    while count >= 1024 * 1024:
        count //= 1024
        unit += 1
    return f"{count / 1024:.{1 if unit == 0 else 2}f}{'KMGTPE'[unit]}"


def _lacks(facts: RunFacts) -> Reason | None:
    return None if facts.megascale else NO_MEGASCALE


TOOL = Tool(
    id="megascale_stats",
    title="Megascale Stats",
    group="Fleet",
    summary="Collectives over the data-centre network: slack, stalls and the bandwidth they need.",
    build=build,
    params=(
        Param("perfetto", "bool", False, "Answer a compressed Perfetto trace of one host instead of the table."),
        Param("group_tiny_events", "bool", True, "Of perfetto=true: merge neighbouring events shorter than 1 ns."),
        Param("recv_done", "bool", False, "Of perfetto=true: include flows to recv-done ops."),
        Param(
            "timeline",
            "bool",
            False,
            "Answer the parts of the collectives and the flows between them instead of the table.",
        ),
    ),
    lacks=_lacks,
)
