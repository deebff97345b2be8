"""The tables of the communication tool."""

from __future__ import annotations

from tpu_profile_plugin.tables.table import numbers, texts

OPS = (
    texts("op", "Collective", "The HLO instruction, or the kernel; start and done are one."),
    texts("kind", "Kind", "all-reduce, all-gather, reduce-scatter, all-to-all, send, ..."),
    numbers("ranks", "Ranks", "", "Devices that take part: from the program, else those of the profile."),
    numbers("count", "Runs", "", "Runs on all devices."),
    numbers("total_ps", "Total time", "ps", "From start to completion, summed over runs on all devices."),
    numbers("exposed_ps", "Exposed", "ps", "The part of the total time in which the run's device computes nothing."),
    numbers("hidden_percent", "Hidden", "%", "Share of the total time in which the run's device computes."),
    numbers("stall_ps", "Stall", "ps",
            "TPUs: time in the done op, or in the op if it is synchronous, during which the TensorCore waits."),
    numbers("wait_ps", "Waits", "ps", "Time until the last device began, summed over runs."),
    numbers("most_wait_ps", "Longest wait", "ps", "The longest time that one run waited for the last device."),
    texts("last", "Waited for", "The device that began last in the run with the longest wait."),
    numbers("bytes", "Message", "bytes", "What a rank contributes to one run; of an all-gather, the gathered result."),
    numbers("algorithm_gbps", "Algorithm bandwidth", "GB/s",
            "Message over the time of the quickest rank, which does not include waits."),
    numbers("bus_gbps", "Bus bandwidth", "GB/s",
            "Algorithm bandwidth times 2(n-1)/n (all-reduce) or (n-1)/n (all-gather, reduce-scatter, all-to-all)."),
    texts("program", "Program", "The program's name, or its id."),
    texts("host", "Host", "The host of the longest run."),
    numbers("begin_ps", "Begin", "ps", "Begin of the longest run, on its host's time axis."),
    numbers("end_ps", "End", "ps", "End of the longest run, on its host's time axis."),
)  # fmt: skip
RANKS = (
    texts("device", "Device", "The device, with its host if there are several."),
    texts("host", "Host", "Its host."),
    numbers("work_ps", "Own work", "ps", "Time per step in which it computes."),
    numbers("communication_ps", "Communication", "ps", "Time per step in which a collective is under way."),
    numbers("exposed_ps", "Exposed", "ps", "Time per step in which one is under way and it computes nothing."),
    numbers("wait_ps", "Waits", "ps", "Time per step in which it waits in collectives for other devices."),
    numbers("caused_ps", "Waits of others", "ps", "Time in all in which other devices waited for this one."),
    numbers("work_ratio", "Work / median", "", "Own work over the median of all devices."),
)
CLOCKS = (
    texts("clock", "Clock", "The host or device whose clock is compared."),
    texts("reference", "Reference", "The clock it is compared with."),
    numbers("offset_ps", "Offset", "ps", "What to add to its times so that they agree with the reference."),
    numbers("spread_ps", "Spread", "ps", "Interquartile range of the pairs: how uncertain the offset is."),
    numbers("pairs", "Pairs", "", "Matched collectives, or launches with what they started."),
    numbers("violations", "Violations", "", "Pairs in which an effect comes before its cause."),
)
LAUNCHES = (
    texts("device", "Device", "The GPU, with its host if there are several."),
    numbers("launches", "Launches", "", "Kernels and copies in the steps whose launch is known."),
    numbers("per_step", "Per step", "", "Launches per step."),
    numbers("launch_bound_percent", "Launch-bound", "%",
            "Share of the steps in which the GPU runs nothing and nothing is queued for it: the host is too slow."),
    numbers("delay_ps", "Launch delay", "ps", "Median time from the launch on the host to the begin on the GPU."),
    numbers("late_delay_ps", "Delay, 90th percentile", "ps", "Nine in ten launches begin sooner."),
    numbers("call_ps", "Call", "ps", "Median time of the call on the host."),
    numbers("most_queued", "Longest queue", "", "Most kernels that were launched and had not begun."),
    numbers("mean_queued", "Mean queue", "", "Their number averaged over the time of the steps."),
    numbers("tiny", "Tiny kernels", "", "Kernels and copies shorter than 10 us."),
    numbers("tiny_percent", "Tiny kernels", "%", "Share of the launches."),
)  # fmt: skip
