"""The tables of a run that programs read: Python, Arrow, Parquet and SQL."""

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.run.relations.allocations import ALLOCATIONS
from tpu_profile_plugin.run.relations.collectives import COLLECTIVES
from tpu_profile_plugin.run.relations.derived_events import DERIVED_EVENTS
from tpu_profile_plugin.run.relations.events import EVENTS
from tpu_profile_plugin.run.relations.ops import OPS
from tpu_profile_plugin.run.relations.problems import PROBLEMS
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.run.relations.steps import STEPS

RELATIONS: tuple[Relation, ...] = (EVENTS, STEPS, OPS, COLLECTIVES, ALLOCATIONS, PROBLEMS)
"""All of them, in the order of the documentation."""


FURTHER: tuple[Relation, ...] = (DERIVED_EVENTS,)
"""Those that repeat what others have; Python alone reads them."""


def find(name: str) -> Relation:
    """The relation of this name; raises NotFound."""
    for relation in (*RELATIONS, *FURTHER):
        if relation.name == name:
            return relation
    names = ", ".join(relation.name for relation in (*RELATIONS, *FURTHER))
    raise NotFound(f"There is no table {name[:80]!r}; there are {names}.", code="table_not_found")
