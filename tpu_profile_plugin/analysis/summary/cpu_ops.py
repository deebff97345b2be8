"""XLA ops of the CPU backend: events of host threads that name an HLO instruction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import named_ops, names_hlo_ops, with_hlo_ops
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.environment.environment import environment, peaks
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.hlo_records import hlo_op_table, hlo_records
from tpu_profile_plugin.analysis.ops.records import OpRecords
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.analysis.summary.ops import Chip, OpSummary
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

CPU = "CPU"
NO_CATEGORY = "unknown"
"""Category of ops whose program is not in the profile."""


def cpu_summary(space: XSpace, ops: HloOps) -> OpSummary:
    """The XLA ops of the CPU backend of one host; peaks are unknown."""
    plane = _op_events(space)
    table, devices = _table(space, plane, ops)
    records = hlo_records(table, ops, on_cpu=True)
    named = OpRecords(**{
        **{name: getattr(records, name) for name in OpRecords.__slots__},
        "text": tuple(text._replace(core=CPU) for text in records.text),
    })  # fmt: skip
    where = replace(environment(space, False), device_cores=devices)
    errors, warnings = tuple(space.errors), tuple(space.warnings)
    threads = 0 if plane is None else int(np.count_nonzero(plane.lines.filled))
    return OpSummary(named, where, peaks(space), Chip(), threads=threads, errors=errors, warnings=warnings)


def cpu_op_table(space: XSpace, ops: HloOps) -> tuple[OpTable, int]:
    """Metrics of the ops, and the number of CPU devices that ran any.

    Self time is computed per thread. The observed time is from the first begin to the last end, or the sum of self
    times if that is longer because threads ran in parallel.
    """
    return _table(space, _op_events(space), ops)


def _op_events(space: XSpace) -> Plane | None:
    """The host's plane with at least the events that name an instruction."""
    plane = host_plane(space)
    return plane and with_hlo_ops(space, plane)


def _table(space: XSpace, plane: Plane | None, ops: HloOps) -> tuple[OpTable, int]:
    if plane is None or not names_hlo_ops(plane):
        return OpTable(), 0
    named = named_ops(space, plane).hlo()
    events = np.flatnonzero(named.op >= 0)
    if not len(events):
        return OpTable(), 0
    devices, _ = read.ints(space, plane, plane.events.stats, "device_ordinal")
    _, first = row_codes(named.op[events])  # all of them are named
    order = np.argsort(first)  # rows in order of first appearance
    row_of_op = np.empty(len(first), np.int64)
    row_of_op[order] = np.arange(len(first))
    keys = [(op.program or 0, op.hlo_op) for op in (named.ops[i] for i in order.tolist())]
    sums = _sums(plane, events, row_of_op[named.op[events]], len(first))
    table = hlo_op_table(ops, keys, sums, NO_CATEGORY, on_cpu=True)
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    return table.with_total(int((begin + duration).max()) - int(begin.min())), len(np.unique(devices[events]))


def _sums(plane: Plane, events: I64, rows: I64, keys: int) -> tuple[I64, I64, I64, I64]:
    """Runs, time, self time and minimum time of each key; ops nest within each thread."""
    self_ps = np.empty(len(events), np.int64)
    cuts = np.searchsorted(events, plane.lines.event_start)
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        self_ps[low:high] = _native.self_times(begin[low:high].copy(), duration[low:high].copy())
    return _native.totals_by_key(rows.astype(np.uint32), duration, self_ps, duration, keys)
