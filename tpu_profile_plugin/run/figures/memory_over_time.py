"""A program's memory at each instant by kind and source line, what lives at one, and how it grows with the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import Frame
from tpu_profile_plugin.analysis.hlo.value_flow import ValueFlow
from tpu_profile_plugin.analysis.memory.allocations import timeline
from tpu_profile_plugin.analysis.memory.buffers import (
    CONSTANT,
    OUTPUT,
    PARAMETER,
    TEMPORARY,
    UNKNOWN,
    MemoryHistory,
)
from tpu_profile_plugin.analysis.memory.kept_for_backward import (
    has_backward_pass,
    is_kept_for_backward,
)
from tpu_profile_plugin.analysis.memory.scaling import (
    BatchDims,
    Corner,
    Scaling,
    Sized,
    assumed_scaling,
    batch_of,
    corners,
    dimensions,
    guests_of,
)
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.figures.memory import HeldBuffer, held_buffer, history_of, host_device_memory
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.host import HostProfile, derived, per_host

ARGUMENT, KEPT = "argument", "kept for backward"
CATEGORIES = (PARAMETER, ARGUMENT, KEPT, TEMPORARY, OUTPUT, CONSTANT, UNKNOWN)
MOST_LINES, MOST_LIVE, MOST_ASSUMED = 10, 500, 200
_MOST_FOLLOWED = 500
"""Buffers, the largest, that are looked at for values kept for the backward pass."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A buffer in memory.

    Attributes:
      number: its position among the program's pieces.
      name, shape, framework_op: as in `HeldBuffer`; category: one of CATEGORIES.
      line: its source line, or NO_LOCATION.
      size: bytes; first, last: instants.
      freed_by: the instruction that frees it; "" if it lives to the end.
      scales, why: whether it is assumed to grow with the batch.
    """

    number: int
    name: str
    shape: str
    framework_op: str
    category: str
    line: Frame
    size: int
    first: int
    last: int
    freed_by: str
    scales: bool
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class MemoryOverTime:
    """The memory of a program.

    Attributes:
      program: `module(program id)`; host: the first that has it; device_bytes: memory of a device, 0 if unknown.
      instants: their number; shown: int64[n], those in `heap`, with the highest of each stretch; names: the instruction
        that runs at each.
      heap: int64[n], bytes; peak: the first instant with most; peak_bytes: its bytes, as in the memory viewer.
      categories: int64[n] by category; lines: int64[n] by line, the ten largest at the peak, the others together under
        None, what has no location under NO_LOCATION. Both add up to the heap.
      instant, live, live_bytes: what lives at the instant that was asked for, the largest first, and the sum of all.
      batch: see `Scaling`; corners: (fixed, scaled, above): the peak at k times the batch is the largest
        fixed + k * scaled of those with k > above.
      assumed: the largest pieces of the whole program, with what is assumed of them.
    """

    program: str
    host: str
    device_bytes: int
    instants: int
    shown: I64
    names: tuple[str, ...]
    heap: I64
    peak: int
    peak_bytes: int
    categories: dict[str, I64]
    lines: tuple[tuple[Frame | None, I64], ...]
    instant: int
    live: tuple[Piece, ...]
    live_bytes: int
    batch: int
    corners: tuple[Corner, ...]
    assumed: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of all pieces, whatever is asked for."""

    history: MemoryHistory
    held: tuple[HeldBuffer, ...]
    categories: tuple[str, ...]
    scaling: Scaling
    dims: BatchDims


@derived(metadata=True)
def _known_of(host: HostProfile, program_id: int) -> _Known:
    history = history_of(host, program_id)
    rows, layout = ProgramRows(history.layout.program), history.layout
    held = tuple(held_buffer(history, rows, piece) for piece in range(len(history)))
    live_out, parameter = layout.buffers.live_out, layout.buffers.parameter
    allocations = history.allocation.tolist()
    returned = [at >= 0 and bool(parameter[at]) and bool(live_out[at]) for at in allocations]
    sizes = history.size.tolist()
    kept = _kept_pieces(history, rows) if has_backward_pass(programs_of(host).blob(program_id)) else set()
    sized = [
        Sized(one.category, one.shape, one.framework_op or one.name, size, both, piece in kept)
        for piece, (one, size, both) in enumerate(zip(held, sizes, returned, strict=True))
    ]
    dims = _batch_dims(history, rows, sized)
    positions = [None if row < 0 else layout.buffers.position(row) for row in history.result.tolist()]
    scaling = assumed_scaling(
        [
            one if at is None or at.row is None else replace(one, dims=dims.of(at.row, at.index))
            for one, at in zip(sized, positions, strict=True)
        ]
    )
    return _Known(history, held, _categories(held, scaling, kept), scaling, dims)


def _batch_dims(history: MemoryHistory, rows: ProgramRows, sized: Sequence[Sized]) -> BatchDims:
    """The dimensions that come from the batch, if the first one of the arguments that have it does."""
    batch, why = batch_of(sized)
    arguments: dict[int, frozenset[int]] = {}
    for one, kept, row in zip(sized, why, history.row.tolist(), strict=True):
        at = history.layout.buffers.position(row).row if row >= 0 and one.category == PARAMETER else None
        if at is not None and rows.opcodes[at] == "parameter":
            grows = batch > 0 and not kept and dimensions(one.shape)[:1] == (batch,)
            arguments[int(rows.instruction(at).parameter_number)] = frozenset((0,)) if grows else frozenset()
    return BatchDims(rows.links, history.layout.program.entry, arguments)


