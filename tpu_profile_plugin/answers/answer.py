"""An answer before it is encoded: figures, their base, their page, what to ask next; and how numbers are sent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS


@dataclass(frozen=True)
class Link:
    """A page: the id of its tool, "" for the list of runs, and further keys of its address."""

    tool: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Next:
    """A question that goes deeper: the verb, its arguments without run and host, and what its answer tells."""

    verb: str
    arguments: Mapping[str, str | int | float | bool]
    why: str


@dataclass(frozen=True)
class Cannot:
    """Why the profile does not tell, and how to record one that does."""

    reason: str
    how_to_record: str


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    Attributes:
      link: the page that shows the same figures.
      facts: single figures and texts by id. The end of an id tells the unit (`UNITS`): `_ps`, `_bytes`,
        `_percent`, ...; times are sent in ms. An id ends in `_percent` only if its base is told.
      table: the rows, what matters most first; columns `id` (stable from call to call) and others. Sent in pages.
      base: what percentages are shares of: one sentence for all, or by id.
      next: the most useful first; the first six are sent.
      cannot: set if the profile does not tell; facts that are known all the same may be given.
    """

    link: Link
    facts: Mapping[str, Any] = field(default_factory=dict)
    table: Table | None = None
    base: str | Mapping[str, str] = ""
    next: tuple[Next, ...] = ()
    cannot: Cannot | None = None


UNITS = {
    "_ps": "ms",
    "_ms": "ms",
    "_bytes": "bytes",
    "_percent": "%",
    "_flops": "FLOP",
    "_gflops_per_s": "GFLOP/s",
    "_gib_per_s": "GiB/s",
    "_per_s": "1/s",
}
"""The unit of a fact by the end of its id."""
_DIGITS = 6


def sent_id(id_: str) -> str:
    """The id under which a figure is sent: times are sent in ms."""
    return f"{id_.removesuffix('_ps')}_ms" if id_.endswith("_ps") else id_


def unit_of(id_: str, column: Column | None = None) -> str:
    """The unit of what is sent for a fact or a column."""
    if column is not None and column.unit != "ps":
        return column.unit
    return next((unit for end, unit in UNITS.items() if id_.endswith(end)), "")


def sent(id_: str, value: Any, unit: str = "") -> Any:
    """The value of a fact or cell as it is sent; null for a number that is none."""
    if isinstance(value, Mapping):
        return {sent_id(name): sent(name, inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [sent(id_, inner, unit) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if not math.isfinite(value):
        return None
    if unit == "ps" or id_.endswith("_ps"):
        return round(value / PS_PER_MS, 6)
    if isinstance(value, float):
        value = float(f"{value:.{_DIGITS}g}")
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return value


def distinct_ids(names: Iterable[str]) -> list[str]:
    """The names, further ones of equal name numbered: `NAME`, `NAME #2`, ..."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} #{seen[name]}" if seen[name] > 1 else name)
    return found


def table_of(columns: tuple[Column, ...], rows: Sequence[Sequence[Any]], name: str) -> Table:
    """The table of rows of cells."""
    return Table(columns, list(zip(*rows, strict=True)) or [()] * len(columns), name=name)
