"""What code of the host is for, by public names of Python's and the frameworks' own functions: the one table of them.

Of nested calls the outermost with a known purpose tells what the program does: whatever a library runs inside of a
checkpoint belongs to the checkpoint. Only garbage collection begins inside of any call and belongs to none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.budget.host_time import COVERING, MainThread
from tpu_profile_plugin.analysis.common.spans import Times
from tpu_profile_plugin.columns.arrays import I64, U8
from tpu_profile_plugin.system.name_cache import cached_by_name


class Purpose(IntEnum):
    """What a call is for."""

    UNKNOWN = 0
    CHECKPOINT = 1
    """Writes or reads the program's state."""
    LOGGING = 2
    """Writes messages, metrics or summaries."""
    COLLECTION = 3
    """Python's garbage collection."""
    EVALUATION = 4
    """Measures the model on other data."""
    INPUT = 5
    """Waits for the next element of an input pipeline or data loader."""
    QUEUE = 6
    """Waits for another thread or process, whatever that does."""
    BATCHING = 7
    """A server collects requests for a batch."""
    SLEEP = 8
    COMPILE = 9
    """Traces, compiles or loads a program."""
    TRANSFER = 10
    """Waits until a device has finished or its results are on the host."""
    UPLOAD = 11
    """Sends data to a device."""
    LAUNCH = 12
    """Launches work of a device."""
    PROFILER = 13
    """Starts or ends the recording."""
    ALLOCATION = 14
    """Allocates or frees memory of a device, rather than to reuse it."""


_PY = r"^\$(?:\S*/)?"
"""A Python function: `$file.py:line function`; `$module function` if it is written in C. Some profiles have paths."""
_EVALUATE = (
    r"(?!\w*train)_*(?:\w+_)?(?:eval|evaluate|evaluation|validate|validation)(?:_(?:step|epoch|loop|model|fn|batch))?"
)
_PATTERNS = (
    (Purpose.COLLECTION, rf"{_PY}gc collect\Z|{_PY}__init__\.py:\d+ _xla_gc_callback\Z"),
    (Purpose.PROFILER, rf"{_PY}profiler\w*\.py:\d+ (?:start|stop|start_trace|stop_trace|trace)\Z"),
    (
        Purpose.CHECKPOINT,
        rf"{_PY}(?:_?pickle|marshal) dump|{_PY}(?:_?pickle|cloudpickle|_?dill|numpy_pickle)\.py:\d+ dump"
        rf"|{_PY}_?npyio(?:_impl)?\.py:\d+ _?save\w*\Z|{_PY}format\.py:\d+ write_array\Z|{_PY}numpy save\w*\Z"
        rf"|{_PY}serialization\.py:\d+ (?:_?save|_legacy_save|to_bytes|msgpack_serialize)\Z"
        rf"|{_PY}\w*(?:checkpointer|checkpoint_manager|checkpoint_handler)\.py:\d+ "
        rf"|{_PY}checkpoints?\.py:\d+ (?:save|write|_write|save_checkpoint\w*|restore\w*|read)\Z"
        rf"|{_PY}checkpoint_management\.py:\d+ |{_PY}model_checkpoint\.py:\d+ "
        rf"|{_PY}(?:saving_api|saving_lib|legacy_h5_format)\.py:\d+ _?(?:save|load)_\w+\Z"
        rf"|{_PY}save\.py:\d+ save\w*\Z|{_PY}(?:training|trainer|model)\.py:\d+ save(?:_weights)?\Z"
        rf"|{_PY}(?:_)?safetensors\w* serialize\w*\Z"
        r"|^(?:EagerLocalExecute: )?(?:SaveV2|MergeV2Checkpoints|RestoreV2)(?:\Z|:)|:SaveV2\Z"
        r"|[/.](?:orbax|safetensors)/",
    ),
    (
        Purpose.LOGGING,
        rf"{_PY}__init__\.py:\d+ (?:debug|info|warning|error|_log|handle|callHandlers|emit)\Z|{_PY}builtins print\Z"
        rf"|{_PY}logging\.py:\d+ (?:debug|info|warning|error|log|vlog|_log)\Z"
        rf"|{_PY}(?:summary_ops_v2|summary_v2|event_file_writer|record_writer)\.py:\d+ "
        rf"|{_PY}(?:writer|summary_writer)\.py:\d+ (?:add_|write_|scalar|histogram|image|text|flush)\w*\Z"
        rf"|{_PY}\w+\.py:\d+ (?:add|write)_(?:scalars?|histograms?|images?|summary|texts?|hparams)\Z"
        rf"|{_PY}(?:wandb_run|fluent)\.py:\d+ log\w*\Z"
        r"|^(?:EagerLocalExecute: )?Write\w*Summary(?:\Z|:)|:Write\w*Summary\Z"
        r"|[/.](?:wandb|mlflow|tensorboardX?|absl/logging|clu/metric_writers)/",
    ),
    (
        Purpose.EVALUATION,
        rf"{_PY}[^ :]+\.py:\d+ {_EVALUATE}\Z|{_PY}(?:training|trainer)\.py:\d+ test_\w+\Z"
        rf"|^PjitFunction\({_EVALUATE}\)\Z|^(?:EagerLocalExecute: )?__inference_(?:test_function|{_EVALUATE})_\d+\Z",
    ),
    (
        Purpose.INPUT,
        r"^(?:MultiDevice)?IteratorGetNext|OptionalGetValue|enumerate\(DataLoader\)|DataLoaderIter"
        rf"|{_PY}dataloader\.py:\d+ |{_PY}(?:iterator_ops|dataset_ops|data_loader|dataset_iterator)\.py:\d+ "
        rf"(?:__next__|next|_next_internal)\Z|[/.]grain/",
    ),
    (
        Purpose.BATCHING,
        r"^(?:BatchFunction|ScheduleBatch|ProcessBatch|ConcatInputTensors|BatchResourceBase)|:BatchFunction\Z",
    ),
    (
        Purpose.QUEUE,
        rf"{_PY}queues?\.py:\d+ (?:get|put|join)\Z|{_PY}_queue get\Z|{_PY}<unknown> (?:acquire|get|recv|poll)\Z"
        rf"|{_PY}_base\.py:\d+ (?:result|result_iterator|wait|as_completed)\Z|{_PY}pool\.py:\d+ (?:next|get|wait)\Z"
        rf"|{_PY}threading\.py:\d+ (?:wait|wait_for|join|_wait_for_tstate_lock|acquire)\Z"
        rf"|{_PY}connection\.py:\d+ (?:recv|recv_bytes|poll|wait)\Z|{_PY}selectors\.py:\d+ select\Z",
    ),
    (Purpose.SLEEP, rf"{_PY}time sleep\Z"),
    (Purpose.ALLOCATION, r"^(?:cuda|hip)(?:Malloc|Free)\Z|^(?:cu|hip)Mem(?:Create|Release|Map|Unmap|SetAccess)\Z"),
)
_COMPILED = tuple((purpose, re.compile(pattern)) for purpose, pattern in _PATTERNS)
_OF_ACTIVITY = {
    Activity.COMPILE: Purpose.COMPILE,
    Activity.TRANSFER: Purpose.TRANSFER,
    Activity.UPLOAD: Purpose.UPLOAD,
    Activity.INPUT: Purpose.INPUT,
    Activity.LAUNCH: Purpose.LAUNCH,
}
RUNTIME = frozenset({Purpose.COMPILE, Purpose.TRANSFER, Purpose.UPLOAD, Purpose.LAUNCH})
"""How a program works rather than what for: a call around it with another purpose says more, and one inside as well."""


