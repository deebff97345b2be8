"""Evidence says what the linked page shows: its numbers stand in the answer of the tool that it links to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer

from tpu_profile_plugin.tools import registry

HERE = Path(__file__).parents[2]
ROOTS = (HERE.parent / "shared/traces/logdir", HERE / "demo")
pytestmark = pytest.mark.skipif(not ROOTS[0].is_dir(), reason="the recorded profiles (../shared/traces) are not here")
RUNS = sorted({file.parent for root in ROOTS for file in root.rglob("*.xplane.pb")})
SCALES = {"%": (1, 100), "ms": (1, 1e-9, 1e-6, 1e-3), "us": (1, 1e-6, 1e-3), "MiB": (1, 2**-20), "": (1,)}
"""What numbers of an answer are multiplied by to get a unit: times are in ps, ns or us, sizes in bytes."""


def numbers(value: Any) -> Iterator[float]:
    """Every number in a JSON value, those in texts included."""
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        with suppress(ValueError):
            yield float(value)


def shown(files: list[Path], tool: str, host: str | None) -> set[float]:
    """The numbers of the page: those of the tool's answer as our pages ask for it."""
    found = registry.find(tool)
    names = {param.name for param in found.params}
    params = {name: value for name, value in (("backend", "auto"), ("extended", "true")) if name in names}
    own = [file for file in files if file.name == f"{host}.xplane.pb"]
    return set(numbers(answer(found, *(own or files), **params)))


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: "/".join(folder.parts[-5:]))
def test_pages_show_the_numbers_of_evidence(folder: Path) -> None:
    files = sorted(folder.glob("*.xplane.pb"))
    pages: dict[tuple[str, str | None], set[float]] = {}
    missing = []
    for finding in answer(registry.find("smart_suggestion"), *files, all_rules="true")["findings"]:
        for one in finding["evidence"]:
            value, tool = one["value"], one["tool"]
            if not tool or isinstance(value, str) or tool in ("trace_viewer@", "memory_viewer"):
                continue
            key = tool, one["query"].get("host")
            if key not in pages:
                pages[key] = shown(files, *key)
            scales = SCALES.get(one["unit"], (1,))
            if not any(abs(number * scale - value) <= 1e-4 * abs(value) for scale in scales for number in pages[key]):
                missing.append((finding["id"], one["label"], value, one["unit"], tool))
    assert not missing
