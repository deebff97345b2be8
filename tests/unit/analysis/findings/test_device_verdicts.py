"""Verdicts on devices by typed-in ops: how far from their limits they are, and which is slower than the others."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ReadOp
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.rules.device import bounds, low_utilization, slow_device
from tpu_profile_plugin.analysis.ops.op_nature import Nature

US = 10**6
PEAKS = SimpleNamespace(tera_flops=1.0, hbm=100.0)
"""At the limits of 20% and 40%: 0.2 FLOPs per ps in products, a fiftieth of that elsewhere, and 0.04 bytes per ps."""


def work_of(*ops, counted=None):
    """Ops of (nature, what they do, us, runs, FLOPs, bytes)."""
    us, runs, flops, accessed = (np.array([one[i] for one in ops], np.float64) for i in (2, 3, 4, 5))
    table = SimpleNamespace(
        self_ps=(us * US).astype(np.int64), occurrences=runs.astype(np.int64), flops=flops, bytes=accessed
    )
    read = tuple(ReadOp(i, one[0], one[1], round(one[2] * US)) for i, one in enumerate(ops))
    return OpWork(table, round(us.sum() * US) if counted is None else counted * US, read)


MATRIX, OTHER = Nature.MATRIX, Nature.OTHER


@pytest.mark.parametrize(
    ("op", "known", "us"),
    [
        ((MATRIX, "dot", 1, 1, 2e6, 0), True, 10.0),
        ((MATRIX, "dot", 1, 1, 2e6, 2e6), True, 50.0),  # as long as its bytes take
        ((MATRIX, "dot", 1, 1, 0, 4e5), False, 10.0),
        ((OTHER, "add", 1, 1, 2e5, 0), True, 50.0),
        ((OTHER, "add", 1, 1, 0, 4e5), True, 10.0),
        ((OTHER, "add", 1, 1, 0, 0), False, 0.0),
        ((OTHER, "custom-call", 1, 1, 0, 4e5), False, 10.0),
        ((OTHER, "custom-call", 1, 1, 4e3, 0), True, 1.0),
        ((MATRIX, "custom-call", 1, 1, 2e6, 0), True, 10.0),
    ],
)
def test_how_long_work_takes_at_the_limits(op, known, us):
    found, ps = low_utilization._at_limits(work_of(op), PEAKS)
    assert (found.tolist(), (ps / US).tolist()) == ([known], [pytest.approx(us)])


def gathered(monkeypatch, *ops, counted=None, mxu=0.0, hbm=0.0, peaks=PEAKS, devices=True):
    """What the rule says of a host's ops: the saving and the most that could be saved in ops of one kind."""
    work = work_of(*ops, counted=counted)
    monkeypatch.setattr(low_utilization, "work_of", lambda host: work)
    monkeypatch.setattr(
        low_utilization, "op_kind",
        lambda host, some, least, saving: OpKind(1, saving_ps=saving, what=",".join(str(one.index) for one in some)),
    )  # fmt: skip
    summary = SimpleNamespace(peaks=peaks, has_device=devices, mxu_percent=mxu, hbm_percent=hbm)
    return low_utilization.gather(SimpleNamespace(summary=summary))


def kind_of(found):
    return next(name for name in ("small products", "slow ops", "tiny ops") if PARTS[name] is found.advice)


PRODUCT, SUM = (MATRIX, "dot", 60, 10, 2e6, 0), (OTHER, "add", 40, 4, 4e4, 0)
"""60 us in place of 10, in 10 runs of 6 us; 40 us in place of 10, in 4 runs of 10 us."""


@pytest.mark.parametrize(
    ("ops", "kind", "farthest", "saving", "mean"),
    [
        ([PRODUCT, SUM], "small products", "0", 80, 100 / 14),
        ([SUM, PRODUCT], "small products", "1", 80, 100 / 14),
        ([PRODUCT, (OTHER, "add", 70, 4, 4e4, 0)], "slow ops", "1", 110, 130 / 14),
        ([(MATRIX, "dot", 60, 13, 2e6, 0), SUM], "tiny ops", "0", 80, 100 / 17),
        ([(MATRIX, "dot", 60, 12, 2e6, 0), SUM], "small products", "0", 80, 100 / 16),  # of 5 us
        ([(MATRIX, "dot", 10, 1, 2e6, 0)], "tiny ops", "", 0, 10),  # at the limit
        ([(MATRIX, "dot", 5, 1, 2e6, 0), SUM], "slow ops", "1", 25, 9),  # one is faster than the limit
    ],
)
def test_ops_that_are_farthest_from_their_limits(monkeypatch, ops, kind, farthest, saving, mean):
    found = gathered(monkeypatch, *ops)
    assert (kind_of(found), found.what, found.saving_ps) == (kind, farthest, pytest.approx(saving * US))
    assert found.evidence == (Evidence("Mean length of an op", pytest.approx(mean), "us"),)


