"""Limits and numbers of evidence that several rules have, on typed-in values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums
from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey, Transfer
from tpu_profile_plugin.analysis.devices.launched import Launched
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import bandwidth
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import in_words, shares
from tpu_profile_plugin.analysis.findings.evidence.host.launched import is_uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.usual import usual_shares

US = 10**6


@pytest.mark.parametrize(
    ("eager", "whole", "per_step", "distinct", "median_us", "expected"),
    [
        (False, False, 30, 8, 19, True),
        (False, False, 29, 8, 19, False),
        (False, False, 30, 7, 19, False),
        (False, False, 30, 8, 20, False),
        (True, False, 50, 8, 19, True),
        (True, False, 49, 8, 19, False),
        # A recording without steps has as many as ten of them.
        (False, True, 300, 8, 19, True),
        (False, True, 299, 8, 19, False),
        (True, True, 500, 8, 19, True),
        (True, True, 499, 8, 19, False),
    ],
)
def test_steps_that_consist_of_many_tiny_launches(eager, whole, per_step, distinct, median_us, expected):
    assert is_uncompiled(Launched(eager, whole, per_step, distinct, median_us * US)) is expected


@pytest.mark.parametrize(
    ("kind", "transfer", "ranks", "expected"),
    [
        # Two runs of 3000 bytes in 2 us; a reduction among four passes each byte one and a half times.
        ("all-reduce", Transfer(3000, ((0, 1, 2, 3),)), 2, (3000, 4.5)),
        ("all-reduce", Transfer(3000), 2, (3000, 3.0)),  # as many as were recorded, if there are several
        ("all-reduce", Transfer(3000), 1, (3000, None)),
        ("all-gather", Transfer(1000, ((0, 1, 2, 3),)), 2, (4000, 3.0)),
        ("all-gather", Transfer(1000), 1, (None, None)),
        ("all-reduce", Transfer(), 2, (None, None)),
    ],
)
def test_bandwidth_on_the_bus(kind, transfer, ranks, expected):
    sums = CollectiveSums(
        CollectiveKey(f"{kind}.1", 7, kind), transfer, 4, 2, 4 * US, 0, None, 2 * US, ranks, 0, 0, -1, 0, US, 0
    )
    assert bandwidth(sums) == expected


def test_what_time_goes_to():
    found = shares([("copy", 10), ("gather", 60), ("copy", 30)])
    assert found == [("gather", 0.6), ("copy", 0.4)]
    assert in_words(found) == "gather 60%, copy 40%"
    assert shares([]) == []


@pytest.mark.parametrize(
    ("on_cpus", "of_step", "expected"),
    [
        # On CPUs single steps count as twice the median of those with any such time.
        (True, [0, 0, 0, 10, 10, 80], [1, 1, 1, 1, 1, 0.25]),
        (True, [0, 10, 20, 10, 40], [1, 1, 1, 1, 0.75]),
        (True, [10, 10, 10, 80], [1, 1, 1, 1]),
        (True, [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]),
        (False, [0, 0, 0, 10, 10, 80], [1, 1, 1, 1, 1, 1]),
    ],
)
def test_what_steps_usually_lose(on_cpus: bool, of_step: list[int], expected: list[float]):
    host: Any = SimpleNamespace(on_cpus=on_cpus)
    assert usual_shares(host, np.array(of_step)).tolist() == expected
