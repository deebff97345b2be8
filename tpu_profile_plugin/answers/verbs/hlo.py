"""The verb `hlo`: the HLO text of an instruction with its operands and users."""

from __future__ import annotations

from typing import Annotated

from tpu_profile_plugin.analysis.common.reasons import HLO
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import next_op, next_source
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.catalogue.ops import INSTRUCTIONS
from tpu_profile_plugin.run.figures.op import HloAround
from tpu_profile_plugin.tables.table import Table

_MOST_HOPS = 5


def hlo(
    asked: Asked,
    *,
    op: Annotated[str, "An instruction: an id that ops gives, NAME@PROGRAM, or its name."],
    around: Annotated[int, "Hops to operands and users, 0 to 5."] = 2,
) -> Answer:
    """The HLO text of an instruction with what is inside it, its operands and its users."""
    if not 0 <= around <= _MOST_HOPS:
        choices = [str(hops) for hops in range(_MOST_HOPS + 1)]
        raise BadRequest(f"around must be from 0 to {_MOST_HOPS}, not {around}.", argument="around", choices=choices)
    found = asked.run.hlo(op, around)
    lines = found.lines
    columns = [
        [f"{one.name}@{found.program}" for one in lines],
        [one.role for one in lines],
        [one.text for one in lines],
        [one.framework_op for one in lines],
        [one.source for one in lines],
    ]
    facts = {"instruction": found.name, "program": found.program, "computation": found.computation}
    query = {"program_id": str(found.program_id), "node_name": found.name, "graph_width": str(around)}
    return Answer(
        Link("graph_viewer", query), facts, Table(INSTRUCTIONS, columns, name="instructions"), next=_next(found)
    )


def _next(found: HloAround) -> tuple[Next, ...]:
    further = []
    if found.ran is not None and found.ops is not None:
        further.append(next_op(found.ops, found.ran, "its time, rates and limit"))
    of_op = "" if found.ran is None or found.ops is None else found.ops.source[found.ran]
    if place := found.lines[0].source or of_op:
        further.append(next_source(place))
    near = [one.name for one in found.lines if one.role in ("operand", "user")]
    further += [Next("hlo", {"op": f"{name}@{found.program}"}, "what is around its neighbour") for name in near[:2]]
    return tuple(further)


VERB = verb(hlo, needs=HLO)
