"""The ops of a run: of its devices or of the CPU backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.analysis.attribution import OpKey
from tpu_profile_plugin.analysis.common.planes import device_planes, is_tpu
from tpu_profile_plugin.analysis.common.reasons import NO_GPU, NO_KERNELS, NO_OPS, NO_PROGRAMS
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.ops.gpu_kernels import KernelRow, combine_kernel_rows, kernel_rows
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpRecords, OpTable, OpText, framework_ops
from tpu_profile_plugin.analysis.ops.rates import Rates, divide, rates
from tpu_profile_plugin.analysis.ops.tree import NO_PROGRAM, PROGRAM, OpDetails, op_tree, rows_of
from tpu_profile_plugin.analysis.summary.host_summary import (
    FrameworkOps,
    combine_framework_ops,
    need_groups,
)
from tpu_profile_plugin.analysis.summary.host_summary import (
    framework_ops as ops_without_summary,
)
from tpu_profile_plugin.analysis.summary.op_summary import (
    OpSummary,
    cpu_summary,
    reduce_op_summaries,
    summarize_ops,
    supported_peaks,
)
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.run.catalogue.ops import OF_RUN
from tpu_profile_plugin.run.figures.programs import hlo_ops, hlo_ops_without_events, programs_of
from tpu_profile_plugin.run.figures.summary import groups_if_any, groups_of, host_summary, run_summary
from tpu_profile_plugin.run.host import HostProfile, PerHost, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_NS

Backend = Literal["device", "cpu", "auto"]
"""Source of ops: TPUs or GPUs, XLA's CPU backend, or ("auto") the CPU backend if there is no device."""
_LONGEST = np.iinfo(np.int64).max


@per_host()
def device_ops(host: HostProfile, unattributed: bool) -> OpSummary:
    """The ops of one host's devices; `unattributed` includes GPU events without an op."""
    space = host.lazy
    planes = device_planes(space)
    space.decode(planes)
    groups = groups_if_any(host) if any(len(plane.events) for plane in planes) else None
    return summarize_ops(space, groups, hlo_ops(host), unattributed=unattributed, mapper=host.mapper)


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
def op_details(host: HostProfile, wanted: tuple[OpKey, ...], with_cost: bool, on_cpu: bool) -> dict[OpKey, OpDetails]:
    """Details of the wanted ops found in the host's programs: layout of a convolution, instructions in a fusion."""
    programs = hlo_ops_without_events(host)
    return {
        key: (programs.layout(*key), programs.fused(*key, with_cost=with_cost, on_cpu=on_cpu))
        for key in wanted
        if programs.find(*key) is not None
    }


def run_op_details(run: RunHosts, wanted: Iterable[OpKey], *, with_cost: bool, on_cpu: bool) -> dict[OpKey, OpDetails]:
    """The details of each op from the first host that has it; hosts are read until all are found.

    Programs stay in memory for the first host only: most hosts run the same ones.
    """
    details: dict[OpKey, OpDetails] = {}
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
        data = [100 * self.share if column.id == "share" else getattr(self, column.id) for column in OF_RUN]
        return Table(OF_RUN, data, name="ops")


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


@dataclass(frozen=True, eq=False)
class OpRows:
    """Ops in the rows of a table, from which its columns are computed (`run/catalogue/ops.py`).

    Attributes:
      records: the ops; those of a framework have neither texts nor traffic.
      rows: int64[n], which of them, in order.
      texts: of all ops, if their sources are others than those of the records.
      summary: the ops with the peaks of the devices, for rates.
      total_ps: what shares are of; 0: shares are 0.
      parent: the op of a TensorCore for which they ran on a SparseCore; "" for others.
    """

    records: OpRecords
    rows: I64
    texts: Sequence[OpText] = ()
    summary: OpSummary | None = None
    total_ps: int = 0
    parent: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, values: Any) -> Any:
        """The values of these rows: an array of an array, else a list."""
        return values[self.rows] if isinstance(values, np.ndarray) else [values[row] for row in self.rows.tolist()]

    @property
    def table(self) -> OpTable:
        """All ops."""
        return self.records.table

    @cached_property
    def text(self) -> list[OpText]:
        """The texts of each row."""
        of_framework = [OpText(source_line=-1)] * len(self.table)
        texts: list[OpText] = self.of(self.texts or self.records.text or of_framework)
        return texts

    @cached_property
    def expression(self) -> list[str]:
        """The HLO instruction of each row, or the name of its op."""
        return [self.records.expression(row) for row in self.rows.tolist()]

    @property
    def expression_and_provenance(self) -> list[tuple[str, str]]:
        """The recorded HLO instruction and the framework op of each row."""
        return [(text.expression, of) for text, of in zip(self.text, self.of(self.table.provenance), strict=True)]

    @property
    def time_ps(self) -> I64:
        """int64[n], with nested ops."""
        time: I64 = self.of(self.table.time_ps)
        return time

    @property
    def self_ps(self) -> I64:
        """int64[n], without nested ops."""
        time: I64 = self.of(self.table.self_ps)
        return time

    @property
    def share(self) -> F64:
        """float64[n], self time in percent of `total_ps`."""
        return self.self_ps / self.total_ps * 100.0 if self.total_ps else np.zeros(len(self))

    @property
    def unknown(self) -> F64:
        """float64[n], NaN."""
        return np.full(len(self), np.nan)

    @property
    def traffic(self) -> F64 | None:
        """Bytes by space and direction, as in `OpRecords`; None of a framework's ops."""
        return self.of(self.records.traffic) if self.records.text else None

    @property
    def stall_ps(self) -> F64:
        """float64[n], time waiting for DMA."""
        stall: F64 = self.of(self.records.stall_ps) if self.records.text else self.unknown
        return stall

    @property
    def device_ps(self) -> list[int | None]:
        """Time of the devices in the recording; None where those of a damaged profile add up to more than int64."""
        return [self.table.total_ps if self.table.total_ps <= _LONGEST else None] * len(self)

    @cached_property
    def rates(self) -> Rates:
        """Rates of each row; there must be a summary."""
        assert self.summary is not None
        flops, model_flops, accessed = map(self.of, (self.table.flops, self.table.model_flops, self.table.bytes))
        traffic, recorded = self.of(self.records.traffic), self.of(self.records.has_traffic)
        time, peaks = self.time_ps.astype(np.float64), supported_peaks(self.summary)
        return rates(time, flops, model_flops, accessed, traffic, peaks, self.summary.hardware, recorded)


