"""Event names and context types that grouping recognises, and a plane's events by name."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools

TRACE_CONTEXT = "TraceContext"
EAGER_EXECUTE = "EagerExecute"
EXECUTOR = "ExecutorState::Process"
TPU_EXECUTE = "TpuExecuteOp"
REGION_START, REGION_STOP, REGION = (f"ThreadpoolListener::{kind}" for kind in ("StartRegion", "StopRegion", "Region"))
CAPTURED_FUNCTIONS = tuple(
    f"InstantiatedCapturedFunction::{kind}" for kind in ("Run", "RunAsync", "RunInstantiated", "RunWithBorrowedArgs")
)
GET_NEXT = ("IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute")
HOST_LOOPS = ("WhileOp-EvalCond", "WhileOp-StartBody", "ForOp", "ParallelForOp", "ForeverOp")
IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", EXECUTOR)
ROOT_LEVELS = {"ProcessBatch": 2, "OrbaxServing::ProcessBatch": 2, "BatchingSessionRun": 1}
ENQUEUE_REQUEST = "EnqueueRequestLocked"
REQUESTS = (
    "RunProgramRequest", "HostCallbackRequest", "TransferH2DRequest", "TransferPreprocessedH2DRequest",
    "TransferD2HRequest", "OnDeviceSendRequest", "OnDeviceRecvRequest", "OnDeviceSendRecvLocalRequest", "CustomWait",
    "OnDeviceSendRequestMulti", "OnDeviceRecvRequestMulti", "PjrtAsyncWait",
)  # fmt: skip
ENQUEUE_PROGRAM, ENQUEUE_CONTINUATION = "DoEnqueueProgram", "DoEnqueueContinuationProgram"
COMPLETE = "CompleteCallbacks"

# Types of the contexts that link a producer to a consumer.
LEGACY, GPU_LAUNCH, TPU_STREAM, TPU_LAUNCH = 1, 9, 11, 12
LAST_CONTEXT = 17

# Events recognised by name; any other event may be an op or a kernel.
_PROGRAM_EVENTS = (ENQUEUE_REQUEST, ENQUEUE_PROGRAM, ENQUEUE_CONTINUATION, COMPLETE)
KNOWN_EVENTS = frozenset((TRACE_CONTEXT, EAGER_EXECUTE, TPU_EXECUTE, *_PROGRAM_EVENTS, *REQUESTS))
KNOWN_EVENTS |= {*CAPTURED_FUNCTIONS, *GET_NEXT, *HOST_LOOPS, *IMPLICIT_ROOTS, *ROOT_LEVELS}

# Further names with a type in XProf; even with a correlation id they neither launch nor run a kernel.
_TYPED_EVENTS = frozenset(
    {
        "ASBSQueue::Schedule", "BrainSessionRun", "ConcatInputTensors", "Delinearize", "ExecutorDoneCallback",
        "Iterator", "Linearize", "MapAndBatchConsume", "MapAndBatchProduce", "MemoryAllocation", "MemoryDeallocation",
        "MergeInputTensors", "ParallelInterleaveConsume",
        "ParallelInterleaveInitializeInput", "ParallelInterleaveProduce", "ParallelMapConsume", "ParallelMapProduce",
        "ParseExampleConsume", "ParseExampleProduce", "PrefetchConsume", "PrefetchProduce", "ReadHbm",
        "RemotePerfCounter", "RunGraphDone", "ScheduleWithEagerSplit", "ScheduleWithSplit", "ScheduleWithoutSplit",
        "ServingModelRun", "TPUPartitionedCallOp-ExecuteLocal", "TPUPartitionedCallOp-ExecuteRemote",
        "TPUPartitionedCallOp-InitializeVarOnTPU", "TfOpRun", "TfrtModelRun", "TransferBufferFromDevice-FastPath",
        "UnknownHostEventType", "WriteHbm", "tpu::System::Execute", "tpu::System::TransferFromDevice=>IssueEvent",
        "tpu::System::TransferFromDevice=>IssueEvent=>Done", "tpu::System::TransferToDevice=>IssueEvent",
        "tpu::System::TransferToDevice=>IssueEvent=>Done",
    }
)  # fmt: skip
NO_LAUNCHES = KNOWN_EVENTS | _TYPED_EVENTS | {"KernelExecute"}
"""Names of host events that never launch a kernel, even with a correlation id."""
NO_KERNELS = KNOWN_EVENTS | _TYPED_EVENTS | {"KernelLaunch"}
"""Names of device events that are never kernels, even with a correlation id."""


class EventsByName:
    """Index of a plane's events by exact metadata name."""

    def __init__(self, plane: Plane, indexed: frozenset[str] = KNOWN_EVENTS) -> None:
        self._rows: dict[str, list[int]] = {}
        for row, name in enumerate(plane.event_metadata.names):
            if name in indexed:
                self._rows.setdefault(name, []).append(row)
        self._count = len(plane.event_metadata.id)
        self._metadata = plane.events.metadata
        # All events with any of the names, selected in one pass; `events` filters these few.
        self._known = np.zeros(0, dtype=np.int64)
        if self._rows:
            self._known = np.flatnonzero(self.mask(*self._rows)[self._metadata])
        self._known_rows = self._metadata[self._known]

    def has(self, *names: str) -> bool:
        """True when the plane's event metadata has one of the names, whether or not an event uses it."""
        return any(name in self._rows for name in names)

    def mask(self, *names: str) -> Bools:
        """Per row of the event metadata, whether it has one of the names."""
        mask = np.zeros(self._count, dtype=np.bool_)
        mask[[row for name in names for row in self._rows.get(name, ())]] = True
        return mask

    def events(self, *names: str) -> I64:
        """Events with one of the names, ascending."""
        if not self.has(*names):
            return np.zeros(0, dtype=np.int64)
        return self._known[self.mask(*names)[self._known_rows]]

    def among(self, events: I64, *names: str) -> Bools:
        """Mask of the events that have one of the names."""
        if len(events) == 0 or not self.has(*names):
            return np.zeros(len(events), dtype=np.bool_)
        matches: Bools = self.mask(*names)[self._metadata[events]]
        return matches
