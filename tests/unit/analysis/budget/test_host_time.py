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
from tpu_profile_plugin.analysis.budget.host_time import (
    HostReader,
    HostTime,
    Levels,
    handed_over,
    host_time,
    levels,
    outside_of,
    telling_events,
)
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.steps.inferred import Evidence
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


def times(*spans):
    """Begins and ends as columns."""
    begin, end = np.array(spans, np.int64).reshape(-1, 2).T
    return begin, end


def pairs(columns):
    """(begin, end) of each span."""
    return list(zip(*(column.tolist() for column in columns), strict=True))


NESTED = levels(np.array([100, 110, 150]), np.array([200, 148, 190]), np.array([1, 0, 2]))
"""An event from 100 to 200 that calls two, from 110 to 148 and from 150 to 190."""


@pytest.mark.parametrize(
    ("span", "name", "of_these"),
    [
        ((110, 148), 0, 1),
        ((108, 148), 0, 1),
        ((110, 158), 1, 1),  # 38 of 48
        ((150, 200), 2, 2),  # 40 of 50
        ((160, 161), 2, 2),
        ((0, 100), -1, -1),
        ((190, 240), -1, -1),
        ((90, 210), 1, 1),
    ],
)
def test_the_deepest_event_that_covers_80_percent_of_a_time(span, name, of_these):
    first, last = times(span, (0, 1))
    assert NESTED.covering(first, last).tolist() == [name, -1]
    assert NESTED.covering(first, last, np.array([False, True, True])).tolist() == [of_these, -1]


REPEATED = levels(np.array([100, 110, 140, 165]), np.array([200, 130, 160, 170]), np.array([1, 0, 0, 2]))
"""An event from 100 to 200 that calls one twice for 20 and another for 5."""


@pytest.mark.parametrize(
    ("span", "name"),
    [
        ((110, 160), 0),  # 40 of 50
        ((110, 161), 1),
        ((140, 160), 0),
        ((165, 170), 2),
        ((100, 200), 1),
        ((0, 100), -1),
        ((200, 300), -1),
    ],
)
def test_the_deepest_events_of_one_name_that_cover_80_percent_of_a_time(span, name):
    first, last = times(span, (0, 1))
    assert REPEATED.covering_together(first, last, np.array([True, True, True])).tolist() == [name, -1]
    without = REPEATED.covering_together(first, last, np.array([False, True, True])).tolist()
    assert without == [1 if name == 0 else name, -1]


# Waits for other threads: for input if something is sent to a device before the next launch, or to collect a batch.


@pytest.mark.parametrize(
    ("waits", "launches", "sent", "limits", "fed", "batching"),
    [
        # The second and the third wait belong together, as no launch is in between.
        ([(10, 20), (30, 40), (60, 70)], [25], [45], [], [(30, 40), (60, 70)], []),
        ([(10, 20), (30, 40), (60, 70)], [25], [29], [], [(10, 20)], []),
        ([(10, 20), (30, 40), (60, 70)], [25], [30], [], [(30, 40), (60, 70)], []),
        ([(10, 20), (30, 40), (60, 70)], [25], [], [], [], []),
        ([(10, 20), (30, 40), (60, 70)], [25, 65], [80], [], [(30, 40), (60, 70)], []),
        # With a limit of time they collect a batch: three waits before two launches are enough, two are not.
        ([(10, 20), (30, 40), (60, 70)], [25], [15, 80], [65], [(10, 20)], [(30, 40), (60, 70)]),
        ([(10, 20), (30, 40), (60, 70)], [25], [], [60], [], [(30, 40), (60, 70)]),
        ([(10, 20), (30, 40), (60, 70)], [25], [80], [40, 70], [(30, 40), (60, 70)], []),
        ([(10, 20), (30, 40)], [25], [35], [35], [(30, 40)], []),
        ([(10, 20), (22, 24), (30, 40), (60, 70)], [25], [], [15], [], [(10, 20), (22, 24)]),
        ([], [25], [35], [35], [], []),
    ],
)
def test_waits_for_other_threads(waits, launches, sent, limits, fed, batching):
    columns = (np.array(column, np.int64) for column in (sent, launches, limits))
    assert [pairs(found) for found in handed_over(times(*waits), *columns)] == [fed, batching]


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


@pytest.mark.parametrize("decoded", [False, True])
def test_the_main_thread_alone_is_read_for_causes(decoded):
    """Markers and what has no length are no causes; the first event of the thread may be one."""
    text = """
    plane 1 "/host:CPU"
    line 5 launcher
    0us +40us "PjitFunction(step)"
    line 6 python
    5us +5us "np.asarray(jax.Array)"
    0us +10us "train 1"
    20us +10us "train 2"
    40us +0us allocation
    41us +5us range {_r=1}
    47us +5us count {step_num=3}
    53us +5us save
    line 7 python
    60us +5us "np.asarray(jax.Array)"
    """
    found, space = reader(text, decoded)
    main = found.main(-1, 100 * US)
    assert [[main.names[row] for row in level.tolist()] for level in main.levels.name] == [
        ["np.asarray(jax.Array)", "save"]
    ]
    assert (pairs(found.time.transfer), host_plane(space).decoded) == ([(5 * US, 10 * US)], decoded)


