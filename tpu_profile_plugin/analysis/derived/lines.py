"""Building blocks of derived lines: name codes, nested levels, and the walk that merges adjacent events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.op_names import JAX, TENSORFLOW, TF_DATA, UNKNOWN, dataset_display, parse_op
from tpu_profile_plugin.analysis.common.planes import ABSENT, ExtraLine
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I32, I64, U32

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
        event_group = np.full(len(event), ABSENT, dtype=np.int64) if group is None else group[event]
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
        frameworks.rows.append([frameworks.names.code(text, _op_display(op.category, text, op.type))])
    return scopes, frameworks


def _op_display(category: str, full: str, op_type: str) -> str:
    if category == UNKNOWN:
        return full
    return dataset_display(full) if category == TF_DATA else op_type
