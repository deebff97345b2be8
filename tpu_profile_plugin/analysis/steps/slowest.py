"""The slowest host of each step, and its step in parts that add up to it: the base of the figures on our pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.steps.breakdown import BLOCK, GENERIC, wait_for_sparse_core
from tpu_profile_plugin.analysis.steps.table import CLASS_INDEX, EventClass, StepTable, TpuPart, host_of
from tpu_profile_plugin.columns.arrays import F64, I64

GENERIC_PARTS: Mapping[str, tuple[EventClass, ...]] = {
    "device_compute": GENERIC["device_compute"],
    "device_to_device": GENERIC["device_to_device"],
    "collectives": GENERIC["device_collectives"],
    # XProf counts copies within the host nowhere.
    "host_compute": (*GENERIC["host_compute"], EventClass.HOST_TO_HOST),
    "kernel_launch": GENERIC["kernel_launch"],
    "input": GENERIC["infeed"],
    "output": GENERIC["outfeed"],
    "compilation": GENERIC["compile"],
}
TPU_PARTS: Mapping[str, tuple[TpuPart, ...]] = {
    "device_to_device": (TpuPart.SEND, TpuPart.RECV, TpuPart.MEGACORE, TpuPart.ASYNC_DONE),
    "collectives": (TpuPart.COLLECTIVE,),
    "input": (TpuPart.INFEED,),
    "host_transfer": (TpuPart.HOST_SEND, TpuPart.HOST_RECV),
    "output": (TpuPart.OUTFEED,),
}
GENERIC_ORDER = (*GENERIC_PARTS, "other")
TPU_ORDER = (
    *("device_compute", "sparse_compute", "device_to_device", "collectives"),
    *("input", "host_transfer", "output", "idle"),
)
_KEPT_FIRST = ("input", "output", "host_transfer", "sparse_compute", "collectives", "device_to_device")
"""Where the ops of a core take longer than its step, these parts are kept before computation."""


def part_names(steps: StepTable) -> tuple[str, ...]:
    """Names of the parts of `core_parts`, in display order."""
    return TPU_ORDER if steps.on_tpu else GENERIC_ORDER


def core_parts(steps: StepTable) -> I64:
    """Picoseconds in each of `part_names`, int64[steps, cores, parts], on all cores but SparseCores.

    The parts of a core add up to its step. Ops that end after the step are cut off, computation first.
    """
    times = steps.times[:, steps.dense_cores]
    duration = np.maximum(steps.duration_ps[:, steps.dense_cores], 0)
    parts = _tpu_parts(times) if steps.on_tpu else _generic_parts(times)
    names = part_names(steps)
    order = [names.index(name) for name in _KEPT_FIRST] if steps.on_tpu else []
    order += [i for i in range(len(names) - 1) if i not in order]
    left = duration.copy()
    for i in order:
        parts[:, :, i] = np.clip(parts[:, :, i], 0, left)
        left -= parts[:, :, i]
    parts[:, :, -1] = left  # idle, or time that no event covers
    return parts


def _generic_parts(times: I64) -> I64:
    columns = [times[:, :, [CLASS_INDEX[c] for c in classes]].sum(axis=2) for classes in GENERIC_PARTS.values()]
    return np.stack([*columns, np.zeros(times.shape[:2], np.int64)], axis=2)


def _tpu_parts(times: I64) -> I64:
    part = {kind: times[:, :, kind] for kind in TpuPart}
    split = {
        name: sum((part[kind] for kind in kinds), np.zeros_like(part[TpuPart.IDLE]))
        for name, kinds in TPU_PARTS.items()
    }
    split["sparse_compute"] = wait_for_sparse_core(part)
    busy = times.sum(axis=2) - part[TpuPart.IDLE]
    split["device_compute"] = busy - sum(split.values())
    split["idle"] = np.zeros_like(busy)
    return np.stack([split[name] for name in TPU_ORDER], axis=2)


@dataclass(frozen=True, slots=True)
class SlowestSteps:
    """Each step on its slowest host; there, on the core that waits longest for input, of several the busiest.

    Attributes:
      labels: names of the steps.
      on_tpu: whether the parts are those of TPUs.
      cores: id of the core.
      duration_ps: int64[steps], its step.
      parts_ps: name -> int64[steps]; they add up to `duration_ps`.
      waiting_least, waiting_most: share of input in the step of any core of any host, 0 to 1.
      hosts: index of a host -> its step times, int64[steps]; hosts without steps are missing.
    """

    labels: tuple[str, ...]
    on_tpu: bool
    cores: tuple[int, ...]
    duration_ps: I64
    parts_ps: Mapping[str, I64]
    waiting_least: F64
    waiting_most: F64
    hosts: Mapping[int, I64]

    def __len__(self) -> int:
        return len(self.labels)

    def percent(self, *names: str) -> float:
        """Share of the given parts in the time of all steps, in percent."""
        total = int(self.duration_ps.sum())
        return 100.0 * sum(int(self.parts_ps[name].sum()) for name in names if name in self.parts_ps) / max(1, total)

    @property
    def waiting(self) -> F64:
        """Share of the wait for input in each step, 0 to 1."""
        return self.parts_ps["input"] / np.maximum(self.duration_ps, 1)


def slowest_steps(steps: StepTable, *, single_host: bool) -> SlowestSteps:
    """The steps of one or more hosts; core ids of a single host do not include its index."""
    dense = steps.dense_cores
    if not len(steps) or not dense:
        none, floats = np.zeros(0, np.int64), np.zeros(0)
        return SlowestSteps((), steps.on_tpu, (), none, dict.fromkeys(part_names(steps), none), floats, floats, {})
    rows = max(1, BLOCK // len(dense))
    blocks = [_slowest(steps.select(slice(at, at + rows))) for at in range(0, len(steps), rows)]
    core, parts, least, most = (np.concatenate([block[i] for block in blocks]) for i in range(4))
    duration = np.maximum(steps.duration_ps[:, dense], 0)
    # Columns come host by host.
    host = np.array([0 if single_host else host_of(steps.cores[i]) for i in dense])
    first = np.append(0, np.flatnonzero(np.diff(host)) + 1)
    return SlowestSteps(
        labels=tuple(steps.label(i) for i in range(len(steps))),
        on_tpu=steps.on_tpu,
        cores=tuple(steps.cores[dense[i]] for i in core.tolist()),
        duration_ps=duration[np.arange(len(steps)), core],
        parts_ps={name: parts[:, i] for i, name in enumerate(part_names(steps))},
        waiting_least=least,
        waiting_most=most,
        hosts=dict(zip(host[first].tolist(), np.maximum.reduceat(duration, first, axis=1).T, strict=True)),
    )


def _slowest(steps: StepTable) -> tuple[I64, I64, F64, F64]:
    """Per step the position of the chosen core and its parts, and the least and the largest share of input."""
    parts = core_parts(steps)
    waits = parts[:, :, part_names(steps).index("input")]
    duration = np.maximum(steps.duration_ps[:, steps.dense_cores], 0)
    core = np.lexsort((parts[:, :, -1], -waits, -duration), axis=1)[:, 0]  # the last key counts most
    share = waits / np.maximum(duration, 1)
    return core, parts[np.arange(len(steps)), core], share.min(axis=1), share.max(axis=1)
