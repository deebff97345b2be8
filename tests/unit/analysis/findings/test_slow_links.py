"""Collectives between hosts against those inside a host: at, below and above the limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from builders.profiles.findings import evidence, told

from tpu_profile_plugin.analysis.findings.rules.communication import slow_links

BEGINS = (0, 207, 428, 663, 912)


def host(number: int, between: int, *, inside: int = 10, size: int = 1_000_000) -> str:
    """Two TensorCores of a host: 100 us of work, a reduction inside the host and one between hosts."""
    lines = [f"host h{number}"]
    near = f"%all-reduce.1 = f32[{size}] all-reduce(f32[{size}] %x), replica_groups={{{{0,1}},{{2,3}}}}"
    far = f"%all-reduce.2 = f32[{size}] all-reduce(f32[{size}] %y), replica_groups={{{{0,2}},{{1,3}}}}"
    for core in range(2):
        lines += [f'plane {core + 1} "/device:TPU:{core}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines += [f"{at}us +200us {i} {{_ct=9, _c={i}}}" for i, at in enumerate(BEGINS)]
        lines.append('line 2 "XLA Ops"')
        for at in BEGINS:
            lines.append(f"{at}us +100us fusion.1")
            lines.append(f'{at + 100}us +{inside}us "{near}"')
            lines.append(f'{at + 100 + inside}us +{between}us "{far}"')
        lines.append('metadata "fusion.1" {program_id=7, symbol_id=1, hlo_category="loop fusion"}')
        for name, text in (("all-reduce.1", near), ("all-reduce.2", far)):
            lines.append(f'metadata "{text}" {{program_id=7, hlo_category="all-reduce"}} display={name}')
    return "\n".join(lines)


@pytest.mark.parametrize(("between", "finds"), [(40, True), (39, False)])
def test_a_quarter_of_the_bandwidth_inside_a_host(between: int, finds: bool) -> None:
    found = told("slow_links", host(0, between), host(1, between))
    assert ("share" in found) is finds
    if finds:
        # 4 MB in 10 us and in 40 us.
        assert found["title"].endswith("most of it in all-reduce.2: 100.0 GB/s, inside a host 400.0")
        assert evidence(found)["Its bus bandwidth"] == (pytest.approx(100), "GB/s", "communication")


@pytest.mark.parametrize(("size", "finds"), [(262_144, True), (262_143, False)])
def test_messages_of_a_mebibyte(size: int, finds: bool) -> None:
    found = told("slow_links", host(0, 60, size=size), host(1, 60, size=size))
    assert ("share" in found) is finds
    if not finds:
        assert (found["state"], found["reason"]) == (
            "unknown",
            "No collectives between hosts of 1 MiB and known bandwidth recorded.",
        )


@pytest.mark.parametrize(("between", "finds"), [(24, True), (20, False)])
def test_a_tenth_of_the_time_from_step_to_step(between: int, finds: bool) -> None:
    found = told("slow_links", host(0, between, inside=2), host(1, between, inside=2))
    assert ("share" in found) is finds


def test_one_host() -> None:
    assert told("slow_links", host(0, 60))["reason"] == "No collectives of several hosts recorded."


@pytest.mark.parametrize(("hosts", "state"), [("a", "unknown"), ("ab", "passed"), ("abc", "passed")])
def test_hosts_without_collectives(hosts: str, state: str) -> None:
    for known in range(2):
        run: Any = SimpleNamespace(hosts=tuple(hosts), communication=SimpleNamespace(hosts=hosts[:known]))
        found: Any = slow_links.judge(run, ())
        assert (found.state, found.reason) == (state, "No collectives of several hosts recorded.")


@pytest.mark.parametrize(
    ("groups", "hosts"),
    [
        (None, 0),
        ([], 2),  # all devices
        ([[0, 1], [2, 3]], 1),
        ([[0, 2], [1, 3]], 2),
        ([[0, 1, 2], [3]], 2),
        ([[0, 1], [2]], 0),  # others than the devices that were recorded
        ([[0, 1], [2, 4]], 0),
        ([[0, 1], [2, 3], [4]], 0),
    ],
)
def test_hosts_that_take_part_in_a_group(groups: Any, hosts: int) -> None:
    devices = [SimpleNamespace(host=host) for host in (0, 0, 1, 1)]
    run: Any = SimpleNamespace(communication=SimpleNamespace(devices=devices, hosts=("a", "b")))
    sums: Any = SimpleNamespace(transfer=SimpleNamespace(groups=groups))
    assert slow_links._hosts(run, sums) == hosts
