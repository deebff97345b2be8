"""What a host's ops are, by program and instruction, without their times: what op tools know of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.attribution import hlo_name, named_ops, split_source
from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.tpu.ops import op_metadata
from tpu_profile_plugin.columns import Plane, XSpace, hlo_modules
from tpu_profile_plugin.columns import stats as read

OpKey: TypeAlias = tuple[int, str]
"""Program id and instruction."""


@dataclass(frozen=True, slots=True)
class OpFacts:
    """What an op is; "" if unknown.

    Attributes:
      category, provenance: as in op tables.
      expression: its HLO text.
      source: `file:line`.
    """

    category: str = ""
    provenance: str = ""
    expression: str = ""
    source: str = ""

    def filled_from(self, other: OpFacts) -> OpFacts:
        """Fills missing fields from another device's facts about the op."""
        category, provenance = self.category or other.category, self.provenance or other.provenance
        return OpFacts(category, provenance, self.expression or other.expression, self.source or other.source)


@dataclass(frozen=True, slots=True)
class HostOps:
    """The ops of one host.

    Attributes:
      facts: of those that op tools know.
      modules: program id -> name with its id.
      provenances: of all ops, those that are no HLO instruction included.
    """

    facts: dict[OpKey, OpFacts]
    modules: dict[int, str]
    provenances: frozenset[str]


def host_ops(space: XSpace, devices: Sequence[Device], hlo: HloOps) -> HostOps:
    """The ops that the devices ran.

    Args:
      space: the profile.
      devices: its devices.
      hlo: its HLO programs.
    """
    if devices and devices[0].kind == "tpu":
        facts = _of_tpus(space, devices)
        modules = {module.program_id: module.name for module in hlo_modules(space)}
        return HostOps(facts, modules, frozenset(one.provenance for one in facts.values()))
    keys = dict.fromkeys((op.program, op.name) for device in devices for op in device.ops)
    facts = {key: op_facts for key in keys if (op_facts := _of_instruction(hlo, *key)) is not None}
    others = _framework_ops(space, device_planes(space))
    return HostOps(facts, dict(hlo.programs.names), frozenset([*(one.provenance for one in facts.values()), *others]))


def _of_tpus(space: XSpace, devices: Sequence[Device]) -> dict[OpKey, OpFacts]:
    """From the event metadata; the first core that knows something of an op counts."""
    tables: dict[OpKey, OpFacts] = {}
    planes = {plane.index: plane for plane in space.planes}
    for device in devices:
        for key, op_facts in _of_core(space, planes[device.plane], device):
            tables[key] = tables[key].filled_from(op_facts) if key in tables else op_facts
    return {(program, hlo_name(name)): op_facts for (program, name), op_facts in tables.items()}


def _of_core(space: XSpace, plane: Plane, device: Device) -> Iterator[tuple[OpKey, OpFacts]]:
    """The ops that a core ran; rows of one program and symbol are one op, named by the row that describes them."""
    known, meta = op_metadata(space, plane), plane.event_metadata
    code, sources = read.strings(space, plane, meta.stats, "source")
    ran = np.zeros(len(known.counted), np.bool_)
    for spans in (device.runs, device.control):
        ran[spans.op] = True
    for row in np.flatnonzero(ran & known.counted).tolist():
        op = int(known.row[row])
        file, line = split_source(sources[code[row]]) if code[row] >= 0 else ("", 0)
        text = meta.names[row] if meta.display_names[row] else known.name[op]
        source = f"{file}:{line}" if file else ""
        key = int(known.program[op]), known.name[op]
        yield key, OpFacts(known.category_of(op), known.provenance[op], text, source)


def _of_instruction(hlo: HloOps, program: int, name: str) -> OpFacts | None:
    """From the HLO program; None if the instruction is in none."""
    instruction = hlo.find(program, name) if program else None
    if instruction is None:
        return None
    file, line, _ = hlo.source(program, name)
    source = f"{file}:{line}" if file else ""
    return OpFacts(category(instruction), provenance(instruction), hlo.text(program, instruction), source)


def _framework_ops(space: XSpace, planes: Iterable[Plane]) -> Iterator[str]:
    """The framework ops of GPU events that are of no HLO instruction."""
    for plane in planes:
        yield from (op.framework_op for op in named_ops(space, plane).ops if op.framework_op and not op.path)
