"""An allocator's memory over the time of the recording by region, op and step, and what lives at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tpu_profile_plugin.analysis.common.op_names import parse_op
from tpu_profile_plugin.analysis.common.reasons import NO_ALLOCATIONS
from tpu_profile_plugin.analysis.memory.allocations import (
    INVALID,
    LINE,
    OP,
    REGION,
    STEP,
    RecordedMemory,
    TextColumn,
    recorded_memory,
    timeline,
)
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.figures.memory import host_allocations
from tpu_profile_plugin.run.figures.ops import run_op_rates
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.hosts import RunHosts

Stack = Literal["region", "op", "step", "line"]
STACKS: tuple[Stack, ...] = (REGION, OP, STEP, LINE)
MOST_LIVE = 500
_NO_ALLOCATIONS = NO_ALLOCATIONS.said("The host recorded no allocations of memory.")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of memory.

    Attributes:
      op, region, data_type, shape: what it is for, as recorded; step: number of the step that it is allocated in.
      source, calls: `file:line` that asks for it, and the calls that lead there, innermost first; "" if not recorded.
      size, requested: bytes.
      allocated_ps, freed_ps: since the start of the recording; None if that is not recorded.
      freed_by: the op in which it is freed; "" if that is not recorded.
    """

    op: str
    region: str
    data_type: str
    shape: str
    step: int
    size: int
    requested: int
    allocated_ps: int | None
    freed_ps: int | None
    freed_by: str
    source: str
    calls: str


@dataclass(frozen=True, slots=True, eq=False)
class RecordedOverTime:
    """The memory of an allocator.

    Attributes:
      memory: its name; host.
      instants: number of its events; shown: int64[n], those in `heap`, with the highest of each stretch.
      time_ps: int64[n], since the start of the recording; heap: int64[n], bytes.
      peak: the first instant with most.
      stacks: for region, op, step and line the bytes of each part, int64[n]; each adds up to the heap.
      instant, at_ps: the one that was asked for; live: its blocks, the largest first; live_bytes: of all recorded ones;
        blocks: their number; rest_bytes: memory in use that no recorded block accounts for.
    """

    memory: str
    host: str
    instants: int
    shown: I64
    time_ps: I64
    heap: I64
    peak: int
    stacks: Mapping[Stack, Mapping[str, I64]]
    instant: int
    at_ps: int
    live: tuple[Block, ...]
    live_bytes: int
    blocks: int
    rest_bytes: int


@derived()
def _memories(host: HostProfile) -> Mapping[str, RecordedMemory]:
    recorded, _ = host_allocations(host, since_recording=True)
    return {name: recorded_memory(rows) for name, rows in recorded.by_memory().items()} if recorded else {}


@per_host()
def host_recorded_memory(host: HostProfile, memory: str, instant: int) -> RecordedOverTime:
    """The memory of one of the host's allocators, "" for the one with the highest peak; `instant` -1 is its peak.

    Raises NoData without recorded allocations, BadRequest for an allocator or an instant that does not exist.
    """
    memories = _memories(host)
    if not memories:
        raise _NO_ALLOCATIONS.error()
    name = memory or max(memories, key=lambda one: int(memories[one].heap.max()))
    if name not in memories:
        raise BadRequest(f"There is no allocator {memory[:80]!r}.", parameter="memory_id", choices=list(memories)[:200])
    found = memories[name]
    count = len(found.rows)
    if not -1 <= instant < count:
        raise BadRequest(f"The allocator has events 0 to {count - 1}.", parameter="instant")
    at = found.peak if instant < 0 else instant
    shown, live = timeline(found.heap), found.live(at)
    return RecordedOverTime(
        memory=name,
        host=host.name,
        instants=count,
        shown=shown,
        time_ps=found.rows.time_ps[shown],
        heap=found.heap[shown],
        peak=found.peak,
        stacks={by: {part: values[shown] for part, values in found.stacks(by).items()} for by in STACKS},
        instant=at,
        at_ps=int(found.rows.time_ps[at]),
        live=tuple(_block(found, block) for block in live[:MOST_LIVE].tolist()),
        live_bytes=int(found.size[live].sum()),
        blocks=len(live),
        rest_bytes=int(found.rest[at]),
    )


def _block(found: RecordedMemory, block: int) -> Block:
    rows, row, freed = found.rows, int(found.row[block]), int(found.freed[block])

    def text(column: TextColumn) -> str:
        found = column.texts[int(column.code[row])]
        return "" if found == INVALID else found

    return Block(
        op=text(rows.op),
        region=text(rows.region),
        data_type=text(rows.data_type),
        shape=text(rows.shape),
        step=int(rows.step[row]),
        size=int(found.size[block]),
        requested=int(rows.requested[row]),
        allocated_ps=int(rows.time_ps[row]) if rows.allocates[row] else None,
        freed_ps=int(rows.time_ps[freed]) if freed >= 0 else None,
        freed_by=found.freeing.texts[int(found.freeing.code[freed])] if freed >= 0 else "",
        source=text(rows.source),
        calls=text(rows.stack_of_calls),
    )


def line_of_ops(run: RunHosts) -> Mapping[str, str]:
    """`FILE:LINE` of the run's ops by name without the type, as `parse_op` gives it. Empty without any."""
    try:
        ops = run_op_rates(run)
    except NoData:
        return {}
    lines: dict[str, str] = {}
    for full, source in zip(ops.framework_op, ops.source, strict=True):
        if source and (name := parse_op(full).name):
            lines.setdefault(name, source)
    return lines
