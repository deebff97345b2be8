"""The import rules that import-linter cannot see: the compiled module, and tools among themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tpu_profile_plugin.tools.registry import TOOLS

PACKAGE = Path(__file__).parents[2] / "tpu_profile_plugin"
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """`a/b.py` as `tpu_profile_plugin.a.b`."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Every module, and every name taken out of a module, that a file imports."""
    here = name_of(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


def declares_tool(path: Path) -> bool:
    """Whether a module has a `TOOL` (or several: `TOOLS`) at its top level."""
    tree = ast.parse(path.read_text())
    targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in tree.body if isinstance(n, ast.AnnAssign)]
    return any(isinstance(t, ast.Name) and t.id in ("TOOL", "TOOLS") for t in targets)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_few_rooms_import_the_native_core(path: Path) -> None:
    native = [name for name in imports(path) if name.startswith("tpu_profile_plugin._native")]
    rooms = ("columns", "analysis", "formats", "logdir", "protos", "tables")
    assert not native or name_of(path).split(".")[1] in rooms, native


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent.name != "system"], ids=name_of)
def test_only_system_asks_which_operating_system_this_is(path: Path) -> None:
    asks = r"\bos\.(name|sep)\b|sys\.platform|hasattr\(os|\"/(proc|sys)/"
    modules = r"import (fcntl|msvcrt|ctypes|signal|resource|pwd)\b"
    more = r"cpu_count|sched_getaffinity|posix_fallocate|geteuid"
    assert not re.findall(f"{asks}|{modules}|{more}", path.read_text())


def test_tools_do_not_import_each_other() -> None:
    tools = {name_of(path): path for path in MODULES if path.parent.name == "tools" and path.stem != "registry"}
    tools = {name: path for name, path in tools.items() if declares_tool(path)}
    for name, path in tools.items():
        others = {other for used in imports(path) for other in tools if used == other or used.startswith(other + ".")}
        assert not others, f"{name} imports {others}: shared code belongs into analysis/ or a helper of tools/"


def test_every_page_folder_is_named_after_a_tool() -> None:
    pages = {page.parent.name for page in (PACKAGE.parent / "frontend" / "src" / "tools").glob("*/page.tsx")}
    assert pages - {tool.id.rstrip("@") for tool in TOOLS} == {"generic"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_first_line_says_what_a_module_is_for(path: Path) -> None:
    assert (ast.get_docstring(ast.parse(path.read_text())) or "").strip()
