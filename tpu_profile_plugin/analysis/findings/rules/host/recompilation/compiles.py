"""Compilation and tracing within the steps of a host: when, of which programs, and how their parameters differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import is_recognised
from tpu_profile_plugin.analysis.common.op_names import compiles_torch
from tpu_profile_plugin.analysis.common.planes import rows_named, spans_at
from tpu_profile_plugin.analysis.common.spans import Times, join, times_of
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, Program
from tpu_profile_plugin.analysis.hlo.shapes import type_name
from tpu_profile_plugin.columns import EventFilter, Plane

_COMPILED = re.compile(
    r"backend_compile|XlaCompil|::Compile(?:AndLoad)?\b|(?:Cpu|GPU|NVPTX|AMDGPU)Compiler|TpuCompile"
    r"|HLO passes through layout assignment"
)
"""Events of compilation itself; tracing and lowering alone may be short and happen for programs that are cached."""
_MODULE = re.compile(r"(?:HLO passes through layout assignment \(|XlaCompile:#(?:.*,)?module=)(?P<name>[\w.\-]+)")
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


@dataclass(frozen=True, slots=True, eq=False)
class Compiles:
    """What a host compiled or traced.

    Attributes:
      times: when, on any thread.
      modules: name -> how often it was compiled, where events tell it; those with most time first.
      traced: name of a tf.function -> how often it was traced.
    """

    times: Times
    modules: Mapping[str, int]
    traced: Counter[str]


def _is_compilation(name: str) -> bool:
    return compiles_torch(name) or _COMPILED.search(name) is not None


def may_compile(host: HostView) -> bool:
    """Whether the names of events allow for it, without reading any event."""
    if host.plane is None:
        return False
    names = host.plane.declared.event_metadata.names
    return any(map(_is_compilation, names)) or any(one.expensive_ps for one in host.summary.functions)


def compiles(host: HostView) -> Compiles:
    """Reads the events of compilation and the calls that trace a tf.function."""
    assert host.plane is not None
    plane: Plane = host.plane
    if not plane.decoded:
        wanted = [name for name in plane.declared.event_metadata.names if _is_compilation(name)]
        read = host.reader.events if all(map(is_recognised, wanted)) else None
        plane = read or host.space.filtered(EventFilter(plane, event=set(wanted).__contains__))[0]
    names = plane.event_metadata.names
    compiling = rows_named(plane, _is_compilation)[plane.events.metadata]
    counts = np.bincount(plane.events.metadata, minlength=len(names))
    took = np.zeros(len(names), np.int64)
    np.add.at(took, plane.events.metadata, plane.events.duration_ps)
    modules: Counter[str] = Counter()
    for number in np.argsort(-took, kind="stable").tolist():
        if counts[number] and (module := _MODULE.match(names[number])):
            modules[base_name(module["name"])] += int(counts[number])
    events = times_of(*spans_at(plane, slice(None)), compiling)
    calls, traced = traced_calls(host)
    return Compiles(join(events, calls), modules, traced)


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
