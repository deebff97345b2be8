"""The ops of a run: of its devices or of the CPU backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.common.reasons import NO_OPS
from tpu_profile_plugin.analysis.findings.evidence.device.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.instructions import Dimension
from tpu_profile_plugin.analysis.hlo.ops import Fused
from tpu_profile_plugin.analysis.ops.op_tables import OpRecords, OpTable, OpText
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary, cpu_summary, reduce_op_summaries, summarize_ops
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.run.figures.framework_ops import run_framework_ops
from tpu_profile_plugin.run.figures.programs import hlo_ops, hlo_ops_without_events
from tpu_profile_plugin.run.figures.summary import groups_if_any
from tpu_profile_plugin.run.host import HostProfile, PerHost, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.system.process import threads_for
from tpu_profile_plugin.tables.table import Column, Table

Backend = Literal["device", "cpu", "auto"]
"""Source of ops: TPUs or GPUs, XLA's CPU backend, or ("auto") the CPU backend if there is no device."""
OpKey = tuple[int, str]
"""Program id and name of an op."""


@per_host()
def device_ops(host: HostProfile, unattributed: bool) -> OpSummary:
    """The ops of one host's devices; `unattributed` includes GPU events without an op."""
    space = host.lazy
    planes = device_planes(space)
    space.decode(planes)
    groups = groups_if_any(host) if any(len(plane.events) for plane in planes) else None
    mapper = threads_for(len(space.data))
    return summarize_ops(space, groups, hlo_ops(host), unattributed=unattributed, mapper=mapper)


@per_host()
def cpu_ops(host: HostProfile) -> OpSummary:
    """The ops of one host's CPU backend."""
    return cpu_summary(host.lazy, hlo_ops(host))


DEVICE_OPS = device_ops.given(False)
"""The device ops as XProf shows them."""


def op_summary(run: RunHosts, backend: Backend = "auto", *, unattributed: bool = False) -> OpSummary:
    """The ops of the chosen hosts."""
    return _merged(run, op_step(run, backend, unattributed=unattributed))


def op_step(run: RunHosts, backend: Backend = "auto", *, unattributed: bool = False) -> PerHost[OpSummary]:
    """Where the ops come from: `device_ops` or `cpu_ops`."""
    of_device = device_ops.given(unattributed)
    if backend == "device" or (backend == "auto" and _merged(run, of_device).environment.device_cores):
        return of_device
    return cpu_ops


def _merged(run: RunHosts, step: PerHost[OpSummary]) -> OpSummary:
    summary = run.merged(step, reduce_op_summaries)
    return replace(summary, warnings=(*summary.warnings, *run.warnings)) if run.left_out else summary


@per_host()
def op_details(
    host: HostProfile, wanted: tuple[OpKey, ...], with_cost: bool, on_cpu: bool
) -> dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]]:
    """Details of the wanted ops found in the host's programs: layout of a convolution, instructions in a fusion."""
    programs = hlo_ops_without_events(host)
    return {
        key: (programs.layout(*key), programs.fused(*key, with_cost=with_cost, on_cpu=on_cpu))
        for key in wanted
        if programs.find(*key) is not None
    }


def run_op_details(
    run: RunHosts, wanted: Iterable[OpKey], *, with_cost: bool, on_cpu: bool
) -> dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]]:
    """The details of each op from the first host that has it; hosts are read until all are found.

    Programs stay in memory for the first host only: most hosts run the same ones.
    """
    details: dict[OpKey, tuple[tuple[Dimension, ...], tuple[Fused, ...]]] = {}
    wanted = tuple(dict.fromkeys(wanted))
    for i, host in enumerate(run.readable):
        missing = tuple(key for key in wanted if key not in details)
        if not missing:
            break
        details |= op_details(host, missing, with_cost, on_cpu)
        if i:
            host.forget_metadata()
    return details


@per_host()
def near_sources(host: HostProfile, wanted: tuple[OpKey, ...]) -> dict[OpKey, OpText]:
    """Sources for ops without one of their own: of what is inside, uses the result or makes the operands."""
    programs = hlo_ops_without_events(host).programs
    decoded = {id_: programs.program(id_) for id_, _ in wanted}
    rows = {id_: ProgramRows(program) for id_, program in decoded.items() if program is not None}
    found: dict[OpKey, OpText] = {}
    for id_, name in wanted:
        row = rows[id_].row(name) if id_ in rows else None
        near = None if row is None else rows[id_].near_source(row)
        if near is not None:
            at, source = near
            stack = "".join(f"{place}\n" for place in source.stack)
            of = rows[id_].program.names[at]
            found[id_, name] = OpText(
                source_file=source.file, source_line=source.line, source_stack=stack, source_of="" if of == name else of
            )
    return found


