"""The build backend's own logic: when the frontend is built, and what it says when something is missing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

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
    for name in ("report", "widget"):
        (tmp_path / "static" / name).mkdir(exist_ok=True)
        (tmp_path / "static" / name / f"{name}.js").write_text("")
    (tmp_path / "frontend" / backend.PACKAGES).write_text("{}")
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


LOCKED = {
    "": {"name": "pages"},
    "node_modules/a": {"version": "1.0.0", "integrity": "sha512-q80=", "license": "MIT"},
    "node_modules/@group/b": {"version": "2.0.0", "integrity": "sha1-AQI=", "license": "MIT OR ISC"},
    "node_modules/a/node_modules/t": {"version": "2.3.0", "integrity": "sha512-Aw==", "license": "0BSD"},
    "node_modules/t": {"version": "2.9.1", "integrity": "sha512-BA==", "license": "0BSD", "dev": True},
}


def packages(backend: ModuleType, tmp_path: Path, *texts: str) -> list[dict[str, Any]]:
    lock = tmp_path / "package-lock.json"
    lock.write_text(json.dumps({"packages": LOCKED}))
    (tmp_path / "static" / "report").mkdir()
    for name, text in zip(("", "report/"), texts, strict=True):
        (tmp_path / "static" / f"{name}licenses.md").write_text(text)
    found: list[dict[str, Any]] = backend.bundled_packages(tmp_path / "static", lock)
    return found


def test_packages_of_all_bundles_are_listed_once_and_in_the_version_that_is_bundled(
    backend: ModuleType, tmp_path: Path
) -> None:
    texts = (
        "# Licenses\n\n## a - 1.0.0 (MIT)\n\n## a: NOTICE\n\n## t - 2.3.0 (0BSD)\n",
        "## @group/b - 2.0.0 (MIT OR ISC)\n",
    )
    found = packages(backend, tmp_path, texts[0], texts[0] + texts[1])
    assert [one["purl"] for one in found] == ["pkg:npm/%40group/b@2.0.0", "pkg:npm/a@1.0.0", "pkg:npm/t@2.3.0"]
    assert found[0] == {
        "type": "library",
        "bom-ref": "pkg:npm/%40group/b@2.0.0",
        "group": "@group",
        "name": "b",
        "version": "2.0.0",
        "hashes": [{"alg": "SHA-1", "content": "0102"}],
        "licenses": [{"expression": "MIT OR ISC"}],
        "purl": "pkg:npm/%40group/b@2.0.0",
    }


def test_a_bundled_package_that_is_not_locked_stops_the_build(backend: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match=r"'a', '1\.0\.1'"):
        packages(backend, tmp_path, "## a - 1.0.1 (MIT)\n", "")


def test_bills_of_materials_are_cyclonedx_and_the_same_for_the_same_contents(backend: ModuleType) -> None:
    made = backend.component("npm", "@group/b", "2.0.0", "MIT OR ISC", "sha256-" + "A" * 43 + "=")
    text = backend.bill_of_materials("pages", [made])
    assert backend.bill_of_materials("pages", [made]) == text != backend.bill_of_materials("pages", [])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    wrong = backend.bill_of_materials("pages", [{**made, "licenses": "MIT"}])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(wrong) is not None


def test_what_is_published_is_cyclonedx(backend: ModuleType) -> None:
    files = [backend.ROOT / "native" / "crates.cdx.json", backend.FRONTEND / backend.PACKAGES]
    for file in files:
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text()) is None, file
    assert json.loads(files[1].read_text())["components"] == backend.bundled_packages()
    assert "echarts" in {one["name"] for one in backend.bundled_packages()}
