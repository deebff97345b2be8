"""`problems`: what was left out of a run, cut or damaged."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_profile_plugin.run.catalogue.runs import RELATION
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.losses import known_losses, unreadable_hosts
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.tables.coded import coded, same
from tpu_profile_plugin.tables.table import Table


def _batches(run: RunHosts) -> Iterator[Table]:
    losses = known_losses(run, unreadable_hosts(run))
    texts = {c.id: coded(c.value(loss) for loss in losses) for c in RELATION if c.type == "string" and c.id != "run"}
    yield Table.of_rows(RELATION, losses, {**texts, "run": same(run.name, len(losses))}, name="problems")


PROBLEMS = Relation(
    "problems",
    "One row per problem: what was left out of the run, cut or damaged, while the rest is in the other tables.",
    RELATION,
    _batches,
    lasting=False,
)