def with_near_sources(run: RunHosts, summary: OpSummary) -> OpSummary:
    """The summary with a source for each op that has one near it; from the first host that knows the op."""
    table, text = summary.records.table, list(summary.records.text)
    missing = {(table.module[row], table.name[row]): row for row in range(len(table)) if not text[row].has_source}
    for i, host in enumerate(run.readable):
        if not missing:
            break
        for key, near in near_sources(host, tuple(missing)).items():
            row = missing.pop(key)
            _, _, file, line, stack, _, of = near
            text[row] = text[row]._replace(source_file=file, source_line=line, source_stack=stack, source_of=of)
        if i:
            host.forget_metadata()
    return replace(summary, records=replace(summary.records, text=tuple(text)))


@dataclass(frozen=True, slots=True, eq=False)
class Ops:
    """The ops of a run's devices, or of XLA's or TensorFlow's CPU backend, most self time first.

    Attributes:
      name: HLO instruction, or the framework's op without a program.
      program: `module(program id)`; "" if unknown.
      category: HLO category, or type of the framework's op.
      framework_op: the framework's op that the op was compiled from; "" if unknown.
      source: file and line; "" if unknown.
      occurrences: int64[n].
      self_ps, time_ps: int64[n], without and with nested ops, summed over devices.
      share: float64[n], self time as a fraction of `total_ps`.
      flops, bytes: float64[n], of all occurrences.
      total_ps: time of the devices in the recording, idle time included.
    """

    name: tuple[str, ...]
    program: tuple[str, ...]
    category: tuple[str, ...]
    framework_op: tuple[str, ...]
    source: tuple[str, ...]
    occurrences: I64
    self_ps: I64
    time_ps: I64
    share: F64
    flops: F64
    bytes: F64
    total_ps: int

    def __len__(self) -> int:
        return len(self.name)

    @property
    def table(self) -> Table:
        """One row per op."""
        data = [100 * self.share if column.id == "share" else getattr(self, column.id) for column in _OP_COLUMNS]
        return Table(_OP_COLUMNS, data, name="ops")


_OP_COLUMNS = (
    Column("name", "Op", "string", "", "HLO instruction, or the framework's op without a program."),
    Column("program", "Program", "string", "", "The HLO module with its program id."),
    Column("category", "Category", "string", "", "HLO category, or type of the framework's op."),
    Column("framework_op", "Framework op", "string", "", "Framework op that it was compiled from."),
    Column("source", "Source", "string", "", "File and line."),
    Column("occurrences", "Occurrences", "number", "", "Number of runs on all devices."),
    Column("self_ps", "Self time", "number", "ps", "Time without nested ops, summed over devices."),
    Column("time_ps", "Time", "number", "ps", "Time with nested ops, summed over devices."),
    Column(
        "share",
        "Share",
        "number",
        "%",
        "Self time as a share of the devices' time, idle time included.",
    ),
    Column("flops", "FLOPs", "number", "FLOP", "Of all occurrences."),
    Column("bytes", "Bytes", "number", "bytes", "Memory traffic of all occurrences."),
)


def run_ops(run: RunHosts, backend: Backend = "auto") -> Ops:
    """The ops of the chosen hosts. Raises NoData without any.

    `backend` selects the ops of TPUs and GPUs, those of XLA's CPU backend, or ("auto") the latter if there is no
    device, and ops of TensorFlow on the host if there is neither.
    """
    records = op_summary(run, backend).records
    if len(records):
        return _of_records(records)
    framework = run_framework_ops(run)
    table = framework.device if len(framework.device) else framework.host.ops
    if not len(table):
        raise NO_OPS.error()
    return _ops(table, {}, ("",) * len(table), table.bytes)


def _of_records(records: OpRecords) -> Ops:
    sources = tuple(
        f"{text.source_file}:{text.source_line}" if text.source_file and text.source_line >= 0 else ""
        for text in records.text
    )
    return _ops(records.table, records.programs, sources, records.traffic.sum(axis=(1, 2)))


def _ops(table: OpTable, programs: dict[int, str], source: tuple[str, ...], traffic: F64) -> Ops:
    order = np.argsort(-table.self_ps, kind="stable")

    def texts(values: Any) -> tuple[str, ...]:
        return tuple(values[i] for i in order.tolist())

    return Ops(
        name=texts(table.name),
        program=texts([programs.get(module, "") for module in table.module]),
        category=texts(table.category),
        framework_op=texts(table.provenance),
        source=texts(source),
        occurrences=table.occurrences[order],
        self_ps=table.self_ps[order],
        time_ps=table.time_ps[order],
        share=np.divide(table.self_ps[order], max(1, table.total_ps), dtype=np.float64),
        flops=table.flops[order],
        bytes=traffic[order],
        total_ps=table.total_ps,
    )
