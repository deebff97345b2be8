"""Columns about collectives, clocks and launches."""

from __future__ import annotations

from tpu_profile_plugin.analysis.megascale.collectives import Collective
from tpu_profile_plugin.run.catalogue import BEGIN, DURATION, HOST, RUN, STEP
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import integers, numbers, texts
from tpu_profile_plugin.units import US_PER_MS


def hidden_percent(exposed_ps: int, total_ps: int) -> float | None:
    """Share of the time of collectives that computation hides; None without any."""
    return 100 * (1 - exposed_ps / total_ps) if total_ps else None


_GIGABITS_PER_BYTE, _SECONDS_PER_US = 8e-9, 1e-6


def required_gigabits(collective: Collective) -> float | None:
    """Gbit/s that a collective needs to finish within its slack; None without slack."""
    if not collective.slack_us:
        return None
    return collective.bytes / collective.slack_us * (_GIGABITS_PER_BYTE / _SECONDS_PER_US)


_COLLECTIVES = Catalogue(
    *(RUN, HOST, BEGIN, DURATION, STEP),
    texts("id", "Id", "Name and program of the collective; start and done are one."),
    texts("device", "Device", "Device, with its host if there are several."),
    texts("plane", "Plane", "Plane with the events of the device."),
    texts("op", "Collective", "The HLO instruction, or the kernel; start and done are one.",
          lambda sums: sums.key.name),
    texts("name", "Collective", "The HLO instruction, or the kernel; start and done are one."),
    texts("kind", "Kind", "all-reduce, all-gather, reduce-scatter, all-to-all, send, ...", lambda sums: sums.key.kind),
    texts("program", "Program", "The HLO module with its program id."),
    integers("ranks", "Ranks", "", "Participating devices, from the program if it is known, else from the profile."),
    texts("replica_group", "Replica group", "Numbers of the devices that exchange data with this one; or: all."),
    integers("bytes", "Message", "bytes", "Contribution of a rank to a run; of an all-gather, the gathered result."),
    integers("execution", "Execution", "", "Number of the execution that devices took part in together."),
    integers("end_ps", "End", "ps", "End on the axis of the trace viewer."),
    integers("exposed_ps", "Exposed", "ps", "Part of the duration during which the device computes nothing."),
    integers("wait_ps", "Wait", "ps", "Time until the last device began, at most the duration."),
    texts("late_host", "Late host", "Host of the device that began last."),
    texts("late_device", "Late device", "Device that began last in this execution."),
    integers("count", "Runs", "", "Runs on all devices."),
    integers("total_ps", "Total time", "ps", "From start to completion, summed over runs on all devices."),
    integers("own_exposed_ps", "Exposed, without waits", "ps", "Exposed time without waits for late devices."),
    numbers("hidden_percent", "Hidden", "%", "Share of its total time during which the device computes.",
            lambda sums: hidden_percent(sums.exposed_ps, sums.total_ps)),
    integers("stall_ps", "Stall", "ps",
             "TPUs: time that the TensorCore waits, in the done op or in a synchronous op."),
    integers("most_wait_ps", "Longest wait", "ps", "Longest wait of one run for the last device."),
    texts("last", "Waited for", "Device that began last in the run with the longest wait."),
    numbers("algorithm_gbps", "Algorithm bandwidth", "GB/s",
            "Message size divided by the time of the fastest rank, which includes no waits."),
    numbers("bus_gbps", "Bus bandwidth", "GB/s",
            "Algorithm bandwidth times 2(n-1)/n (all-reduce) or (n-1)/n (all-gather, reduce-scatter, all-to-all)."),
    numbers("work_ps", "Own work", "ps", "Compute time per step."),
    numbers("communication_ps", "Communication", "ps", "Time per step with a collective under way."),
    numbers("caused_ps", "Waits of others", "ps", "Total time that other devices waited for this device."),
    numbers("work_ratio", "Work / median", "", "Own work divided by the median of all devices."),
)  # fmt: skip
_column = _COLLECTIVES.column

