"""The events shown in a window of a long trace: XProf's counts for a profile repeated 20 times.

The profile and the tool that repeats it lie beside the checkout (../shared); without them these tests are skipped.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.timeline.host import HostTrace, host_trace
from tpu_profile_plugin.analysis.timeline.window import visible, whole
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.units import PS_PER_MS

SHARED = Path(__file__).parents[2].parent / "shared"
REPEAT = SHARED / "bench" / "make_big_trace.py"
PROFILES = sorted((SHARED / "traces" / "logdir" / "tpu_v6e4_inference").glob("plugins/profile/*/*.xplane.pb"))

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not (REPEAT.is_file() and PROFILES), reason="the sample profiles (../shared) are not here"),
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> HostTrace:
    target = tmp_path_factory.mktemp("long") / "host.xplane.pb"
    subprocess.run([sys.executable, str(REPEAT), str(PROFILES[0]), str(target), "20"], check=True)
    space = load(np.fromfile(target, np.uint8))
    return host_trace(space, preprocess(space))


def test_extent(trace: HostTrace) -> None:
    assert [round(time / PS_PER_MS, 3) for time in whole([trace])] == [482.852, 1963010.574]


@pytest.mark.parametrize(
    ("window_ms", "resolution", "count"),
    [
        ((0, 0), 0, 585380),
        ((0, 0), 8000, 201512),
        ((0, 0), 1000, 57358),
        ((20000, 230000), 500, 19570),
        ((500000, 520000), 2000, 2097),
        ((50000, 60000), 200, 1703),
    ],
)
def test_counts(trace: HostTrace, window_ms: tuple[int, int], resolution: int, count: int) -> None:
    begin, end = (int(time * PS_PER_MS) for time in window_ms)
    window = (begin, end) if end else whole([trace])
    assert len(visible(trace, window, resolution, 1000, full_dma=False)) == count
