"""Memory profile: memory use of a host's allocators over time, and the allocations live at the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import events_of_lines, offsets_in_line
from tpu_profile_plugin.analysis.common.reasons import NO_ALLOCATIONS, NO_ALLOCATIONS_IN_PYTORCH, Reason
from tpu_profile_plugin.analysis.environment.device_names import device_of_allocator, plane_title
from tpu_profile_plugin.analysis.memory.allocations import MemoryPeak, memory_peak
from tpu_profile_plugin.columns import EventFilter
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.catalogue.memory import LIVE, MODULES, TIMELINE, known_texts, op_name, op_names
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.memory import host_allocations
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.coded import Coded
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

_TPU = "/device:TPU:"
_MODULES = "XLA Modules"


@dataclass(frozen=True)
class AllocatorPeak:
    """State of an allocator when most memory is in use; sizes are bytes, all 0 if none ever is.

    Attributes:
      time_ps: since the start of the recording.
      stack: reserved for temporaries of running programs.
      heap: allocated.
      used: stack and heap.
      free: available.
      capacity: what the allocator manages; 0 if unknown, as of PyTorch's allocator of the host.
      lifetime: largest heap since the program started, also before the recording.
      fragmentation: of the free memory, 0 to 1.
      segments: bytes of the segments that blocks are cut from; null if the allocator has none.
      largest_free: the largest free block in them; null if unknown.
    """

    time_ps: int
    stack: int
    heap: int
    used: int
    free: int
    capacity: int
    lifetime: int
    fragmentation: float
    segments: int | None = None
    largest_free: int | None = None


@dataclass(frozen=True)
class AllocatorMemory:
    """Memory of an allocator.

    Attributes:
      id: number of the device, or name of the allocator.
      device: the TPU core; "" of allocators that have a name of their own.
      timeline: its events: all up to 1,000, else the one with most in use of each of 1,000 groups.
      live: allocations at the peak, the largest first, equal ones together; last those that are no recorded allocation.
    """

    id: str
    device: str
    peak: AllocatorPeak
    timeline: Table
    live: Table


@dataclass(frozen=True)
class MemoryProfile(Document):
    """Memory of a host's allocators over time; times are whole picoseconds of the recording.

    Attributes:
      memories: by name; empty if `modules` are asked for.
      has_modules: the host has TPUs, which run compiled programs.
      modules: these runs; empty unless they are asked for.
    """

    memories: Sequence[AllocatorMemory]
    has_modules: bool
    modules: Table


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """Allocations of a host by allocator, and the runs of modules on its TPU cores."""

    peaks: dict[str, MemoryPeak]
    module_names: Coded
    module_planes: Coded
    module_begin_ps: I64
    module_end_ps: I64


def build(run: Run, query: Query) -> MemoryProfile:
    """The allocators of one host, or its module runs."""
    wanted = query.flag("modules")
    recorded = recorded_allocations(run, since_recording=True, modules=wanted)
    begin_ps, end_ps = recorded.module_begin_ps, recorded.module_end_ps
    names, planes = recorded.module_names, recorded.module_planes
    space = run.profiles[0].lazy
    devices = Coded.of(planes.codes, [plane_title(space, plane) for plane in planes.texts], empty=False)
    ids = list(map(str, range(len(names))))
    return MemoryProfile(
        memories=[]
        if wanted
        else [_memory(name, device_of_allocator(space, name), peak) for name, peak in recorded.peaks.items()],
        has_modules=any(plane.name.startswith(_TPU) for plane in space.planes),
        modules=Table(MODULES, [names, devices, begin_ps, end_ps, end_ps - begin_ps, ids]),
    )


def recorded_allocations(run: Run, *, since_recording: bool, modules: bool) -> Recorded:
    """Allocations of the only host, and the runs of modules if they are asked for.

    Times count from the start of the recording, or from that of each line.

    Raises BadRequest for several hosts, NoData for impossibly many allocators.
    """
    if len(run.profiles) > 1:
        raise BadRequest(
            "The memory profile shows one host at a time: select one with 'host'.",
            parameter="host",
            hosts=[host.name for host in run.profiles],
        )
    host = run.profiles[0]
    tpus = [plane for plane in host.lazy.planes if modules and plane.name.startswith(_TPU)]
    runs = [EventFilter(plane, lines=(_MODULES,)) for plane in tpus]
    recorded, planes = host_allocations(host, runs, since_recording=since_recording)
    texts: list[str] = []
    names, on_planes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    begins, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, plane in enumerate(planes):
        lines = [line for line, title in enumerate(plane.lines.name) if title == _MODULES]
        for line in lines if plane.name.startswith(_TPU) else ():
            events = plane.lines.events_of(line)
            used, name = np.unique(plane.events.metadata[events], return_inverse=True)
            names.append(name + len(texts))
            texts += [plane.event_metadata.names[row] for row in used.tolist()]
            on_planes.append(np.full(len(name), number))
            rows = events_of_lines(plane, [line])
            begins.append(plane.events.begin_ps[rows] if since_recording else offsets_in_line(host.lazy, plane, rows))
            ends.append(begins[-1] + plane.events.duration_ps[events])
    return Recorded(
        peaks={name: memory_peak(rows) for name, rows in (recorded.by_memory() if recorded else {}).items()},
        module_names=Coded.of(np.concatenate(names), texts, empty=False),
        module_planes=Coded.of(np.concatenate(on_planes), [plane.name for plane in planes], empty=False),
        module_begin_ps=np.concatenate(begins),
        module_end_ps=np.concatenate(ends),
    )


def _memory(name: str, device: str, found: MemoryPeak) -> AllocatorMemory:
    timeline = Table.of(TIMELINE, found.rows.take(found.timeline))
    return AllocatorMemory(name, device, _peak(found), timeline, _live(found))


def _peak(found: MemoryPeak) -> AllocatorPeak:
    rows, peak = found.rows, found.peak
    if peak is None:
        return AllocatorPeak(0, 0, 0, 0, 0, 0, found.lifetime_peak, 0.0)
    used, free = int(rows.in_use[peak]), int(rows.free[peak])
    return AllocatorPeak(
        time_ps=int(rows.time_ps[peak]),
        stack=int(rows.stack[peak]),
        heap=int(rows.heap[peak]),
        used=used,
        free=free,
        capacity=used + free if free > 0 or bool((rows.free[found.timeline] > 0).any()) else 0,
        lifetime=found.lifetime_peak,
        fragmentation=float(rows.fragmentation[peak]),
        segments=_known(int(rows.segments[peak])),
        largest_free=_known(int(rows.largest_free[peak])),
    )


def _known(size: int) -> int | None:
    return None if size < 0 else size


def _live(found: MemoryPeak) -> Table:
    listed = []
    recorded = found.rows.take([row for row in found.active if row >= 0])
    columns = (
        *(op_names(recorded.op), recorded.allocated.tolist(), recorded.requested.tolist()),
        *map(known_texts, (recorded.region, recorded.data_type, recorded.shape, recorded.source)),
    )
    allocations = zip(*columns, strict=True)
    for row, count in zip(found.active, found.count, strict=True):
        if row >= 0:
            op, allocated, requested, *texts_ = next(allocations)
        else:
            special = found.special[-1 - row]
            op, allocated, requested = op_name(special.name), special.bytes, special.bytes
            texts_ = [special.region, None, None, None]
        listed.append((op, allocated, requested, count, *texts_))
    return Table(LIVE, list(zip(*listed, strict=True)) or [[] for _ in LIVE])


def _lacks(facts: RunFacts) -> Reason | None:
    if facts.pytorch:
        return None if facts.torch_memory else NO_ALLOCATIONS_IN_PYTORCH
    return None if facts.allocations else NO_ALLOCATIONS


TOOL = Tool(
    id="memory_profile",
    title="Memory Profile",
    group="Memory",
    summary="Memory in use of each allocator over time, and the allocations at the peak.",
    build=build,
    lacks=_lacks,
    hosts=HostChoice.ONE,
    params=(Param("modules", "bool", False, "The runs of compiled programs, instead of the memories."),),
)
