"""Which frameworks and parts of a program a host recorded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from tpu_profile_plugin.analysis.common.op_names import (
    JAX,
    PYTORCH,
    PYTORCH_SUFFIX,
    TENSORFLOW,
    is_infeed_enqueue,
    parse_op,
)
from tpu_profile_plugin.analysis.common.reasons import (
    PYTORCH_XLA,
    TORCH_GRAPHS,
    TORCH_MEMORY,
    TORCH_SHAPES,
    TORCH_STACKS,
    TORCH_STEPS,
    Reason,
)
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.columns import Plane, XSpace, hlo_modules

NAMES = {JAX: "JAX", TENSORFLOW: "TensorFlow", PYTORCH: "PyTorch", PYTORCH_XLA: "PyTorch/XLA"}
_EVENTS = {
    JAX: ("PjitFunction(", "$pjit.py", "jit_", "pmap_"),
    TENSORFLOW: ("EagerExecute", "EagerLocalExecute", "FunctionRun", "ExecutorState::Process", "TFE_Py_", "Iterator::"),
    PYTORCH_XLA: ("torch_xla", "aten::", "SyncTensorsGraph"),
}
_INPUT = ("iteratorgetnext", "iterator::")
_MODULES = {
    JAX: ("jit_", "pjit_", "pmap_", "xmap_"),
    TENSORFLOW: ("a_inference", "cluster_", "__inference"),
    PYTORCH_XLA: ("SyncTensorsGraph", "IrToHlo"),
}


def frameworks(space: XSpace, planes: Iterable[Plane], provenances: Iterable[str]) -> tuple[str, ...]:
    """Keys of `NAMES`: those of the given planes' events, of the HLO modules, and of most ops by provenance."""
    keys = declared_frameworks(planes, [module.name for module in hlo_modules(space)])
    kinds = Counter(parse_op(text).category for text in set(provenances) if text)
    most = max(NAMES, key=lambda kind: kinds[kind])  # the first among equals
    if kinds[most] and kinds[most] == max(kinds.values()):
        keys.add(most)
    return in_order(keys)


def declared_frameworks(planes: Iterable[Plane], modules: Collection[str]) -> set[str]:
    """Keys of `NAMES`: those of the events that planes declare, and of HLO modules by name; reads metadata alone."""
    names = [name for plane in planes for name in plane.declared.event_metadata.names]
    others = [name for name in names if parse_op(name).category != PYTORCH]
    keys = {PYTORCH} if len(others) < len(names) else set()
    keys |= {name for name, prefixes in _EVENTS.items() if any(event.startswith(prefixes) for event in others)}
    return keys | {
        name for name, prefixes in _MODULES.items() if any(module.startswith(prefixes) for module in modules)
    }


def names_pytorch(plane: Plane) -> bool:
    """Whether ops of PyTorch are named as the origin of work or of allocations; reads metadata alone."""
    return any(text.endswith(PYTORCH_SUFFIX) for text in plane.declared.stat_metadata.names)


def in_order(keys: Collection[str]) -> tuple[str, ...]:
    """Frameworks, the most important first."""
    return tuple(name for name in NAMES if name in keys)


def has_input_events(host: Plane | None) -> bool:
    """Whether the host recorded events of an input pipeline; only then a missing wait for input means no wait."""
    if host is None:
        return False
    if any(host.declared.stat_metadata.row(name) is not None for name in ("_ipl_stage_name", "_ipl_stage_cat")):
        return True
    names = host.declared.event_metadata.names
    return any(name.lower().startswith(_INPUT) or is_infeed_enqueue(parse_op(name).type) for name in names)


def has_python_frames(host: Plane | None) -> bool:
    """Whether the host recorded Python functions: `$file.py:line function`."""
    return host is not None and any(
        name.startswith("$") and ".py:" in name for name in host.declared.event_metadata.names
    )


_OPTIONS = (
    ("Input Dims", "", TORCH_SHAPES),
    ("", "$", TORCH_STACKS),
    ("", "MemoryAllocation", TORCH_MEMORY),
    ("", "ProfilerStep", TORCH_STEPS),
)
"""A stat or a begin of an event's name that shows that an option was on, and what is missing if it was off."""

_GRAPH = re.compile(r"(?:.*/)?(?:CUDA|HIP) graph (?:\d+|of \d+ nodes):PyTorch\Z")
"""The op of work of a graph whose capture is not known, as the importer writes it."""


def replays_unknown_graphs(device: Plane) -> bool:
    """Whether kernels of the device belong to a graph of which no capture tells the ops; reads metadata alone."""
    return any(_GRAPH.match(name) for name in device.declared.stat_metadata.names)


def graphs_note(ops: OpTable) -> str:
    """Advice how to record the ops behind graphs in a table of devices; "" if no work in it is that of graphs."""
    time = sum(ps for name, ps in zip(ops.provenance, ops.self_ps.tolist(), strict=True) if _GRAPH.match(name))
    if not time:
        return ""
    what = TORCH_GRAPHS.remedy.general.rpartition(": ")[0]
    share = f"{time / ops.op_ps:.1%} of the time of kernels and copies is that of replayed graphs"
    return f"{share}, which do not tell their ops. To see them, record {what}."


def inputs_note(*tables: OpTable) -> str:
    """Why ops of PyTorch in these tables have no operands, of a recording without any; "" without such ops."""
    if not any(name.endswith(PYTORCH_SUFFIX) for table in tables for name in table.provenance):
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
