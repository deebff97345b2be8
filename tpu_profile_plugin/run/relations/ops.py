"""`ops`: the ops of each host, summed over its devices and over their runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tpu_profile_plugin.analysis.ops.op_tables import HBM, OpRecords, OpTable, OpText
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.run.catalogue.ops import RELATION
from tpu_profile_plugin.run.figures.framework_ops import host_framework_ops, run_framework_ops
from tpu_profile_plugin.run.figures.ops import OpKey, cpu_ops, near_sources, op_step
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.common import coded
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.tables.coded import same
from tpu_profile_plugin.tables.table import Table

_LONGEST = np.iinfo(np.int64).max
"""Times of damaged profiles may add up to more."""


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
        yield _table((run.name, host.name, backend), part.records.table, part.records, texts_)


def _framework_batches(run: RunHosts) -> Iterator[Table]:
    """Ops of TensorFlow on hosts without devices or programs."""
    whole = run_framework_ops(run)
    of_device = bool(len(whole.device))
    for host, part in zip(run.readable, run.map_hosts(host_framework_ops), strict=True):
        table = part.device if of_device else part.host.ops
        yield _table((run.name, host.name, "device" if of_device else "tensorflow"), table)


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


def _table(
    place: tuple[str, str, str], table: OpTable, records: OpRecords | None = None, texts_: Sequence[OpText] = ()
) -> Table:
    """The ops of one host, most self time first; `place` has run, host and backend."""
    programs = {} if records is None else records.programs
    rows = len(table)
    unknown: F64 = np.full(rows, np.nan)
    described = texts_ or [OpText(source_line=-1)] * rows
    found = Table(
        RELATION,
        {
            **{id_: same(text, rows) for id_, text in zip(("run", "host", "backend"), place, strict=True)},
            "program": coded(programs.get(module) for module in table.module),
            "name": coded(table.name),
            "category": coded(table.category),
            "framework_op": coded(table.provenance),
            "source_file": coded(text.source_file if text.has_source else "" for text in described),
            "source_line": [text.source_line if text.has_source else None for text in described],
            "source_of": coded(text.source_of for text in described),
            "core": coded(text.core for text in described),
            "occurrences": table.occurrences,
            "time_ps": table.time_ps,
            "self_ps": table.self_ps,
            "min_ps": table.min_ps,
            "flops": table.flops,
            "model_flops": table.model_flops,
            "bytes": table.bytes if records is None else records.traffic.sum(axis=(1, 2)),
            "hbm_bytes": unknown if records is None else records.traffic[:, HBM].sum(axis=1),
            "dma_stall_ps": unknown if records is None else records.stall_ps,
            "device_ps": [table.total_ps if table.total_ps <= _LONGEST else None] * rows,
        },
        name="ops",
    )
    return found.take(np.argsort(-table.self_ps, kind="stable"))


OPS = Relation(
    "ops",
    "One row per op and host: its runs, times, FLOPs and memory traffic, as on the pages about ops.",
    RELATION,
    _batches,
)