@pytest.mark.parametrize(
    ("counted", "mxu", "hbm", "known"),
    [
        (75, 0.0, 0.0, True),  # costs of 60 us are known, four fifths
        (76, 0.0, 0.0, False),
        (76, 5.0, 5.0, True),  # the use of both units is recorded
        (76, 5.0, 0.0, False),
        (76, 0.0, 5.0, False),
        (76, 0.1, 0.1, True),
    ],
)
def test_costs_that_are_known_of_enough_ops(monkeypatch, counted, mxu, hbm, known):
    found = gathered(monkeypatch, PRODUCT, (OTHER, "add", 15, 4, 0, 0), counted=counted, mxu=mxu, hbm=hbm)
    assert isinstance(found, Silence) != known


def test_without_devices_peaks_or_ops_nothing_is_known(monkeypatch):
    assert isinstance(gathered(monkeypatch, PRODUCT, devices=False), Silence)
    assert isinstance(gathered(monkeypatch, PRODUCT, peaks=SimpleNamespace(tera_flops=0.0, hbm=1.0)), Silence)
    assert isinstance(gathered(monkeypatch, PRODUCT, peaks=SimpleNamespace(tera_flops=1.0, hbm=0.0)), Silence)
    assert isinstance(gathered(monkeypatch), Silence)


# A device that is slower than the others.


def slower(ratio=1.5, agree=0.9, *, kinds=("tpu",) * 4, slow=None, late=(), kind="tpu", given=True):
    names = [SimpleNamespace(name=f"TPU {i}", kind=one) for i, one in enumerate(kinds)]
    slow = [1.0, 1.0, ratio, 0.9] if slow is None else slow
    part = SimpleNamespace(
        kind=kind, slow=slow, agree=[0.0, 0.0, agree, 0.0][: len(slow)], devices=[one.name for one in names]
    )
    communication = SimpleNamespace(
        devices=names, stragglers=tuple(SimpleNamespace(index=one) for one in late), number=[0, 1],
        work_ps=np.array([[100, 100, 300, 100]] * 2) * US,
    )  # fmt: skip
    run = SimpleNamespace(
        communication=communication, hosts=("h",), base="step", per="step", budget=SimpleNamespace(devices=names),
        present=lambda parts: [(one, "h") for one in parts if one is not None], devices_of=lambda host: [0, 1, 2, 3],
        part_ps=lambda name: 50 * US, lost_in=lambda *segments, ps: Lost(ps, ps / (1000 * US), segments),
    )  # fmt: skip
    return slow_device.judge(run, [part if given else None])


def test_a_slow_device_costs_what_its_ops_take_longer_and_the_waits_for_it():
    """It works for 300 us per step, a third of that longer than the others would: 25 us of four devices, and 50 us."""
    found = slower()
    assert isinstance(found, Finding)
    assert found.title == "TPU 2 runs the same ops 1.50 times as long as the other devices"
    assert found.saving_ps == pytest.approx(75 * US)
    assert [one.value for one in found.evidence] == [1.5, 90.0, 1.0, 1.0, 1.5, 0.9]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"ratio": slow_device.SLOWER, "agree": slow_device.AGREE}, ""),
        ({"ratio": slow_device.SLOWER - 0.01}, "The slowest device takes"),
        ({"agree": slow_device.AGREE - 0.01}, "The slowest device takes"),
        ({"late": (2,)}, ""),
        ({"late": (0, 2)}, ""),
        ({"late": (0, 1)}, "TPU 2 takes 1.50 times as long as the median, but the others wait for TPU 0."),
        ({"kinds": ("tpu", "tpu", "cpu", "cpu")}, "No host with"),
        ({"kind": "cpu"}, "ops that all devices"),
        ({"slow": [1.0, 2.0]}, "ops that all devices"),
        ({"given": False}, "ops that all devices"),
    ],
)
def test_when_a_device_is_slow(given, reason):
    found = slower(**given)
    assert isinstance(found, Silence) == bool(reason)
    if reason:
        assert reason in found.reason


# What limits a program.


@pytest.mark.parametrize(
    ("matrix", "memory", "limited"),
    [
        (70.1, 49.9, (True, False)),
        (70.0, 49.9, (False, False)),
        (70.1, 50.0, (False, False)),
        (49.9, 70.1, (False, True)),
        (49.9, 70.0, (False, False)),
        (50.0, 70.1, (False, False)),
        (90.0, 90.0, (False, False)),
        (0.0, 0.0, (False, False)),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_resource_that_is_busy_while_the_other_is_free(matrix, memory, limited, recorded):
    run = SimpleNamespace(use=SimpleNamespace(matrix=matrix, hbm=memory, recorded=recorded, sentence="use is low"))
    found = [rule.judge(run, ()) for rule in (bounds.COMPUTE_BOUND, bounds.MEMORY_BOUND)]
    assert tuple(isinstance(one, Finding) for one in found) == limited
    for one in found:
        if isinstance(one, Finding):
            assert one.confidence == ("high" if recorded else "medium")
            shown = [(part.label.startswith("Matrix units"), part.value) for part in one.evidence[:2]]
            assert shown[:: 1 if limited[0] else -1] == [(True, matrix), (False, memory)]
            assert ("HBM" in one.title) == (recorded and limited[1])
    assert not bounds.judge_memory(SimpleNamespace(use=None), ()).looked
