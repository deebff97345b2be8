"""The tables that SQL reads, with their columns, as the relations of a run declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpu_profile_plugin.run.relations.relation import Relation


def schema() -> tuple[Relation, ...]:
    """The tables: each has `name`, `summary` (a sentence) and `columns` (id, label, type, unit, sentence)."""
    from tpu_profile_plugin.run.relations import RELATIONS  # takes the analysis along

    return RELATIONS


_SQL = {"string": "VARCHAR", "boolean": "BOOLEAN", "int64": "BIGINT", "int32": "INTEGER", "uint64": "UBIGINT"}


def sql_types(relation: Relation) -> list[tuple[str, str]]:
    """The columns and their types in DuckDB, as those of the Parquet files are."""
    return [(c.id, _SQL.get(c.dtype if c.type == "number" else c.type, "DOUBLE")) for c in relation.columns]
