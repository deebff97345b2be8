"""HLO programs from a few words: `program(entry, **computations)` takes lists of instructions, `op(...)` makes one.

Operands and called computations are given by name; everything else of an instruction by the names of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.protos import enum_values, message

_SHAPE = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*):?(?:T\(([\d,]+)\))?(?:S\((\d+)\))?\})?")


@dataclass(frozen=True)
class Op:
    """One instruction; `shape` is e.g. "f32[2,3]{1,0:T(8,128)S(1)}", or a list of them for a tuple."""

    name: str
    opcode: str
    shape: str | Sequence[str]
    operands: Sequence[str]
    called: Sequence[str]
    fields: Mapping[str, Any]


def op(name: str, opcode: str, shape: str | Sequence[str], *operands: str, **facts: Any) -> Op:
    """An instruction; `called` names computations, `op_name`, `op_type` and such are its metadata."""
    metadata = {key: facts.pop(key) for key in list(facts) if key in _METADATA}
    called = facts.pop("called", ())
    return Op(name, opcode, shape, operands, called, {**facts, **({"metadata": metadata} if metadata else {})})


_METADATA = ("op_name", "op_type", "source_file", "source_line", "stack_frame_id", "deduplicated_name")


def shape(text: str | Sequence[str]) -> Any:
    """A ShapeProto."""
    made = message("xla.ShapeProto")
    types = {name.lower(): number for number, name in enum_values("xla.PrimitiveType").items()}
    if not isinstance(text, str):
        return made(element_type=types["tuple"], tuple_shapes=map(shape, text))
    found = _SHAPE.fullmatch(text)
    assert found, text
    kind, sizes, order, tile, space = found.groups()
    one = made(element_type=types[kind], dimensions=_numbers(sizes))
    if order is not None:
        one.layout.minor_to_major.extend(_numbers(order))
    if tile:
        one.layout.tiles.add(dimensions=_numbers(tile))
    if space:
        one.layout.memory_space = int(space)
    return one


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def program(
    entry: Sequence[Op], *, module: str = "test", main: str = "entry", more: Mapping[str, Any] | None = None,
    **computations: Sequence[Op],
) -> bytes:  # fmt: skip
    """A HloProto whose entry computation is `entry`; the last instruction of each computation is its root."""
    everything = {main: entry, **computations}
    ids = {name: i for i, name in enumerate(everything, start=1)}
    place = {one.name: (ids[c] << 32) + i for c, ops in everything.items() for i, one in enumerate(ops)}
    made = message("xla.HloModuleProto")(name=module, entry_computation_id=ids[main], **(more or {}))
    for name, ops in everything.items():
        computation = made.computations.add(name=name, id=ids[name], root_id=place[ops[-1].name])
        computation.instructions.extend(_instruction(one, place, ids) for one in ops)
    return bytes(message("xla.HloProto")(hlo_module=made).SerializeToString(deterministic=True))


def _instruction(one: Op, place: Mapping[str, int], ids: Mapping[str, int]) -> Any:
    made = message("xla.HloInstructionProto")(
        name=one.name,
        opcode=one.opcode,
        shape=shape(one.shape),
        id=place[one.name],
        operand_ids=[place[name] for name in one.operands],
        called_computation_ids=[ids[name] for name in one.called],
        **one.fields,
    )
    if made.HasField("literal") and not made.literal.HasField("shape"):
        made.literal.shape.CopyFrom(made.shape)
    return made


def metadata_plane(**programs: tuple[int, bytes]) -> str:
    """The statements of a plane with HLO programs: name -> (program id, HloProto)."""
    lines = [
        f'metadata "{name}({program_id})" id={program_id} {{"Hlo Proto"=0x{proto.hex()}}}'
        for name, (program_id, proto) in programs.items()
    ]
    return "\n".join(['plane 99 "/host:metadata"', *lines])


def relu_program(mark: str = "") -> bytes:
    """`jit_f`: a fusion of an addition and a maximum over f32[8,128]; `mark` goes before names of no consequence."""
    of, fused = "f32[8,128]{1,0}", f"{mark}fused"
    inside = [
        op(f"{mark}p0", "parameter", of),
        op("zero", "constant", "f32[]", literal={"f32s": [0.0]}),
        op(f"{mark}add.1", "add", of, f"{mark}p0", f"{mark}p0", op_name=f"{mark}jit(f)/add"),
        op("max.1", "maximum", of, f"{mark}add.1", "zero", op_name=f"{mark}jit(f)/max"),
    ]
    outside = [
        op(f"{mark}x", "parameter", of),
        op("fusion.1", "fusion", of, f"{mark}x", called=[fused], fusion_kind="kLoop", op_name=f"{mark}jit(f)/max"),
    ]
    return program(outside, module="jit_f", main=f"{mark}main", **{fused: inside})
