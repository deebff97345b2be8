"""A logdir with all kinds of runs that occur in practice, and a TensorBoard serving it."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from builders.servers.board import Board
from builders.xspace_text import build

MODULES = """
plane 1 "/host:metadata"
  metadata "jit_step(14)" id=14 {"Hlo Proto"=0x0a00}
  metadata "jit_f(12190760917235803885)" id=-6255983156473747731 {"Hlo Proto"=0x0a00}
"""


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    whole = build(SMALL)
    return write(
        tmp_path / "logs",
        {
            "plugins/profile/2026_11_20_08_58_45/vm.xplane.pb": SMALL + MODULES.replace("plane 1", "plane 3"),
            "train/plugins/profile/multi/hostA.xplane.pb": SMALL,
            "train/plugins/profile/multi/hostB.xplane.pb": SMALL.replace("work", "other"),
            "run with space+é/plugins/profile/s 1/h.with.dots.xplane.pb": SMALL,
            ".hidden/plugins/profile/hid/xplane.pb": SMALL,
            "bad/plugins/profile/empty": None,
            "bad/plugins/profile/zero/z.xplane.pb": b"",
            "bad/plugins/profile/cut/c.xplane.pb": whole[:-7],
            "bad/plugins/profile/noise/n.xplane.pb": b"\xff" * 100,
            "bad/plugins/profile/half/good.xplane.pb": SMALL,
            "bad/plugins/profile/half/torn.xplane.pb": whole[:-7],
            "bad/plugins/profile/old/vm.overview_page.pb": b"1",
            "bare/deep/b.xplane.pb": SMALL,
        },
    )


@pytest.fixture
def board(logdir: Path, tmp_path: Path) -> Board:
    return Board(logdir, tmp_path / "home")
