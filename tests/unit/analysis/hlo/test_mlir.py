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

from tpu_profile_plugin.analysis.hlo.mlir import (
    MAGIC,
    Reader,
    Unreadable,
    _digits,
    _means,
    _text,
    float_text,
    generic_text,
    quoted,
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
