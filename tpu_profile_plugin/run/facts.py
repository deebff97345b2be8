"""Facts about a run read without decoding its events; they determine which tools are available."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tpu_profile_plugin.analysis.attribution import FRAMEWORK_OP, names_hlo_ops
from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX, is_tensor_core, is_tpu
from tpu_profile_plugin.analysis.common.reasons import (
    DEVICE_PLANES_MISSING,
    NO_COLLECTING_DEVICES,
    NO_DEVICES,
    ONLY_ALLOCATIONS,
    TORCH_MEMORY,
    Reason,
)
from tpu_profile_plugin.analysis.compare.host_work import program_name
from tpu_profile_plugin.analysis.devices.cpu_tf import runs_tensorflow
from tpu_profile_plugin.analysis.devices.cpu_torch import runs_pytorch
from tpu_profile_plugin.analysis.devices.torch_collectives import is_collective
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.memory.allocations import has_allocations, has_only_allocations
from tpu_profile_plugin.analysis.ops.thread_ops import declares_ops
from tpu_profile_plugin.analysis.serving import has_requests
from tpu_profile_plugin.analysis.summary.framework import declared_frameworks, in_order, names_pytorch, not_recorded
from tpu_profile_plugin.analysis.summary.missing_events import mended_times, missing_events
from tpu_profile_plugin.analysis.tf_data import has_iterators
from tpu_profile_plugin.columns import Plane, XSpace, load, peek, stats
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.formats import CUT, LEFT_OUT, Skipped, Unpacked
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts

NOT_RECORDED = "not recorded"
"""The type of devices of which there is no plane, though the host ran programs on them."""


@dataclass(frozen=True, slots=True)
class PlaneFact:
    """One plane of one host's profile: its name, number of lines and size in bytes."""

    host: str
    name: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The planes and HLO modules of a run, over all its readable hosts.

    Attributes:
      hosts: names of the hosts whose files were read.
      planes: all planes, host after host in file-name order.
      modules: (`name(program id)`, program id) of the HLO modules in `/host:metadata`, each once, sorted.
      program_bytes: (name, size of the largest module of that name) of the HLO modules, sorted.
      device_ops: whether a TPU has ops, or a GPU events; program_runs: whether a TPU has runs of programs.
      named_ops: whether XLA or a framework named ops: HLO modules, ops of a TPU, or events of a GPU or the host that
        have the stat of an op.
      framework_ops: whether there are ops of a framework, those with names included.
      allocations: whether the host plane declares events of allocators; allocations_only: and no plane has others.
      device_types: e.g. "TPU v6 Lite", or "TPU" or "GPU" if the model is not recorded; "CPU" without devices, "not
        recorded" if the host ran programs on others; sorted.
      counter_values: whether a TPU plane declares the stat `counter_value`.
      megascale: whether the host plane declares an event named `MegaScale:...`.
      requests: whether the host plane declares an event that begins a request or a batch of a model server.
      tf_data: whether the host plane declares an iterator of tf.data.
      tf_executor: whether the host plane declares that TensorFlow executed graphs or ops on the host.
      pytorch: whether the host plane declares ops of PyTorch, as its own profiler records them.
      frameworks: that wrote the profile, as far as names tell, the most important first.
      torch_collectives: whether the host plane declares collectives of PyTorch that processors run.
      not_recorded: options of PyTorch's profiler that were off, each with what it gives.
      torch_memory: whether the host plane has allocations, as PyTorch's profiler records them.
      losses: what was left out of a host's file, or is damaged in it; empty for a run.
    """

    hosts: tuple[str, ...] = ()
    planes: tuple[PlaneFact, ...] = ()
    modules: tuple[tuple[str, int], ...] = ()
    program_bytes: tuple[tuple[str, int], ...] = ()
    device_ops: bool = False
    program_runs: bool = False
    named_ops: bool = False
    framework_ops: bool = False
    allocations: bool = False
    allocations_only: bool = False
    device_types: tuple[str, ...] = ()
    counter_values: bool = False
    megascale: bool = False
    requests: bool = False
    tf_data: bool = False
    tf_executor: bool = False
    pytorch: bool = False
    frameworks: tuple[str, ...] = ()
    torch_collectives: bool = False
    not_recorded: tuple[Reason, ...] = ()
    torch_memory: bool = False
    losses: tuple[Problem, ...] = ()

    def has_plane(self, prefix: str) -> bool:
        """True if a host has a plane whose name starts with `prefix`, e.g. "/device:GPU:"."""
        return any(plane.name.startswith(prefix) for plane in self.planes)

    def module_names(self) -> tuple[str, ...]:
        """The modules as `name(program id)`, sorted."""
        return tuple(name for name, _ in self.modules)


def lacks_time(facts: RunFacts) -> Reason | None:
    """None if the profile may have ops or steps, else the reason: it is a memory snapshot."""
    return ONLY_ALLOCATIONS if facts.allocations_only else None


def lacks_devices(facts: RunFacts) -> Reason | None:
    """None if the profile may have devices, else the reason why it has none."""
    if facts.allocations_only:
        return ONLY_ALLOCATIONS
    if facts.tf_executor or facts.pytorch or facts.program_runs or lacks_communication(facts) is None:
        return None
    return NO_DEVICES


def lacks_communication(facts: RunFacts) -> Reason | None:
    """None if the profile may have devices that communicate, else the reason; of ops on the CPU, PyTorch's may."""
    return None if facts.device_ops or facts.modules or facts.torch_collectives else NO_COLLECTING_DEVICES


