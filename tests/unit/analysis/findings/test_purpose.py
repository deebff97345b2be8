"""What code of the host is for, from public names of functions."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.stacks import stacks_of
from tpu_profile_plugin.analysis.budget.host_time import MainThread, levels
from tpu_profile_plugin.analysis.budget.purpose import Purpose, purpose
from tpu_profile_plugin.analysis.findings.evidence.host.calls import tree_of


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
        ("<built-in function sleep>", Purpose.SLEEP),
        ("$<unknown> acquire", Purpose.LOCK),
        ("<built-in method acquire of _thread.lock object>", Purpose.LOCK),
        ("$copy.py:128 deepcopy", Purpose.COPY),
        ("$json/__init__.py:299 loads", Purpose.JSON),
        ("$decoder.py:332 decode", Purpose.JSON),
        ("$re/__init__.py:208 findall", Purpose.TEXT),
        ("<built-in method sub of re.Pattern object>", Purpose.TEXT),
        ("$tokenization_utils_base.py:2800 __call__", Purpose.TEXT),
        ("$_hashlib openssl_sha256", Purpose.HASH),
        ("<built-in method update of _hashlib.HASH object>", Purpose.HASH),
        ("$dataloader.py:500 __iter__", Purpose.ITERATOR),
        ("$dataset_ops.py:480 __iter__", Purpose.ITERATOR),
        ("$dataset_ops.py:2163 flat_map", Purpose.ITERATOR),
        ("$dataset_ops.py:900 from_tensor_slices", Purpose.ITERATOR),
        ("$site-packages/keras/src/trainers/data_adapters/array_data_adapter.py:107 get_tf_dataset", Purpose.ITERATOR),
        ("EagerLocalExecute: MakeIterator", Purpose.ITERATOR),
        ("TFE_DeleteTensorHandle", Purpose.ITERATOR),
        ("$torch/fx/traceback.py:504 format_stack", Purpose.DEBUG),
        ("CheckNumericsV2:CheckNumericsV2", Purpose.DEBUG),
        ("$frame.py:4060 __getitem__", Purpose.UNKNOWN),
        ("$frame.py:10000 apply", Purpose.TABLE),
        ("$numpy array", Purpose.CONVERSION),
        ("<built-in method tensor of type object>", Purpose.CONVERSION),
        ("$random.py:520 uniform", Purpose.RANDOM),
        ("$gzip.py:300 read", Purpose.FILE),
        ("<built-in method read of _io.BufferedReader object>", Purpose.FILE),
        ("$client.py:1430 getresponse", Purpose.NETWORK),
        ("$<unknown> recv", Purpose.NETWORK),
        ("$subprocess.py:506 run", Purpose.PROCESS),
        ("$posix waitpid", Purpose.PROCESS),
        ("<built-in method wait of pybind11_builtins.pybind11_detail_function_record_v1 object>", Purpose.COLLECTIVE),
        ("$torch/distributed/distributed_c10d.py:3000 all_gather", Purpose.COLLECTIVE),
        ("$PIL/Image.py:3480 open", Purpose.IMAGE),
        ("<built-in method cumsum of numpy.ndarray object>", Purpose.ARRAY),
        ("$numpy concatenate", Purpose.ARRAY),
        ("$numpy.py:5092 matmul", Purpose.UNKNOWN),  # of a backend of Keras
        ("$site-packages/numpy/_core/numeric.py:3 roll", Purpose.ARRAY),
        ("<built-in method argmax of Tensor object>", Purpose.UNKNOWN),
        ("<built-in method where of type object>", Purpose.UNKNOWN),
        ("$torch/_tensor_str.py:600 _str", Purpose.FORMAT),
        ("$_pickle dumps", Purpose.SERIALISE),
        ("<built-in method execute of sqlite3.Cursor object>", Purpose.DATABASE),
        ("$<frozen importlib._bootstrap>:1022 _find_and_load", Purpose.IMPORT),
        ("$matplotlib/figure.py:3400 savefig", Purpose.PLOT),
        ("$gym_env.py:30 step", Purpose.SIMULATION),
        ("$inventory.py:30 step", Purpose.UNKNOWN),
        ("$histograms.py:680 histogram", Purpose.LOGGING),
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


def told(*events, at):
    """What a thread with events (begin, end, name) is for at a point in time, and the call that tells it."""
    names = tuple(dict.fromkeys(name for *_, name in events))
    begin, end = (np.array([event[i] for event in events], np.int64) for i in (0, 1))
    nested = levels(begin, end, np.array([names.index(name) for *_, name in events]))
    user = np.array([name.startswith("$train.py") for name in names])
    main = MainThread(nested, names, user, traced=True)
    calls = tree_of(main, stacks_of(main), {"one_step"})
    node = calls.stacks.at(np.array([at]))
    purpose, call, function = (int(column[node][0]) for column in (calls.purpose, calls.tells, calls.function))
    return Purpose(purpose), calls.name(call), calls.name(function)


MAIN = (0, 100, "$train.py:5 main")


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
    found = told(MAIN, (10, 90, "$_pickle dump"), (20, 80, inner), at=50)
    assert found == (expected, call, "$train.py:5 main")


def test_a_purpose_inside_of_a_call_of_the_runtime_says_more():
    assert told((0, 100, "PjitFunction(f)"), (10, 90, "$builtins print"), at=50)[0] is Purpose.LOGGING


def test_calls_of_tensorflows_functions_launch():
    assert told(MAIN, (10, 90, "one_step"), at=50) == (Purpose.LAUNCH, "one_step", "$train.py:5 main")


@pytest.mark.parametrize(("other", "expected"), [("$<unknown> hexdigest", Purpose.HASH), ("$a b", Purpose.UNKNOWN)])
def test_many_objects_have_an_update(other, expected):
    found = told(MAIN, (10, 90, "$<unknown> update"), (92, 94, other), at=50)
    assert found[0] is expected


def test_nothing_is_known_of_a_time_without_calls():
    assert told(MAIN, at=150) == (Purpose.UNKNOWN, "", "")
