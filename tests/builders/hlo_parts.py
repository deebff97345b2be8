"""Serialized HLO programs byte by byte, for tests of layouts, texts and stacks; `hlo` is the shorter way to programs.

Field numbers as in xla's hlo.proto and xla_data.proto.
"""

from __future__ import annotations

from collections.abc import Iterable

F32, BF16, TUPLE = 11, 16, 13


def varint(value: int) -> bytes:
    """An integer as the wire has it."""
    value %= 1 << 64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    """An integer field."""
    return varint(field << 3) + varint(value)


def text(field: int, value: str | bytes) -> bytes:
    """A length-delimited field: text, bytes or a message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field: int, values: Iterable[int]) -> bytes:
    """Repeated integers in one field."""
    return text(field, b"".join(map(varint, values)))


def shape(element: int, *dimensions: int, order: Iterable[int] | None = None, tile: Iterable[int] = ()) -> bytes:
    """A ShapeProto; minor-to-major order is last dimension first unless given."""
    minor = list(range(len(dimensions)))[::-1] if order is None else list(order)
    layout = packed(1, minor) if minor else b""
    tiles = text(6, packed(1, tile)) if tile else b""
    return number(2, element) + packed(3, dimensions) + text(5, layout + tiles)


def instruction(
    name: str, opcode: str, id: int, shape: bytes, operands: Iterable[int] = (), op_name: str = "", more: bytes = b""
) -> bytes:
    """An HloInstructionProto; `more` are further fields."""
    metadata = text(7, text(2, op_name)) if op_name else b""
    head = text(1, name) + text(2, opcode) + text(3, shape) + metadata + number(35, id)
    return head + packed(36, operands) + more


def computation(name: str, id: int, instructions: Iterable[bytes], root: int) -> bytes:
    """An HloComputationProto."""
    return text(1, name) + b"".join(text(2, one) for one in instructions) + number(5, id) + number(6, root)


def program(name: str, *computations: bytes, entry: int) -> bytes:
    """An HloProto."""
    return text(1, text(1, name) + b"".join(text(3, one) for one in computations) + number(6, entry))


def metadata_plane(**programs: tuple[int, bytes]) -> str:
    """The statements of a plane with HLO programs: name -> (program id, HloProto)."""
    lines = [
        f'metadata "{name}({program_id})" id={program_id} {{"Hlo Proto"=0x{proto.hex()}}}'
        for name, (program_id, proto) in programs.items()
    ]
    return "\n".join(['plane 99 "/host:metadata"', *lines])


def relu_program(mark: str = "") -> bytes:
    """`jit_f`: a fusion of an addition and a maximum over f32[8,128]; `mark` goes before names of no consequence."""
    of = shape(F32, 8, 128)
    fused = computation(
        f"{mark}fused",
        2,
        [
            instruction(f"{mark}p0", "parameter", 10, of),
            instruction("zero", "constant", 11, shape(F32), more=text(8, text(1, shape(F32)) + text(8, bytes(4)))),
            instruction(f"{mark}add.1", "add", 12, of, [10, 10], f"{mark}jit(f)/add"),
            instruction("max.1", "maximum", 13, of, [12, 11], f"{mark}jit(f)/max"),
        ],
        13,
    )
    main = computation(
        f"{mark}main",
        1,
        [
            instruction(f"{mark}x", "parameter", 1, of),
            instruction("fusion.1", "fusion", 2, of, [1], f"{mark}jit(f)/max", text(11, "kLoop") + packed(38, [2])),
        ],
        2,
    )
    return program("jit_f", fused, main, entry=1)