RELATION = _COLLECTIVES.typed(
    *("run", "host", _column("device", "Device of the host."), "plane"),
    *(_column("step", "Number of the step in which the run begins."), "name", "kind", "program"),
    _column("begin_ps", "Begin on the axis of the trace viewer; of asynchronous ones, of the start."),
    _column("duration_ps", "Time from start to completion, with first waits that the page sets aside."),
    *("exposed_ps", "wait_ps", "late_host", "late_device", "execution", "ranks", "replica_group"),
    _column("bytes", "Contribution of a rank to the run; of an all-gather, the gathered result."),
)
"""Of the relation `collectives`."""
COLLECTIVES = _COLLECTIVES.columns(
    *("op", "kind", "ranks", "count", "total_ps"),
    _column("exposed_ps", "Part of the total time during which the device computes nothing."),
    *("own_exposed_ps", "hidden_percent", "stall_ps"),
    _column("wait_ps", "Waiting time until the last device began, summed over runs.", label="Waits"),
    *("most_wait_ps", "last", "bytes", "algorithm_gbps", "bus_gbps"),
    _column("program", "Name of the program, or its id."),
    _column("host", "Host of the longest run."),
    _column("begin_ps", "Begin of the longest run, on its host's time axis."),
    _column("end_ps", "End of the longest run, on its host's time axis."),
)
"""Of the tool `communication`, by collective."""
_ANSWERED = (
    *("kind", "count", "bytes", "total_ps", "exposed_ps", "own_exposed_ps", "hidden_percent", "wait_ps", "last"),
    "bus_gbps",
)
ANSWERED = (_column("id"), *(each for id_ in _ANSWERED for each in COLLECTIVES if each.id == id_))
"""Of the verb `collectives`."""
RANKS = _COLLECTIVES.columns(
    *("device", _column("host", "Its host."), "work_ps", "communication_ps"),
    _column("exposed_ps", "Time per step with a collective under way and no computation."),
    _column("wait_ps", "Time per step spent in collectives waiting for other devices.", label="Waits"),
    *("caused_ps", "work_ratio"),
)
"""Of the tool `communication`, by device."""
CLOCKS = (
    texts("clock", "Clock", "Host or device whose clock is compared."),
    texts("reference", "Reference", "Reference clock."),
    numbers("offset_ps", "Offset", "ps", "Offset to add to its times to match the reference."),
    numbers("spread_ps", "Spread", "ps", "Uncertainty of the offset: interquartile range of the pairs."),
    numbers("pairs", "Pairs", "", "Number of matched pairs: collectives, or launches and the work they started."),
    numbers("violations", "Violations", "", "Pairs whose effect precedes its cause."),
)
"""Of the tool `communication`, by clock."""
LAUNCHES = (
    _column("device", "GPU, with its host if there are several."),
    numbers("launches", "Launches", "", "Kernels and copies in the steps with a known launch."),
    numbers("per_step", "Per step", "", "Launches per step."),
    numbers("launch_bound_percent", "Launch-bound", "%",
            "Share of step time with an idle GPU and an empty queue: the host is too slow.",
            lambda one: 100 * one.starved_ps / one.step_ps if one.step_ps else None),
    numbers("delay_ps", "Launch delay", "ps", "Median delay from the launch on the host to the begin on the GPU."),
    numbers("late_delay_ps", "Delay, 90th percentile", "ps", "90th percentile of the launch delay."),
    numbers("call_ps", "Call", "ps", "Median duration of the call on the host."),
    numbers("most_queued", "Longest queue", "", "Largest number of launched kernels that had not begun."),
    numbers("mean_queued", "Mean queue", "", "Mean number of launched kernels that had not begun, over step time."),
    numbers("tiny", "Tiny kernels", "", "Kernels and copies shorter than 10 us."),
    numbers("tiny_percent", "Tiny, of the launches", "%", "Share of tiny kernels in the launches.",
            lambda one: 100 * one.tiny / one.launches),
)  # fmt: skip
"""Of the tool `communication`, by GPU."""
MEGASCALE = (
    texts("rendezvous", "Rendezvous", "Name shared by sender and receiver."),
    texts("recv_op", "Receive op", "The recv-done op."),
    texts("send_op", "Send op", "The send op."),
    texts("transfer_type", "Transfer type", "Kind of collective."),
    numbers("slack_ms", "Slack", "ms",
            "Time from the send to the begin of the recv-done, without sends and receives in between: what the network "
            "may take without holding the TPU up.",
            lambda one: one.slack_us / US_PER_MS),
    numbers("observed_ms", "Observed duration", "ms", "Time from the begin of the send to the end of the recv-done.",
            lambda one: one.observed_us / US_PER_MS),
    numbers("send_ms", "Send stall", "ms", "Time of the send op.", lambda one: one.send_us / US_PER_MS),
    numbers("send_done_ms", "Send-done stall", "ms", "Time of the send-done op.",
            lambda one: one.send_done_us / US_PER_MS),
    numbers("recv_ms", "Receive stall", "ms", "Time of the recv op.", lambda one: one.recv_us / US_PER_MS),
    numbers("recv_done_ms", "Recv-done stall", "ms", "Time of the recv-done op.",
            lambda one: one.recv_done_us / US_PER_MS),
    numbers("stall_ms", "Stall", "ms", "Time of all four ops, with nothing else on the TPU.",
            lambda one: one.stall_us / US_PER_MS),
    numbers("total_stall_ms", "Total stall", "ms", "Stall of all runs.",
            lambda one: one.stall_us * one.runs / US_PER_MS),
    numbers("runs", "Runs", "", "Number of runs."),
    numbers("sent_bytes", "Data sent", "bytes",
            "Bytes sent over the network per run, from the size of the result and the number of participants.",
            lambda one: one.bytes),
    numbers("required_gbps", "Required bandwidth", "Gbit/s",
            "Bandwidth needed to finish within the slack; empty without slack: no bandwidth is enough.",
            required_gigabits),
)  # fmt: skip
"""Of the tool `megascale_stats`."""
