"""What code of the host is for, from public names of functions."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.host_time import Levels, MainThread
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import Purpose, doing, purpose


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("$_pickle dump", Purpose.CHECKPOINT),
        ("$_npyio_impl.py:622 savez", Purpose.CHECKPOINT),
        ("$serialization.py:850 save", Purpose.CHECKPOINT),
        ("$async_checkpointer.py:684 wait_until_finished", Purpose.CHECKPOINT),
        ("$checkpoint.py:2304 save", Purpose.CHECKPOINT),
        ("SaveV2:SaveV2", Purpose.CHECKPOINT),
        ("EagerLocalExecute: SaveV2", Purpose.CHECKPOINT),
        ("EagerLocalExecute: __inference_test_function_1783", Purpose.EVALUATION),
        ("EagerLocalExecute: __inference_eval_step_1668", Purpose.EVALUATION),
        ("EagerLocalExecute: WriteHistogramSummary", Purpose.LOGGING),
        ("$/usr/lib/site-packages/orbax/checkpoint/utils.py:3 anything", Purpose.CHECKPOINT),
        ("$__init__.py:1477 info", Purpose.LOGGING),
        ("$builtins print", Purpose.LOGGING),
        ("$writer.py:350 add_scalar", Purpose.LOGGING),
        ("WriteScalarSummary:WriteScalarSummary", Purpose.LOGGING),
        ("$gc collect", Purpose.COLLECTION),
        ("$__init__.py:132 _xla_gc_callback", Purpose.COLLECTION),
        ("$train.py:40 evaluate", Purpose.EVALUATION),
        ("PjitFunction(eval_step)", Purpose.EVALUATION),
        ("$main.py:7 train_and_evaluate", Purpose.UNKNOWN),
        ("$main.py:7 retrieval", Purpose.UNKNOWN),
        ("IteratorGetNext:IteratorGetNext", Purpose.INPUT),
        ("$dataloader.py:630 __next__", Purpose.INPUT),
        ("$queue.py:154 get", Purpose.QUEUE),
        ("$_base.py:428 result", Purpose.QUEUE),
        ("$threading.py:295 wait", Purpose.QUEUE),
        ("$time sleep", Purpose.SLEEP),
        ("backend_compile_and_load", Purpose.COMPILE),
        ("np.asarray(jax.Array)", Purpose.TRANSFER),
        ("PjitFunction(step)", Purpose.LAUNCH),
        ("$profiler.py:271 stop_trace", Purpose.PROFILER),
        ("$train.py:12 step", Purpose.UNKNOWN),
        ("$model.py:12 save_space", Purpose.UNKNOWN),
        ("fusion.1", Purpose.UNKNOWN),
    ],
)
def test_names(name, expected):
    assert purpose(name) is expected


def thread(*events):
    """A main thread of (level, begin, end, name)."""
    names = tuple(dict.fromkeys(name for *_, name in events))
    depth = range(max(level for level, *_ in events) + 1)
    columns = [[np.array([one[i] for one in events if one[0] == level], np.int64) for level in depth] for i in (1, 2)]
    name = [np.array([names.index(one[3]) for one in events if one[0] == level], np.int64) for level in depth]
    return MainThread(Levels(*map(tuple, columns), tuple(name)), names)


@pytest.mark.parametrize(
    ("inner", "expected", "call"),
    [
        # What a library does inside of a checkpoint belongs to the checkpoint ...
        ("np.asarray(jax.Array)", Purpose.CHECKPOINT, "$_pickle dump"),
        ("$queue.py:154 get", Purpose.CHECKPOINT, "$_pickle dump"),
        # ... but a collection of garbage only happens to begin there.
        ("$gc collect", Purpose.COLLECTION, "$gc collect"),
    ],
)
def test_the_outermost_call_tells(inner, expected, call):
    main = thread((0, 0, 100, "$train.py:5 main"), (1, 10, 90, "$_pickle dump"), (2, 20, 80, inner))
    found, name = doing(main, (np.array([25]), np.array([75])))
    assert (Purpose(int(found[0])), main.names[int(name[0])]) == (expected, call)


def test_a_purpose_inside_of_a_call_of_the_runtime_says_more():
    main = thread((0, 0, 100, "PjitFunction(f)"), (1, 10, 90, "$builtins print"))
    assert doing(main, (np.array([20]), np.array([80])))[0].tolist() == [Purpose.LOGGING]


@pytest.mark.parametrize(("end", "expected"), [(80, Purpose.CHECKPOINT), (79, Purpose.UNKNOWN)])
def test_a_call_must_cover_most_of_the_span(end, expected):
    main = thread((0, 0, end, "$_pickle dump"))
    assert doing(main, (np.array([0]), np.array([100])))[0].tolist() == [expected]


def test_nothing_is_known_of_a_thread_without_events():
    found, call = doing(MainThread(), (np.array([0]), np.array([100])))
    assert (found.tolist(), call.tolist()) == ([0], [-1])
