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
    "analysis.findings.on_device.barriers": ("BarrierTime",),
    "analysis.findings.on_device.copies": ("Copies",),
    "analysis.findings.on_device.kept_buffers": (
        "Kept",
        "KeptBuffer",
        "KeptGroup",
    ),
    "analysis.findings.on_device.matrix_units": ("MatrixUnit",),
    "analysis.findings.on_device.op_work": ("NamedOp",),
    "analysis.findings.on_device.precision_work": ("Wide",),
    "analysis.findings.on_host.compiled_steps": ("Compilation",),
    "analysis.findings.on_host.compiles": ("Change",),
    "analysis.findings.on_host.fetches": ("Fetches",),
    "analysis.findings.on_host.launched": ("Launched",),
    "analysis.findings.on_host.pipelines": ("Slowest",),
    "analysis.findings.on_host.slow_code": ("SlowCode",),
    "analysis.findings.on_host.uploads": (
        "Argument",
        "Uploads",
    ),
    "analysis.findings.on_host.waits": ("InputWait",),
    "analysis.findings.rules.data_movement": ("Moved",),
    "analysis.findings.rules.debug_callbacks": ("Callbacks",),
    "analysis.findings.rules.exposed_copy": ("Waited",),
    "analysis.findings.rules.kept_for_backward": ("Looked",),
    "analysis.findings.rules.launch_bound": ("Launching",),
    "analysis.findings.rules.low_precision_unused": ("Widths",),
    "analysis.findings.rules.memory_near_limit": ("Use",),
    "analysis.findings.rules.not_compiled": ("Tiny",),
    "analysis.findings.rules.padding": ("Padded",),
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
    "analysis.tf_data.model": (
        "BottleneckFacts",
        "Iterator",
        "IteratorTimes",
        "Pipeline",
        "Run",
        "Settings",
        "Stage",
        "TfData",
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
