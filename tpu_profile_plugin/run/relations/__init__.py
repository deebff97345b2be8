"""The tables of a run that programs read: Python, Arrow, Parquet and SQL."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.run.catalogue.runs import RELATION
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.losses import known_losses, unreadable_hosts
from tpu_profile_plugin.run.relations.allocations import ALLOCATIONS
from tpu_profile_plugin.run.relations.collectives import COLLECTIVES
from tpu_profile_plugin.run.relations.events import DERIVED_EVENTS, EVENTS
from tpu_profile_plugin.run.relations.ops import OPS
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.run.relations.runs import RUNS
from tpu_profile_plugin.run.relations.steps import STEPS
from tpu_profile_plugin.tables.coded import coded, same
from tpu_profile_plugin.tables.table import Table


def _problems(run: RunHosts) -> Iterator[Table]:
    losses = known_losses(run, unreadable_hosts(run))
    texts = {c.id: coded(c.value(loss) for loss in losses) for c in RELATION if c.type == "string" and c.id != "run"}
    yield Table.of_rows(RELATION, losses, {**texts, "run": same(run.name, len(losses))}, name="problems")


PROBLEMS = Relation(
    "problems",
    "One row per problem: what was left out of the run, cut or damaged, while the rest is in the other tables.",
    RELATION,
    _problems,
    lasting=False,
)
RELATIONS: tuple[Relation, ...] = (EVENTS, STEPS, OPS, COLLECTIVES, ALLOCATIONS, PROBLEMS, RUNS)
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
