"""Programs of one name, compiled one after the other: how their parameters differ."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, Program
from tpu_profile_plugin.analysis.hlo.shapes import type_name

_ID = re.compile(r"\(\d+\)\Z")
_NUMBERED = re.compile(r"__Xla(?:MustCompile|Compile)?_?.*|_\d+(?=__|\Z)")
_MOST_PROGRAMS = 8
_MOST_VALUES = 6


@dataclass(frozen=True, slots=True)
class Change:
    """A parameter that differs between programs of one name: what of it, and its values, in their order."""

    parameter: str
    what: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.values[:_MOST_VALUES])
        return f"{self.parameter}: {self.what} was {shown}{', ...' if len(self.values) > _MOST_VALUES else ''}"


def base_name(module: str) -> str:
    """A module's name without numbers that differ between programs of the same function."""
    return _NUMBERED.sub("", _ID.sub("", module))


def programs_of(programs: HloPrograms) -> dict[str, list[int]]:
    """Ids of the programs of each name, in the order in which they were made."""
    ids: dict[str, list[int]] = {}
    for number in sorted(programs.modules):
        ids.setdefault(base_name(programs.modules[number].name), []).append(number)
    return ids


def changes(programs: HloPrograms, ids: list[int]) -> tuple[Change, ...] | None:
    """How the parameters of the newest programs differ, most values first; None if that is unknown."""
    decoded = [
        program
        for number in ids[-_MOST_PROGRAMS:]
        if (program := programs.program(number)) is not None and len(program)
    ]
    if len(decoded) < 2:
        return None
    parameters = [_parameters(one) for one in decoded]
    differing: list[Change] = []
    for number, (name, _, shape) in parameters[0].items():
        others = [one[number] for one in parameters if number in one]
        kinds = [kind for _, kind, _ in others]
        if len(set(kinds)) > 1:
            differing.append(Change(name, "type", tuple(kinds)))
        ranks = {len(sizes) for _, _, sizes in others}
        if len(ranks) > 1:
            differing.append(Change(name, "shape", tuple(f"[{','.join(map(str, sizes))}]" for _, _, sizes in others)))
            continue
        for axis in range(len(shape)):
            sizes = [str(sizes[axis]) for _, _, sizes in others]
            if len(set(sizes)) > 1:
                differing.append(Change(name, f"dimension {axis}", tuple(sizes)))
    if len({len(one) for one in parameters}) > 1:
        differing.append(Change("Number of parameters", "it", tuple(str(len(one)) for one in parameters)))
    return tuple(sorted(differing, key=lambda one: -len(set(one.values))))


def _parameters(program: Program) -> dict[int, tuple[str, str, tuple[int, ...]]]:
    """Number -> name, element type and dimensions of each parameter of the entry computation."""
    if program.entry is None:
        return {}
    start = program.columns["computation_start"]
    rows = range(int(start[program.entry]), int(start[program.entry + 1]))
    opcodes, parameters = program.opcodes, {}
    for row in rows:
        if opcodes[row] != "parameter":
            continue
        instruction = program.instruction(row)
        name = instruction.metadata.op_name
        if name in ("", "XLA_Args"):
            name = f"argument {instruction.parameter_number}"
        shape = instruction.shape
        parameters[instruction.parameter_number] = (name, type_name(shape.element_type), tuple(shape.dimensions))
    return dict(sorted(parameters.items()))
