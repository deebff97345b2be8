"""HLO programs that do not decode are found in advance, up to a number of bytes."""

import numpy as np
import pytest
from builders.programs import hlo
from builders.xspace_text import build

from tpu_profile_plugin.columns import hlo as modules
from tpu_profile_plugin.columns import load_lazily


def broken(programs: int) -> set[str]:
    """The names of the programs that do not decode, of as many damaged ones of 100 bytes."""
    damaged = {f"jit_{number}": (number, b"\xff" * 100) for number in range(1, programs + 1)}
    space = load_lazily(np.frombuffer(build(hlo.metadata_plane(**damaged)), np.uint8))
    return {name for name, _, _ in modules.broken_modules(space, modules.hlo_modules(space))}


def test_every_damaged_program_is_named() -> None:
    assert broken(3) == {"jit_1(1)", "jit_2(2)", "jit_3(3)"}


def test_programs_beyond_the_limit_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MAX_CHECKED_BYTES", 200)
    assert len(broken(3)) == 2
