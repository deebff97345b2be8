"""What a host did: events of its main thread by depth, each part read once, functions of the program."""

from __future__ import annotations

import numpy as np
import pytest
from builders.planes import host
from builders.programs.hlo import metadata_plane, op, program
from builders.shown import profile
from builders.xspace_text import build

from tpu_profile_plugin.analysis.budget import host_time as module
from tpu_profile_plugin.analysis.budget.host_names import is_library, is_user_frame
from tpu_profile_plugin.analysis.budget.host_time import HostReader, levels
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.columns import load_lazily


def by_level(*events):
    """(begin, end, name) per event of each level."""
    begin, end = np.array([event[:2] for event in events], np.int64).reshape(-1, 2).T
    found = levels(begin, end, np.arange(len(events)))
    columns = zip(found.begin_ps, found.end_ps, found.name, strict=True)
    return [list(zip(*(column.tolist() for column in level), strict=True)) for level in columns]


def test_events_lie_one_level_below_what_encloses_them():
    found = by_level((0, 100), (0, 10), (2, 4), (10, 20), (100, 110))
    assert found == [[(0, 100, 0), (100, 110, 4)], [(0, 10, 1), (10, 20, 3)], [(2, 4, 2)]]
    assert by_level() == []


def test_events_in_any_order_and_such_as_do_not_nest():
    assert by_level((2, 4), (0, 10)) == [[(0, 10, 1)], [(2, 4, 0)]]
    assert by_level((0, 10), (5, 15), (12, 13)) == [[(0, 10, 0)], [(5, 15, 1), (12, 13, 2)]]


def test_the_deepest_levels_are_left_out(monkeypatch):
    monkeypatch.setattr(module, "MOST_LEVELS", 2)
    assert [len(level) for level in by_level((0, 9), (1, 8), (2, 7), (3, 6))] == [1, 1]


# What a host did: the same whether its plane was decoded before or not, and each part read once.


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


# Which functions of Python belong to the program.


@pytest.mark.parametrize(
    ("file", "function", "library"),
    [
        ("base_layer.py", "__call__", True),
        ("backprop.py", "gradient", True),
        ("_base.py", "result", True),
        ("gen_math_ops.py", "mat_mul", True),
        ("__autograph_generated_file8rsn0m1i.py", "tf__step", True),
        # Programs have files of these names as well: only functions of the frameworks are left out.
        ("training.py", "train_on_batch", True),
        ("training.py", "augment", False),
        ("trainer.py", "wrapper", True),
        ("trainer.py", "collate", False),
        ("tensor.py", "to_tensors", True),
        ("optimizer.py", "apply_gradients", True),
        ("optimizer.py", "schedule", False),
        ("utils.py", "load", False),
        ("train.py", "main", False),
        ("callbacks.py", "on_train_batch_end", False),
    ],
)
def test_files_and_functions(file, function, library):
    assert is_library(file, function) is library
    assert is_user_frame(f"${file}:12 {function}") is not library


@pytest.mark.parametrize(("marker", "main"), [("ProfilerStep", "main"), ("range", "worker")])
def test_steps_of_pytorch_tell_the_main_thread(marker, main):
    """A thread that waits in Python all the time runs no steps."""
    text = host(f"0 40 {marker}\n5 30 $train.py:3 step", "0 100 $threading.py:900 run\n1 98 $train.py:9 load")
    time = HostReader(profile(text)).time
    assert time.main is not None
    assert time.main[1] == main
