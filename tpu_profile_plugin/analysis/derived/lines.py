"""Lines derived from events of TPUs and GPUs: steps, modules, ops, name scopes, source lines, host offload copies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import EventOp, NamedOps, named_ops
from tpu_profile_plugin.analysis.common import planes as ids
from tpu_profile_plugin.analysis.common.op_names import JAX, TENSORFLOW, TF_DATA, UNKNOWN, dataset_display, parse_op
from tpu_profile_plugin.analysis.common.planes import ABSENT, Arg, ExtraLine, on_recorded_line, recorded_lines
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns, per_event
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, U32, Bools

NO_SCOPE: I64 = np.zeros(0, dtype=np.int64)


class Names:
    """Assigns codes to names in order of first use; a name may have a display name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.display: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str, display: str = "") -> int:
        """The code of a name; its display name is the one of the first call."""
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
            self.display.append(display)
        return code


@dataclass(slots=True)
class Levels:
    """Contents of a derived line: for each distinct text the name codes of its levels, outermost first.

    Attributes:
      row: per source event, the row of its levels, or -1.
      rows: codes per level; an empty row adds no events.
      dependents: indices of lines whose open events end when this line starts a new outermost event.
    """

    row: I32
    rows: list[list[int]]
    dependents: Sequence[int] = ()
    names: Names = field(default_factory=Names)


@dataclass(frozen=True, slots=True)
class Sources:
    """Events that lines are derived from, in walk order; `group` and `scope` may be ABSENT."""

    event: I64
    begin_ps: I64
    duration_ps: I64
    group: I64
    scope: I64

    @classmethod
    def of(cls, plane: Plane, event: I64, group: I64 | None, scope: I64 = NO_SCOPE) -> Sources:
        """Events of a plane; `group`: of all its events, if any has one."""
        event_group = np.full(len(event), ABSENT, np.int64) if group is None else group[event]
        return cls(event, plane.events.begin_ps[event], plane.events.duration_ps[event], event_group, scope)


@dataclass(frozen=True, slots=True)
class Derived:
    """Events of one derived line; `source` is the plane event that each was derived from."""

    begin_ps: I64
    duration_ps: I64
    code: U32
    group: I64
    source: I64
    names: Names

    def __len__(self) -> int:
        return len(self.begin_ps)

    def line(self, id_: int, name: str, display_id: int = 0, step_code: I32 | None = None) -> ExtraLine:
        """The events as a line with an id and a name."""
        return ExtraLine(
            id=id_,
            name=name,
            begin_ps=self.begin_ps,
            duration_ps=self.duration_ps,
            metadata=self.code,
            names=tuple(self.names.names),
            display_names=tuple(self.names.display),
            display_id=display_id,
            step_code=step_code,
            group_id=self.group if bool((self.group != ABSENT).any()) else None,
        )


def derive(sources: Sources, lines: Sequence[Levels], *, stream: bool) -> list[Derived]:
    """Derives all lines in one walk over the sources.

    On a GPU `stream` adjacent events merge regardless of the gap between them, and events still open at the end keep
    their span.
    """
    columns = []
    for line in lines:
        start = np.zeros(len(line.rows) + 1, dtype=np.uint32)
        start[1:] = np.cumsum([len(row) for row in line.rows])
        codes = np.array([code for row in line.rows for code in row], dtype=np.uint32)
        columns.append((line.row, start, codes, list(line.dependents)))
    derived = _native.expand_lines(sources.begin_ps, sources.duration_ps, sources.group, sources.scope, stream, columns)
    return [
        Derived(begin, duration, code, group, sources.event[source], line.names)
        for line, (begin, duration, code, group, _, source) in zip(lines, derived, strict=True)
    ]


def op_levels(row: I32, ops: Iterable[str], dependents: Sequence[int]) -> tuple[Levels, Levels]:
    """Name scope and framework op levels for the op names `ops`; `row` holds the op of each event, or -1.

    The scopes are all components of the op's name but the last; the display name of an op is its type if known.
    """
    scopes, frameworks = Levels(row, [], dependents), Levels(row, [])
    for text in ops:
        op = parse_op(text)
        path = op.name.split("/")[:-1] if op.category in (TENSORFLOW, JAX) else []
        scopes.rows.append([scopes.names.code(scope) for scope in path])
        display = {UNKNOWN: text, TF_DATA: dataset_display(text)}.get(op.category, op.type)
        frameworks.rows.append([frameworks.names.code(text, display)])
    return scopes, frameworks


