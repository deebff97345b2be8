"""Answers of tools for profiles in the text notation: one text per host in, decoded JSON out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from builders.xspace_text import build
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.summary.host import HostSummary, summarize
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.inputs import Inputs
from tpu_profile_plugin.tools.payload import encode
from tpu_profile_plugin.tools.tool import Tool

Profile = str | bytes | Path


def answer(tool: Tool, *profiles: Profile, base: Sequence[Profile] = (), **params: str) -> Any:
    """The tool's answer; profiles are texts of `xspace_text`, bytes of an XSpace, or files. `base`: another run's."""
    return json.loads(body(tool, *profiles, base=base, **params))


def body(tool: Tool, *profiles: Profile, base: Sequence[Profile] = (), **params: str) -> bytes:
    """The bytes of the same, which are not JSON for every tool."""
    parsed = {param.name: param.parse(params.get(param.name)) for param in tool.params}
    cache = ProfileCache(1 << 28)
    inputs = Inputs("run", _hosts("run", profiles, cache), parsed)
    if base:
        inputs = replace(inputs, base=Inputs("base", _hosts("base", base, cache), parsed))
    return bytes(encode(tool.build(inputs)).body)


def answer_and_hosts(tool: Tool, *profiles: Profile, **params: str) -> tuple[Any, tuple[HostProfile, ...]]:
    """The answer and the hosts, which hold what the tool decoded and computed."""
    hosts = hosts_of(*profiles)
    return answer_of(tool, hosts, **params), hosts


def answer_of(tool: Tool, hosts: tuple[HostProfile, ...], **params: str) -> Any:
    """The tool's answer for the given hosts."""
    parsed = {param.name: param.parse(params.get(param.name)) for param in tool.params}
    return json.loads(encode(tool.build(Inputs("run", hosts, parsed))).body)


def hosts_of(*profiles: Profile) -> tuple[HostProfile, ...]:
    """The hosts of a run, nothing of which is decoded."""
    return _hosts("run", profiles, ProfileCache(1 << 28))


def _hosts(run: str, profiles: Sequence[Profile], cache: ProfileCache) -> tuple[HostProfile, ...]:
    def host(index: int, profile: Profile) -> HostProfile:
        data = _bytes(profile)
        name = profile.name.removesuffix(".xplane.pb") if isinstance(profile, Path) else f"h{index}"
        return HostProfile(name, index, f"{name}.xplane.pb", (run, index), lambda: data, cache, empty=not len(data))

    return tuple(host(i, profile) for i, profile in enumerate(profiles))


def summary(profile: str | bytes | Path) -> HostSummary:
    """The summary of one profile, groups included."""
    space = load(_bytes(profile))
    return summarize(space, preprocess(space, derive=False))


def rows(table: Any, *columns: str) -> list[list[Any]]:
    """The values of a DataTable's rows; of the given columns only, if any are given."""
    ids = [column["id"] for column in table["cols"]]
    indices = [ids.index(name) for name in columns] or list(range(len(ids)))
    return [[row["c"][i]["v"] for i in indices] for row in table["rows"]]


def _bytes(profile: str | bytes | Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    if isinstance(profile, Path):
        return np.fromfile(profile, np.uint8)
    return np.frombuffer(profile if isinstance(profile, bytes) else build(profile), np.uint8)
