"""`Catalogue`: the columns of a subject, each declared once; tables choose from it by id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from tpu_profile_plugin.tables.column import Column


class Catalogue:
    """Columns of a subject by id: label, type, unit and meaning of each, once.

    Raises ValueError if two have the same id.
    """

    def __init__(self, *declared: Column) -> None:
        self._columns: dict[str, Column] = {}
        for each in declared:
            if each.id in self._columns:
                raise ValueError(f"column {each.id} is declared twice")
            self._columns[each.id] = each

    def column(self, id_: str, sentence: str = "", **changes: Any) -> Column:
        """The column of this id, of a table in which it means something narrower; raises KeyError."""
        declared = self._columns[id_]
        return replace(declared, sentence=sentence or declared.sentence, **changes)

    def typed(self, *chosen: str | Column) -> tuple[Column, ...]:
        """The columns of these ids in order; those given as columns are kept. Raises KeyError."""
        return tuple(self._columns[each] if isinstance(each, str) else each for each in chosen)

    def columns(self, *chosen: str | Column) -> tuple[Column, ...]:
        """These columns for a table whose numbers keep the types they come in, such as means of integers."""
        return tuple(replace(each, dtype="") if each.dtype else each for each in self.typed(*chosen))

    def type_of(self, id_: str) -> Literal["string", "number", "boolean"]:
        """The type of a column, "string" of an unknown one."""
        return self._columns[id_].type if id_ in self._columns else "string"