# The programs of a run by the time of their ops, as the op profile shows them.

_NO_PROGRAMS = NO_PROGRAMS.said("The profile contains no HLO module, and no op names a program.")


@dataclass(frozen=True, slots=True)
class ProgramTime:
    """A program: `module(program id)`, time of its ops on all devices, None if none ran, and their number.

    `in_profile`: its HLO text is in the profile.
    """

    name: str
    time_ps: int | None
    ops: int
    in_profile: bool


@dataclass(frozen=True, slots=True)
class ProgramTimes:
    """The programs, most time first, then those of which no op ran, by name.

    Attributes:
      total_ps: time of the devices in the recording, idle time included; 0 if no op ran.
      compiled_again: names of modules of which several programs ran or are in the profile, with their number.
    """

    programs: tuple[ProgramTime, ...]
    total_ps: int
    compiled_again: dict[str, int]


def run_program_times(run: RunHosts) -> ProgramTimes:
    """The programs of the chosen hosts. Raises NoData without any."""
    known = {name for _, programs in run.iterate_hosts(programs_of) for name in programs.names.values()}
    records = op_summary(run, "auto").records
    if not known and not any(records.table.module):
        raise _NO_PROGRAMS.error()
    return run.once("program_times", lambda: _times(run, known))


def _times(run: RunHosts, known: set[str]) -> ProgramTimes:
    records = op_summary(run, "auto").records
    root, _ = op_tree(records, PROGRAM)
    ran = np.flatnonzero(records.table.occurrences > 0).tolist()
    ops: dict[str, int] = {}
    for row in ran:
        name = records.programs.get(records.table.module[row], NO_PROGRAM)
        ops[name] = ops.get(name, 0) + 1
    timed = [
        ProgramTime(node.name, node.time_ps, ops[node.name], node.name in known)
        for node in root.children
        if node.name in ops and node.kind == "group"
    ]
    silent = sorted(known - {one.name for one in timed})
    programs = (*timed, *(ProgramTime(name, None, 0, True) for name in silent))
    modules: dict[str, int] = {}
    for one in programs:
        modules[one.name.rpartition("(")[0]] = modules.get(one.name.rpartition("(")[0], 0) + 1
    again = {name: count for name, count in modules.items() if name and count > 1}
    return ProgramTimes(programs, records.table.total_ps if timed else 0, again)


# The ops of a run as their pages show them: time, rates, the nearest limit and the source line of each.

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


# The GPU kernels of a run.

GPU = "/device:GPU:"


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """GPU kernels, one entry per kernel and launch configuration, most time first.

    Attributes:
      name, op: names of the kernel and of the op that launched it ("" if unknown).
      runs: int64[n], launches.
      total_ps, min_ps, max_ps: int64[n], in all runs, the shortest and the longest run; whole nanoseconds.
      rows: the same with launch configurations.
    """

    name: tuple[str, ...]
    op: tuple[str, ...]
    runs: I64
    total_ps: I64
    min_ps: I64
    max_ps: I64
    rows: tuple[KernelRow, ...]


@per_host()
def host_kernels(host: HostProfile) -> list[KernelRow]:
    """The kernels of one host."""
    space = host.lazy
    planes = [plane for plane in space.planes if plane.name.startswith(GPU)]
    space.decode(planes)
    return kernel_rows(space, planes, hlo_ops(host)) if planes else []


def run_kernels(run: RunHosts) -> Kernels:
    """The kernels of the chosen hosts. Raises NoData without any."""
    rows = tuple(combine_kernel_rows(run.map_hosts(host_kernels)))
    if not rows:
        gpus = any(plane.name.startswith(GPU) for host in run.readable for plane in host.lazy.planes)
        raise (NO_KERNELS if gpus else NO_GPU).error()
    numbers = np.array([(row.runs, row.total_ns, row.min_ns, row.max_ns) for row in rows], np.int64)
    return Kernels(
        name=tuple(row.kernel.name for row in rows),
        op=tuple(row.kernel.op for row in rows),
        runs=numbers[:, 0],
        total_ps=numbers[:, 1] * PS_PER_NS,
        min_ps=numbers[:, 2] * PS_PER_NS,
        max_ps=numbers[:, 3] * PS_PER_NS,
        rows=rows,
    )


# Framework ops.


@per_host()
def host_framework_ops(host: HostProfile) -> FrameworkOps:
    """The ops of one host: from its summary if there is one, or on TPUs, where ops depend on steps; else without it."""
    space = host.lazy
    if host.has(host_summary) or any(is_tpu(plane) for plane in device_planes(space)):
        return FrameworkOps.of(host_summary(host))
    return ops_without_summary(space, groups_of(host) if need_groups(space) else None, hlo_ops(host))


def run_framework_ops(run: RunHosts) -> FrameworkOps:
    """The ops of the chosen hosts."""
    if all(host.has(host_summary) for host in run.readable):
        return FrameworkOps.of(run_summary(run))
    return run.merged(host_framework_ops, combine_framework_ops)
