"""Import rules that import-linter cannot see: of the compiled module and its source, and of tools among themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from builders.checks.sources import PACKAGE, parsed

from tpu_profile_plugin.tools.registry import TOOLS

NATIVE = "tpu_profile_plugin._native"
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """`a/b.py` as `tpu_profile_plugin.a.b`."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Every module, and every name taken out of a module, that a file imports."""
    here = name_of(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


NAMES = {name_of(path) for path in MODULES} - {PACKAGE.name}


def imported_modules(path: Path) -> set[str]:
    """The modules of the package that a file imports, those for type checkers included."""
    found = {name if name in NAMES else name.rpartition(".")[0] for name in imports(path)}
    return (found & NAMES) - {name_of(path)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name_of(path): imported_modules(path) for path in MODULES}
    assert sum(map(len, graph.values())) > 1000
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {f"{PACKAGE.name}.units": {f"{PACKAGE.name}.opening"}}).prepare()


RUST = PACKAGE.parent / "native" / "src"


def rust_modules() -> dict[str, str]:
    """The source of each native module without comments and tests, by its path: `timeline::model::trace`."""
    sources = {}
    for path in RUST.rglob("*.rs"):
        name = "::".join(path.relative_to(RUST).with_suffix("").parts).removesuffix("::mod")
        text = path.read_text().partition("#[cfg(test)]\nmod tests {")[0]
        sources[name] = re.sub(r"//[^\n]*", "", text)
    return sources


def rust_paths(tree: str) -> Iterator[str]:
    """Every path of a use tree: `a::{b, c::{d, e}}` has `a::b`, `a::c::d` and `a::c::e`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.partition(" as ")[0].strip()
        return
    depth, begin = 0, 0
    for i, letter in enumerate(body := rest.rpartition("}")[0] + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part := body[begin:i].strip():
                yield from rust_paths(head.strip() + part)
            begin = i + 1


def used_rust_modules(name: str, source: str, modules: set[str]) -> set[str]:
    """The modules that a module uses: in `use` declarations, and by paths elsewhere."""
    declared = re.findall(r"\buse ([\w:]+::[^;]+);", source)
    elsewhere = re.findall(r"(?<![\w:])[a-z_]+(?:::\w+)+", re.sub(r"\buse [^;]+;", "", source))
    used = set()
    for path in [*(path for tree in declared for path in rust_paths(tree)), *elsewhere]:
        parts, base = path.split("::"), name.split("::")
        if parts[0] == "crate":
            parts, base = parts[1:], []
        while parts[:1] in (["self"], ["super"]):
            base = base[:-1] if parts[0] == "super" else base
            parts = parts[1:]
        full = [*base, *parts]
        while full and "::".join(full) not in modules:
            full = full[:-1]
        used.add("::".join(full))
    return used & modules - {name}


def test_no_modules_of_the_native_core_use_each_other_in_a_circle() -> None:
    sources = rust_modules()
    graph = {name: used_rust_modules(name, source, set(sources)) for name, source in sources.items()}
    assert sum(map(len, graph.values())) > 300
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules
    folders: dict[str, set[str]] = {}
    for name, used in graph.items():
        folders.setdefault(name.partition("::")[0], set()).update(other.partition("::")[0] for other in used)
    TopologicalSorter({folder: used - {folder} for folder, used in folders.items()}).prepare()
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {"error": {"lib", "decode::columns"}}).prepare()


def declares_tool(path: Path) -> bool:
    """Whether a module has a `TOOL` (or several: `TOOLS`) at its top level."""
    tree = parsed(path)
    targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in tree.body if isinstance(n, ast.AnnAssign)]
    return any(isinstance(t, ast.Name) and t.id in ("TOOL", "TOOLS") for t in targets)


def test_few_rooms_import_the_native_core() -> None:
    using = {name_of(path) for path in MODULES if any(name.startswith(NATIVE) for name in imports(path))}
    rooms = {name.split(".")[1] for name in using}
    assert (
        {"columns"}
        < rooms
        <= {"columns", "analysis", "cache", "export", "formats", "logdir", "profile_data", "protos", "tables"}
    )


def test_only_system_asks_which_operating_system_this_is() -> None:
    asks = r"\bos\.(name|sep)\b|sys\.platform|hasattr\(os|\"/(proc|sys)/"
    modules = r"import (fcntl|msvcrt|ctypes|signal|resource|pwd)\b"
    more = r"cpu_count|sched_getaffinity|posix_fallocate|geteuid"
    asking = {path for path in MODULES if re.search(f"{asks}|{modules}|{more}", path.read_text())}
    assert {path.parent.name for path in asking} == {"system"}


def homes_of_tools() -> dict[str, list[Path]]:
    """The modules of each tool: the one that declares it, or all of its folder if that is called `tool`."""
    found = {}
    for path in MODULES:
        if "tools" in path.parts and path.stem != "registry" and declares_tool(path):
            home = path.parent if path.stem == "tool" else path
            found[name_of(home)] = sorted(home.rglob("*.py")) if home.is_dir() else [home]
    return found


def test_tools_do_not_import_each_other() -> None:
    homes = homes_of_tools()
    assert len(homes) > len(TOOLS) / 2
    for name, paths in homes.items():
        others = {
            (used, path.name)
            for path in paths
            for used in imports(path)
            for other in homes
            if other != name and f"{used}.".startswith(f"{other}.")
        }
        assert not others, f"{name} imports {others}: shared code belongs into run/, analysis/ or a helper of tools/"


def test_every_page_folder_is_named_after_a_tool() -> None:
    pages = {page.parent.name for page in (PACKAGE.parent / "frontend" / "src" / "tools").glob("*/page.tsx")}
    no_tools = {"generic", "trend"}  # the table of any tool, and the page over all runs
    assert pages - {tool.id.rstrip("@") for tool in TOOLS} == no_tools
