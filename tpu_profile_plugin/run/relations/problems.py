"""`problems`: what was left out of a run, cut or damaged."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.losses import known_losses, unreadable_hosts
from tpu_profile_plugin.run.relations.common import coded
from tpu_profile_plugin.run.relations.relation import RUN, Relation
from tpu_profile_plugin.tables.coded import same
from tpu_profile_plugin.tables.table import Table, integers, texts

COLUMNS = (
    RUN,
    texts("host", "Host", "Host whose data it is about; empty for the whole run."),
    texts("code", "Code", "Kind of the problem; never changes."),
    texts("message", "Message", "What is wrong, in a sentence."),
    texts("remedy", "Remedy", "What to do about it."),
    texts("file", "File", "Name of the file that it is about."),
    integers("offset", "Offset", "bytes", 'Where in the file the damage begins; in SQL, write "offset" in quotes.'),
    integers("count", "Count", "", "Number of events, bytes or parts that were left out, if known."),
)


def _batches(run: RunHosts) -> Iterator[Table]:
    losses = known_losses(run, unreadable_hosts(run))
    yield Table(
        COLUMNS,
        [
            same(run.name, len(losses)),
            *(coded(getattr(one, id_) for one in losses) for id_ in ("host", "code", "message", "remedy", "file")),
            *([getattr(one, id_) for one in losses] for id_ in ("offset", "count")),
        ],
        name="problems",
    )


PROBLEMS = Relation(
    "problems",
    "One row per problem: what was left out of the run, cut or damaged, while the rest is in the other tables.",
    COLUMNS,
    _batches,
    lasting=False,
)
