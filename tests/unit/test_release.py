"""The release workflow builds what scripts/release knows, with fixed actions; the notices of the crates are current."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text()


def script(name: str) -> ModuleType:
    """A Python program of scripts/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def job(name: str) -> str:
    """The text of one job of the workflow."""
    (text,) = re.findall(rf"(?ms)^  {name}:\n(.*?)(?=^  [a-z-]+:\n|\Z)", WORKFLOW)
    return str(text)


def test_every_target_is_built_and_tried() -> None:
    targets = script("release").TARGETS
    built = re.findall(r"target: (\S+), runner: \S+, rust: (\S+) }", job("wheel"))
    assert dict(built) == {name: rust for name, (rust, _) in targets.items()}
    tried = re.findall(r"- { target: (\S+), runner", job("try")) + re.findall(r"- { target: (\S+),", job("try-musl"))
    assert tried == list(targets)[:2] + list(targets)[4:] + list(targets)[2:4]
    (dimension,) = re.findall(r"target: \[(.*)\]", job("try"))
    assert dimension.split(", ") == tried[: len(dimension.split(", "))]


def test_the_oldest_python_is_tried() -> None:
    (oldest,) = re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert f'python: ["{oldest}", ' in job("try")


def test_the_newest_python_is_tried_that_is_declared() -> None:
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert f', "{declared[-1]}"]' in job("try")


@pytest.mark.parametrize("name", ["release.yml", "tests.yml"])
def test_actions_are_fixed_versions(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / name).read_text()
    used = re.findall(r"uses: \S+@(.*)", text)
    assert len(used) == text.count("uses:") > 0
    assert [ref for ref in used if not re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+|v\d+\.\d+\.\d+", ref)] == []


def test_only_a_tag_publishes() -> None:
    assert "if: github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')" in job("publish")
    assert "needs: [try, try-musl]" in job("publish")
    assert "write" not in WORKFLOW.replace(job("publish"), "")


def test_the_recipe_for_conda_needs_what_the_package_needs(tmp_path: Path) -> None:
    declared = re.search(r"(?ms)^dependencies = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text())
    assert declared is not None
    wanted: dict[str, dict[str, str]] = {}
    for name, version, marker in re.findall(r'"([\w-]+)>=([\d.]+)(; python_version >= \'3.12\')?"', declared[1]):
        wanted.setdefault(name, {})["new" if marker else "old"] = version
    sdist = tmp_path / "sdist.tar.gz"
    sdist.write_bytes(b"sdist")
    text = script("release").recipe(sdist, "https://example.org/s.tar.gz", "https://example.org", "someone")
    found: dict[str, dict[str, str]] = {}
    run = text.partition("  run:\n")[2].partition("\ntest:")[0]
    for name, version, selector in re.findall(r"- ([\w-]+) >=([\d.]+)(?: +# \[(py[<>=]+312)\])?", run):
        found.setdefault(name, {})["new" if selector == "py>=312" else "old"] = version
    assert found == wanted
    version = script("release").version_of_sources()
    assert text.startswith(f'{{% set version = "{version}" %}}\n')
    assert "  url: https://example.org/s.tar.gz\n" in text
    assert "  sha256: 714772a9f82b2aeb4fa5f7092d00fe4ac4c9cdeb6800840b6ed39ea64c4d785a\n" in text
    assert "  home: https://example.org\n" in text
    assert "    - someone\n" in text


def test_the_version_is_the_same_everywhere() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", script("release").version_of_sources())


def test_a_license_is_chosen_and_an_unknown_one_stops() -> None:
    licenses = script("licenses")
    offered = ["MIT OR Apache-2.0", "BSD-3-Clause/MIT", "Apache-2.0 WITH LLVM-exception OR Apache-2.0", "BSD-2-Clause"]
    chosen = [licenses.license_of({"name": "a", "license": text}) for text in offered]
    assert chosen == ["MIT", "MIT", "Apache-2.0", "BSD-2-Clause"]
    for text in ("GPL-3.0-only", None):
        with pytest.raises(SystemExit, match=r"a offers .*: may it be bundled\?"):
            licenses.license_of({"name": "a", "license": text})


def test_equal_licenses_are_written_once_and_missing_ones_have_holders(tmp_path: Path) -> None:
    licenses = script("licenses")
    packages = []
    for name, text in (
        ("a", "Copyright (c) A\n\nText "),
        ("b", "Copyright (c) A\n\nText\n"),
        ("jiter", None),
        ("d", ""),
    ):
        folder = tmp_path / name
        folder.mkdir()
        if name != "d":
            (folder / "LICENSE").write_text(text or "Copyright (c) J\n\nText")
        facts = {"name": name, "version": "1", "license": "MIT", "authors": ["D <d@example.com>"]}
        packages.append({**facts, "manifest_path": str(folder / "Cargo.toml")})
    written = licenses.document(licenses.notices(packages)).removeprefix(licenses.HEAD)
    assert re.findall(r"(?m)^## .*|^Copyright.*", written) == [
        "## a 1 (MIT), b 1 (MIT)",
        "Copyright (c) A",
        "## jiter 1 (MIT)",
        "Copyright (c) J",
        "## d 1 (MIT)",
        "Copyright (c) D",
        "## The Rust standard library (MIT OR Apache-2.0)",
        "Copyright (c) The Rust Project Contributors",
    ]


def test_crates_are_listed_with_the_checksums_of_the_lock_file() -> None:
    lock = "".join(
        f'[[package]]\nname = "a"\nversion = "{version}"\nsource = "registry"\nchecksum = "{digest}"\n{more}\n'
        for version, digest, more in (("1.0.0", "0aff", ""), ("2.0.0", "01", 'dependencies = [\n "b",\n]\n'))
    )
    package = {"name": "a", "version": "1.0.0", "license": "MIT/Apache-2.0"}
    crate, standard = json.loads(script("licenses").materials([package], lock))["components"]
    assert crate == {
        "type": "library",
        "bom-ref": "pkg:cargo/a@1.0.0",
        "name": "a",
        "version": "1.0.0",
        "hashes": [{"alg": "SHA-256", "content": "0aff"}],
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "purl": "pkg:cargo/a@1.0.0",
    }
    assert standard["name"] == "The Rust standard library"


def test_the_same_crates_are_licensed_and_listed() -> None:
    listed = json.loads((ROOT / "native" / "crates.cdx.json").read_text())["components"][:-1]
    licensed = re.findall(r"([\w-]+) (\d[\w.+-]*) \(", (ROOT / "native" / "licenses.md").read_text())
    assert sorted((one["name"], one["version"]) for one in listed) == sorted(licensed)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust here: see https://rustup.rs")
def test_the_notices_of_the_crates_are_up_to_date() -> None:
    command = [sys.executable, ROOT / "scripts" / "licenses", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_notice_names_tables_that_exist_and_is_in_the_wheel() -> None:
    named = re.findall(r"^  (\S+)$", (ROOT / "NOTICE").read_text(), re.MULTILINE)
    counters = (ROOT / "tpu_profile_plugin" / "analysis" / "counters").glob("v*.txt")
    assert {str(path.relative_to(ROOT)) for path in counters} < set(named)
    assert not [name for name in named if not (ROOT / name).exists()]
    assert '"NOTICE"' in (ROOT / "pyproject.toml").read_text()
