"""What a recording of PyTorch's profiler lacks, and what it would give."""

from __future__ import annotations

import re

from tpu_profile_plugin.columns import Plane

_OPTIONS = (
    ("Input Dims", "", "record_shapes=True: shapes of ops, and with them FLOPs and the roofline"),
    ("", "$", "with_stack=True: the lines of Python behind ops, kernels and waits of the host"),
    ("", "nn.Module: ", "with_modules=True: the module of each op, and op profiles by module"),
    ("", "MemoryAllocation", "profile_memory=True: memory over time, and what is live at its peak"),
    ("", "ProfilerStep", "prof.step() after each step: steps, their parts and their variation"),
)
"""A stat or a begin of an event's name that shows that an option was on, and what the option gives."""

_GRAPH_LAUNCH = re.compile(r"(?:cuda|cu|hip)GraphLaunch")


def not_recorded(host: Plane) -> tuple[str, ...]:
    """Options of `torch.profiler.profile` that were off, each with what it gives.

    Args:
      host: the plane of the host's threads, of which only metadata is read.
    """
    names, stats = host.declared.event_metadata.names, host.declared.stat_metadata
    missing = []
    for stat, begin, gives in _OPTIONS:
        recorded = stats.row(stat) is not None if stat else any(name.startswith(begin) for name in names)
        if not recorded:
            missing.append(gives)
    if any(_GRAPH_LAUNCH.match(name) for name in names):
        missing.append(
            "some steps without CUDA graphs: the ops behind the kernels of a graph, which a replay does not tell"
        )
    return tuple(missing)
