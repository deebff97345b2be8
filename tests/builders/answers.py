"""Answers of tools for profiles in the text notation: one text per host in, decoded JSON out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from builders.xspace_text import build
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.summary.host_summary import HostSummary, summarize
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.compat import xprof_form
from tpu_profile_plugin.compat.xprof import FORMS, READINGS
from tpu_profile_plugin.logdir.model import HostFile
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.payload import encode
from tpu_profile_plugin.tools.tool import Tool

Profile = str | bytes | Path


def answer(tool: Tool, *profiles: Profile, base: Sequence[Profile] = (), page: bool = False, **params: str) -> Any:
    """The answer of `/data`, or what the `page` receives, with `reading="xprof"` with XProf's figures.

    `base` are the profiles of another run. Profiles are texts of `xspace_text`, bytes of an XSpace, or files.
    """
    return json.loads(body(tool, *profiles, base=base, page=page, **params))


def body(tool: Tool, *profiles: Profile, base: Sequence[Profile] = (), page: bool = False, **params: str) -> bytes:
    """The bytes of the answer, which are not JSON for every tool."""
    cache = ProfileCache(1 << 28)
    other = run_of(*base, name="base", cache=cache) if base else None
    run = run_of(*profiles, cache=cache)
    reading = page and tool.id in READINGS and params.pop("reading", "") == "xprof"
    xprofs = READINGS[tool.id] if reading else None if page else xprof_form(tool.id)
    # With our additions, if XProf's form only lacks them.
    form = xprofs if xprofs is not None and (reading or tool.id in FORMS) else tool
    return bytes(encode(payload(form, run if xprofs is None else run.as_recorded(), other, **params)).body)


def payload(tool: Tool, run: Run, base: Run | None = None, **params: str) -> Any:
    """What the tool builds for a run."""
    return tool.build(run, tool.query(params, base))


def answer_and_hosts(tool: Tool, *profiles: Profile, **params: str) -> tuple[Any, tuple[HostProfile, ...]]:
    """The answer and the hosts, which hold what the tool decoded and computed."""
    run = run_of(*profiles)
    return answer_of(tool, run.profiles, **params), run.profiles


def answer_of(tool: Tool, hosts: tuple[HostProfile, ...], **params: str) -> Any:
    """The tool's answer for the given hosts."""
    return json.loads(encode(payload(tool, Run("run", hosts), **params)).body)


def hosts_of(*profiles: Profile) -> tuple[HostProfile, ...]:
    """The hosts of a run, nothing of which is decoded."""
    return run_of(*profiles).profiles


def run_of(*profiles: Profile, name: str = "run", cache: ProfileCache | None = None, **more: Any) -> Run:
    """A run with a host per profile, nothing of which is decoded."""
    shared = cache or ProfileCache(1 << 28)
    return Run(name, tuple(host_of(profile, i, name, shared) for i, profile in enumerate(profiles)), **more)


def host_of(
    profile: Profile, index: int = 0, run: str = "run", cache: ProfileCache | None = None, **more: Any
) -> HostProfile:
    """One host: h0, h1, ... by its index, or named after its file."""
    data = _bytes(profile)
    name = profile.name.removesuffix(".xplane.pb") if isinstance(profile, Path) else f"h{index}"
    file = HostFile(name, f"/{run}/{index}", len(data), 0, "xplane", f"{name}.xplane.pb")
    return HostProfile(file, index, lambda _: data, cache or ProfileCache(1 << 28), **more)


def summary(profile: str | bytes | Path) -> HostSummary:
    """The summary of one profile, groups included."""
    space = load(_bytes(profile))
    return summarize(space, preprocess(space, derive=False))


def rows(table: Any, *columns: str) -> list[list[Any]]:
    """The values of a table's rows, of a document or a DataTable; of the given columns only, if any are given."""
    if "columns" in table:
        by_id = {column["id"]: column["values"] for column in table["columns"]}
        return [list(row) for row in zip(*(by_id[name] for name in columns or by_id), strict=True)]
    ids = [column["id"] for column in table["cols"]]
    indices = [ids.index(name) for name in columns] or list(range(len(ids)))
    return [[row["c"][i]["v"] for i in indices] for row in table["rows"]]


def _bytes(profile: str | bytes | Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    if isinstance(profile, Path):
        return np.fromfile(profile, np.uint8)
    return np.frombuffer(profile if isinstance(profile, bytes) else build(profile), np.uint8)