@pytest.mark.parametrize(
    ("event", "left"), [("infer", ["$train.py:3 f"]), ("$train.py:3 f", ["infer", "$train.py:3 f"])]
)
def test_the_event_that_steps_are_inferred_from_is_no_cause_unless_it_is_a_function(event, left):
    found, _ = reader('plane 1 "/host:CPU"\nline 6 python\n1us +5us infer\n8us +5us "$train.py:3 f"', decoded=False)
    main = found.main(0, 90 * US, Evidence("host event", event, "python", "/host:CPU", 4, 1.0, 0.0, 1.0))
    assert [main.names[row] for level in main.levels.name for row in level.tolist()] == left


@pytest.mark.parametrize(
    ("clocks", "batching"),
    [
        ((12, None, 12), []),  # other threads may read the clock
        ((None, 12, None), [(10, 20), (30, 40)]),
        ((None, 35, None), [(10, 20), (30, 40)]),
        ((None, 25, None), []),
    ],
)
def test_waits_with_a_limit_of_time_read_the_clock_themselves(clocks, batching):
    before, within, after = ("" if at is None else f'{at}us +1us "$time monotonic"' for at in clocks)
    waits = '10us +10us "$queue.py:9 get"\n30us +10us "$queue.py:9 get"\n50us +5us "PjitFunction(f)"'
    text = f"""
    plane 1 "/host:CPU"
    line 5 before
    {before}
    line 6 python
    {within}
    0us +90us "train 1"
    {waits}
    line 7 after
    {after}
    """
    time = reader(text, decoded=False)[0].time
    waited = [(10 * US, 20 * US), (30 * US, 40 * US)]
    assert (pairs(time.handover), pairs(time.batching)) == (waited, [(b * US, e * US) for b, e in batching])


def test_other_threads_with_a_tenth_of_the_time_in_launches_run_the_steps_as_well():
    text = """
    plane 1 "/host:CPU"
    line 5 backward
    0us +10us "PjitFunction(step)"
    20us +3us other
    line 6 python
    0us +200us "train 1"
    0us +55us "PjitFunction(step)"
    line 7 some
    0us +9us "PjitFunction(step)"
    line 8 more
    0us +26us "PjitFunction(step)"
    line 9 none
    0us +70us other
    """
    found, _ = reader(text, decoded=False)
    assert (found.time.main, found.time.launchers) == ((6, "python"), ((5, "backward"), (8, "more")))
    assert [one.others.begin_ps.tolist() for one in found.launchers()] == [[0, 20 * US], [0]]
    assert reader(UNTOLD, decoded=True)[0].time.launchers == ()


def test_calls_that_trace_a_function_compile_and_others_do_not():
    text = """
    plane 1 "/host:CPU"
    line 6 python
    0us +10us f {tf_function_call="traced-nonXla"}
    20us +10us f {tf_function_call="notTraced-nonXla"}
    40us +10us f {tf_function_call="traced-xla"}
    """
    assert pairs(reader(text, decoded=False)[0].time.compile_) == [(0, 10 * US), (40 * US, 50 * US)]


def test_a_host_without_events_does_nothing():
    found, space = reader('plane 1 "/host:CPU"', decoded=True)
    assert (found.time.main, found.main(0, 9).names, found.launchers()) == (None, (), [])
    assert telling_events(space) is host_plane(space)
    assert telling_events(reader('plane 1 "/device:TPU:0"', decoded=False)[1]) is None
    assert host_time(space, None).main is HostTime().main is None


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


@pytest.mark.parametrize("around", ["PjitFunction(f)", "$train.py:3 step"])
def test_a_function_with_the_name_of_a_packages_is_the_users_unless_a_packages_function_calls_it(around):
    entry = [op("add.0", "add", "f32[8]", source_file="/home/me/core.py"), op("p", "parameter", "f32[8]")]
    text = f"""
    plane 1 "/host:CPU"
    line 6 python
    0us +40us "{around}"
    1us +30us "$core.py:12 load_batch"
    50us +40us "$pjit.py:340 cache_miss"
    52us +10us "$core.py:450 bind"
    """
    found, _ = reader("\n".join([text, metadata_plane(f=(7, program(entry)))]), decoded=False)
    main = found.main(-1, 100 * US)
    shown = {name for name, library in zip(main.names, main.library, strict=True) if library}
    user = {name for name, user in zip(main.names, main.user, strict=True) if user}
    assert shown == {"$pjit.py:340 cache_miss", "$core.py:450 bind"}
    assert user == {"$core.py:12 load_batch", *([around] if "train" in around else [])}


@pytest.mark.parametrize(
    ("begins", "free"),
    [
        ([2, 10, 22], True),  # within the first, when it has ended, and within another
        ([2, 22], False),
        ([2], False),
        ([10], True),
        ([22], True),
    ],
)
def test_most_events_of_a_name_are_outside_of_the_others(begins, free):
    """Of two outermost events that from 0 to 10 is one of the others, that from 20 to 30 is not."""
    within = np.array(begins)
    nested = Levels((np.array([0, 20]), within), (np.array([10, 30]), within + 2), (np.array([0, 2]), within * 0 + 1))
    chosen = np.array([False, True, False])
    assert outside_of(nested, chosen, np.array([True, False, False])).tolist() == [False, free, False]


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
        ("/tmp/torchinductor_me/7p/cab27ab27ab27ab27ab27ab27ab27ab27ab27ab27ab27ab27xyz.py", "call", True),
        ("/tmp/torchinductor_me/7p/cab27ab27ab27ab27ab27ab27ab27ab27ab27ab27ab27ab27xyzq.py", "call", False),
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
