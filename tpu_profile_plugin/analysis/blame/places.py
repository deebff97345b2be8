"""Where the devices of a host wait, by place: functions of the program and kinds of ops, and how far that varies."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN, NO_OP, HostBlame
from tpu_profile_plugin.analysis.blame.op_groups import OpNamer
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, closest, launched_at
from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.common.rows import row_codes, sums_by
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.replay.binding_path import WAITING
from tpu_profile_plugin.columns.arrays import F64, I64

LEAST_PLACE = 0.0005
"""Less than this share of the steps is no place of its own."""
_OPS = (part.COMPUTE, part.DATA_MOVEMENT)


@dataclass(frozen=True, slots=True)
class Place:
    """A part of the time budget at one place.

    Attributes:
      part: index in `CATEGORIES`; of the time between steps that plus `host_blame.BETWEEN`.
      name: a call of the host as recorded, `$file.py:line function` in Python, or what an op does; "" if unknown.
      function: it is a function of the program itself.
      line: `file:line` of an op, or the function that launched it; "" if unknown.
      module: the op's program with its id, "" if unknown.
    """

    part: int
    name: str = ""
    function: bool = False
    line: str = ""
    module: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class HostPlaces:
    """The places of one host, without computation in steps, which `compare.host_work` has op by op; picklable.

    Attributes:
      places: distinct.
      ps: int64[n], summed over steps and devices.
      by_step: float64[n, s], that of each of the first steps; 0 for the time between steps.
      op: the instruction with most time at each, "" for places of the host.
    """

    places: tuple[Place, ...] = ()
    ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    by_step: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    op: tuple[str, ...] = ()


def host_places(blame: HostBlame, hlo: HloOps, steps: int) -> HostPlaces:
    """The places of one host.

    Args:
      blame: where its steps go.
      hlo: its programs.
      steps: how many of the first steps `blame` tells apart.
    """
    rows = np.flatnonzero(~np.isin(blame.part, _OPS))
    stacks = blame.stacks
    # The call that stands for each: the closest function of the program, else the outermost call.
    shown = closest(stacks.parent, stacks.own | (stacks.parent == NOWHERE))
    calls = np.append(shown, NOWHERE)[blame.node[rows]]
    code, first = row_codes(blame.part[rows], blame.op[rows], calls)
    ps = blame.ps[rows]
    total = np.asarray(sums_by(code, ps, len(first)), np.int64)
    least, names = LEAST_PLACE * int(blame.ps.sum()), OpNamer(hlo)
    numbers: dict[Place, int] = {}
    largest: dict[int, tuple[int, str]] = {}
    number = np.zeros(len(first), np.int64)
    for i, (row, sum_ps) in enumerate(zip(first.tolist(), total.tolist(), strict=True)):
        of, op = int(blame.part[rows[row]]), int(blame.op[rows[row]])
        place, name = Place(of), ""
        if sum_ps >= least and op != NO_OP:
            name = blame.ops[op].name
            place = _of_op(blame, names, hlo, of, op, int(calls[row]))
        elif sum_ps >= least and of % BETWEEN in WAITING and calls[row] >= 0:
            at = stacks.name[calls[row]]
            place = Place(of, stacks.names[at], bool(stacks.user[at]))
        number[i] = numbers.setdefault(place, len(numbers))
        largest[int(number[i])] = max(largest.get(int(number[i]), (0, "")), (sum_ps, name))
    of_row, step = number[code], blame.step[rows]
    by_step = np.zeros((len(numbers), steps))
    told = step >= 0
    np.add.at(by_step, (of_row[told], step[told]), ps[told])
    op_names = tuple(largest[i][1] for i in range(len(numbers)))
    return HostPlaces(tuple(numbers), np.asarray(sums_by(of_row, ps, len(numbers)), np.int64), by_step, op_names)


def _of_op(blame: HostBlame, names: OpNamer, hlo: HloOps, of: int, number: int, call: int) -> Place:
    """The place of an op; programs between steps are one place each."""
    op = blame.ops[number]
    module = hlo.programs.names.get(op.program, "")
    if of % BETWEEN in _OPS:
        return Place(of, module=module)
    return Place(of, names.kind(op)[1], False, names.place(op) or launched_at(blame.stacks, call), module)
