"""Displayed names of sections and tracks."""

from __future__ import annotations

import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.timeline.host import host_trace, titles


def titles_of(text: str) -> tuple[list[str], list[str]]:
    """The titles of sections and of tracks."""
    space = profile(text)
    trace = host_trace(space, preprocess(space))
    found = titles(space, trace)
    return list(found.sections.values()), list(found.tracks.values())


CORE = 'plane {0} "/device:TPU:{1}" {{core_details=0x{2}}}\nline 3 "XLA Ops"\n0us +10us op\n'


def test_cores_are_named_by_chip_and_core() -> None:
    # Field 3 is the core, field 5 the chip.
    text = CORE.format(1, 0, "18012802") + CORE.format(2, 1, "2803") + CORE.format(3, "1 SparseCore 2", "2803")
    assert titles_of(text)[0] == ["Chip 2: TPU Core 1", "Chip 3: TPU Core 0", "Chip 3: SparseCore 2"]


def test_cores_without_details_or_with_the_same_keep_the_names_of_the_file() -> None:
    assert titles_of('plane 1 "/device:TPU:0"\nline 3 "XLA Ops"\n0us +10us op\n')[0] == []
    assert titles_of(CORE.format(1, 0, "2803") + CORE.format(2, 1, "2803"))[0] == []


def test_the_host_is_called_by_its_threads() -> None:
    assert titles_of('plane 1 "/host:CPU"\nline 3 main\n0us +10us work\n')[0] == ["Host Threads"]


@pytest.mark.parametrize(("op", "title"), [("x/y:MatMul", ["TensorFlow Ops - from #7"]), ("jit(f)/dot_general:", [])])
def test_ops_of_tensorflow_are_called_so(op: str, title: list[str]) -> None:
    kernel = f'0us +10us k {{kernel_details="regs:1", tf_op="{op}"}}'
    assert titles_of(f'plane 1 "/device:GPU:0"\nline 7 "Stream #7"\n{kernel}\n')[1] == title
