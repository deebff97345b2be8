"""One side of a comparison: the average step of a run, as parts of the time budget and as ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.compare.facts import HostOps
from tpu_profile_plugin.analysis.compare.fingerprint import Fingerprint, fingerprint, framework_op, program_name
from tpu_profile_plugin.analysis.compare.noise import Sample
from tpu_profile_plugin.analysis.compare.work import HostWork
from tpu_profile_plugin.analysis.hlo.ops import Fused, HloOps
from tpu_profile_plugin.columns.arrays import F64

CONTAINERS = "loops, calls and conditionals"
MOST_INSIDE = 500


@dataclass(frozen=True, slots=True, eq=False)
class WorkedOp:
    """An op in the average step; times in picoseconds per step and device.

    Attributes:
      program: name of its program, without id.
      module: the same with the id, as in other tools; "" if unknown.
      name: of the instruction.
      print: what it is.
      inside: framework ops that it was made of, with their source line where that is known.
      ps: its time.
      by_step: float64[s], its time in the steps of each host, one host after the other (see `RunWork.cuts`).
      runs: per step and device.
    """

    program: str
    module: str
    name: str
    print: Fingerprint
    inside: frozenset[str]
    ps: float
    by_step: F64
    runs: float


@dataclass(frozen=True, slots=True, eq=False)
class DescribedWork:
    """The work of one host with what its ops are; picklable.

    Attributes:
      work: the times.
      module, print, inside: per key of `work`, see `WorkedOp`.
    """

    work: HostWork
    module: tuple[str, ...]
    print: tuple[Fingerprint, ...]
    inside: tuple[frozenset[str], ...]


def describe(work: HostWork, ops: HostOps, hlo: HloOps) -> DescribedWork:
    """Joins the times of ops with what op tools know of them."""
    modules: list[str] = []
    prints: list[Fingerprint] = []
    insides: list[frozenset[str]] = []
    for program, name in work.keys:
        facts = ops.facts.get((program, name))
        modules.append(ops.modules.get(program) or (f"({program})" if program else ""))
        if facts is None:
            prints.append(fingerprint(name or CONTAINERS, "", "", "", ""))
            insides.append(frozenset())
            continue
        op_print = fingerprint(name, facts.category, facts.provenance, facts.expression, facts.source)
        prints.append(op_print)
        fused = hlo.fused(program, name) if "fusion" in op_print.category else ()
        insides.append(frozenset(_inside(fused, op_print, program, hlo)))
    return DescribedWork(work, tuple(modules), tuple(prints), tuple(insides))


def _inside(fused: Sequence[Fused], whole: Fingerprint, program: int, hlo: HloOps) -> Iterator[str]:
    """The framework ops that an op was made of."""
    if not fused and whole.framework:
        yield f"{whole.framework} {whole.source}"
    for op in fused[:MOST_INSIDE]:
        name = framework_op(op.provenance)
        if name:
            file, line, _ = hlo.source(program, op.name)
            yield f"{name} {file}:{line}" if file else f"{name} "


@dataclass(frozen=True, slots=True, eq=False)
class RunWork:
    """The average step of a run.

    Attributes:
      ops: its computation by op.
      parts: per category of the time budget, its time per step, averaged over devices.
      step: the step, averaged over devices.
      cuts: where the steps of each host but the first begin in `WorkedOp.by_step`.
    """

    ops: tuple[WorkedOp, ...]
    parts: tuple[Sample, ...]
    step: Sample
    cuts: tuple[int, ...] = ()

    def without_steps(self) -> RunWork:
        """The work without the times of steps, for runs whose steps are unknown."""
        unknown = Sample(0.0, 0.0, 0)
        return replace(self, step=unknown, parts=(unknown,) * len(self.parts))

    def total(self, ops: Sequence[WorkedOp]) -> Sample:
        """Of ops together: how far their sum varies over the steps of each host, whose variations add up."""
        if not ops:
            return Sample(0.0, 0.0, self.step.count)
        together = np.sum([op.by_step for op in ops], axis=0)
        variance = sum(sample(part).variance for part in np.split(together, self.cuts))
        return Sample(sum(op.ps for op in ops), variance, self.step.count)


def run_work(hosts: Sequence[DescribedWork], budget: RunBudget) -> RunWork:
    """The hosts' work as one, per step and device; hosts weigh by their devices."""
    cells = sum(one.work.steps * one.work.devices for one in hosts)
    devices = sum(one.work.devices for one in hosts)
    lengths = [one.work.by_step.shape[1] for one in hosts]
    cuts = np.cumsum(lengths)
    by_key: dict[tuple[str, str, Fingerprint], WorkedOp] = {}
    for host, until, length in zip(hosts, cuts.tolist(), lengths, strict=True):
        for i, (_, name) in enumerate(host.work.keys):
            key = program_name(host.module[i]), name or CONTAINERS, host.print[i]
            times = np.zeros(sum(lengths))
            times[until - length : until] = host.work.by_step[i] / devices
            op = WorkedOp(
                *(key[0], host.module[i], key[1], key[2], host.inside[i]),
                *(int(host.work.time_ps[i]) / cells, times, int(host.work.runs[i]) / cells),
            )
            by_key[key] = op if key not in by_key else _sum(by_key[key], op)
    ops = tuple(by_key.values())
    parts = budget.time_ps.mean(axis=1) if budget.duration_ps.size else np.zeros((0, len(CATEGORIES)))
    step = budget.duration_ps.mean(axis=1) if budget.duration_ps.size else np.zeros(0)
    return RunWork(
        ops, tuple(sample(parts[:, i]) for i in range(len(CATEGORIES))), sample(step), tuple(cuts[:-1].tolist())
    )


def _sum(op: WorkedOp, other: WorkedOp) -> WorkedOp:
    """Adds up an op of two hosts."""
    return replace(op, ps=op.ps + other.ps, by_step=op.by_step + other.by_step, runs=op.runs + other.runs)


def sample(values: F64) -> Sample:
    """Mean, variance and number of values; 0 without any."""
    count = len(values)
    mean = float(values.mean()) if count else 0.0
    return Sample(mean, float(values.var(ddof=1)) if count > 1 else 0.0, count)
