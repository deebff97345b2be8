"""What a host did: the same whether its plane was decoded before or not, and each part read once."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, op, program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.budget.host_time import HostReader
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.columns import load_lazily

US = 10**6
MARKED = """
plane 1 "/host:CPU"
line 5 launcher
0us +40us "PjitFunction(step)" {run_id=3}
line 6 python
0us +10us "train 1"
20us +10us "train 2"
50us +5us "np.asarray(jax.Array)"
60us +3us prepare {run_id=8}
line 7 other
0us +90us idle
"""
UNTOLD = """
plane 1 "/host:CPU"
line 5 pool
0us +90us waiting
line 6 python
0us +10us "$train.py:3 main"
"""


def reader(text, decoded):
    space = load_lazily(np.frombuffer(build(text), np.uint8))
    if decoded:
        space.decode()
    return HostReader(space), space


@pytest.mark.parametrize("decoded", [False, True])
def test_step_markers_tell_the_main_thread_and_any_event_may_launch(decoded):
    found, space = reader(MARKED, decoded)
    time = found.time
    assert time.main == (6, "python")
    assert [column.tolist() for column in time.transfer] == [[50 * US], [55 * US]]
    assert (time.calls.key.tolist(), time.calls.begin_ps.tolist()) == ([3, 8], [0, 60 * US])
    assert host_plane(space).decoded == decoded


@pytest.mark.parametrize("decoded", [False, True])
def test_without_markers_and_launches_python_functions_tell_the_main_thread(decoded):
    found, _ = reader(UNTOLD, decoded)
    assert found.time.main == (6, "python")
    assert [column.tolist() for column in found.main(0, 90 * US).levels.end_ps] == [[10 * US]]


def test_only_events_that_tell_something_are_read():
    found, _ = reader(MARKED, decoded=False)
    names = found.events.event_metadata.names
    assert sorted({names[row] for row in found.events.events.metadata.tolist()}) == [
        "PjitFunction(step)", "np.asarray(jax.Array)", "prepare", "train 1", "train 2",
    ]  # fmt: skip


def test_each_part_is_read_once():
    found, _ = reader(MARKED, decoded=False)
    assert found.events is found.events
    assert found.time is found.time
    assert found.main(0, 90 * US) is found.main(0, 90 * US)
    assert found.main(0, 90 * US) is not found.main(0, 80 * US)


def test_a_profile_without_a_host():
    found, _ = reader('plane 1 "/device:TPU:0"\nline 1 Steps\n0us +9us 1\n', decoded=False)
    assert (found.events, found.time.main, found.main(0, 9).names) == (None, None, ())


FRAMES = """
plane 1 "/host:CPU"
line 6 python
0us +90us "train 1"
0us +40us "$core.py:12 load_batch"
1us +10us "$crops.py:3 crop"
41us +20us "$pjit.py:340 cache_miss"
42us +10us "$core.py:450 bind"
62us +10us "$linear.py:9 __call__"
"""


@pytest.mark.parametrize(
    ("paths", "own"),
    [
        # Without programs the known files of packages tell.
        ((), {"$crops.py:3 crop", "$linear.py:9 __call__"}),
        # A file of the user's with a package's name: its function is in no function of a package, unlike the package's.
        (("/home/me/project/core.py",), {"$core.py:12 load_batch", "$crops.py:3 crop", "$linear.py:9 __call__"}),
        # A package that is not in the list.
        (("/env/lib/python3.11/site-packages/flax/linen/linear.py",), {"$crops.py:3 crop"}),
        # Both have such a file.
        (("/home/me/linear.py", "/env/site-packages/flax/linear.py"), {"$crops.py:3 crop", "$linear.py:9 __call__"}),
    ],
)
def test_the_users_code_is_told_by_the_files_of_programs(paths, own):
    entry = [op(f"add.{number}", "add", "f32[8]", source_file=path) for number, path in enumerate(paths)]
    planes = [FRAMES, metadata_plane(f=(7, program([*entry, op("p", "parameter", "f32[8]")])))]
    found, _ = reader("\n".join(planes), decoded=False)
    main = found.main(-1, 100 * US)
    assert {name for name, user in zip(main.names, main.user, strict=True) if user} == own
