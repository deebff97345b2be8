"""One op of a run by its name, with its HLO text, its call stack and the instructions fused into it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from tpu_profile_plugin.analysis.attribution import hlo_name
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.hlo.ops import Fused
from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.run.figures.op_rates import OpRates, run_op_rates
from tpu_profile_plugin.run.figures.ops import run_op_details
from tpu_profile_plugin.run.hosts import RunHosts

MOST_CHOICES = 10
_NAMED = 3
_NUMBER = re.compile(r"[.\d]+$")
_IN_ID = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, eq=False)
class Op:
    """One op.

    Attributes:
      ops: all ops, with the figures of this one at `at`.
      at: its position.
      shown_name: its name on the pages of HLO ops.
      program_id: 0 if unknown.
      expression: the HLO instruction in full; the name if that is unknown.
      stack: calls that lead to its source line, `file:line:column`, innermost first.
      source_of: the op that has this source line, if it has none of its own.
      fused: the instructions inside a fusion, most FLOPs first, else in the order of the program.
    """

    ops: OpRates
    at: int
    shown_name: str
    program_id: int = 0
    expression: str = ""
    stack: tuple[str, ...] = ()
    source_of: str = ""
    fused: tuple[Fused, ...] = ()


def run_op(run: RunHosts, name: str) -> Op:
    """The op with an id of `OpRates`, or with a name that only one program has.

    Raises NoData without ops, NotFound for an unknown name and BadRequest for one of several programs, both with
    `argument` and `choices`.
    """
    ops = run_op_rates(run)
    at = find_op(ops, name)
    summary = ops.summary
    if summary is None:
        return Op(ops, at, ops.name[at])
    records, row = summary.records, int(ops.rows[at])
    text, module = records.text[row], records.table.module[row]
    key = (module, records.table.name[row])
    with_cost = summary.hardware is not Hardware.TPU
    details = run_op_details(run, [key], with_cost=with_cost, on_cpu=summary.hardware is Hardware.CPU_ONLY)
    fused = details[key][1] if key in details else ()
    return Op(
        ops,
        at,
        hlo_name(records.expression(row)),
        module,
        records.expression(row),
        tuple(filter(None, map(str.strip, text.source_stack.splitlines()))),
        text.source_of,
        tuple(sorted(fused, key=lambda one: -one.flops)),
    )


def find_op(ops: OpRates, name: str) -> int:
    """The position of an op by `name@program`, or by a name that only one program has; see `run_op`.

    A program is given as `module(program id)`, by its id, or by the name of its module.
    """
    named, program = name.strip().removeprefix("%"), ""
    found = ops.rows_of_name.get(named, [])
    if not found and "@" in named:
        named, _, program = named.rpartition("@")
        found = [at for at in ops.rows_of_name.get(named, []) if program in _called(ops, at)]
    if not found:
        choices = similar(ops, named)
        message = f"The run has no op {name[:200]!r}; there are {', '.join(choices[:_NAMED])}."
        raise NotFound(message, code="op_not_found", argument="name", choices=choices)
    if len(found) > 1:
        choices = [ops.id[at] for at in found[:MOST_CHOICES]]
        message = f"{len(found)} programs have an op {named[:200]!r}: ask for one with its program."
        raise BadRequest(message, argument="name", choices=choices)
    return found[0]


def _called(ops: OpRates, at: int) -> tuple[str, ...]:
    """The ways to name the program of an op."""
    program: str = ops.program[at]
    number = ops.id[at].rpartition("@")[2]
    if not program:
        return (number,)
    return program, _IN_ID.sub("", program), program.rpartition("(")[2].removesuffix(")")


def similar(ops: OpRates, name: str) -> list[str]:
    """Ids of ops with a name like this one: but for the number, having it, or a few letters apart; else the first."""
    stem = _NUMBER.sub("", name).lower()
    names = list(ops.rows_of_name)
    near = [one for one in names if stem and (_NUMBER.sub("", one).lower() == stem or name.lower() in one.lower())]
    if not near:
        by_stem = {_NUMBER.sub("", one): one for one in reversed(names)}
        close = difflib.get_close_matches(stem[:100], list(by_stem)[:2000], MOST_CHOICES, 0.5)
        near = [by_stem[one] for one in close] or names
    return [ops.id[at] for one in near[:MOST_CHOICES] for at in ops.rows_of_name[one]][:MOST_CHOICES]