_GPU_STATS = ("kernel_details", "cuda_graph_exec_id", "scope_range_id")
# Names of lines in the order of their ids within a stream. XProf also has a line of launch overhead, not derived here.
_LINES = (ids.NAME_SCOPE, ids.FRAMEWORK_OPS, ids.MODULES, ids.OPS, ids.SOURCE)


def fill_groups(plane: Plane, group: I64 | None) -> I64 | None:
    """Copies the group of the latest preceding grouped event, over all streams, to events without a group."""
    if group is None:
        return None
    order = _stream_events(plane)
    ordered = group[order]
    latest = np.maximum.accumulate(np.where(ordered >= 0, np.arange(len(ordered)), -1))
    filled: I64 = group.copy()
    filled[order] = np.where(latest >= 0, ordered[latest], ABSENT)
    return filled


def derive_steps(plane: Plane, group: I64, step_codes: Callable[[I64], I32]) -> ExtraLine | None:
    """The step line: one step per run of events of the same group; None without groups."""
    order = _stream_events(plane)
    order = order[group[order] >= 0]
    if len(order) == 0:
        return None
    distinct, row = np.unique(group[order], return_inverse=True)
    levels = Levels(row.reshape(-1).astype(np.int32), [])
    levels.rows = [[levels.names.code(str(number))] for number in distinct.tolist()]
    steps = derive(Sources.of(plane, order, group), [levels], stream=True)[0]
    return steps.line(ids.STEPS_ID, ids.STEPS, step_code=step_codes(steps.group))


