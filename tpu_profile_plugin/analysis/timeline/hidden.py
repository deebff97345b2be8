"""Events and arguments that a timeline hides: internal records of the profiler."""

from __future__ import annotations

HIDDEN_EVENTS = frozenset((
    "MemoryAllocation", "MemoryDeallocation", "PrefetchProduce", "PrefetchConsume", "ParallelInterleaveProduce",
    "ParallelInterleaveConsume", "ParallelInterleaveInitializeInput", "ParallelMapProduce", "ParallelMapConsume",
    "MapAndBatchProduce", "MapAndBatchConsume", "ParseExampleProduce", "ParseExampleConsume", "ParallelBatchProduce",
    "ParallelBatchConsume",
))  # fmt: skip
"""Names of hidden events."""

CONTEXT_ARGS = frozenset({"_pt", "_p", "_ct", "_c", "_r"})
"""Stats by which events are grouped and linked."""

HIDDEN_ARGS = CONTEXT_ARGS | {"flops", "program_id", "symbol_id"}
"""Stats hidden from an event's arguments."""

FOLDED_ARGS = frozenset({"_a", "flow", "group_id"})
"""Stats that the streaming viewer shows as properties of the event, not among its arguments."""

ASYNC = "_a"
LONG_NAME = "long_name"
GROUP_ID = "group_id"
FLOW = "flow"
STEP_NAME = "step_name"
IS_EAGER = "is_eager"
RUN_ID = "run_id"
