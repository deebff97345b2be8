"""Megascale stats as XProf answers them: a list with one table, in which the recv op takes no time."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.run.catalogue.communication import required_gigabits
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, numbers, texts
from tpu_profile_plugin.tools.fleet import megascale_stats
from tpu_profile_plugin.tools.payload import Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import US_PER_MS

NO_LIMIT = 2**31 - 1
"""Required bandwidth without slack."""

COLUMNS = (
    texts("rendezvous_name", "Rendezvous Name", ""),
    texts("recv_op_name", "Recv Op Name", ""),
    texts("send_op_name", "Send Op Name", ""),
    texts("transfer_type", "Transfer Type", ""),
    numbers("slack_time", "Slack Time (ms)", "", ""),
    texts("host_stall", "Host Stall (ms)", ""),
    numbers("observed_duration", "Observed Duration (ms)", "", ""),
    numbers("send_stall", "Send Stall (ms)", "", ""),
    numbers("send_done_stall", "SendDone Stall (ms)", "", ""),
    numbers("recv_stall", "Recv Stall (ms)", "", ""),
    numbers("recv_done_stall", "RecvDone Stall (ms)", "", ""),
    numbers("stall_duration", "Stall Duration (ms)", "", ""),
    numbers("total_stall", "Aggregated Total Stall (ms)", "", ""),
    numbers("occurrences", "Occurrences", "", ""),
    numbers("net_tx_bytes", "Data Transmitted Size", "", ""),
    numbers("required_bandwidth", "Required Bandwidth (Gbps)", "", ""),
)


def build(run: Run, query: Query) -> tuple[Table] | Raw:
    """The table, or a file of Perfetto. Profiles lack the traces of hosts that `host_stall` needs."""
    if query.flag("perfetto"):
        return megascale_stats.perfetto(run, query)
    listed = megascale_stats.combined(run)
    needed = [required_gigabits(collective) for collective in listed]
    data = {
        **attributes(listed, rendezvous_name="rendezvous", recv_op_name="recv_op", send_op_name="send_op"),
        **attributes(listed, "transfer_type", occurrences="runs", net_tx_bytes="bytes"),
        "slack_time": [collective.slack_us / US_PER_MS for collective in listed],
        "host_stall": ["-"] * len(listed),
        "observed_duration": [collective.observed_us / US_PER_MS for collective in listed],
        "send_stall": [collective.send_us / US_PER_MS for collective in listed],
        "send_done_stall": [collective.send_done_us / US_PER_MS for collective in listed],
        # XProf divides the time of recv by a million twice.
        "recv_stall": [collective.recv_s / US_PER_MS for collective in listed],
        "recv_done_stall": [collective.recv_done_us / US_PER_MS for collective in listed],
        "stall_duration": [collective.stall_us / US_PER_MS for collective in listed],
        "total_stall": [collective.stall_us * collective.runs / US_PER_MS for collective in listed],
        "required_bandwidth": [NO_LIMIT if gigabits is None else gigabits for gigabits in needed],
    }
    return (Table(COLUMNS, data, formatted={"net_tx_bytes": [bytes_text(collective.bytes) for collective in listed]}),)


def bytes_text(count: int) -> str:
    """A number of bytes as XProf writes it here: "600B", "22.9K", "1.25M"."""
    if count < 1024:
        return f"{count}B"
    unit = 0
    while count >= 1024 * 1024:
        count //= 1024
        unit += 1
    return f"{count / 1024:.{1 if unit == 0 else 2}f}{'KMGTPE'[unit]}"


TOOL = replace(
    megascale_stats.TOOL,
    build=build,
    params=tuple(param for param in megascale_stats.TOOL.params if param.name != "timeline"),
)
