"""Figures of a run with the same name, unit and row: of pages, verbs and relations."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.answers.answer import Answer, sent, sent_id, unit_of
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.answers.verb import Asked
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.opening import OpenLogdir, OpenRun
from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table

TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
SHARES = {"%": 0.01, "percent": 0.01, "fraction": 1.0}
SIZES = {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
KINDS = {"time": TIMES, "share": SHARES, "size": SIZES}
RELATIVE = 1e-4
"""Further apart than this, two figures are not one."""
ROWS = ("name", "hlo_op_name", "operation", "kernel_name", "what", "part")
"""Columns that tell what a row is about; else the first of texts does. An id is `NAME@PROGRAM`."""
ORDINALS = ("rank",)
"""Places in the list that shows them, which lists with other rows have different."""
CHOSEN = ("inference_profile", "memory_profile", "trace_viewer@", "query", "compare", "events")
"""Tools and verbs whose tables are about what was chosen: a model, an allocator, a window, a base."""
SWITCHED = ("with_idle",)
"""Tables that a switch of the page shows in place of others."""
MANY_ROWS = ("events", "derived_events")
"""Relations of single events."""

Name = tuple[str, str, str, str]
"""What a row is, its name, the label of the column, the kind of unit."""


@dataclass(frozen=True)
class Figure:
    """A figure and where it is; the value is in seconds, bytes, or a fraction."""

    name: Name
    value: float
    where: str


def in_base_unit(column: Column) -> tuple[str, float]:
    """The kind of unit, and the factor to its base."""
    found = ((kind, units[column.unit]) for kind, units in KINDS.items() if column.unit in units)
    return next(found, (column.unit, 1.0))


def figures_of(table: Table, where: str) -> Iterator[Figure]:
    """The numbers of rows that have a name of their own."""
    texts = [column for column in table.columns if column.type == "string"]
    if not texts:
        return
    row_of = next((column for column in texts if column.id in ROWS), texts[0])
    of_line = {"file", "line"} <= set(table.ids)
    what = "line" if of_line else "op" if row_of.label == "Id" else row_of.label.lower()
    rows = [(_row_name(row, row_of.id, what, of_line=of_line), row) for row in table]
    names = Counter(name for name, _ in rows)
    for name, row in rows:
        for column in table.columns if name and names[name] == 1 else ():
            value = row[column.id]
            if column.type == "number" and column.id not in ORDINALS and value is not None and not math.isnan(value):
                kind, factor = in_base_unit(column)
                called = what, str(name), column.label.lower(), kind
                yield Figure(called, float(value) * factor, f"{where}.{column.id}")


def _row_name(row: Mapping[str, Any], id_: str, what: str, *, of_line: bool) -> str:
    """What a row is called: a line of a file is `FILE:LINE`, an id of an op is its name and program."""
    if of_line:
        return f"{row['file']}:{row['line']}"
    return str(row[id_] or "").partition("@")[0] if what == "op" else row[id_]


def facts_of(answer: Answer, where: str) -> Iterator[Figure]:
    """The single figures of an answer, by id; of shares with their base."""
    for id_, value in answer.facts.items():
        unit = unit_of(id_)
        if unit and isinstance(value, (int, float)):
            kind, factor = next(((kind, units[unit]) for kind, units in KINDS.items() if unit in units), (unit, 1.0))
            base = (answer.base if isinstance(answer.base, str) else answer.base.get(id_, "")) if unit == "%" else ""
            called = "fact", sent_id(id_), base, kind
            yield Figure(called, float(sent(id_, value)) * factor, where)


def all_figures(logdir: OpenLogdir, run: OpenRun) -> Iterator[Figure]:
    """The figures of all pages, of verbs that need no arguments, and of relations with rows per host."""
    for tool, reason in run.tools().items():
        if reason is None and tool not in CHOSEN:
            for name, table in run.tables(tool).items():
                if name not in SWITCHED:
                    yield from figures_of(table, f"page {tool}/{name}")
    for verb in VERBS:
        if verb.of_run and verb.name not in CHOSEN and not any(one.required for one in verb.parameters):
            try:
                answer = verb.ask(Asked(logdir, run.name), verb.checked({}))
            except ProfileError:
                continue  # what the run cannot tell
            yield from facts_of(answer, f"verb {verb.name}")
            if answer.table is not None:
                yield from figures_of(answer.table, f"verb {verb.name}")
    for relation in RELATIONS if len(run.hosts) == 1 else ():
        if relation.name not in MANY_ROWS:
            for table in relation.batches(run):
                yield from figures_of(table, f"relation {relation.name}")


def namesakes(figures: Iterable[Figure]) -> dict[Name, list[Figure]]:
    """Figures by name, where several places have the name."""
    found: defaultdict[Name, list[Figure]] = defaultdict(list)
    for one in figures:
        found[one.name].append(one)
    return {name: some for name, some in found.items() if len({one.where for one in some}) > 1}


def two_values(by_name: Mapping[Name, list[Figure]]) -> list[list[Figure]]:
    """The figures of names with more than one value."""
    return [some for some in by_name.values() if not _one_value([one.value for one in some])]


def _one_value(values: list[float]) -> bool:
    return max(values) - min(values) <= RELATIVE * max(map(abs, values))
