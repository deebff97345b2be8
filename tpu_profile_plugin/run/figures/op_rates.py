"""The ops of a run as their pages show them: time, rates, the nearest limit and the source line of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_OPS
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpTable, framework_ops
from tpu_profile_plugin.analysis.ops.rates import Rates, divide, rates
from tpu_profile_plugin.analysis.ops.tree import rows_of
from tpu_profile_plugin.analysis.summary.op_summary import OpSummary, supported_peaks
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.run.figures.framework_ops import run_framework_ops
from tpu_profile_plugin.run.figures.ops import op_summary, with_near_sources
from tpu_profile_plugin.run.hosts import RunHosts

Texts = np.ndarray[Any, np.dtype[np.object_]]
Place = Literal["device", "cpu", "framework device", "framework host"]
"""Where ops ran; those of a framework have neither program, nor rates, nor source."""


@dataclass(frozen=True, eq=False)
class OpRates:
    """The ops that ran, most self time first, ties by name; arrays have an entry per op.

    Attributes:
      place: where the ops ran.
      id: `name@module(program id)`, `name@program id` without the module's name, `name` without a program.
      name: HLO instruction, or the framework's op.
      program: `module(program id)`; "" if unknown.
      category: HLO category, or type of the framework's op.
      framework_op: the framework's op that it was compiled from; "" if unknown.
      source: file and line, of the closest op if it has none of its own; "" if unknown.
      occurrences, time_ps, self_ps: int64[n]; times with and without nested ops, summed over devices.
      share: float64[n], self time as a fraction of `total_ps`.
      total_ps: observed time of the devices or of the CPU, idle time included.
      rows: the row of each op in the records of `summary`.
      summary: all ops with texts and peaks; None for ops of a framework.
      rates: rates of the ops and the nearest limit; None for ops of a framework.
    """

    place: Place
    id: Texts
    name: Texts
    program: Texts
    category: Texts
    framework_op: Texts
    source: Texts
    occurrences: I64
    time_ps: I64
    self_ps: I64
    share: F64
    total_ps: int
    rows: I64
    summary: OpSummary | None = None
    rates: Rates | None = None

    def __len__(self) -> int:
        return len(self.id)

    @cached_property
    def average_ps(self) -> F64:
        """Mean time of a run of each op, nested ops excluded."""
        return divide(self.self_ps.astype(np.float64), self.occurrences.astype(np.float64))

    @cached_property
    def bound_by(self) -> Texts:
        """The resource that limits each op, the highest share of its peak; "" if no peak or no work is known."""
        bound = () if self.rates is None else (resource.value for resource in self.rates.bound)
        return objects([name.replace("Unknown", "") for name in bound] or [""] * len(self))

    @cached_property
    def rows_of_name(self) -> dict[str, list[int]]:
        """Positions of the ops with each name; programs may have ops of one name."""
        found: dict[str, list[int]] = {}
        for position, name in enumerate(self.name):
            found.setdefault(name, []).append(position)
        return found

    @cached_property
    def _words(self) -> list[str]:
        texts = zip(self.name, self.framework_op, self.program, self.category, self.source, strict=True)
        return ["\n".join(each).lower() for each in texts]

    def having(self, text: str) -> Bools:
        """Which ops have a text in name, framework op, program, category or source, in any case."""
        wanted = text.lower()
        return np.fromiter((wanted in words for words in self._words), np.bool_, len(self))


def objects(values: Iterable[str]) -> Texts:
    """Texts as an array."""
    listed = list(values)
    made = np.empty(len(listed), object)
    made[:] = listed
    return made


def run_op_rates(run: RunHosts) -> OpRates:
    """The ops of the chosen hosts. Raises NoData without any.

    Those of TPUs and GPUs, without a device of XLA's CPU backend, else of TensorFlow.
    """
    summary = op_summary(run, "auto")
    if len(summary.records):
        return run.once("op_rates", lambda: _of_summary(with_near_sources(run, summary)))
    framework = run_framework_ops(run)
    place: Place = "framework device" if len(framework.device) else "framework host"
    table = framework_ops(framework.device) if len(framework.device) else framework.host.ops
    if not len(table):
        raise NO_OPS.error()
    return run.once("framework_op_rates", lambda: _of_framework(table, place))


def _of_summary(summary: OpSummary) -> OpRates:
    records = summary.records
    table, rows = records.table, rows_of(records)
    place: Place = "cpu" if summary.hardware is Hardware.CPU_ONLY else "device"
    made = _columns(table, rows, place)
    modules = objects(str(table.module[row]) if table.module[row] else "" for row in rows.tolist())
    program = objects(records.programs.get(table.module[row], "") for row in rows.tolist())
    sources = (records.text[row] for row in rows.tolist())
    return replace(
        made,
        id=objects(map(_id, made.name, program, modules)),
        program=program,
        source=objects(f"{one.source_file}:{one.source_line}" if one.has_source else "" for one in sources),
        summary=summary,
        rates=rates(
            table.time_ps[rows].astype(np.float64), table.flops[rows], table.model_flops[rows], table.bytes[rows],
            records.traffic[rows], supported_peaks(summary), summary.hardware, records.has_traffic[rows],
        ),
    )  # fmt: skip


def _id(name: str, program: str, module: str) -> str:
    return f"{name}@{program or module}" if program or module else name


def _of_framework(table: OpTable, place: Place) -> OpRates:
    rows = [row for row in table.by_self_time() if table.name[row] != IDLE]
    return _columns(table, np.array(rows, np.int64), place)


def _columns(table: OpTable, rows: I64, place: Place) -> OpRates:
    """The columns that ops of programs and of a framework have."""

    def texts(values: Sequence[str]) -> Texts:
        return objects(values[row] for row in rows.tolist())

    self_ps = table.self_ps[rows]
    none = objects([""] * len(rows))
    return OpRates(
        place=place,
        id=texts(table.name),
        name=texts(table.name),
        program=none,
        category=texts(table.category),
        framework_op=objects(text.rstrip(":") for text in texts(table.provenance)),
        source=none,
        occurrences=table.occurrences[rows],
        time_ps=table.time_ps[rows],
        self_ps=self_ps,
        share=self_ps / table.total_ps if table.total_ps else np.zeros(len(rows)),
        total_ps=table.total_ps,
        rows=rows,
    )
