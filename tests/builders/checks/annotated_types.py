"""The classes that the annotations of functions and dataclasses name, found in the source without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from builders.checks.sources import PACKAGE, parsed

_STORABLE_BASES = ("Enum", "IntEnum", "StrEnum", "NamedTuple")


@cache
def _parsed(module: str) -> ast.Module:
    path = PACKAGE.joinpath(*module.split("."))
    return parsed(path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py")


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Names of our package that a module imports: module and name there."""
    found = {}
    for node in ast.walk(_parsed(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tpu_profile_plugin."):
            for alias in node.names:
                found[alias.asname or alias.name] = (node.module.removeprefix("tpu_profile_plugin."), alias.name)
    return found


@cache
def _defined(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """The statement that defines a name of a module, and the module of the statement."""
    for node in _parsed(module).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return module, node
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return module, node
    return _defined(*_imports(module)[name]) if name in _imports(module) else None


def _stored(node: ast.ClassDef) -> bool:
    """Whether it is a dataclass, a named tuple or an enumeration."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return any("dataclass" in ast.unparse(one) for one in node.decorator_list) or bool(bases & set(_STORABLE_BASES))


def named_in(module: str, annotation: ast.expr, seen: set[str]) -> Iterator[str]:
    """The classes in an annotation, as `module:name`, and those in the annotations of their fields."""
    for part in ast.walk(annotation):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from named_in(module, ast.parse(part.value, mode="eval").body, seen)
        found = _defined(module, part.id) if isinstance(part, ast.Name) else None
        if found is None:
            continue
        home, node = found
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            if f"{home}={part.id}" not in seen:
                seen.add(f"{home}={part.id}")
                yield from named_in(home, node.value, seen)  # an alias of a type
        elif isinstance(node, ast.ClassDef) and _stored(node) and f"{home}:{node.name}" not in seen:
            seen.add(f"{home}:{node.name}")
            yield f"{home}:{node.name}"
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    yield from named_in(home, field.annotation, seen)


def results_of_steps() -> set[str]:
    """The classes in results of per-host steps: what the steps' functions and the rules' `gather` return."""
    seen: set[str] = set()
    found: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.walk(_parsed(module)):
            if isinstance(node, ast.FunctionDef) and any(
                "per_host(" in ast.unparse(one) for one in node.decorator_list
            ):
                found |= set(named_in(module, node.returns, seen)) if node.returns is not None else set()
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Rule"):
                continue
            for name in node.args[3:]:
                defined = _defined(module, name.id) if isinstance(name, ast.Name) else None
                if defined is not None and isinstance(defined[1], ast.FunctionDef) and defined[1].returns is not None:
                    found |= set(named_in(defined[0], defined[1].returns, seen))
    (facts,) = [node for node in _parsed("run.facts").body if getattr(node, "name", "") == "RunFacts"]
    for field in facts.body:
        if isinstance(field, ast.AnnAssign):
            found |= set(named_in("run.facts", field.annotation, seen))
    return found
