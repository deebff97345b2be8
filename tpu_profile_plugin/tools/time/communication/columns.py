"""The tables of the communication tool."""

from __future__ import annotations

from tpu_profile_plugin.tables.table import Column

OPS = (
    Column("op", "Collective", "string", "", "The HLO instruction, or the kernel; start and done are one."),
    Column("kind", "Kind", "string", "", "all-reduce, all-gather, reduce-scatter, all-to-all, send, ..."),
    Column("ranks", "Ranks", "number", "", "Devices that take part: from the program, else those of the profile."),
    Column("count", "Runs", "number", "", "Runs on all devices."),
    Column("total_ps", "Total time", "number", "ps", "From start to completion, summed over runs on all devices."),
    Column(
        "exposed_ps",
        "Exposed",
        "number",
        "ps",
        "The part of the total time in which the run's device computes nothing.",
    ),
    Column("hidden_percent", "Hidden", "number", "%", "Share of the total time in which the run's device computes."),
    Column(
        "stall_ps",
        "Stall",
        "number",
        "ps",
        "TPUs: time in the done op, or in the op if it is synchronous, during which the TensorCore waits.",
    ),
    Column("wait_ps", "Waits", "number", "ps", "Time until the last device began, summed over runs."),
    Column("most_wait_ps", "Longest wait", "number", "ps", "The longest time that one run waited for the last device."),
    Column("last", "Waited for", "string", "", "The device that began last in the run with the longest wait."),
    Column(
        "bytes",
        "Message",
        "number",
        "bytes",
        "What a rank contributes to one run; of an all-gather, the gathered result.",
    ),
    Column(
        "algorithm_gbps",
        "Algorithm bandwidth",
        "number",
        "GB/s",
        "Message over the time of the quickest rank, which does not include waits.",
    ),
    Column(
        "bus_gbps",
        "Bus bandwidth",
        "number",
        "GB/s",
        "Algorithm bandwidth times 2(n-1)/n (all-reduce) or (n-1)/n (all-gather, reduce-scatter, all-to-all).",
    ),
    Column("program", "Program", "string", "", "The program's name, or its id."),
    Column("host", "Host", "string", "", "The host of the longest run."),
    Column("begin_ps", "Begin", "number", "ps", "Begin of the longest run, on its host's time axis."),
    Column("end_ps", "End", "number", "ps", "End of the longest run, on its host's time axis."),
)
RANKS = (
    Column("device", "Device", "string", "", "The device, with its host if there are several."),
    Column("host", "Host", "string", "", "Its host."),
    Column("work_ps", "Own work", "number", "ps", "Time per step in which it computes."),
    Column("communication_ps", "Communication", "number", "ps", "Time per step in which a collective is under way."),
    Column("exposed_ps", "Exposed", "number", "ps", "Time per step in which one is under way and it computes nothing."),
    Column("wait_ps", "Waits", "number", "ps", "Time per step in which it waits in collectives for other devices."),
    Column("caused_ps", "Waits of others", "number", "ps", "Time in all in which other devices waited for this one."),
    Column("work_ratio", "Work / median", "number", "", "Own work over the median of all devices."),
)
CLOCKS = (
    Column("clock", "Clock", "string", "", "The host or device whose clock is compared."),
    Column("reference", "Reference", "string", "", "The clock it is compared with."),
    Column("offset_ps", "Offset", "number", "ps", "What to add to its times so that they agree with the reference."),
    Column("spread_ps", "Spread", "number", "ps", "Interquartile range of the pairs: how uncertain the offset is."),
    Column("pairs", "Pairs", "number", "", "Matched collectives, or launches with what they started."),
    Column("violations", "Violations", "number", "", "Pairs in which an effect comes before its cause."),
)
LAUNCHES = (
    Column("device", "Device", "string", "", "The GPU, with its host if there are several."),
    Column("launches", "Launches", "number", "", "Kernels and copies in the steps whose launch is known."),
    Column("per_step", "Per step", "number", "", "Launches per step."),
    Column(
        "launch_bound_percent",
        "Launch-bound",
        "number",
        "%",
        "Share of the steps in which the GPU runs nothing and nothing is queued for it: the host is too slow.",
    ),
    Column(
        "delay_ps", "Launch delay", "number", "ps", "Median time from the launch on the host to the begin on the GPU."
    ),
    Column("late_delay_ps", "Delay, 90th percentile", "number", "ps", "Nine in ten launches begin sooner."),
    Column("call_ps", "Call", "number", "ps", "Median time of the call on the host."),
    Column("most_queued", "Longest queue", "number", "", "Most kernels that were launched and had not begun."),
    Column("mean_queued", "Mean queue", "number", "", "Their number averaged over the time of the steps."),
    Column("tiny", "Tiny kernels", "number", "", "Kernels and copies shorter than 10 us."),
    Column("tiny_percent", "Tiny kernels", "number", "%", "Share of the launches."),
)
