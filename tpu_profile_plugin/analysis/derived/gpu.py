"""Lines derived on GPU planes: steps, and per stream the modules, ops, name scopes and source lines of its kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common import planes as ids
from tpu_profile_plugin.analysis.common.planes import ABSENT, ExtraLine, on_recorded_line, recorded_lines
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.derived.lines import NO_SCOPE, Levels, Sources, derive, op_levels
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64

_STATS = ("kernel_details", "cuda_graph_exec_id", "hlo_op", "hlo_module", "program_id", "tf_op", "scope_range_id")
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
    """The kernel events of a plane, and dense columns of the stats that identify their ops and modules."""

    events: I64
    op: I32
    ops: list[str]
    module: I32
    modules: list[str]
    tf_op: I32
    tf_ops: list[str]
    program: I64
    has_program: np.ndarray[tuple[int], np.dtype[np.bool_]]
    scope: I64 | None

    @staticmethod
    def of(space: XSpace, plane: Plane) -> _Kernels:
        stat_columns, count = StatColumns(space, plane, plane.events.stats, _STATS), len(plane.events.begin_ps)

        def text(stat: str) -> tuple[I32, list[str]]:
            event, code, texts = stat_columns.texts(stat)
            column = np.full(count, -1, dtype=np.int32)
            column[event] = code
            return column, texts

        program, has_program = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
        programs = stat_columns.ints("program_id")
        program[programs.event], has_program[programs.event] = programs.value, True
        scope = None
        if stat_columns.has("scope_range_id"):
            scope = np.full(count, ABSENT, dtype=np.int64)
            scope[stat_columns.owners("scope_range_id")] = stat_columns.ints("scope_range_id").value
        events = np.union1d(stat_columns.texts("kernel_details")[0], stat_columns.owners("cuda_graph_exec_id"))
        return _Kernels(events, *text("hlo_op"), *text("hlo_module"), *text("tf_op"), program, has_program, scope)

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
        return NO_SCOPE if self.scope is None else np.where(self.op[events] >= 0, self.scope[events], ABSENT)

    def module_levels(self, events: I64, dependents: list[int]) -> Levels:
        """Levels of the modules line: `module(program id)`."""
        levels = Levels(np.full(len(events), -1, dtype=np.int32), [], dependents)
        for module, program, known in self._distinct(events, self.module, levels.row):
            text = self.modules[module] + (f"({program % (1 << 64)})" if known else "")
            levels.rows.append([levels.names.code(text)])
        return levels

    def op_levels(self, events: I64, programs: HloPrograms) -> tuple[Levels, tuple[I32, list[str]], Levels]:
        """XLA op levels, one per `::` component; codes and texts of the framework ops; source location levels."""
        ops = Levels(np.full(len(events), -1, dtype=np.int32), [])
        source = Levels(ops.row, [])
        texts: dict[str, int] = {}
        text_of, source_of = [-1], [-1]
        for op, program, known in self._distinct(events, self.op, ops.row):
            components = self.ops[op].split("::")
            prefix = program % (1 << 64) if known else 0
            ops.rows.append([ops.names.code(f"{prefix}/{component}", component) for component in components])
            module = programs.program(program) if known else None
            provenance = module.provenance(components[-1]) if module else None
            location = module.source(components[-1]) if module else ""
            text_of.append(texts.setdefault(provenance, len(texts)) if provenance else -1)
            source_of.append(len(source.rows) if location else -1)
            if location:
                source.rows.append([source.names.code(location)])
        op_text = np.array(text_of, dtype=np.int32)[ops.row + 1]
        source.row = np.array(source_of, dtype=np.int32)[ops.row + 1]
        plain = (ops.row < 0) & (self.tf_op[events] >= 0)
        tf_op_text = np.array([texts.setdefault(text, len(texts)) for text in self.tf_ops] or [-1], dtype=np.int32)
        op_text = np.where(plain, tf_op_text[self.tf_op[events]], op_text).astype(np.int32)
        return ops, (op_text, list(texts)), source

    def _distinct(self, events: I64, column: I32, row: I32) -> list[tuple[int, int, bool]]:
        """Distinct (code, program id, has program id) of the events with a code; writes their indices into `row`."""
        index = np.flatnonzero(column[events] >= 0)
        coded = events[index]
        keys = np.stack([column[coded].astype(np.int64), self.program[coded], self.has_program[coded].astype(np.int64)])
        distinct, number = np.unique(keys, axis=1, return_inverse=True)
        row[index] = number.reshape(-1)
        return [(code, program, bool(known)) for code, program, known in distinct.T.tolist()]
