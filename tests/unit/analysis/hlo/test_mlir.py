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

from tpu_profile_plugin.analysis.hlo.mlir import MAGIC, Reader, Unreadable, float_text, generic_text, summary

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