def largest_programs(programs: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """The largest size of each name, sorted by name."""
    return tuple(dict(sorted(programs)).items())


def combine_facts(hosts: Sequence[RunFacts]) -> RunFacts:
    """The facts of a run from those of its hosts."""
    kinds = {kind for host in hosts for kind in host.device_types}
    if not kinds and any(plane.name == "/host:CPU" for host in hosts for plane in host.planes):
        missing = any(loss.code == DEVICE_PLANES_MISSING.code for host in hosts for loss in host.losses)
        kinds = {NOT_RECORDED if missing else "CPU"}
    return RunFacts(
        hosts=tuple(name for host in hosts for name in host.hosts),
        planes=tuple(plane for host in hosts for plane in host.planes),
        modules=tuple(sorted({module for host in hosts for module in host.modules})),
        program_bytes=largest_programs(program for host in hosts for program in host.program_bytes),
        device_ops=any(host.device_ops for host in hosts),
        program_runs=any(host.program_runs for host in hosts),
        named_ops=any(host.named_ops for host in hosts),
        framework_ops=any(host.framework_ops for host in hosts),
        allocations=any(host.allocations for host in hosts),
        allocations_only=bool(hosts) and all(host.allocations_only for host in hosts),
        device_types=tuple(sorted(kinds)),
        counter_values=any(host.counter_values for host in hosts),
        megascale=any(host.megascale for host in hosts),
        requests=any(host.requests for host in hosts),
        tf_data=any(host.tf_data for host in hosts),
        tf_executor=any(host.tf_executor for host in hosts),
        pytorch=any(host.pytorch for host in hosts),
        torch_collectives=any(host.torch_collectives for host in hosts),
        torch_memory=any(host.torch_memory for host in hosts),
        frameworks=in_order({name for host in hosts for name in host.frameworks}),
        not_recorded=tuple(dict.fromkeys(option for host in hosts for option in host.not_recorded)),
    )


# Reads the facts of one host's file: planes, event names and modules, without decoding its events.

_COUNTER = "counter_value"
_DEVICE_TYPE = "device_type_string"
_MEGASCALE = "MegaScale:"
_MOST_PARTS = 3
"""Damaged parts of a file that are reported one by one."""
_COPY_AGAIN = "Copy the file again in binary mode, or record again."


@per_host()
def host_facts(host: HostProfile) -> RunFacts:
    """The facts of one host."""
    return file_facts(host.name, host.content, host.lazy)


def file_facts(host: str, content: Unpacked, times: XSpace | None = None) -> RunFacts:
    """The facts of one host's file; `times`: columns that tell what is with its times. Raises CorruptProfile."""
    data, skipped = content.space, content.skipped
    summary = peek(data)
    space = load(data, planes=("/device:", "/host:CPU"), events=False)
    programs = HloPrograms(space, {module.program_id: module for module in summary.hlo_modules})
    threads = [plane for plane in space.planes if plane.name == "/host:CPU"]
    torch = [plane for plane in threads if runs_pytorch(plane)]
    wrote = declared_frameworks(threads, [module.name for module in summary.hlo_modules])
    if any(map(names_pytorch, space.planes)):
        wrote |= {PYTORCH}
    named_ops = bool(summary.hlo_modules) or any(map(_names_ops, space.planes))
    missing = not_recorded(torch[0], (one for one in space.planes if "/device:GPU" in one.name)) if torch else ()
    frameworks = in_order(wrote)
    planes = tuple(PlaneFact(host, plane.name, plane.lines, plane.bytes) for plane in summary.planes)
    return RunFacts(
        hosts=(host,),
        planes=planes,
        modules=tuple((module.name, module.program_id) for module in summary.hlo_modules),
        program_bytes=largest_programs((program_name(name), programs.size(i)) for i, name in programs.names.items()),
        device_ops=any(map(_has_ops, space.planes)),
        program_runs=any(
            is_tensor_core(plane) and any(map(_PROGRAM, plane.event_metadata.names)) for plane in space.planes
        ),
        named_ops=named_ops,
        framework_ops=named_ops or bool(torch) or any(map(declares_ops, threads)),
        allocations=any(map(has_allocations, threads)),
        allocations_only=bool(threads)
        and all(map(has_only_allocations, threads))
        and not any(plane.lines for plane in summary.planes if plane.name != "/host:CPU"),
        device_types=tuple(kind for plane in space.planes for kind in _device_type(space, plane)),
        counter_values=any(
            plane.name.startswith("/device:TPU:") and plane.stat_metadata.row(_COUNTER) is not None
            for plane in space.planes
        ),
        megascale=any(name.startswith(_MEGASCALE) for plane in threads for name in plane.event_metadata.names),
        requests=any(map(has_requests, threads)),
        tf_data=any(map(has_iterators, threads)),
        tf_executor=any(map(runs_tensorflow, threads)),
        pytorch=bool(torch),
        frameworks=frameworks,
        torch_collectives=any(is_collective(name) for plane in torch for name in plane.event_metadata.names),
        not_recorded=missing,
        torch_memory=bool(torch) and TORCH_MEMORY not in missing,
        losses=tuple(
            replace(problem, host=host)
            for problem in (
                *_left_out(skipped),
                *(() if times is None else mended_times(times.impossible, times.clocks)),
                *(() if times is None else missing_events(times, programs, frameworks)),
                *_broken_modules(summary.broken_modules),
                *(Problem("too_many", text) for text in summary.excess),
            )
        ),
    )


def frameworks_of(run: RunHosts) -> tuple[str, ...]:
    """The frameworks that wrote the profiles of a run, the most important first."""
    return combine_facts([facts for facts in run.examine_hosts(host_facts) if isinstance(facts, RunFacts)]).frameworks


def _left_out(skipped: Sequence[Skipped]) -> Iterator[Problem]:
    """Reports parts of a file that were left out or repaired: of a kind the first ones each, the rest as a number."""
    for code in dict.fromkeys(part.code for part in skipped):
        parts = [part for part in skipped if part.code == code]
        remedy = _COPY_AGAIN if code in (LEFT_OUT, CUT) else ""
        for part in parts[:_MOST_PARTS]:
            yield Problem(code, part.sentence, offset=part.offset, remedy=remedy, count=part.bytes or None)
        if more := parts[_MOST_PARTS:]:
            lost = sum(part.bytes for part in more)
            what = (
                f"parts, {lost:,} bytes from offset {more[0].offset:,}, were left out as well"
                if lost
                else "of the kind"
            )
            text = f"{len(more)} more {what}."
            yield Problem(code, text, offset=more[0].offset, remedy=remedy, count=lost or None)


def _broken_modules(broken: Sequence[tuple[str, str, int]]) -> Iterator[Problem]:
    """Reports HLO modules that do not decode."""
    if not broken:
        return
    _, message, offset = broken[0]
    names = ", ".join(name for name, _, _ in broken[:3]) + (", ..." if len(broken) > 3 else "")
    subject = f"HLO module {names} does" if len(broken) == 1 else f"{len(broken)} HLO modules ({names}) do"
    text = f"{subject} not decode: {message}. The rest of the file is shown."
    yield Problem("damaged_module", text, offset=offset, remedy=_COPY_AGAIN, count=len(broken))


def count_events(data: bytes | memoryview) -> int:
    """The number of events of a profile. Raises CorruptProfile."""
    space = load(np.frombuffer(data, np.uint8))
    return sum(len(plane.events.duration_ps) for plane in space.planes)


def _device_type(space: XSpace, plane: Plane) -> Iterable[str]:
    """The device type stat of a device plane, else the kind in its name; nothing for other planes."""
    if not plane.name.startswith("/device:"):
        return
    codes, texts = stats.strings(space, plane, plane.stats, _DEVICE_TYPE)
    if len(codes) and codes[0] >= 0:
        yield texts[codes[0]]
    else:
        kind = plane.name.removeprefix("/device:").partition(":")[0]
        if kind in ("TPU", "GPU"):
            yield kind


_STEP_OR_PROGRAM = re.compile(r"\d+|[^ %]*\(\d+\)")
"""Names of a TPU's events that are not ops."""
_PROGRAM = re.compile(r"[\w.\-]+\(\d{1,20}\)").fullmatch
"""How runs of programs are named."""


def _has_ops(plane: Plane) -> bool:
    """Whether a plane is a TPU that declares ops, or a GPU that declares events."""
    names = plane.event_metadata.names
    if plane.name.startswith(GPU_PREFIX):
        return bool(names)
    return is_tpu(plane) and any(_STEP_OR_PROGRAM.fullmatch(name) is None for name in names)


def _names_ops(plane: Plane) -> bool:
    """Whether a plane has ops with names."""
    if plane.name.startswith(GPU_PREFIX) and plane.stat_metadata.row(FRAMEWORK_OP) is not None:
        return True
    return names_hlo_ops(plane) or (is_tpu(plane) and _has_ops(plane))


# Which runs have programs in common, by the names and sizes of their HLO modules.

R = TypeVar("R")
_STEP = 100
"""Runs whose shares are the same percentage share equally much."""


def shared_programs(one: RunFacts, other: RunFacts) -> float:
    """How much of two runs' programs is shared, 0 to 1: by name, weighted by size.

    Programs of one name and different size count as far as the smaller one goes. 0 if a run has no programs.
    """
    ours, theirs = dict(one.program_bytes), dict(other.program_bytes)
    names = ours.keys() | theirs.keys()
    both = sum(min(ours.get(name, 0), theirs.get(name, 0)) for name in names)
    total = sum(max(ours.get(name, 0), theirs.get(name, 0)) for name in names)
    return both / total if total else 0.0


def most_related_first(facts: RunFacts, others: Iterable[tuple[R, RunFacts]]) -> list[tuple[R, float]]:
    """The others that share programs, with how much; equally related ones stay in their order."""
    shared = [(other, shared_programs(facts, of_other)) for other, of_other in others]
    return sorted((one for one in shared if one[1] > 0), key=lambda one: -round(_STEP * one[1]))
