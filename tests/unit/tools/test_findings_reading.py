"""What findings read of a host: the plane of TPUs' hosts in parts, each once, and nothing of it is kept."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import host_of

from tpu_profile_plugin.analysis.budget.host_time import EVENTS, MAIN, TIME
from tpu_profile_plugin.analysis.memory.allocations import ALLOCATORS
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.columns.space import LazyDecoder
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.run import host as run_host
from tpu_profile_plugin.run.figures import findings
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.system import process

HOST = """
plane 9 "/host:CPU"
line 5 python
0us +200us "$train.py:3 main"
0us +5us "PjitFunction(step)"
line 6 pool
0us +3us backend_compile
1us +0us MemoryAllocation {allocator_name="0", bytes_reserved=0, bytes_allocated=60, bytes_available=40}
2us +0us counter {bytes_available=7}
3us +0us MemoryDeallocation {allocator_name="0", bytes_reserved=0, bytes_allocated=20, bytes_available=80}
"""
RUNS = range(5)
TPU = "\n".join(
    [
        'plane 1 "/device:TPU:0" {device_type_string="TPU v5p"}',
        'line 2 "XLA Modules"',
        *(f"{40 * i}us +20us jit_step(7)" for i in RUNS),
        'line 3 "XLA Ops"',
        *(f'{40 * i}us +20us "%fusion.1 = f32[8] fusion(f32[8] %x)"' for i in RUNS),
    ]
)
KEYS = (EVENTS, TIME, MAIN, ALLOCATORS)


def host() -> tuple[HostProfile, ProfileCache]:
    cache = ProfileCache(1 << 28)
    return host_of(TPU + HOST, cache=cache), cache


def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads work on the host, however small its profile."""
    monkeypatch.setattr(process, "available_cores", lambda: 2)
    monkeypatch.setattr(run_host, "threads_for", lambda _: process.map_threads)


@pytest.fixture(params=("small", "large"))
def decodes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Event counts of the planes of each partial decode."""
    if request.param == "large":
        as_if_large(monkeypatch)
    counts: list[list[int]] = []
    original = LazyDecoder._decode

    def counted(self: LazyDecoder, indices: Any, filters: Any = ()) -> Any:
        tables = original(self, indices, filters)
        if filters:
            counts.append([len(one.events) for one in tables])
        return tables

    monkeypatch.setattr(LazyDecoder, "_decode", counted)
    return counts


def test_each_part_of_the_host_is_read_once(decodes: list[list[int]]) -> None:
    one, cache = host()
    found = findings.gathered(one)
    use = found["memory_near_limit"]
    assert (use.name, use.used, use.capacity) == ("0", 60, 100)
    # Ops of the host, for the summary; calls, for steps; what tells something; the allocator's; the main thread.
    assert sorted(decodes) == [[0], [1], [2], [2], [2]]
    assert not any(cache.has(one._identity, key) for key in KEYS)


def test_what_is_read_ahead_may_be_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise CorruptProfile("cut off", offset=3)

    as_if_large(monkeypatch)
    monkeypatch.setattr(findings, "device_allocators", broken)
    one, _ = host()
    assert findings.gathered(one)["memory_near_limit"].used == 60
