"""MLIR bytecode as text, against what MLIR printed (tests/golden/mlir; the kernel as XProf 2.24.2 answers it)."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import time
from pathlib import Path

import pytest
from builders.programs import mlir
from builders.programs.mlir import block, dense, dense_array, integer, module, number, numbers, op, region, tensor, text
from builders.rings import many
from hypothesis import example, given, settings, strategies

from tpu_profile_plugin.analysis.hlo import mlir as reading
from tpu_profile_plugin.analysis.hlo.mlir import (
    MAGIC,
    Reader,
    Type,
    Unreadable,
    Values,
    _digits,
    _means,
    _text,
    float_text,
    generic_text,
    quoted,
    read_module,
    summary,
)

STORED = json.loads((Path(__file__).parents[3] / "golden" / "mlir" / "modules.json").read_text())
FILES = {name: base64.b64decode(data) for name, (data, _) in STORED.items()}


@pytest.mark.parametrize("name", list(STORED))
def test_text_is_that_of_mlir(name: str) -> None:
    assert generic_text(FILES[name]) == STORED[name][1]


def test_summary_names_what_the_ops_are() -> None:
    lines = summary(FILES["kernel"]).splitlines()
    assert lines[:2] == [
        "// MLIR bytecode, version 0, of MLIR23.0.0git",
        "// Dialects: builtin, stable_mosaic, tpu, arith",
    ]
    assert "// Op: stable_mosaic.tpu.matmul" in lines


@pytest.mark.parametrize("version", range(6))
def test_names_are_read_in_every_version_of_the_encoding(version: int) -> None:
    assert summary(module(block(), version=version)).splitlines() == [
        f"// MLIR bytecode, version {version}, of p",
        "// Dialects: builtin, d",
        "// Op: d.o",
    ]


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (0.0, "f32", "0.000000e+00"),
        (-0.0, "f32", "-0.000000e+00"),
        (0.1, "f32", "1.000000e-01"),
        (3.1415927, "f32", "3.14159274"),
        (float("inf"), "f32", "0x7F800000"),
        (1e30, "f64", "1.000000e+30"),
        (123456.789, "f64", "123456.789"),
        (1.23456789e-7, "f64", "1.2345678899999999E-7"),
        (0.00123456789, "f64", "0.0012345678899999999"),
        (123456789.0, "f64", "123456789"),
    ],
)
def test_floats(number: float, kind: str, text: str) -> None:
    form = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}[kind]
    bits = struct.unpack(form[1], struct.pack(form[0], number))[0]
    assert float_text(bits, kind) == (text if "." in text or text.startswith("0x") else f"0x{bits:X}")


@pytest.mark.parametrize(
    ("bits", "kind", "text"),
    [
        (0x3A83, "bf16", "9.994500e-04"),
        (0x7BFF, "f16", "6.550400e+04"),
        (0x7E, "f8E4M3FN", "4.480000e+02"),
        (5, "f80", "0x5"),
    ],
)
def test_floats_of_few_bits(bits: int, kind: str, text: str) -> None:
    assert float_text(bits, kind) == text


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (b"\x01", 0),
        (b"\xff", 127),
        (b"\x02\x02", 128),
        (b"\x00" + b"\xff" * 8, 2**64 - 1),
        (b"\x80" + b"\xff" * 7, 2**56 - 1),
    ],
)
def test_numbers(data: bytes, number: int) -> None:
    assert Reader(data).number() == number


@settings(max_examples=many(75, 300), deadline=None)
@given(strategies.sampled_from(sorted(FILES)), strategies.data())
def test_damaged_files_are_refused_or_read(name: str, data: strategies.DataObject) -> None:
    damaged = bytearray(FILES[name])
    for _ in range(data.draw(strategies.integers(1, 4))):
        at = data.draw(strategies.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(strategies.integers(0, 255))
    cut = data.draw(strategies.none() | strategies.integers(0, len(damaged)))
    with contextlib.suppress(Unreadable):
        assert len(generic_text(bytes(damaged[:cut]))) < 1 << 26


@given(strategies.binary(max_size=300))
@example(b"\x01x\0\x00\x03\xff")
def test_other_bytes_are_refused(data: bytes) -> None:
    for read in (generic_text, summary):
        with pytest.raises(Unreadable):
            read(MAGIC + data)


USED_OFTEN = region(1, block(op(results=[0]), op(operands=[0] * 20_000)))
ABSURD = {
    "a long type of many operands": (
        module(block(op(regions=[USED_OFTEN])), types=[text(b"x" * 100_000)]),
        "2000300019 letters of names and types",
    ),
    "many ops with a long name": (
        module(block(*[op()] * 20_000), texts=(b"builtin", b"d", b"o" * 100_000)),
        "2000040000 letters of names and types",
    ),
    "many names in a long dialect": (
        module(block(), texts=(b"builtin", b"d" * 100_000, b"o"), ops=[2] * 20_000),
        "more than 33554432 letters of names",
    ),
    "a long dialect many times": (
        module(block(), texts=(b"builtin", b"d" * 100_000, b"o"), dialects=[0] + [1] * 20_000),
        "more than 33554432 letters of names",
    ),
    "many dimensions": (
        module(block(op(attributes=0)), attributes=[dense(1, b"\0")], types=[integer(8), tensor([63] * 100_000, 0)]),
        "100000 dimensions",
    ),
    "many words of an integer": (
        module(
            block(op(attributes=0)),
            attributes=[(mlir.BUILTIN, True, number(8) + number(0) + numbers([5] * 100_000))],
            types=[integer(128)],
        ),
        "100000 words for 128 bits",
    ),
    "many floats": (
        module(
            block(op(attributes=0)),
            attributes=[dense_array(0, 200_000, bytes(range(200)) * 2000)],
            types=[(mlir.BUILTIN, True, number(4))],
        ),
        "more than 100000 numbers in constants",
    ),
}
"""Small files that would become gigabytes of text, or take minutes; and why they are refused."""


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_files_are_refused_at_once(name: str) -> None:
    data, reason = ABSURD[name]
    begun = time.process_time()
    with pytest.raises(Unreadable, match=reason):
        generic_text(data)
    with contextlib.suppress(Unreadable):
        assert len(summary(data)) < 1 << 20
    assert time.process_time() - begun < 5


def test_a_constant_reads_no_more_bytes_than_it_has_elements() -> None:
    constant = dense(1, b"\x55" * 1_000_000)
    named = (mlir.BUILTIN, True, number(1) + number(1) + number(1) + number(2))
    types = [integer(1), tensor([4], 0)]
    data = module(block(op(attributes=0)), attributes=[named, text(b"a"), constant], types=types)
    assert generic_text(data) == '"d.o"() {a = dense<[true, false, true, false]> : tensor<4xi1>} : () -> ()'


def test_the_deepest_nesting_is_read_far_down_the_stack_of_a_server() -> None:
    """Regions in regions with attributes in attributes at their core, from a function 300 calls deep."""

    def nested(attributes: int, regions: int) -> bytes:
        core = block(op(attributes=attributes - 1))
        for _ in range(regions):
            core = block(op(regions=[region(0, core)]))
        arrays = [(mlir.BUILTIN, True, number(0) + numbers([at])) for at in range(attributes - 1)]
        return module(core, attributes=[text(b"x"), *arrays])

    def below(depth: int, data: bytes) -> str:
        return generic_text(data) if depth == 0 else below(depth - 1, data)

    assert below(300, nested(32, 64)).count("({") == 64
    for attributes, regions in ((33, 1), (1, 65)):
        with pytest.raises(Unreadable, match="within each other"):
            generic_text(nested(attributes, regions))


def test_floats_by_their_bits() -> None:
    table = [
        (3041458630, "f32", "-7.48692742E-7"), (21771, "bf16", "9.552000e+12"), (3230774981, "f32", "-4.55356073"),
        (127, "f8E4M3FN", "0x7F"), (1313286857, "f32", "0x4E472AC9"), (3520448949, "f32", "-1.14776515E+11"),
        (0, "bf16", "0.000000e+00"), (3207740931, "f32", "-0.696258723"), (16256, "bf16", "1.000000e+00"),
        (90390976189782955, "f64", "1.249206713864174E-302"), (251, "f8E5M2", "-5.734400e+04"),
        (3214840880, "f32", "-1.23889732"), (1421000613, "f32", "6.14175552E+12"),
    ]  # fmt: skip
    assert [float_text(bits, kind) for bits, kind, _ in table] == [text for *_, text in table]


def test_digits_are_rounded_and_placed() -> None:
    digits = [(683286, -24, 12, "4072701931", -11), (530384, 40, 15, "583163375186345", 3),
              (325112, -48, 10, "115502985", -17), (229328, 18, 6, "60117", 6), (630057, -56, 8, "87437973", -19),
              (437729, -22, 7, "1043627", -7)]  # fmt: skip
    assert [_digits(*row[:3]) for row in digits] == [row[3:] for row in digits]
    texts = [
        (1998, -19, 17, False, "0.003810882568359375"), (1004, 14, 7, False, "1.644954E+7"), (2677, -7, 2, False, "21"),
        (244, -6, 17, False, "3.8125"), (2285, 4, 1, True, "4.0e+04"), (689, -9, 15, True, "1.345703125000000e+00"),
        (1000, 0, 9, False, "1000"), (10_000, 0, 9, False, "1.0E+4"), (123, 0, 9, False, "123"),
        (3, -1, 5, False, "1.5"), (0, 0, 2, True, "0.00e+00"),
    ]  # fmt: skip
    assert [_text(*row[:3], short=row[3]) for row in texts] == [row[4] for row in texts]


def test_a_decimal_number_half_way_means_the_even_float() -> None:
    table = [("6358564864", 53182, "bf16", True), ("19058917376/3", 53182, "bf16", False),
             ("19193135104/3", 53182, "bf16", False), ("355/6597069766656", 11885, "bf16", True),
             ("3071/196608", 9216, "f16", False), ("257/256", 16256, "bf16", True),
             ("257/256", 16257, "bf16", False)]  # fmt: skip
    assert [_means(*row[:3]) for row in table] == [row[3] for row in table]


def test_what_is_unprintable_is_quoted() -> None:
    assert quoted(' ~\x7f\n"\\') == '" ~\\7F\\0A\\22\\\\"'


def test_readers_stop_at_their_end() -> None:
    part = Reader(b"zz" + bytes([7, 9, 11]) + b"zz", 2, 5)
    assert [part.number() for _ in range(3)] == [3, 4, 5]
    assert part.done
    whole = Reader(b"zz" + bytes([7, 9, 11, 13]) + b"zz", 2, 6)
    assert whole.count() == 3, "three bytes are left"
    with pytest.raises(Unreadable):
        whole.count()
    empty = Reader(b"\0")
    assert (empty.text(), empty.at) == ("", 1)
    with pytest.raises(Unreadable):
        Reader(b"ab").text()
    # Kind 1 with the flag, one byte, aligned to 4: at byte 3, so that one is skipped.
    kind, content = Reader(bytes([0x81, 3, 9, 0xCB, 5])).section()
    assert (kind, content.number()) == (1, 2)
    for alignment in (0, 3, 6):
        with pytest.raises(Unreadable):
            Reader(bytes([0x81, 3, 2 * alignment + 1, 0, 0, 0, 0, 0, 0])).section()


def own(kind: int, *values: int, rest: bytes = b"") -> mlir.Entry:
    """A builtin attribute or type in its own form."""
    return mlir.BUILTIN, True, number(kind) + b"".join(map(number, values)) + rest


FOUR, NONE = tensor([4], 0), own(12)


@pytest.mark.parametrize(
    ("types", "attribute", "expected"),
    [
        # Limits are 4 elements of a listed constant, 4 numbers, 2 dimensions and 16 bits; "" is refused.
        ([integer(8), FOUR], dense(1, bytes([1, 2, 255, 0])), "dense<[1, 2, -1, 0]> : tensor<4xi8>"),
        ([integer(8), FOUR], dense(1, bytes([5])), "dense<5> : tensor<4xi8>"),
        ([integer(8), FOUR], dense(1, bytes([1, 2, 3])), ""),
        ([integer(8), FOUR], dense(1, bytes([1, 2, 3, 4, 5])), ""),
        ([integer(8), tensor([5], 0)], dense(1, bytes([1, 2, 3, 4, 5])), 'dense<"0x0102030405"> : tensor<5xi8>'),
        ([integer(8), tensor([2, 2], 0)], dense(1, bytes([1, 2, 3, 4])), "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>"),
        ([integer(8), tensor([1, 1], 0)], dense(1, bytes([7])), "dense<7> : tensor<1x1xi8>"),
        ([integer(8), tensor([1, 1, 1], 0)], dense(1, bytes([7])), ""),
        ([integer(8), tensor([0], 0)], dense(1, b""), "dense<> : tensor<0xi8>"),
        ([integer(8), tensor([], 0)], dense(1, bytes([7])), "dense<7> : tensor<i8>"),
        ([integer(1), FOUR], dense(1, b"\x0a"), "dense<[false, true, false, true]> : tensor<4xi1>"),
        ([integer(1), FOUR], dense(1, b"\xff"), "dense<true> : tensor<4xi1>"),
        ([integer(1), FOUR], dense(1, b""), ""),
        ([integer(16), FOUR], dense(1, bytes([1, 0, 2, 0, 3, 0, 4, 128])), "dense<[1, 2, 3, -32764]> : tensor<4xi16>"),
        ([integer(17)], own(6, 0), ""),
        ([integer(16)], own(6, 0), "i16"),
        ([own(0, 16 << 2 | 2)], own(8, 0, 0xFFFF << 1), "65535 : ui16"),
        ([integer(16)], own(8, 0, 0x8000 << 1), "-32768 : i16"),
        ([integer(16)], own(8, 0, 0x7FFF << 1), "32767 : i16"),
        ([integer(1)], own(8, 0, rest=b"\x03"), "true"),
        # No constants of other types, or of nothing that has a width.
        ([integer(8)], dense(0, b"a"), ""),
        ([NONE, FOUR], dense(1, b"abcd"), ""),
        ([NONE], dense_array(0, 0, b""), ""),
        ([integer(16)], dense_array(0, 4, bytes(8)), "array<i16: 0, 0, 0, 0>"),
        ([integer(16)], dense_array(0, 5, bytes(10)), ""),
        ([integer(16)], dense_array(0, 2, bytes(3)), ""),
        ([integer(16)], dense_array(0, 0, b""), "array<i16>"),
        # Vectors of which the first dimensions may be scalable, references to memory, functions and others.
        ([integer(8), own(20, rest=number(1) + b"\x01" + number(2) + number(4) + number(8) + number(0))], own(6, 1),
         "vector<[2]x4xi8>"),
        ([integer(8), own(20, rest=number(0) + number(1) + number(4) + number(0))], own(6, 1), "vector<2xi8>"),
        ([integer(8), own(13, rest=number(1) + b"\0" + b"\xff" * 8 + number(0))], own(6, 1), "tensor<?xi8>"),
        ([integer(8), own(2, 2, 0, 0, 1, 0)], own(6, 1), "(i8, i8) -> i8"),
        ([integer(8), own(15, 2, 0, 0)], own(6, 1), "tuple<i8, i8>"),
        ([integer(8), own(9, 0)], own(6, 1), "complex<i8>"),
        ([integer(8), own(18, 0)], own(6, 1), "tensor<*xi8>"),
        ([integer(8), own(40, 0)], own(6, 1), ""),
        # Places in the source are not told.
        *(([], own(kind), "loc") for kind in (10, 11, 12, 13, 14, 15, 22)),
        ([], own(16), ""), ([], own(21), ""), ([], own(7), "unit"),
    ],
)  # fmt: skip
def test_constants_and_types(types, attribute: mlir.Entry, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("_MOST_ELEMENTS", 4), ("_MOST_NUMBERS", 4), ("_MOST_DIMENSIONS", 2), ("_MOST_BITS", 16)):
        monkeypatch.setattr(reading, name, most)
    entries = [own(1, 1, 1, 2), text(b"a"), attribute]
    data = module(block(op(attributes=0)), attributes=entries, types=types)
    if not expected:
        with pytest.raises(Unreadable):
            generic_text(data)
        return
    shown = "a" if expected == "unit" else f"a = {expected}"
    assert generic_text(data) == f'"d.o"() {{{shown}}} : () -> ()'


def test_letters_are_counted_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = region(1, block(op(results=[0]), op(operands=[0])))
    data = module(block(op(regions=[inner])), types=[text(b"abcd")], attributes=[text(b"xyz")])
    values = Values(read_module(data))
    monkeypatch.setattr(reading, "MOST_TEXT", 11)
    assert (values.type(0).text, values.attribute(0).text, values.type(0).text) == ("abcd", "xyz", "abcd")
    with pytest.raises(Unreadable):
        values.type(0)
    # Names are builtin, d and d.o, of which the dot does not count; of ops d.o three times and a value twice.
    for most, read, fine in (
        (10, read_module, True),
        (9, read_module, False),
        (37, generic_text, True),
        (36, generic_text, False),
    ):
        monkeypatch.setattr(reading, "MOST_TEXT", most)
        with contextlib.nullcontext() if fine else pytest.raises(Unreadable):
            read(data)
    monkeypatch.setattr(reading, "MOST_TEXT", 8)
    assert reading._within_limit(5, 3) == 8
    with pytest.raises(Unreadable):
        reading._within_limit(5, 4)


def test_groups_of_entries_are_as_long_as_the_table() -> None:
    def tables(*groups: int) -> list[list[int]]:
        offsets = number(3) + number(0)
        offsets += b"".join(number(0) + number(group) + number(2 << 1) * group for group in groups) + b"\1" * 9
        found = reading._read_entries(Reader(offsets), Reader(b"abcdefghij"), ["d"])
        return [[data.at for _, _, data in table] for table in found]

    assert tables(3) == tables(1, 2) == tables(2, 1) == [[0, 2, 4], []]
    for groups in ((0, 3), (4,), (2, 2)):
        with pytest.raises(Unreadable, match="a group of"):
            tables(*groups)
    assert reading.entry(["a", "b"], 1) == "b"
    with pytest.raises(Unreadable):
        reading.entry(["a", "b"], 2)


PLACED = number(0) + number(5) + number(1) + number(5)


@pytest.mark.parametrize(
    ("version", "arguments"),
    [
        # Two arguments of types 0 and 1, with a place in the source; from 3 on without an order of uses or with one.
        (0, PLACED),
        (3, PLACED + b"\0"),
        (3, PLACED + b"\1" + numbers([])),
        (3, PLACED + b"\1" + number(1) + number(7) + number(2 << 1) + number(9) * 2),
        (4, number(0) + number(3) + number(5) + b"\0"),
        (4, number(1) + number(5) + number(2) + b"\0"),
    ],
)  # fmt: skip
def test_arguments_of_blocks(version: int, arguments: bytes) -> None:
    inner = number(1 << 1 | 1) + number(2) + arguments + op(operands=[1, 0])
    data = module(block(op(regions=[region(2, inner)])), types=[text(b"t"), text(b"u")], version=version)
    assert generic_text(data).splitlines() == [
        '"d.o"() ({',
        "^bb0(%arg0: t, %arg1: u):",
        '  "d.o"(%arg1, %arg0) : (u, t) -> ()',
        "}) : () -> ()",
    ]


def test_as_many_ops_and_values_as_may_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST", 3)
    three = [op(results=[0]), op(results=[0])]
    data = module(block(op(regions=[region(2, block(*three))])), types=[text(b"t")])
    assert generic_text(data).count("d.o") == 3
    unused = [op(regions=[region(2, block())]), op(regions=[region(1, block())])]
    assert generic_text(module(block(*unused))).count("d.o") == 2
    many_values = [op(regions=[region(2, block())]), op(regions=[region(2, block())])]
    undeclared = [op(regions=[region(1, block(*three))])]
    inner = op(regions=[region(2, block(op()))])
    assert generic_text(module(block(op(regions=[region(1, block())]), inner))).count("d.o") == 3
    for ops in ([op()] * 4, many_values, undeclared, [op(regions=[region(2, block())]), inner]):
        with pytest.raises(Unreadable):
            generic_text(module(block(*ops), types=[text(b"t")]))


def test_properties_of_ops_are_shown() -> None:
    with_properties = number(0) + bytes([64]) + number(0) + number(0)
    table = number(1) + number(1) + number(0)
    data = module(block(with_properties), attributes=[text(b"{x}")], version=5)
    assert generic_text(data + bytes([8]) + number(len(table)) + table) == '"d.o"() <{x}> : () -> ()'


def test_bits_of_numbers_that_are_written_with_a_sign() -> None:
    minus_one, two = number(1), number(2)
    for data, width, bits in (
        *((bytes([200]), 8, 200), (minus_one, 9, 511), (two, 9, 1), (minus_one, 64, (1 << 64) - 1)),
        *((two + minus_one + minus_one, 65, (1 << 65) - 1), (two + two + two, 128, (1 << 64) + 1)),
    ):
        assert reading._bits(Reader(data), width) == bits
    with pytest.raises(Unreadable):
        reading._bits(Reader(number(3) + minus_one * 3), 128)


@pytest.mark.parametrize(
    ("bits", "kind", "expected"),
    [
        (0x1FF, Type("i8", bits=8), "-1"), (0xFF, Type("i8", bits=8), "-1"), (0x80, Type("i8", bits=8), "-128"),
        (0x7F, Type("i8", bits=8), "127"), (0x180, Type("ui8", bits=8, unsigned=True), "128"),
        (0xF3, Type("i4", bits=4), "3"), (0xFC, Type("i4", bits=4), "-4"), (2, Type("i1", bits=1), "false"),
        (3, Type("i1", bits=1), "true"),
    ],
)  # fmt: skip
def test_integers_of_few_bits(bits: int, kind: Type, expected: str) -> None:
    assert reading._integer_text(bits, kind) == expected


@pytest.mark.parametrize(
    ("results", "uses", "read"),
    [
        # How many uses change places, and by which places; with several results also of which.
        (1, number(2 << 1) + number(1) + number(0), 3),
        (1, number(0), 1),
        (2, number(1) + number(1) + number(1 << 1) + number(0), 4),
        (2, number(2) + (number(1) + number(1 << 1) + number(0)) * 2, 7),
        (2, number(0), 1),
    ],
)
def test_orders_of_uses_are_skipped(results: int, uses: bytes, read: int) -> None:
    reader = Reader(uses + b"\1" * 9)
    reading._Body(read_module(module(block())), Values(read_module(module(block()))))._uses(reader, results)
    assert reader.at == read


@pytest.mark.parametrize(("version", "lazy"), [(0, False), (1, False), (2, True), (3, True)])
def test_isolated_regions_are_sections_from_version_2_on(version: int, lazy: bool) -> None:
    inner = region(1, block(op(results=[0])))
    content = b"\4" + number(len(inner)) + inner if lazy else inner
    outer = number(0) + bytes([16]) + number(0) + number(1 << 1 | 1) + content
    data = module(block(outer), types=[text(b"t")], version=version)
    assert generic_text(data).splitlines() == ['"d.o"() ({', '  %0 = "d.o"() : () -> t', "}) : () -> ()"]


def test_letters_of_arguments_count() -> None:
    inner = number(1 << 1 | 1) + number(2) + PLACED + op(operands=[1, 0])
    found = read_module(module(block(op(regions=[region(2, inner)])), types=[text(b"t"), text(b"uvw")]))
    # Names of two ops, and two arguments that are used once.
    assert reading._letters(reading._Body(found, Values(found)).read()) == 2 * 3 + 2 * (10 + 1) + 2 * (10 + 3)


def test_modules_with_one_block_have_a_form_of_their_own() -> None:
    def lines(blocks: int) -> list[str]:
        return list(reading._lines(reading._Op("builtin.module", regions=[[reading._Block()] * blocks]), " "))

    assert lines(0) == lines(1) == [" module {", " }"]
    assert lines(2)[0] == ' "builtin.module"() ({'


def test_properties_in_a_form_of_the_op_are_told_by_their_size() -> None:
    found = read_module(module(block()))
    body = reading._Body(found, Values(found))
    properties = body._properties(Reader(b"abcdefg", 2, 6), "d.o", True)
    assert properties == "4 bytes"
    (line,) = reading._lines(reading._Op("d.o", properties=properties), "")
    assert line.startswith('"d.o"() /* properties: 4 bytes')
