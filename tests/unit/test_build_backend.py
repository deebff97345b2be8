"""The build backend's own logic: when the frontend is built, and what it says when something is missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_backend.py"


@pytest.fixture
def backend(tmp_path: Path) -> ModuleType:
    """The backend, looking at a small made-up checkout."""
    spec = importlib.util.spec_from_file_location("build_backend", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    frontend, static = tmp_path / "frontend", tmp_path / "static"
    (frontend / "src").mkdir(parents=True)
    static.mkdir()
    (frontend / "package.json").write_text("{}")
    (frontend / "src" / "main.ts").write_text("1")
    return module


def stale(backend: ModuleType, tmp_path: Path) -> bool:
    answer: bool = backend.frontend_is_stale(tmp_path / "frontend", tmp_path / "static")
    return answer


def build(backend: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "static" / "index.html").write_text("")
    (tmp_path / "static" / "report").mkdir(exist_ok=True)
    (tmp_path / "static" / "report" / "report.js").write_text("")
    (tmp_path / "static" / backend.STAMP).write_text(backend.frontend_digest(tmp_path / "frontend"))


def test_a_bundle_is_stale_until_built_and_after_a_change(backend: ModuleType, tmp_path: Path) -> None:
    assert stale(backend, tmp_path)
    build(backend, tmp_path)
    assert not stale(backend, tmp_path)
    (tmp_path / "frontend" / "src" / "main.ts").write_text("2")
    assert stale(backend, tmp_path)


def test_a_removed_source_makes_the_bundle_stale(backend: ModuleType, tmp_path: Path) -> None:
    extra = tmp_path / "frontend" / "src" / "page.tsx"
    extra.write_text("3")
    build(backend, tmp_path)
    extra.unlink()
    assert stale(backend, tmp_path)


def test_tests_and_fetched_packages_are_not_sources(backend: ModuleType, tmp_path: Path) -> None:
    build(backend, tmp_path)
    (tmp_path / "frontend" / "src" / "main.test.ts").write_text("4")
    (tmp_path / "frontend" / "node_modules").mkdir()
    (tmp_path / "frontend" / "node_modules" / "index.html").write_text("5")
    assert not stale(backend, tmp_path)


def test_without_frontend_sources_there_is_nothing_to_build(backend: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "frontend" / "package.json").unlink()
    assert not stale(backend, tmp_path)


def test_missing_tools_are_named_with_a_way_to_get_them(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend.shutil, "which", lambda _: None)
    monkeypatch.setattr(backend, "find_node", lambda: None)
    monkeypatch.setattr(backend, "frontend_is_stale", lambda: True)
    with pytest.raises(SystemExit, match=r"Rust .* is missing(.|\n)*https://rustup.rs"):
        backend.need_rust()
    with pytest.raises(SystemExit, match=r"Node.js 20.19 .* is missing(.|\n)*https://nodejs.org"):
        backend.build_frontend()
    assert backend.get_requires_for_build_wheel() == [backend.NODE_PACKAGE]


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("v20.19.4\n", (20, 19)),
        ("cargo 1.95.0 (f2d3ce0bd 2026-03-21)", (1, 95)),
        ("v8.1.0", (8, 1)),
        ("nonsense", (0, 0)),
    ],
)
def test_the_version_of_a_program_is_read(
    backend: ModuleType, tmp_path: Path, says: str, version: tuple[int, int]
) -> None:
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\nprintf '%s' '{says.strip()}'\n")
    node.chmod(0o755)
    assert backend.version_of(str(node)) == version


def test_texts_for_agents_are_in_the_package_while_it_is_built(backend: ModuleType, tmp_path: Path) -> None:
    docs, copies = tmp_path / "docs", tmp_path / "texts"
    docs.mkdir()
    (docs / "agents.md").write_text("# Guide")
    (docs / "guide.md").write_text("# Other")
    with backend.copied_texts(docs, copies):
        assert {path.name: path.read_text() for path in copies.iterdir()} == {"agents.md": "# Guide"}
    assert not copies.exists()


def test_an_sdist_keeps_its_texts_for_agents(backend: ModuleType, tmp_path: Path) -> None:
    copies = tmp_path / "texts"
    copies.mkdir()
    (copies / "agents.md").write_text("# Guide")
    with backend.copied_texts(tmp_path / "docs", copies):
        pass
    assert (copies / "agents.md").read_text() == "# Guide"
