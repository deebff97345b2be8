"""HLO programs made to do harm: cycles, depth, absurd shapes and buffers. Field numbers as in xla's hlo.proto."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from builders.damage.values import BAD_TEXT, EXTREMES
from builders.damage.wire import Case, event, line, named, number, packed, plane, stat, text
from builders.programs import buffers

F32, TUPLE = 11, 13
_HUGE = 2**63 - 1


def shape(element: int, *dimensions: int, order: Iterable[int] | None = None, tile: Iterable[int] = ()) -> bytes:
    """A ShapeProto; minor-to-major order is last dimension first unless given."""
    minor = list(range(len(dimensions)))[::-1] if order is None else list(order)
    layout = packed(1, minor) if minor else b""
    tiles = text(6, packed(1, tile)) if tile else b""
    return number(2, element) + packed(3, dimensions) + text(5, layout + tiles)


def instruction(
    name: str | bytes, opcode: str | bytes, id: int, shape: bytes, operands: Iterable[int] = (), op_name: str = "",
    more: bytes = b"",
) -> bytes:  # fmt: skip
    """An HloInstructionProto; `more` are further fields."""
    metadata = text(7, text(2, op_name)) if op_name else b""
    head = text(1, name) + text(2, opcode) + text(3, shape) + metadata + number(35, id)
    return head + packed(36, operands) + more


def computation(name: str | bytes, id: int, instructions: Iterable[bytes], root: int) -> bytes:
    """An HloComputationProto."""
    return text(1, name) + b"".join(text(2, one) for one in instructions) + number(5, id) + number(6, root)


def program(name: str | bytes, *computations: bytes, entry: int) -> bytes:
    """An HloProto."""
    return text(1, text(1, name) + b"".join(text(3, one) for one in computations) + number(6, entry))


_OF = shape(F32, 8)


def profile(*protos: bytes, ops: Iterable[str] = ("n1", "fusion.1", "c1")) -> bytes:
    """A TPU, a GPU and a host that ran these programs (ids from 7 on), with events named after some ops."""
    kinds = (
        stat(2, b"loop fusion"), stat(3, 100), stat(4, b"jit(f)/a/max:"), stat(5, 1), stat(7, 64), stat(8, b"n1"),
    )  # fmt: skip
    keys = [(1, "Hlo Proto"), (2, "hlo_category"), (3, "flops"), (4, "tf_op"), (5, "symbol_id"), (6, "program_id")]
    keys += [(7, "bytes_accessed"), (8, "hlo_op"), (9, "hlo_module"), (10, "correlation_id")]
    names = list(ops)
    metadata, planes = [], []
    for i, proto in enumerate(protos):
        metadata.append((7 + i, named(7 + i, f"jit_f({7 + i})", stat(1, proto, 6))))
    planes.append(plane("/host:metadata", (), metadata, keys, id=9))
    for name, of in (("/device:TPU:0", "XLA Ops"), ("/device:GPU:0", "Stream #1(Kernel)"), ("/host:CPU", "XLA ops")):
        events = [
            event(i + 1, i * 1000, 900, stat(6, 7), stat(8, one), stat(9, b"jit_f")) for i, one in enumerate(names)
        ]
        lines = [line(of, events), line("XLA Modules", [event(100, 0, len(names) * 1000)], id=2)]
        list_of = [
            (i + 1, named(i + 1, f"%{one} = f32[8] fusion()", *kinds, stat(6, 7))) for i, one in enumerate(names)
        ]
        planes.append(plane(name, lines, [*list_of, (100, named(100, "jit_f(7)"))], keys))
    return b"".join(planes)


def calls(depth: int, cycle: bool) -> bytes:
    """Computations that call the next one, the last one none or the first again."""
    parts = []
    for i in range(1, depth + 1):
        called = i + 1 if i < depth else 1
        more = packed(38, [called]) if i < depth or cycle else b""
        opcode = ("call", "while", "fusion", "conditional")[i % 4]
        parts.append(computation(f"c{i}", i, [instruction(f"n{i}", opcode, i, _OF, [], f"a{i}/b", more)], i))
    return program("jit_f", *parts, entry=1)


def chain(length: int, back: bool, fused: bool = False) -> bytes:
    """Instructions that each use the one before; the first uses the last when `back`."""
    opcode = "get-tuple-element" if fused else "add"
    ops = [
        instruction(
            f"n{i}", opcode, i, _OF, [i - 1 or length] if back or i > 1 else [], f"jit(f)/{'s/' * (i % 7)}op{i}"
        )
        for i in range(1, length + 1)
    ]
    return program("jit_f", computation("c1", 1, ops, length), entry=1)


def nested_shape(depth: int) -> bytes:
    """A tuple of a tuple of a tuple..."""
    parts, length = [], len(_OF)
    head = number(2, TUPLE)
    for _ in range(depth):
        prefix = text(4, b"")[:1] + _length(length)
        parts.append(head + prefix)
        length += len(head) + len(prefix)
    return b"".join(reversed(parts)) + _OF


def _length(value: int) -> bytes:
    return number(0, value)[1:]


def _nest(depth: int, field: int, leaf: bytes) -> bytes:
    """A message in a message in a message, all of one field number."""
    parts, length = [], len(leaf)
    tag = text(field, b"")[:-1]
    for _ in range(depth):
        prefix = tag + _length(length)
        parts.append(prefix)
        length += len(prefix)
    return b"".join(reversed(parts)) + leaf


def one(of: bytes, opcode: str = "fusion", more: bytes = b"", operands: Iterable[int] = ()) -> bytes:
    """A program of one instruction."""
    return program(
        "jit_f", computation("c1", 1, [instruction("n1", opcode, 1, of, operands, "a/b:c", more)], 1), entry=1
    )


def cases(deep: int = 20_000) -> Iterator[Case]:
    """All kinds; `deep` is how deep the deep ones are."""
    for name, proto in _programs(deep):
        yield Case(f"program: {name}", profile(proto))
    yield Case("programs: many", profile(*(one(_OF) for _ in range(deep // 20))))
    yield Case("program: op names", profile(one(_OF), ops=[f"n{i}" for i in range(2000)]))


def _programs(deep: int) -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "no computation", program("jit_f", entry=1)
    yield "no entry", program("jit_f", computation("c1", 1, [], 5), entry=99)
    yield "not one", b"\xff" * 50
    yield "calls itself", calls(1, cycle=True)
    yield "calls in a ring", calls(5, cycle=True)
    yield "deep calls", calls(deep, cycle=False)
    yield "deep ring of calls", calls(deep, cycle=True)
    yield "operand of itself", chain(1, back=True)
    yield "operands in a ring", chain(7, back=True)
    yield "long chain", chain(deep, back=False)
    yield "long ring", chain(deep, back=True)
    yield "long chain of tuple elements", chain(deep, back=False, fused=True)
    yield "long ring of tuple elements", chain(deep // 10, back=True, fused=True)
    yield "deep shape", one(nested_shape(deep))
    yield "deep literal", one(_OF, "constant", text(8, _nest(deep, 15, b"")))
    yield "deep sharding", one(_OF, "fusion", text(40, _nest(deep, 5, b"")))
    yield "deep everything", one(_nest(deep, 5, b""), "fusion", text(28, b"x" * deep))
    yield "wide tuple", one(number(2, TUPLE) + b"".join(text(4, _OF) for _ in range(deep)))
    yield (
        "wide call",
        program(
            "jit_f",
            computation("c1", 1, [instruction("n1", "call", 1, _OF, more=packed(38, [1, 2] * deep))], 1),
            computation("c2", 2, [instruction("n2", "add", 2, _OF, [2] * deep)], 2),
            entry=1,
        ),
    )
    yield (
        "same ids",
        program("jit_f", *(computation("c1", 1, [instruction("n1", "add", 1, _OF, [1, 1])] * 50, 1),) * 50, entry=1),
    )
    yield (
        "bad names",
        program(BAD_TEXT, computation(BAD_TEXT, 1, [instruction(BAD_TEXT, BAD_TEXT, 1, _OF)], 1), entry=1),
    )
    yield (
        "names of markup",
        program("<b>", computation('"><script>', 1, [instruction("n1<&>", "<svg>", 1, _OF)], 1), entry=1),
    )
    for name, of in _shapes(deep):
        for opcode in (
            "fusion",
            "convolution",
            "dot",
            "custom-call",
            "reduce-window",
            "constant",
            "all-reduce",
            "copy",
        ):
            yield f"{opcode} of {name}", one(of, opcode, _MORE.get(opcode, b""), [1, 1])
    yield from _frames(deep)
    yield from _assignments(deep)


_DIMENSION = b"".join(number(i, _HUGE) for i in range(1, 8))
_MORE = {
    "convolution": text(15, text(1, _DIMENSION) * 3) + text(16, b"".join(number(i, -1) for i in range(1, 20))),
    "dot": text(30, packed(1, [_HUGE, -1]) + packed(2, [5, 99]) + packed(3, [0]) + packed(4, [2**40])),
    "reduce-window": text(15, text(1, bytes(0)) + text(1, _DIMENSION)) + packed(14, [9, -9]),
    "constant": text(8, number(2, F32) + text(8, b"abc") + packed(4, [2**63 - 1] * 3)),
    "fusion": text(11, BAD_TEXT) + text(43, b'{"a":' * 500),
    "custom-call": text(28, b"__cudnn$convForward") + text(43, b"{" * 3000),
    "all-reduce": text(49, packed(1, [-1, 2**63 - 1])) + number(26, -1),
}


def _shapes(deep: int) -> Iterator[tuple[str, bytes]]:
    yield "no shape", b""
    yield "unknown type", number(2, 12345)
    yield "negative sizes", shape(F32, -1, -(2**63))
    yield "huge sizes", shape(F32, _HUGE, _HUGE, _HUGE)
    yield "sizes of zero", shape(F32, 0, 0)
    yield "tiles of zero", shape(F32, 8, 128, tile=[0, 0])
    yield "huge tiles", shape(F32, 8, 128, tile=[_HUGE, -5])
    yield "an order that is none", shape(F32, 8, 128, order=[5, -1, 2**40])
    yield "many sizes", shape(F32, *([2] * min(deep, 3000)))
    yield "a tuple of nothing", number(2, TUPLE)


def _frames(deep: int) -> Iterator[tuple[str, bytes]]:
    def framed(frames: bytes, frame: int) -> bytes:
        ops = [
            text(1, f"n{i}")
            + text(2, "add")
            + text(3, _OF)
            + text(7, text(2, "a/b") + number(15, frame))
            + number(35, i)
            for i in range(3)
        ]
        module = text(1, "jit_f") + text(3, computation("c1", 1, ops, 1)) + number(6, 1)
        places = text(1, "f.py") + text(2, "g") + text(3, number(1, 1) + number(2, 1) + number(3, 5))
        return text(1, module + text(17, places + frames))

    yield "stack in a ring", framed(text(4, number(1, 1) + number(2, 2)) + text(4, number(1, 1) + number(2, 1)), 1)
    yield "stack of its own", framed(text(4, number(1, 1) + number(2, 1)), 1)
    yield "stack of nothing", framed(text(4, number(1, 99) + number(2, -7)), 2**31 - 1)
    yield "deep stack", framed(b"".join(text(4, number(1, 1) + number(2, i)) for i in range(deep)), deep)


def _assignments(deep: int) -> Iterator[tuple[str, bytes]]:
    base = chain(3, back=False)
    for value in (*EXTREMES, 2**40):
        parts = buffers.assignment(
            *(buffers.buffer(i, value, i, value) for i in (1, 2, 3)),
            buffers.allocation(0, value, [(1, value, value), (2, 0, value)]),
            buffers.trace("alloc 1 n1", "alloc 2 n2", "alloc 3 n3", "free 1 n1", "free 9 n1"),
        )
        yield f"sizes {value}", base + parts
    yield "buffers that are their own", base + buffers.assignment(
        buffers.buffer(1, 8, 1), buffers.buffer(1, 9, 1), buffers.allocation(0, 8, [(1, 0, 8)] * 9),
        buffers.trace("share 1 1 n1", "share 1 1 n1", "free 1 n1", "free 1 n1", "alloc 1 n1"),
    )  # fmt: skip
    some = range(1, 6)
    yield (
        "buffers in a ring",
        base
        + buffers.assignment(
            *(buffers.buffer(i, 8, 1) for i in some),
            buffers.trace(*(f"share {i} {i % 5 + 1} n1" for i in some), *(f"free {i} n1" for i in some)),
        ),
    )
    many = range(1, deep + 1)
    yield (
        "long chain of buffers",
        base
        + buffers.assignment(
            *(buffers.buffer(i, 8, 1) for i in many),
            buffers.allocation(0, 8, [(i, i, 8) for i in many]),
            buffers.trace(
                "alloc 1 n1", *(f"share {i} {i - 1} n1" for i in many if i > 1), *(f"free {i} n1" for i in many)
            ),
        ),
    )
    yield (
        "many buffers at once",
        base
        + buffers.assignment(
            *(buffers.buffer(i, 1 << 20, 1) for i in many), buffers.trace(*(f"alloc {i} n1" for i in many))
        ),
    )
