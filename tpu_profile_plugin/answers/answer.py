"""An answer before it is encoded: figures, what they are shares of, the page that shows them, what to ask next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_profile_plugin.tables.table import Table


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
      facts: single figures and texts by id. The end of an id tells the unit (`figures.UNITS`): `_ps`, `_bytes`,
        `_percent`, ...; times are sent in ms. An id ends in `_percent` only if its base is told.
      table: the rows, what matters most first; columns `id` (stable from call to call) and others. Sent in pages.
      base: what percentages are shares of: one sentence for all, or by id.
      next: at most six, the most useful first.
      cannot: set if the profile does not tell; facts that are known all the same may be given.
    """

    link: Link
    facts: Mapping[str, Any] = field(default_factory=dict)
    table: Table | None = None
    base: str | Mapping[str, str] = ""
    next: tuple[Next, ...] = ()
    cannot: Cannot | None = None