def _kept_pieces(history: MemoryHistory, rows: ProgramRows) -> set[int]:
    """Temporaries that hold results of the forward pass until the backward pass reads them."""
    flow, buffers, kept = ValueFlow(rows), history.layout.buffers, set()
    for piece in np.argsort(-history.size, kind="stable")[:_MOST_FOLLOWED].tolist():
        if history.categories[piece] != TEMPORARY:
            continue
        position = buffers.position(int(history.row[piece]))
        if position.row is not None and is_kept_for_backward(rows, flow, position.row, position.index):
            kept.add(piece)
    return kept


def _categories(held: Sequence[HeldBuffer], scaling: Scaling, kept: set[int]) -> tuple[str, ...]:
    found = []
    for piece, (one, scales) in enumerate(zip(held, scaling.scales, strict=True)):
        is_argument = one.category == PARAMETER and scales
        found.append(KEPT if piece in kept else ARGUMENT if is_argument else one.category)
    return tuple(found)


@per_host()
def host_memory_over_time(
    host: HostProfile, program_id: int, instant: int, fixed: tuple[int, ...], scaled: tuple[int, ...]
) -> MemoryOverTime:
    """The memory of one of the host's programs; `instant` -1 is the peak.

    Args:
      fixed, scaled: numbers of pieces that do not, or do, grow with the batch, against what is assumed.

    Raises CorruptProfile, BadRequest for an instant that does not exist.
    """
    known = _with_choice(_known_of(host, program_id), fixed, scaled)
    history = known.history
    if not -1 <= instant < history.instants:
        raise BadRequest(f"The program has instants 0 to {history.instants - 1}.", parameter="instant")
    at = history.peak if instant < 0 else instant
    live, shown = history.live(at), timeline(history.heap)
    largest = np.argsort(-history.size, kind="stable")[:MOST_ASSUMED]
    return MemoryOverTime(
        program=history.layout.program.module.name,
        host=host.name,
        device_bytes=host_device_memory(host).bytes,
        instants=history.instants,
        shown=shown,
        names=_names(history, shown),
        heap=history.heap[shown],
        peak=history.peak,
        peak_bytes=history.layout.peak_bytes,
        categories=_by_category(known, shown),
        lines=_by_line(known, shown),
        instant=at,
        live=_pieces(known, live[:MOST_LIVE]),
        live_bytes=int(history.size[live].sum()),
        batch=known.scaling.batch,
        corners=_corners(known),
        assumed=_pieces(known, largest),
    )


def _with_choice(known: _Known, fixed: tuple[int, ...], scaled: tuple[int, ...]) -> _Known:
    scales, why = list(known.scaling.scales), list(known.scaling.why)
    for numbers, verdict in ((fixed, False), (scaled, True)):
        for number in numbers:
            if 0 <= number < len(scales) and scales[number] != verdict:
                scales[number], why[number] = verdict, "your choice"
    return replace(known, scaling=replace(known.scaling, scales=tuple(scales), why=tuple(why)))


def _names(history: MemoryHistory, instants: I64) -> tuple[str, ...]:
    """The instruction of the event before each instant."""
    names = history.layout.instruction_names
    return tuple(names[at - 1] if 0 < at <= len(names) else "" for at in instants.tolist())


def _by_category(known: _Known, shown: I64) -> dict[str, I64]:
    codes = np.array([CATEGORIES.index(one) for one in known.categories], np.int64)
    series = known.history.series(codes, len(CATEGORIES))[:, shown]
    return {name: values for name, values in zip(CATEGORIES, series, strict=True) if values.any()}


def _by_line(known: _Known, shown: I64) -> tuple[tuple[Frame | None, I64], ...]:
    history = known.history
    lines = [one.stack[0] if one.stack else NO_LOCATION for one in known.held]
    at_peak: dict[Frame, int] = {}
    for piece in history.live(history.peak).tolist():
        at_peak[lines[piece]] = at_peak.get(lines[piece], 0) + int(history.size[piece])
    located = [line for line in sorted(at_peak, key=lambda line: -at_peak[line]) if line != NO_LOCATION][:MOST_LINES]
    groups: list[Frame | None] = [*located, NO_LOCATION, None]
    code_of = {line: code for code, line in enumerate(groups)}
    codes = np.array([code_of.get(line, len(groups) - 1) for line in lines], np.int64)
    series = history.series(codes, len(groups))[:, shown]
    return tuple((line, values) for line, values in zip(groups, series, strict=True) if values.any())


def _pieces(known: _Known, pieces: I64) -> tuple[Piece, ...]:
    history, names = known.history, known.history.layout.instruction_names
    found = []
    for piece in pieces.tolist():
        one, first, last = known.held[piece], int(history.first[piece]), int(history.last[piece])
        found.append(
            Piece(
                number=piece,
                name=one.name,
                shape=one.shape,
                framework_op=one.framework_op,
                category=known.categories[piece],
                line=one.stack[0] if one.stack else NO_LOCATION,
                size=int(history.size[piece]),
                first=first,
                last=last,
                freed_by=names[last] if last < min(len(names), history.instants - 1) else "",
                scales=known.scaling.scales[piece],
                why=known.scaling.why[piece],
            )
        )
    return tuple(found)


def _corners(known: _Known) -> tuple[Corner, ...]:
    fixed, scaled = known.history.series(np.array(known.scaling.scales, np.int64), 2)
    return corners(fixed, scaled, guests_of(known.history, np.array(known.scaling.scales, np.bool_), known.dims))
