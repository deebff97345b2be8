"""GPU events that no HLO op claims (kernels of CUDA graphs, library kernels, copies): whose they most likely are.

The reference leaves them out, and their time looks idle. Here a launch with the same correlation id decides first, then
a kernel's name that is the name of one instruction only; the rest goes by its own name into a bucket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.hlo_category import category
from tpu_profile_plugin.analysis.hlo_ops import HloOps
from tpu_profile_plugin.analysis.op_names import memcpy_kind
from tpu_profile_plugin.analysis.op_records import Ints
from tpu_profile_plugin.analysis.op_table import OpTable, combine
from tpu_profile_plugin.analysis.planes import host_plane, is_derived_line
from tpu_profile_plugin.columns import stats as read

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import Plane, XSpace

UNATTRIBUTED, MEMORY_COPY = "unattributed", "memcpy"
_NOT_A_NAME = re.compile(r"\W+")

OpKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """The events without an op as further rows, and how much of the time of all events stays unattributed."""

    table: OpTable
    unattributed_ps: int
    all_ps: int

    @property
    def share(self) -> float:
        """Share of the events' time that belongs to no op, 0 to 1."""
        return self.unattributed_ps / self.all_ps if self.all_ps else 0.0


def unclaimed(space: XSpace, planes: Sequence[Plane], ops: HloOps) -> Unclaimed:
    """What the op table of GPUs leaves out."""
    launches = _launches(space)
    parts = [_plane(space, plane, ops, launches) for plane in planes]
    return Unclaimed(
        combine(part.table for part in parts),
        sum(part.unattributed_ps for part in parts),
        sum(part.all_ps for part in parts),
    )


def _launches(space: XSpace) -> dict[int, OpKey]:
    """The op that each launch on the host names, by correlation id."""
    plane = host_plane(space)
    if plane is None or plane.stat_metadata.row("hlo_op") is None:
        return {}
    code, texts = read.strings(space, plane, plane.events.stats, "hlo_op")
    program, _ = read.ints(space, plane, plane.events.stats, "program_id")
    correlation, present = read.ints(space, plane, plane.events.stats, "correlation_id")
    at = np.flatnonzero((code >= 0) & present)
    columns = (correlation[at].tolist(), program[at].tolist(), code[at].tolist())
    return {c: (p % 2**64, _leaf(texts[t])) for c, p, t in zip(*columns, strict=True)}


def _leaf(hlo_op: str) -> str:
    return hlo_op.rpartition("::")[2]


def _plane(space: XSpace, plane: Plane, ops: HloOps, launches: dict[int, OpKey]) -> Unclaimed:
    stats, names = plane.events.stats, plane.event_metadata.names
    own = np.array([not is_derived_line(i) for i in plane.lines.id.tolist()], np.bool_)
    shown = np.repeat(own, np.diff(plane.lines.event_start))
    codes, texts = read.strings(space, plane, stats, "hlo_op")
    code = codes.astype(np.int64)
    program, _ = read.ints(space, plane, stats, "program_id")
    framework, _ = read.strings(space, plane, stats, "tf_op")
    correlation, correlated = read.ints(space, plane, stats, "correlation_id")
    has_op, programs = _claimed(code, texts, program, ops)
    duration = plane.events.duration_ps
    loose = np.flatnonzero(shown & ~has_op & ~((code < 0) & (framework >= 0)))
    by_launch = {**launches, **_by_launch(np.flatnonzero(has_op & correlated), correlation, code, texts, program)}
    by_name = _by_name(ops, programs)
    rows: dict[OpKey, int] = {}
    kinds: dict[OpKey, str] = {}
    row = np.empty(len(loose), np.int64)
    columns = (correlation[loose].tolist(), plane.events.metadata[loose].tolist(), code[loose].tolist(), loose.tolist())
    distinct, where = np.unique(
        np.stack([np.array(c, np.int64) for c in columns[:3]], axis=1), axis=0, return_inverse=True
    )
    place = np.empty(len(distinct), np.int64)
    for i, (cause, name, hlo) in enumerate(distinct.tolist()):
        key = by_launch.get(cause) if cause else None
        key = key or by_name.get(_plain(names[name]))
        if key is None:
            key = (0, _leaf(texts[hlo]) if hlo >= 0 else names[name])
            kinds[key] = _kind(names[name])
        place[i] = rows.setdefault(key, len(rows))
    row = place[where.reshape(-1)]
    table = _table(rows, kinds, row, duration[loose], ops)
    left = sum(int(table.time_ps[i]) for key, i in rows.items() if key in kinds)
    return Unclaimed(table, left, int(duration[shown].sum()))


