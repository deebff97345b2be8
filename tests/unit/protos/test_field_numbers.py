"""Field numbers stand in protos/ and nowhere else; only the readers of the wire format know how a tag is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.checks.sources import PACKAGE, parsed
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tpu_profile_plugin import _native

ROOT = Path(__file__).parents[3]
# Readers of the wire format, and profiles that no protobuf library would write.
EXCEPT = ("tpu_profile_plugin/protos/wire.py", "tests/builders/damage/")
PYTHON = [path for folder in ("tpu_profile_plugin", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
RUST = [path for path in sorted((ROOT / "native" / "src").rglob("*.rs")) if "wire" not in path.parts]
RUST_NUMBERS = re.compile(
    r"\b(?:tag|next|field)\w* *(?:<<|>>) *3\b|\b(?:tag|next) *& *7\b|\btag\( *\d|\(\d+, *(?:VARINT|BYTES|FIXED)"
)
SCHEMA = re.compile(r"\b(?:string|bytes|text|bool|double|float|u?int(?:32|64)?) \d+\b|\b\w+ \d+ \*?(?:int|text|bool)\b")
NAMES = {"number", "field", "field_number", "tag"}
WRITERS = {"number", "text", "packed", "block"}
READERS = {
    "messages": 1,
    "integers": 1,
    "_number": 2,
    "_message": 2,
    "_integers": 2,
    "_packed": 2,
    "_text": 2,
    "_texts": 2,
}


def known_fields() -> set[tuple[int, str]]:
    files = FileDescriptorSet.FromString(_native.descriptor_set()).file
    return {(field.number, field.name) for file in files for made in file.message_type for field in made.field}


KNOWN = known_fields()


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0


def named(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_bare(node: ast.AST) -> bool:
    """Whether an expression takes a field by a number that is written down."""
    match node:
        case ast.BinOp(left=left, op=ast.LShift() | ast.RShift(), right=ast.Constant(value=3)):
            return not isinstance(left, ast.Constant)
        case ast.BinOp(op=ast.BitAnd(), right=ast.Constant(value=7)):
            return True
        case ast.Compare(left=left, comparators=[right]):
            numbers = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
            return named(left) in NAMES and any(map(is_number, numbers))
        case ast.Call(func=function, args=arguments, keywords=keywords):
            if any(keyword.arg in ("number", "field_number") and is_number(keyword.value) for keyword in keywords):
                return "field" in ast.unparse(function)
            if READERS.get(named(function)) == len(arguments):
                return is_number(arguments[-1])
            writes = isinstance(function, ast.Name) and function.id in WRITERS
            return writes and len(arguments) == 2 and is_number(arguments[0])
        case ast.Dict(keys=keys, values=values):
            pairs = {(getattr(k, "value", 0), getattr(v, "value", "")) for k, v in zip(keys, values, strict=True) if k}
            return len(pairs & KNOWN) > 1
        case ast.Constant(value=str(text)):
            return len(SCHEMA.findall(text)) > 2
    return False


def bare_numbers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if is_bare(node):
            yield f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)[:80]}"


def tree_of(path: Path) -> ast.Module:
    return parsed(path) if path.is_relative_to(PACKAGE) else ast.parse(path.read_text())


def test_no_field_numbers_in_python() -> None:
    paths = [path for path in PYTHON if not path.relative_to(ROOT).as_posix().startswith(EXCEPT)]
    found = {path: list(bare_numbers(tree_of(path))) for path in paths if path != Path(__file__)}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_field_numbers_in_rust() -> None:
    found = {path: RUST_NUMBERS.findall(path.read_text().partition("#[cfg(test)]")[0]) for path in RUST}
    assert found
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if number == 7: pass",
        "if one.number in (1, 2): pass",
        "wire = tag & 7",
        "found = tag >> 3",
        "head = field << 3 | 2",
        "made.field.add(name='a', number=4)",
        "text(8, data)",
        "found = one.messages(30)",
        "found = _number(one, 71)",
        "NAMES = {2: 'device_ordinal', 3: 'core_num'}",
        "SCHEMA = 'XLine: id int64 1, name string 2, events XEvent 4, duration_ps int64 9'",
        "SCHEMA = 'Tile: name 1 text, dimensions 1 *int, size 2 int'",
    ],
)
def test_the_check_finds_them(source: str) -> None:
    assert list(bare_numbers(ast.parse(source)))


@pytest.mark.parametrize("line", ["(1, BYTES) => name", "match tag >> 3 {", "tag(4, VARINT)", "next & 7 == BYTES"])
def test_the_check_finds_them_in_rust(line: str) -> None:
    assert RUST_NUMBERS.search(line)
