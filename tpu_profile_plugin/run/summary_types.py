"""The classes that summaries of hosts consist of: what is read from disk makes instances of these and of no others.

All of them are dataclasses, named tuples or enumerations that hold plain data and arrays; a result with a part of
another class is not stored. A test compares the list with the annotations of the per-host steps.
"""

from __future__ import annotations

_CLASSES: dict[str, tuple[str, ...]] = {
    "analysis.budget.budget": (
        "HostBudget",
        "HostCause",
    ),
    "analysis.communication.host": (
        "CollectiveSums",
        "HostCommunication",
    ),
    "analysis.communication.launches": ("LaunchSummary",),
    "analysis.compare.fingerprint": ("Fingerprint",),
    "analysis.compare.run": ("DescribedWork",),
    "analysis.compare.work": ("HostWork",),
    "analysis.counters.kernels": (
        "DeviceKernels",
        "Kernel",
    ),
    "analysis.counters.listing": ("Listing",),
    "analysis.devices.across_hosts": ("HostRuns",),
    "analysis.devices.clocks": ("ClockOffset",),
    "analysis.devices.collective_ops": ("Transfer",),
    "analysis.devices.collectives": ("CollectiveKey",),
    "analysis.devices.windows": ("StepWindows",),
    "analysis.environment.environment": (
        "Environment",
        "Hardware",
        "Peaks",
    ),
    "analysis.findings.evidence.device.matrix_units": ("MatrixUnit",),
    "analysis.findings.evidence.device.op_work": ("NamedOp",),
    "analysis.findings.evidence.host.launched": ("Launched",),
    "analysis.findings.evidence.host.pipelines": ("Slowest",),
    "analysis.findings.evidence.host.slow_code": ("SlowCode",),
    "analysis.findings.evidence.host.uploads": (
        "Argument",
        "Uploads",
    ),
    "analysis.findings.rules.communication.barrier": ("BarrierTime",),
    "analysis.findings.rules.data.input_bound": ("InputWait",),
    "analysis.findings.rules.device.data_movement": ("Moved",),
    "analysis.findings.rules.device.exposed_copy": (
        "Copies",
        "Waited",
    ),
    "analysis.findings.rules.device.low_precision_unused": (
        "Wide",
        "Widths",
    ),
    "analysis.findings.rules.device.padding": ("Padded",),
    "analysis.findings.rules.host.debug_callbacks": ("Callbacks",),
    "analysis.findings.rules.host.host_sync": ("Fetches",),
    "analysis.findings.rules.host.launch_bound": ("Launching",),
    "analysis.findings.rules.host.not_compiled": ("Tiny",),
    "analysis.findings.rules.host.recompilation.compiles": ("Change",),
    "analysis.findings.rules.host.recompilation.rule": ("Compilation",),
    "analysis.findings.rules.memory.kept_for_backward.buffers": (
        "Kept",
        "KeptBuffer",
        "KeptGroup",
    ),
    "analysis.findings.rules.memory.kept_for_backward.rule": ("Looked",),
    "analysis.findings.rules.memory.memory_near_limit": ("Use",),
    "analysis.hlo.convolution_layout": ("Dimension",),
    "analysis.hlo.ops": ("Fused",),
    "analysis.megascale.slack": ("Collective",),
    "analysis.ops.gpu.kernel_table": (
        "Kernel",
        "KernelRow",
        "KernelTimes",
    ),
    "analysis.ops.host": (
        "HostOps",
        "InfeedEnqueue",
    ),
    "analysis.ops.records": (
        "OpRecords",
        "OpText",
    ),
    "analysis.ops.table": ("OpTable",),
    "analysis.ops.tf_functions": ("TfFunction",),
    "analysis.ops.tpu.duty_cycle": ("DutyCycle",),
    "analysis.serving.batching_parameters": ("BatchingParameters",),
    "analysis.serving.requests": (
        "Batch",
        "Inference",
        "Request",
    ),
    "analysis.steps.inferred": (
        "Evidence",
        "InferredSteps",
    ),
    "analysis.steps.table": ("StepTable",),
    "analysis.summary.contents": ("PlaneContents",),
    "analysis.summary.framework_ops": ("FrameworkOps",),
    "analysis.summary.host": ("HostSummary",),
    "analysis.summary.implausible_times": ("ImplausibleTimes",),
    "analysis.summary.ops": (
        "Chip",
        "OpSummary",
    ),
    "analysis.summary.precision": ("Precision",),
    "analysis.summary.recording": (
        "Dispatch",
        "Recording",
    ),
    "analysis.tf_data.pipelines": (
        "Iterator",
        "IteratorTimes",
        "Pipeline",
        "Run",
        "TfData",
    ),
    "analysis.tf_data.settings": (
        "BottleneckFacts",
        "Settings",
        "Stage",
    ),
    "analysis.timeline.listing": (
        "Event",
        "Group",
    ),
    "run.facts": (
        "Defect",
        "PlaneFact",
        "RunFacts",
    ),
    "run.sides": ("HostSide",),
}
"""By module of the package."""
PERMITTED = frozenset(f"{module}:{name}" for module, names in _CLASSES.items() for name in names)
