"""What a recording of PyTorch's profiler lacks, and what it would give."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.common.reasons import (
    TORCH_GRAPHS,
    TORCH_MEMORY,
    TORCH_MODULES,
    TORCH_SHAPES,
    TORCH_STACKS,
    TORCH_STEPS,
    Reason,
)
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.columns import Plane

_OPTIONS = (
    ("Input Dims", "", TORCH_SHAPES),
    ("", "$", TORCH_STACKS),
    ("", "nn.Module: ", TORCH_MODULES),
    ("", "MemoryAllocation", TORCH_MEMORY),
    ("", "ProfilerStep", TORCH_STEPS),
)
"""A stat or a begin of an event's name that shows that an option was on, and what is missing if it was off."""

_SUFFIX = ":" + PYTORCH
_GRAPH = re.compile(r"(?:.*/)?(?:CUDA|HIP) graph (?:\d+|of \d+ nodes):PyTorch\Z")
"""The op of work of a graph whose capture is not known, as the importer writes it."""


def replays_unknown_graphs(device: Plane) -> bool:
    """Whether kernels of the device belong to a graph of which no capture tells the ops; reads metadata alone."""
    return any(_GRAPH.match(name) for name in device.declared.stat_metadata.names)


def graphs_note(ops: OpTable) -> str:
    """What to record for the ops of work of graphs that is in a table of devices; "" if there is no such work."""
    time = sum(ps for name, ps in zip(ops.provenance, ops.self_ps.tolist(), strict=True) if _GRAPH.match(name))
    if not time:
        return ""
    what = TORCH_GRAPHS.remedy.general.rpartition(": ")[0]
    share = f"{time / ops.op_ps:.1%} of the time of kernels and copies is that of replayed graphs"
    return f"{share}, which do not tell their ops. To see them, record {what}."


def inputs_note(*tables: OpTable) -> str:
    """Why ops of PyTorch in these tables have no operands, of a recording without any; "" without such ops."""
    if not any(name.endswith(_SUFFIX) for table in tables for name in table.provenance):
        return ""
    return (
        "Shapes were not recorded: record_shapes=True of torch.profiler.profile gives rows by op and by input shapes."
    )


def not_recorded(host: Plane, devices: Iterable[Plane] = ()) -> tuple[Reason, ...]:
    """Options of `torch.profiler.profile` that were off, each with what it gives.

    Args:
      host: the plane of the host's threads, of which only metadata is read.
      devices: the planes of devices, likewise.
    """
    names, stats = host.declared.event_metadata.names, host.declared.stat_metadata
    missing = []
    for stat, begin, lacking in _OPTIONS:
        recorded = stats.row(stat) is not None if stat else any(name.startswith(begin) for name in names)
        if not recorded:
            missing.append(lacking)
    if any(replays_unknown_graphs(device) for device in devices):
        missing.append(TORCH_GRAPHS)
    return tuple(missing)