def _kind(name: str) -> str:
    """Category of what stays unattributed; copies are known in both of their spellings."""
    kind = memcpy_kind(name, short=True)
    return f"{MEMORY_COPY} {kind.removeprefix('Memcpy')}" if kind else UNATTRIBUTED


def _claimed(
    code: Ints, texts: list[str], program: Ints, ops: HloOps
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], list[int]]:
    """Which events name an instruction that there is; and the programs that they name."""
    at = np.flatnonzero(code >= 0)
    pairs = np.stack([program[at], code[at]], axis=1)
    keys, where = np.unique(pairs, axis=0, return_inverse=True)
    known = np.array([ops.find(p % 2**64, _leaf(texts[t])) is not None for p, t in keys.tolist()], np.bool_)
    found = np.zeros(len(code), np.bool_)
    if len(at):
        found[at] = known[where.reshape(-1)]
    return found, sorted({p % 2**64 for p, _ in keys.tolist()})


def _by_launch(at: Ints, correlation: Ints, code: Ints, texts: list[str], program: Ints) -> dict[int, OpKey]:
    """Correlation id -> op, where all events of a launch that name an op name the same."""
    triples = np.unique(np.stack([correlation[at], program[at], code[at]], axis=1), axis=0)
    found: dict[int, OpKey] = {}
    several: set[int] = set()
    for cause, p, text in triples.tolist():
        several |= {cause} if cause in found else set()
        found[cause] = (p % 2**64, _leaf(texts[text]))
    return {cause: key for cause, key in found.items() if cause not in several}


def _plain(name: str) -> str:
    """A kernel's or instruction's name as compilers spell it in symbols."""
    return _NOT_A_NAME.sub("_", name.removesuffix(".kd"))


def _by_name(ops: HloOps, programs: Iterable[int]) -> dict[str, OpKey]:
    """Instructions of the programs that ran here, by their names as kernels; names of several are left out."""
    found: dict[str, OpKey] = {}
    several: set[str] = set()
    for program_id in programs:
        program = ops.programs.program(program_id)
        for name in program.names if program is not None else ():
            plain = _plain(name)
            several |= {plain} if plain in found else set()
            found[plain] = (program_id, name)
    return {plain: key for plain, key in found.items() if plain not in several}


def _table(rows: dict[OpKey, int], kinds: dict[OpKey, str], row: Ints, duration: Ints, ops: HloOps) -> OpTable:
    runs = np.bincount(row, minlength=len(rows)).astype(np.int64)
    time = np.zeros(len(rows), np.int64)
    np.add.at(time, row, duration)
    found = [None if key in kinds else ops.find(*key) for key in rows]
    flops, accessed = np.zeros(len(rows)), np.zeros(len(rows))
    for i, (key, one) in enumerate(zip(rows, found, strict=True)):
        if one is not None:
            cost = ops.cost(key[0], one)
            flops[i], accessed[i] = cost.flops * runs[i], cost.bytes * runs[i]
    return OpTable(
        module=tuple(module for module, _ in rows),
        name=tuple(name for _, name in rows),
        category=tuple(
            kinds.get(key) or (category(one) if one else UNATTRIBUTED) for key, one in zip(rows, found, strict=True)
        ),
        provenance=tuple(one.provenance if one else "" for one in found),
        eager=np.zeros(len(rows), np.bool_),
        occurrences=runs,
        time_ps=time,
        self_ps=time,
        min_ps=np.zeros(len(rows), np.int64),
        cores=np.ones(len(rows), np.int64),
        flops=flops,
        model_flops=flops,
        bytes=accessed,
        total_ps=0,
    )