def derive_streams(
    space: XSpace, plane: Plane, group: I64 | None, programs: HloPrograms
) -> tuple[list[ExtraLine], I64 | None]:
    """The derived lines of all streams, and the display id of each line of the plane (0: as in the file)."""
    kernels = _Kernels.of(space, plane)
    start = plane.lines.event_start
    streams = np.flatnonzero(recorded_lines(plane)).tolist()
    streams.sort(key=lambda line: ("Compute" not in plane.lines.name[line], int(start[line]) - int(start[line + 1])))
    display_ids = np.zeros(len(plane.lines), dtype=np.int64)
    lines: list[ExtraLine] = []
    for number, line in enumerate(streams[: ids.STREAM_IDS // ids.IDS_PER_STREAM]):
        display_id = number * (ids.IDS_PER_STREAM + 1) + 1
        display_ids[line] = display_id
        events = kernels.of_line(plane, line)
        if len(events):
            first_id = ids.STREAM_ID + number * ids.IDS_PER_STREAM
            name = f" - from #{int(plane.lines.id[line])}"
            lines += _stream_lines(kernels, plane, events, group, programs, (first_id, display_id + 1, name))
    return lines, display_ids if streams else None


def _stream_lines(
    kernels: _Kernels, plane: Plane, events: I64, group: I64 | None, programs: HloPrograms, track: tuple[int, int, str]
) -> list[ExtraLine]:
    ops, names, sources = kernels.op_levels(events, programs)
    row, texts = names
    scopes, frameworks = op_levels(row, texts, [3])
    levels = [kernels.module_levels(events, [1, 2]), ops, scopes, frameworks, sources]
    kernel_sources = Sources.of(plane, events, group, kernels.scopes(events))
    modules, xla_ops, scope_line, framework_line, source_line = derive(kernel_sources, levels, stream=True)
    first_id, first_display, suffix = track
    derived = zip((scope_line, framework_line, modules, xla_ops, source_line), _LINES, strict=True)
    return [
        line.line(first_id + offset, name + suffix, first_display + offset)
        for offset, (line, name) in enumerate(derived)
        if len(line)
    ]


def _stream_events(plane: Plane) -> I64:
    """Events of all recorded lines, in walk order (by begin, then longest first)."""
    events = np.flatnonzero(on_recorded_line(plane))
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    ordered: I64 = events[_native.walk_order(begin, duration, np.arange(len(events)))]
    return ordered


@dataclass(frozen=True, slots=True, eq=False)
class _Kernels:
    """The kernel events of a plane; framework ops, HLO ops and programs that all its events name; name scopes."""

    events: I64
    framework: NamedOps
    hlo: NamedOps
    modules: NamedOps
    scope: I64 | None

    @staticmethod
    def of(space: XSpace, plane: Plane) -> _Kernels:
        stat_columns = StatColumns(space, plane, plane.events.stats, _GPU_STATS)
        scopes = stat_columns.ints("scope_range_id")
        scope = scopes.dense(len(plane.events), ABSENT) if len(scopes) else None
        events = np.union1d(stat_columns.texts("kernel_details")[0], stat_columns.owners("cuda_graph_exec_id"))
        named = named_ops(space, plane)
        return _Kernels(events, named.by("framework_op"), named.hlo(), named.by("program", "hlo_module"), scope)

    def of_line(self, plane: Plane, line: int) -> I64:
        """The kernels of one line, in walk order."""
        rows = plane.lines.events_of(line)
        first, last = np.searchsorted(self.events, [rows.start, rows.stop])
        kernels = self.events[first:last] - rows.start
        begin, duration = plane.events.begin_ps[rows], plane.events.duration_ps[rows]
        ordered: I64 = _native.walk_order(begin, duration, kernels) + rows.start
        return ordered

    def scopes(self, events: I64) -> I64:
        """Scope range id of each event, ABSENT without an XLA op; an empty column if no event has one."""
        return NO_SCOPE if self.scope is None else np.where(self.hlo.op[events] >= 0, self.scope[events], ABSENT)

    def module_levels(self, events: I64, dependents: list[int]) -> Levels:
        """Levels of the modules line: `module(program id)`."""
        row, ops = _present(self.modules, events)
        has_module = np.array([*(bool(op.hlo_module) for op in ops), False], np.bool_)
        levels = Levels(np.where(has_module[row], row, -1).astype(np.int32), [], dependents)
        for op in ops:
            text = op.hlo_module + ("" if op.program is None else f"({op.program})")
            levels.rows.append([levels.names.code(text)] if op.hlo_module else [])
        return levels

    def op_levels(self, events: I64, programs: HloPrograms) -> tuple[Levels, tuple[I32, list[str]], Levels]:
        """XLA op levels, one per `::` component; codes and texts of the framework ops; source location levels."""
        row, hlo_ops = _present(self.hlo, events)
        ops, source = Levels(row, []), Levels(row, [])
        texts: dict[str, int] = {}
        text_of: list[int] = []
        source_of: list[int] = []
        for op in hlo_ops:
            ops.rows.append([ops.names.code(f"{op.program or 0}/{part}", part) for part in op.path.split("::")])
            module = None if op.program is None else programs.program(op.program)
            provenance = module.provenance(op.hlo_op) if module else None
            location = module.source(op.hlo_op) if module else ""
            text_of.append(texts.setdefault(provenance, len(texts)) if provenance else -1)
            source_of.append(len(source.rows) if location else -1)
            if location:
                source.rows.append([source.names.code(location)])
        source.row = np.array([*source_of, -1], np.int32)[row]
        plain_text = [texts.setdefault(op.framework_op, len(texts)) for op in self.framework.ops]
        op_text = np.where(
            row < 0,
            np.array([*plain_text, -1], np.int32)[self.framework.op[events]],
            np.array([*text_of, -1], np.int32)[row],
        )
        return ops, (op_text.astype(np.int32), list(texts)), source


def _present(named: NamedOps, events: I64) -> tuple[I32, list[EventOp]]:
    """The ops that some events name, and the number of each event's among them or -1."""
    code = named.op[events]
    present = np.unique(code[code >= 0])
    number = np.full(len(named.ops) + 1, -1, np.int32)
    number[present] = np.arange(len(present))
    return number[code], [named.ops[i] for i in present.tolist()]


_TPU_STATS = ("tf_op", "source", "_a")
_MOVED, _SHAPE = "raw_bytes_accessed", "shape_with_layout"
_OFFLOAD = re.compile(r"(.*?)(copy|dynamic-slice|dynamic-update-slice)-(start|done)")
_NUMBER = re.compile(r"\.(\d+)\Z")
_HOST_MEMORY = "S(5)"


def derive_tpu(space: XSpace, plane: Plane, on_events: StatColumns, group: I64 | None) -> list[ExtraLine]:
    """The non-empty derived lines of one TensorCore plane; `on_events` holds the stats of its events."""
    on_rows = StatColumns(space, plane, plane.event_metadata.stats, _TPU_STATS)
    ops, op_texts = _texts(plane, on_rows, on_events, "tf_op")
    locations, location_texts = _texts(plane, on_rows, on_events, "source")
    own, shared = on_events.ints("_a"), on_rows.ints("_a")
    synchronous = ~per_event(plane, (own.event, own.value != 0), (shared.event, shared.value != 0), False)
    has_text = np.zeros(len(plane.events), np.bool_)
    for codes in (ops, locations):
        if codes is not None:
            has_text |= codes >= 0
    events = np.flatnonzero(has_text & synchronous)
    lines: list[ExtraLine] = []
    if len(events):
        events = _native.walk_order(plane.events.begin_ps, plane.events.duration_ps, events)
        none = np.full(len(events), -1, dtype=np.int32)
        op_row = ops[events] if ops is not None else none
        scopes, frameworks = op_levels(op_row, op_texts, [1])
        source = Levels(locations[events] if locations is not None else none, [])
        source.rows = [[source.names.code(text)] for text in location_texts]
        derived = derive(Sources.of(plane, events, group), [scopes, frameworks, source], stream=False)
        kinds = (
            (ids.NAME_SCOPE_ID, ids.NAME_SCOPE),
            (ids.FRAMEWORK_OPS_ID, ids.FRAMEWORK_OPS),
            (ids.SOURCE_ID, ids.SOURCE),
        )
        lines += [line.line(id_, name) for line, (id_, name) in zip(derived, kinds, strict=True) if len(line)]
    return lines + host_offload(space, plane, synchronous)


def _texts(plane: Plane, on_rows: StatColumns, on_events: StatColumns, stat: str) -> tuple[I32 | None, list[str]]:
    """Code of a stat's text per event, its own or else its metadata's, -1 if neither; None if there is no text."""
    row, row_code, texts = on_rows.texts(stat)
    event, event_code, event_texts = on_events.texts(stat)
    if len(row) == 0 and len(event) == 0:
        return None, []
    return per_event(plane, (event, event_code + np.int32(len(texts))), (row, row_code), -1), texts + event_texts


def host_offload(space: XSpace, plane: Plane, synchronous: Bools) -> list[ExtraLine]:
    """Lines of copies between device and host memory, from start to done event, among the `synchronous` events."""
    key_of: dict[tuple[str, str], int] = {}
    key = np.full(len(plane.event_metadata.id), -1, dtype=np.int64)
    starts = np.zeros(len(key), dtype=np.bool_)
    display_names: list[str] = []
    for row, display in enumerate(plane.event_metadata.display_names):
        if "-start" not in display and "-done" not in display:
            continue
        match = _OFFLOAD.match(display)
        if match is None or _HOST_MEMORY not in plane.event_metadata.names[row]:
            continue
        number = _NUMBER.search(display)
        pair = (match[1] + match[2], number[1] if number else "0")
        key[row] = key_of.setdefault(pair, len(key_of))
        starts[row] = match[3] == "start"
        if len(display_names) < len(key_of):
            display_names.append(f"offload-{pair[0]}.{pair[1]}")
    if not key_of:
        return []
    events = np.flatnonzero((key >= 0)[plane.events.metadata] & synchronous)
    events = _native.walk_order(plane.events.begin_ps, plane.events.duration_ps, events)
    on_rows = StatColumns(space, plane, plane.event_metadata.stats, (_MOVED, _SHAPE))
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    rows = plane.events.metadata[events]
    start, done, line = _native.pair_offload(
        begin, duration, key[rows].astype(np.uint32), starts[rows], ids.HOST_OFFLOAD_ROWS
    )
    order = np.argsort(line, kind="stable")
    cuts = np.searchsorted(line[order], np.arange(int(line.max()) + 2 if len(line) else 1))
    lines = []
    for lane in range(len(cuts) - 1):
        pairs = order[cuts[lane] : cuts[lane + 1]]
        first, last = start[pairs], done[pairs]
        distinct = np.flatnonzero(np.bincount(rows[first]))
        code = np.searchsorted(distinct, rows[first])
        lines.append(
            ExtraLine(
                id=ids.HOST_OFFLOAD_ID + lane,
                name=f"{ids.HOST_OFFLOAD}{lane}",
                begin_ps=begin[first],
                duration_ps=begin[last] + duration[last] - begin[first],
                metadata=code.astype(np.uint32),
                names=("",) * len(distinct),
                display_names=tuple(display_names[int(key[row])] for row in distinct.tolist()),
                extra_args=_offload_args(on_rows, len(key), rows[first], rows[last]),
            )
        )
    return lines


def _offload_args(on_rows: StatColumns, count: int, starts: U32, dones: U32) -> dict[str, Arg]:
    """Arguments of copies from their two ops (rows below `count`): shape of the start op, bytes of the done op."""
    moved_by_row = on_rows.signed(_MOVED).dense(count, ABSENT)
    row, code, texts = on_rows.texts(_SHAPE)
    shape_by_row = np.full(count, -1, dtype=np.int32)
    shape_by_row[row] = code
    return {
        "_a": np.ones(len(starts), dtype=np.int64),
        _MOVED: moved_by_row[dones],
        _SHAPE: (shape_by_row[starts], tuple(texts)),
    }
