"""The verb `ops`: which ops take the time of the devices."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.tables.table import Table, texts

_ID = texts("id", "Id", "Name and program of the op, for the verb op.")
_BASE = "of the time of the devices in the recording, idle time included"
Order = Literal["self_ps", "time_ps", "flops", "bytes", "occurrences"]


def ops(
    asked: Asked,
    *,
    sort: Annotated[Order, "What the largest come first by."] = "self_ps",
    find: Annotated[str, "Only ops whose name, framework op, program, category or source has this text."] = "",
) -> Answer:
    """The ops that take the time of the devices, or of the CPU without devices, most self time first."""
    found = asked.run.ops()
    texts_of = zip(found.name, found.framework_op, found.program, found.category, found.source, strict=True)
    chosen = np.array([any(find.lower() in text.lower() for text in each) for each in texts_of], bool).nonzero()[0]
    chosen = chosen[np.argsort(-getattr(found, sort)[chosen], kind="stable")]
    table = found.table.take(chosen)
    ids = [f"{found.name[row]}@{found.program[row]}" for row in chosen.tolist()]
    columns = (_ID, *(column for column in table.columns if column.id not in ("program", "name")))
    rows = Table(columns, [ids, *(table[column.id] for column in columns[1:])], name="ops")
    facts = {"ops_found": len(chosen), "self_ps": int(found.self_ps[chosen].sum()), "devices_ps": found.total_ps}
    further = [Next("op", {"name": id_}, "its shapes, source, neighbours and runs") for id_ in ids[:3]]
    return Answer(Link("hlo_stats"), facts, rows, _BASE, tuple(further))


VERB = verb(ops, needs="Record while programs run on a device, with the level of device tracing above 0.")
