"""The tables that SQL reads, with their columns, as the relations of a run declare them."""

from __future__ import annotations

from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.relations.relation import Relation


def schema() -> tuple[Relation, ...]:
    """The tables: each has `name`, `summary` (a sentence) and `columns` (id, label, type, unit, sentence)."""
    return RELATIONS