@cached_by_name
def purpose(name: str) -> Purpose:
    """What an event of that name is for, by itself."""
    known = next((one for one, pattern in _COMPILED if pattern.search(name)), None)
    return known if known is not None else _OF_ACTIVITY.get(activity(name), Purpose.UNKNOWN)


def purposes(names: Sequence[str]) -> U8:
    """uint8[n]: the purpose of each name."""
    return np.array([purpose(name) for name in names], np.uint8)


def doing(main: MainThread, spans: Times) -> tuple[U8, I64]:
    """What the main thread does in most of each span, uint8[n], and the name of the call that tells, int64[n].

    The call is the outermost that covers at least `COVERING` of the span and has a purpose of its own, else the
    outermost call of the runtime; -1 without one. Garbage collection counts wherever it is.
    """
    of_name = purposes(main.names)
    found, call = np.zeros(len(spans[0]), np.uint8), np.full(len(spans[0]), -1, np.int64)
    begin, end = spans
    for since, until, name in zip(main.levels.begin_ps, main.levels.end_ps, main.levels.name, strict=True):
        row = np.searchsorted(since, begin + (end - begin) // 2, side="right") - 1
        inside = np.maximum(row, 0)
        covered = np.minimum(end, until[inside]) - np.maximum(begin, since[inside])
        what = of_name[name[inside]]
        better = (found == Purpose.UNKNOWN) | (np.isin(found, tuple(RUNTIME)) & ~np.isin(what, tuple(RUNTIME)))
        better |= (what == Purpose.COLLECTION) & (found != Purpose.COLLECTION)
        better &= (row >= 0) & (covered >= COVERING * (end - begin)) & (what != Purpose.UNKNOWN)
        found[better], call[better] = what[better], name[inside[better]]
    return found, call
