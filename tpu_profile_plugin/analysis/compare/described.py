"""The work of one host with what its ops are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.compare.facts import HostOps
from tpu_profile_plugin.analysis.compare.fingerprint import Fingerprint, fingerprint, framework_op
from tpu_profile_plugin.analysis.compare.work import HostWork
from tpu_profile_plugin.analysis.hlo.ops import Fused, HloOps

CONTAINERS = "loops, calls and conditionals"
MOST_INSIDE = 500


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
