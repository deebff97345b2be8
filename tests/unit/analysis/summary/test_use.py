"""How much of its peaks a device uses, recorded or by costs; at, below and above each limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.answers import summary

from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary, reduce_summaries
from tpu_profile_plugin.analysis.summary.use import Use, use_of, use_while_busy

NOTHING = reduce_summaries([summary('plane 0 "/host:CPU"\nline 1 a\n0us +1us x')])


def table(*ops: tuple[str, int, float, float], total: int = 1000) -> OpTable:
    """Ops of a category, self time in ps, FLOPs and bytes."""
    category, self_ps, flops, accessed = zip(*ops, strict=True) if ops else ((),) * 4
    return OpTable(
        module=(7,) * len(ops),
        name=tuple(f"op.{i}" for i in range(len(ops))),
        category=category,
        provenance=("",) * len(ops),
        self_ps=np.array(self_ps, np.int64),
        flops=np.array(flops, np.float64),
        bytes=np.array(accessed, np.float64),
        total_ps=total,
    )


def run(device: OpTable | None = None, matrix: float = 0.0, hbm: float = 0.0, peaks: Peaks | None = None) -> RunSummary:
    """By default with peaks of 2 TFLOP/s, 2 per ps, and 500 GB/s, half a byte per ps."""
    peaks = Peaks(2.0, (500.0,)) if peaks is None else peaks
    return replace(NOTHING, device=device or table(), mxu_percent=matrix, hbm_percent=hbm, peaks=peaks)


@pytest.mark.parametrize(
    ("matrix", "hbm", "low"),
    [(19.9, 39.9, True), (20.0, 39.9, False), (19.9, 40.0, False), (20.0, 40.0, False), (0.0, 0.0, True)],
)
def test_neither_resource_is_used_well(matrix: float, hbm: float, low: bool) -> None:
    assert Use(matrix, hbm, True).low == low


@pytest.mark.parametrize(("matrix", "hbm", "plausible"), [(110.0, 5.0, True), (110.1, 5.0, False), (5.0, 110.1, False)])
def test_more_than_clocks_account_for_is_no_use(matrix: float, hbm: float, plausible: bool) -> None:
    assert Use(matrix, hbm, False).plausible == plausible
    assert use_of(run(matrix=matrix, hbm=hbm)) == (Use(matrix, hbm, True) if plausible else None)


FUSION = ("loop fusion", 400, 400.0, 100.0)
KNOWN = table(FUSION, ("copy-start", 100, 0.0, 40.0))


def test_use_over_the_recording_is_that_of_counters_else_of_costs() -> None:
    # 400 FLOPs of 2000 and 140 bytes of 500 in 1000 ps.
    assert use_of(run(KNOWN)) == Use(20.0, 28.0, False)
    assert use_of(run(KNOWN, 30.0, 10.0)) == Use(30.0, 10.0, True)
    assert use_of(run(KNOWN, 30.0, 0.0)) == use_of(run(KNOWN, 0.0, 10.0)) == Use(20.0, 28.0, False)
    assert use_of(run()) is None
    assert use_of(run(KNOWN, peaks=Peaks())) is None
    assert use_of(run(table(("loop fusion", 400, 4000.0, 100.0)))) is None
    # Of a fifth and more of the time nothing is known.
    unknown = ("custom-call", 101, 0.0, 50.0)
    assert use_of(run(table(FUSION, unknown))) is None


def test_use_while_devices_compute() -> None:
    # 400 ps of ops: 400 FLOPs of 800 and 100 bytes of 200.
    assert use_while_busy(run(KNOWN)) == Use(50.0, 50.0, False)
    assert use_while_busy(run(KNOWN, 30.0, 10.0)) == Use(75.0, 25.0, True)
    assert use_while_busy(run(KNOWN, 50.0, 10.0)) == Use(100.0, 25.0, True)
    assert use_while_busy(run(KNOWN, 30.0, 50.0)) == Use(75.0, 100.0, True)
    assert use_while_busy(run(KNOWN, 30.0, 0.0)) == use_while_busy(run(KNOWN, 0.0, 10.0)) == Use(50.0, 50.0, False)
    for peaks in (Peaks(2.0), Peaks(0.0, (500.0,)), Peaks()):
        assert use_while_busy(run(KNOWN, peaks=peaks)) is None
    assert use_while_busy(run(KNOWN, peaks=Peaks(0.9, (500.0,)))) is None, "more than there is"
    assert use_while_busy(run(table(("copy-start", 100, 0.0, 40.0)), 30.0, 10.0)) is None


@pytest.mark.parametrize(
    ("other", "known"),
    [
        (("custom-call", 100, 0.0, 50.0), True),
        (("custom-call", 101, 0.0, 50.0), False),
        (("custom-call", 400, 1.0, 0.0), True),
        (("loop fusion", 100, 0.0, 0.0), True),
        (("loop fusion", 101, 0.0, 0.0), False),
        (("loop fusion", 400, 0.0, 9.0), True),
        (("loop fusion", 400, 9.0, 0.0), True),
        (("loop fusion", 400, 9.0, 9.0), True),
    ],
)
def test_costs_must_be_known_for_most_of_the_time(other: tuple[str, int, float, float], known: bool) -> None:
    assert (use_while_busy(run(table(FUSION, other))) is not None) == known
    assert (use_of(run(table(FUSION, other))) is not None) == known


def test_nothing_is_known_of_ops_without_costs() -> None:
    assert use_while_busy(run(table(("loop fusion", 0, 5.0, 5.0)))) is None
    assert use_while_busy(run(table(("loop fusion", 9, 0.0, 0.0)))) is None
