"""Asks a tool about profiles that are typed in, or about recorded ones, without a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from builders.xspace_text import build
from tpu_profile_plugin.tools.inputs import HostProfile, Inputs
from tpu_profile_plugin.tools.payload import encode
from tpu_profile_plugin.tools.shelf import Shelf
from tpu_profile_plugin.tools.tool import Tool


def ask(tool: Tool, *profiles: str | bytes | Path, **params: str) -> Any:
    """The decoded answer about one host per profile (text, bytes, or a file), in that order."""
    shelf = Shelf(1 << 30)
    hosts = tuple(
        HostProfile(f"host{i}", i, f"host{i}.xplane.pb", ("asked", i), lambda p=p: _bytes(p), shelf)
        for i, p in enumerate(profiles)
    )
    parsed = {param.name: param.parse(params.pop(param.name, None)) for param in tool.params}
    assert not params, f"{tool.id} has no parameter {sorted(params)}"
    return json.loads(encode(tool.build(Inputs("run", hosts, parsed))).body)


def _bytes(profile: str | bytes | Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    if isinstance(profile, Path):
        return np.fromfile(profile, np.uint8)
    return np.frombuffer(build(profile) if isinstance(profile, str) else profile, np.uint8)


def rows(table: Mapping[str, Any], *columns: str) -> list[tuple[Any, ...]]:
    """The cells of the named columns, row by row."""
    ids = [column["id"] for column in table["cols"]]
    at = [ids.index(column) for column in columns]
    return [tuple(row["c"][i]["v"] for i in at) for row in table["rows"]]
