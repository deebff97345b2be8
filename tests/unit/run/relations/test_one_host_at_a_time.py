"""Runs of several hosts: one at a time has its columns in memory, and hosts that fail are left out."""

from __future__ import annotations

import pytest
from builders.answers import run_of
from builders.planes import profile, tpu
from builders.relation_rows import rows, table

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.run import Run

REDUCE = "%all-reduce.2 = f32[8] all-reduce(f32[8] %y), replica_groups={{0}}"
MEMORY = 'plane 1 "/host:CPU"\nline 7 t\n4us +0us MemoryAllocation {allocation_bytes=3, addr=8, allocator_name="a"}'
PROFILE = profile(tpu(f'0 40 fusion.1\n60 30 "{REDUCE}"', steps="0 100 0 {_ct=9, _c=0}"), MEMORY)
NAMES = [relation.name for relation in RELATIONS if relation.name not in ("problems", "runs")]
"""Tables with rows of every host; sound hosts have no problems, and a run has one row."""


def decoded(run: Run, cache: ProfileCache) -> list[str]:
    """The hosts with columns in memory."""
    return [host.name for host in run.profiles if host._identity in cache._entries]


@pytest.mark.parametrize("name", NAMES)
def test_a_host_is_dropped_before_the_next_is_read(name: str) -> None:
    cache = ProfileCache(1 << 28)
    run = run_of(PROFILE, PROFILE, PROFILE, cache=cache)
    hosts = []
    for part in run.relation(name).batches():
        hosts.append(part.column("host")[0])
        assert set(decoded(run, cache)) <= {hosts[-1]}
    assert list(dict.fromkeys(hosts)) == ["h0", "h1", "h2"]
    assert decoded(run, cache) == []


def test_a_single_host_stays() -> None:
    cache = ProfileCache(1 << 28)
    run = run_of(PROFILE, cache=cache)
    assert len(table(run, "events")) == 4
    assert decoded(run, cache) == ["h0"]


@pytest.mark.parametrize("name", NAMES)
def test_hosts_that_fail_are_left_out(name: str) -> None:
    run = run_of(PROFILE, b"\xff" * 100, PROFILE)
    assert set(rows(run, name, "host")) == {("h0",), ("h2",)}
    assert [host.host for host in run.left_out] == ["h1"]
