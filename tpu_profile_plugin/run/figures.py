"""Steps, ops and programs of a run as columns, for scripts and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.ops.records import OpRecords
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.budget import run_budget
from tpu_profile_plugin.run.diagnostics import NO_STEP_MARKER
from tpu_profile_plugin.run.framework_ops import run_framework_ops
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.ops import Backend, op_summary
from tpu_profile_plugin.run.programs import programs_of
from tpu_profile_plugin.run.steps import own_steps
from tpu_profile_plugin.run.summary import run_summary
from tpu_profile_plugin.tables.table import Column, Table


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps of a run.

    Attributes:
      name: of the step marker, else the number.
      begin_ps: int64[s], on the axis of the first device's host.
      duration_ps: float64[s], averaged over the devices; without devices that of the slowest host.
      source: where the steps come from: "device", "host", "inferred" or "dispatch".
    """

    name: tuple[str, ...]
    begin_ps: I64
    duration_ps: F64
    source: str

    def __len__(self) -> int:
        return len(self.name)

    @property
    def average_ps(self) -> float:
        """The average step, the base of shares of the time budget and of findings."""
        return float(self.duration_ps.mean())

    @property
    def table(self) -> Table:
        """One row per step."""
        columns = (
            Column("name", "Step", "string", "", "Name of the step, or its number if it has none."),
            Column("begin_ps", "Begin", "number", "ps", "On the time axis of the first device's host."),
            Column("duration_ps", "Duration", "number", "ps", "Averaged over the devices."),
        )
        return Table(columns, (self.name, self.begin_ps, self.duration_ps), name="steps")


@dataclass(frozen=True, slots=True, eq=False)
class Ops:
    """The ops of a run's devices, or of XLA's or TensorFlow's CPU backend, most self time first.

    Attributes:
      name: of the HLO instruction, or of the framework's op where there is no program.
      program: `module(program id)`; "" if unknown.
      category: HLO category, or type of the framework's op.
      framework_op: the framework's op that it was compiled from; "" if unknown.
      source: file and line; "" if unknown.
      occurrences: int64[n].
      self_ps, time_ps: int64[n], without and with ops inside, summed over devices.
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
    Column("name", "Op", "string", "", "HLO instruction, or the framework's op where there is no program."),
    Column("program", "Program", "string", "", "The HLO module with its program id."),
    Column("category", "Category", "string", "", "HLO category, or type of the framework's op."),
    Column("framework_op", "Framework op", "string", "", "What it was compiled from."),
    Column("source", "Source", "string", "", "File and line."),
    Column("occurrences", "Occurrences", "number", "", "Number of runs on all devices."),
    Column("self_ps", "Self time", "number", "ps", "Without ops inside, summed over devices."),
    Column("time_ps", "Time", "number", "ps", "With ops inside, summed over devices."),
    Column("share", "Share", "number", "%", "Self time, of the devices' time in the recording, idle time included."),
    Column("flops", "FLOPs", "number", "FLOP", "Of all occurrences."),
    Column("bytes", "Bytes", "number", "bytes", "Memory traffic of all occurrences."),
)


@dataclass(frozen=True, slots=True, eq=False)
class Programs:
    """The HLO programs of a run.

    Attributes:
      name: `module(program id)`, sorted.
      program_id: the ids.
      host: the first host that has the program.
    """

    name: tuple[str, ...]
    program_id: tuple[int, ...]
    host: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.name)

    @property
    def table(self) -> Table:
        """One row per program."""
        columns = (
            Column("name", "Program", "string", "", "The HLO module with its program id."),
            Column("program_id", "Program id", "string", "", "The id, which may need 64 bits."),
            Column("host", "Host", "string", "", "First host that has it."),
        )
        return Table(columns, (self.name, [str(number) for number in self.program_id], self.host), name="programs")


def run_steps(run: RunHosts) -> Steps:
    """The steps of the chosen hosts. Raises NoData without any."""
    budget = run_budget(run)
    if len(budget) and "recording" not in budget.sources:
        return _steps_of_devices(budget)
    steps = own_steps(run_summary(run))
    if not len(steps):
        raise NoData(NO_STEP_MARKER)
    dense = steps.dense_cores
    names = tuple(steps.label(i) for i in range(len(steps)))
    longest = steps.duration_ps[:, dense].max(axis=1).astype(np.float64)
    return Steps(names, steps.begin_ps[:, dense].min(axis=1), longest, "host")


def _steps_of_devices(budget: RunBudget) -> Steps:
    names = tuple(name or str(number) for name, number in zip(budget.names, budget.number.tolist(), strict=True))
    return Steps(names, budget.begin_ps[:, 0], budget.duration_ps.mean(axis=1), budget.sources[0])


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
        raise NoData("The profile has no op: neither devices, nor XLA's CPU backend, nor TensorFlow recorded any.")
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


def run_programs(run: RunHosts) -> Programs:
    """The programs of the chosen hosts. Raises NoData without any."""
    places: dict[str, tuple[int, str]] = {}
    for host, programs in run.iterate_hosts(programs_of):
        for number, name in programs.names.items():
            places.setdefault(name, (number, host.name))
    if not places:
        raise NoData("The profile contains no HLO module.")
    names = sorted(places)
    return Programs(tuple(names), tuple(places[n][0] for n in names), tuple(places[n][1] for n in names))
