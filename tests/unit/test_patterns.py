"""No text makes a regular expression of the package slow: time grows with the length of the text, not with its square.

The patterns are found: all of the modules, with the methods that the modules call, and those written in functions. For
each, texts are made from its own parts.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from builders.checks.sources import PACKAGE, parsed

try:
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:
    import sre_parse as parser

METHODS = {"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# Patterns that are put together in a function, and of what.
MADE = {
    "errors": "two spellings of a number",
    "logdir.run_files": "the number of a rank",
    "system.process": "one of two words",
    "cache.codec": "names of rooms of this package",
    "analysis.memory.allocations": "one of two patterns without much in them",
    "analysis.common.op_names": "phrases of this package",
    "analysis.findings.blamed": "an escaped name between two looks at one character",
    "analysis.findings.part_advice": "the package's tables of advice",
    "analysis.findings.rules.host.debug_callbacks": "its own constant, which is tried below",
}
CHARACTERS = "a0_./- :$<>()[]{},=A\n\"'#@%*\\~;|+!é"
FRAGMENTS = (
    "a.",
    "a/",
    "a_",
    "0.",
    "a0",
    "a:",
    "/a",
    "$a",
    "a b",
    "::",
    "a<",
    "a(",
    "(a",
    "f32[",
    "a,",
    "1,",
    "-a",
    "a=",
)
SMALL, LARGE, LARGEST = 200, 2_500, 10_000
IGNORED_S = 0.001
"""For the large text; were it to grow with the square, 100,000 letters would take 1.6 s."""


def _module(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


TREES = {_module(file): parsed(file) for file in sorted(PACKAGE.rglob("*.py"))}


def _held(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from _held(one, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for one in (*value.keys(), *value.values()):
            yield from _held(one, depth + 1)
    elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _held(getattr(value, one.name, None), depth + 1)


def _called(tree: ast.AST) -> tuple[dict[str, set[str]], set[str]]:
    """The methods by the name that they are called of, and all of names that are no constants."""
    by_name: dict[str, set[str]] = {}
    loose: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            of = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            if of != "re":
                by_name.setdefault(of, set()).add(node.attr)
                loose |= set() if of.isupper() else {node.attr}
    return by_name, loose


def _inline(module: str, tree: ast.Module) -> Iterator[tuple[str, re.Pattern[Any] | None, set[str]]]:
    """Calls of `re` below the level of the module; None if the pattern is no constant."""
    statements = [top for top in tree.body if not isinstance(top, (ast.FunctionDef, ast.ClassDef))]
    at_top = {id(node) for top in statements for node in ast.walk(top)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re":
            name = node.func.attr
            if name not in METHODS | {"compile"} or (name == "compile" and id(node) in at_top):
                continue
            first = node.args[0]
            pattern = re.compile(first.value) if isinstance(first, ast.Constant) else None
            yield f"{module}:{node.lineno}", pattern, {name} if name in METHODS else {"search", "fullmatch"}


def _patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    found: dict[tuple[Any, int], tuple[str, re.Pattern[Any], set[str]]] = {}
    for module, tree in TREES.items():
        by_name, loose = _called(tree)
        for name, value in vars(importlib.import_module(f"tpu_profile_plugin.{module}".rstrip("."))).items():
            for pattern in _held(value):
                _, _, methods = found.setdefault((pattern.pattern, pattern.flags), (f"{module}:{name}", pattern, set()))
                methods |= by_name.get(name, loose)
        for where, made, methods in _inline(module, tree):
            if made is not None:
                yield where, made, methods
    yield from found.values()


def _member(members: Sequence[tuple[Any, Any]], variant: int) -> str:
    """A character of a class."""
    own = [chr(what if str(op) == "LITERAL" else what[0]) for op, what in members if str(op) in ("LITERAL", "RANGE")]
    of_class = re.compile("|".join(map(_as_class, members)))
    excluded = any(str(op) == "NEGATE" for op, _ in members)
    fitting = [char for char in dict.fromkeys([*own, *CHARACTERS]) if bool(of_class.fullmatch(char)) != excluded]
    return fitting[variant % len(fitting)] if fitting else "a"


def _as_class(member: tuple[Any, Any]) -> str:
    op, what = str(member[0]), member[1]
    if op == "LITERAL":
        return re.escape(chr(what))
    if op == "RANGE":
        return f"[{re.escape(chr(what[0]))}-{re.escape(chr(what[1]))}]"
    if op == "CATEGORY":
        kind = str(what).removeprefix("CATEGORY_")
        letter = {"DIGIT": "d", "WORD": "w", "SPACE": "s"}[kind.removeprefix("NOT_")]
        return "\\" + (letter.upper() if kind.startswith("NOT_") else letter)
    return r"(?!)"


def _sample(tree: Any, variant: int) -> str:
    """A text that a parsed pattern matches, but for look-around; variants take other branches and characters."""
    text = ""
    for op, what in tree:
        kind = str(op)
        if kind == "LITERAL":
            text += chr(what)
        elif kind == "NOT_LITERAL":
            text += next(char for char in "a0" if ord(char) != what)
        elif kind == "ANY":
            text += "a0/ ."[variant % 5]
        elif kind == "IN":
            text += _member(what, variant)
        elif kind == "BRANCH":
            text += _sample(what[1][variant % len(what[1])], variant)
        elif kind == "SUBPATTERN":
            text += _sample(what[3], variant)
        elif kind.endswith("_REPEAT"):
            text += _sample(what[2], variant) * max(1, what[0])
    return text


def _pumps(tree: Any, before: str, variant: int) -> Iterator[tuple[str, str]]:
    """What stands before each repeat, and what it repeats; also both as one."""
    for op, what in tree:
        kind = str(op)
        inner: list[Any] = []
        if kind == "BRANCH":
            inner = what[1]
        elif kind == "SUBPATTERN":
            inner = [what[3]]
        elif kind.startswith("ASSERT"):
            inner = [what[1]]
        if kind.endswith("_REPEAT"):
            body = _sample(what[2], variant)
            yield from ((before, body), ("", body), ("", before + body))
            yield from _pumps(what[2], before, variant)
        for one in inner:
            yield from _pumps(one, before, variant)
        before += _sample([(op, what)], variant)


def _cpu_s(call: Any, text: str | bytes) -> float:
    best = float("inf")
    for _ in range(2):
        begin = time.thread_time()
        call(text)
        best = min(best, time.thread_time() - begin)
        if not IGNORED_S < best < 10 * IGNORED_S:
            break
    return best


def _slow(pattern: re.Pattern[Any], methods: set[str]) -> str:
    """The text for which a method takes more than in proportion; "" for none."""
    source = pattern.pattern
    tree = parser.parse(source if isinstance(source, str) else source.decode("latin-1"), pattern.flags & ~re.UNICODE)
    pumps = dict.fromkeys(("", one) for one in (*CHARACTERS, *FRAGMENTS))
    for variant in range(4):
        pumps |= dict.fromkeys((before, pump) for before, pump in _pumps(tree, "", variant) if pump)
    calls = {getattr(pattern, name) for name in methods & {"search", "match", "fullmatch"}}
    if methods - {"search", "match", "fullmatch"}:
        calls.add(pattern.findall)
    for call in calls:
        for before, pump in pumps:

            def text(size: int, before: str = before, pump: str = pump) -> str | bytes:
                made = f"{before}{(pump * (size // len(pump) + 1))[:size]}\x01"
                return made if isinstance(source, str) else made.encode("latin-1")

            if _cpu_s(call, text(SMALL)) > IGNORED_S:
                return f"{call.__name__} {before!r} {pump!r}: slow for {SMALL} letters"
            if (large := _cpu_s(call, text(LARGE))) > IGNORED_S and _cpu_s(call, text(LARGEST)) > 8 * large:
                return f"{call.__name__} {before!r} {pump!r}: {large:.3f} s for {LARGE} letters"
    return ""


FOUND = list(_patterns())
PARTS = 24
"""In as many tests, so that none of them takes long on a busy machine."""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_time_of_every_pattern_grows_with_the_length_of_the_text_only(part: int) -> None:
    assert len(FOUND) > 200
    some = FOUND[part::PARTS]
    slow = {where: told for where, pattern, methods in some if (told := _slow(pattern, methods or {"search"}))}
    assert slow == {}


def test_patterns_made_of_other_texts_are_known() -> None:
    made = {
        where.partition(":")[0]
        for module, tree in TREES.items()
        for where, pattern, _ in _inline(module, tree)
        if pattern is None
    }
    assert made == set(MADE)


@pytest.mark.parametrize("pattern", [r"\w+x", r"(\d+)\d*y", r".*a.*b", r"^\s*(.+?):1$", r"\[([^]]+)\]z"])
def test_slow_patterns_are_found(pattern: str) -> None:
    assert _slow(re.compile(pattern), {"search"})
