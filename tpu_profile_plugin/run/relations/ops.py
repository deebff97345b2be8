"""`ops`: the ops of each host, summed over its devices and over their runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.attribution import OpKey
from tpu_profile_plugin.analysis.ops.op_tables import OpRecords, OpTable, OpText
from tpu_profile_plugin.run.catalogue.ops import RELATION
from tpu_profile_plugin.run.figures.ops import (
    OpRows,
    cpu_ops,
    host_framework_ops,
    near_sources,
    op_step,
    run_framework_ops,
)
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.tables.coded import coded, same
from tpu_profile_plugin.tables.table import Table

_PLACE = ("run", "host", "backend")


def _batches(run: RunHosts) -> Iterator[Table]:
    """A table per host."""
    step = op_step(run)
    parts = run.map_hosts(step)
    if not any(len(part.records) for part in parts):
        yield from _framework_batches(run)
        return
    backend = "cpu" if step is cpu_ops else "device"
    sources: dict[OpKey, OpText] = {}
    for host, part in zip(run.readable, parts, strict=True):
        texts_ = _with_sources(host, part.records, sources)
        if len(parts) > 1:
            host.drop()
        yield _table((run.name, host.name, backend), part.records, texts_)


def _framework_batches(run: RunHosts) -> Iterator[Table]:
    """Ops of TensorFlow on hosts without devices or programs."""
    whole = run_framework_ops(run)
    of_device = bool(len(whole.device))
    for host, part in zip(run.readable, run.map_hosts(host_framework_ops), strict=True):
        table = part.device if of_device else part.host.ops
        yield _table((run.name, host.name, "device" if of_device else "tensorflow"), OpRecords(table))


def _with_sources(host: HostProfile, records: OpRecords, known: dict[OpKey, OpText]) -> Sequence[OpText]:
    """The texts of each op, with the closest source for ops that have none; `known` are those of the hosts before."""
    table = records.table
    keys = [key for key, text in zip(_keys(table), records.text, strict=True) if not text.has_source]
    missing = tuple(key for key in keys if key not in known)
    if missing:
        # Most hosts run the same programs: what this one does not know is not asked of the next.
        known.update(dict.fromkeys(missing, OpText(source_line=-1)) | near_sources(host, missing))
    near = (text if text.has_source else known[key] for key, text in zip(_keys(table), records.text, strict=True))
    return [
        text._replace(source_file=source.source_file, source_line=source.source_line, source_of=source.source_of)
        for text, source in zip(records.text, near, strict=True)
    ]


def _keys(table: OpTable) -> Iterator[OpKey]:
    return zip(table.module, table.name, strict=True)


def _table(place: tuple[str, str, str], records: OpRecords, texts: Sequence[OpText] = ()) -> Table:
    """The ops of one host, most self time first; `place` has run, host and backend."""
    ops = OpRows(records, np.argsort(-records.table.self_ps, kind="stable"), texts)
    cells: dict[str, Any] = {id_: same(text, len(ops)) for id_, text in zip(_PLACE, place, strict=True)}
    cells |= {c.id: coded(c.value(ops)) for c in RELATION if c.type == "string" and c.id not in _PLACE}
    return Table.of(RELATION, ops, cells, name="ops")


OPS = Relation(
    "ops",
    "One row per op and host: its runs, times, FLOPs and memory traffic, as on the pages about ops.",
    RELATION,
    _batches,
)
