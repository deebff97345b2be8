"""Columns about steps, the time budget, and gaps."""

from __future__ import annotations

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, LABELS
from tpu_profile_plugin.run.catalogue import BEGIN, DURATION, HOST, RUN, STEP
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import flags, integers, numbers, texts

_STEPS = Catalogue(
    *(RUN, HOST, BEGIN, DURATION, STEP),
    texts("device", "Device", "Device of the host; Host if no device was recorded."),
    texts("name", "Step", "Name of the step, or its number if it has none."),
    flags("takes_part", "Takes part", "Whether the device works in the step; averages on the pages leave out others."),
    texts("source", "Steps from",
          "device, host: markers; inferred: repeating events; dispatch: equal parts; recording: all of it as one "
          "step."),
    *(integers(f"{category}_ps", LABELS[category].name, "ps", LABELS[category].sentence) for category in CATEGORIES),
    texts("id", "Id", "Id of the step, for the argument step of budget."),
    numbers("end_ps", "End", "ps", "The same."),
    texts("more_of", "More of", "In steps longer than the average: the part that exceeds its average most."),
    numbers("part_ps", "This part", "ps", "Its time in this step."),
    numbers("part_average_ps", "Its average", "ps", "Its time in the average step."),
    texts("slowest_device", "Slowest device", "The device with the longest step."),
)  # fmt: skip
_column = _STEPS.column

RELATION = _STEPS.typed(
    *("run", "host", "device", "step", _column("name", "Name of the step's marker, if it has one.", label="Name")),
    _column("begin_ps", "Begin of the step on the device, on the axis of the trace viewer."),
    _column("duration_ps", "Time from the begin to the end of the step; the parts add up to it."),
    *("takes_part", "source", *(f"{category}_ps" for category in CATEGORIES)),
)
"""Of the relation `steps`."""
OF_RUN = _STEPS.columns(
    "name",
    _column("begin_ps", "On the time axis of the first device's host."),
    _column("duration_ps", "Averaged over the devices."),
)
"""Of the steps of a run (`Steps`)."""
ANSWERED = _STEPS.columns(
    "id",
    _column("duration_ps", "Averaged over the devices that take part."),
    _column("begin_ps", "On its slowest device, on the time axis of the trace viewer."),
    *("end_ps", "more_of", "part_ps", "part_average_ps"),
)
"""Of the verb `steps`."""
SLOWEST = _column("slowest_device")
"""The last column of the verb `steps`, with several devices."""

_PARTS = Catalogue(
    texts("id", "Id", "Id of the part."),
    texts("name", "Part", "What the device does, or waits for."),
    texts("category", "Category", "The category that it belongs to."),
    numbers("per_step_ps", "Per step", "ps", "Averaged over steps and the devices that take part."),
    numbers("share_percent", "Share", "%", "Of the base."),
    texts("most_on", "Most on", "The device with most of it; empty where devices are alike."),
    numbers("most_ps", "Most", "ps", "Its time per step."),
    numbers("least_ps", "Least", "ps", "Time per step on the device with least of it."),
    numbers("in_step_ps", "In this step", "ps", "Averaged over the devices that take part."),
    numbers("average_ps", "Average", "ps", "In the average step."),
    texts("device", "Device", "The device, with its host if there are several; `all`: their mean."),
    numbers("time_ps", "Time", "ps", "Time per step, averaged over the steps."),
    numbers("percent", "Share", "%",
            "Of the time from step to step; of the step if there is no time between steps."),
)  # fmt: skip
BUDGET = _PARTS.columns("id", "name", "category", "per_step_ps", "share_percent")
"""Of the verb `budget`."""
BUDGET_OF_DEVICES = _PARTS.columns("most_on", "most_ps", "least_ps")
"""The last columns of the verb `budget`, with several devices."""
BUDGET_OF_STEP = _PARTS.columns("id", "name", "category", "in_step_ps", "average_ps")
"""Of the verb `budget` of one step."""
AVERAGE = _PARTS.columns("device", _PARTS.column("category", "Id of the part of the step."), "time_ps", "percent")
"""Of the tool `time_budget`."""

_GAPS = Catalogue(
    *(HOST, BEGIN, DURATION),
    texts("id", "Id", "Device and rank of the gap, 1 for the longest of the device."),
    texts("device", "Device", "The device."),
    integers("rank", "Rank", "", "1 for the longest gap of the device."),
    numbers("percent", "Share of the recording", "%", "Share of the time from the first step or op to the last."),
    texts("steps", "Steps", "The steps that hold at least half of the gap; empty without any."),
    numbers("steps_percent", "Share of the steps", "%", "Share of these steps that the gap takes."),
    texts("call", "Host call",
          "The user's function that covers at least 80% of the gap, else the deepest event of the main thread that "
          "does."),
    texts("event", "Deepest event", "The deepest event of the main thread that covers at least 80% of the gap."),
    texts("partial_call", "Longest host call",
          "Without a host call, the event of the main thread that covers half or more.",
          lambda gaps: gaps.partial),
    numbers("partial_percent", "Share of the longest host call", "%", "Share of the gap that this event covers."),
    flags("within_program", "Within a program", "The gap lies between ops of one run of a program.",
          lambda gaps: gaps.within),
)  # fmt: skip
_begin = _GAPS.column("begin_ps", "On the time axis of the host.")
_length = _GAPS.column("duration_ps", "Time in which the device runs no op.", label="Length")
GAPS = _GAPS.columns(
    *(
        _GAPS.column("host", "Host of the device.", of=lambda gaps: gaps.host_name),
        "device",
        "rank",
        _begin,
        _length,
        "percent",
    ),
    *("steps", "steps_percent", "call", "event", "partial_call", "partial_percent", "within_program"),
)
"""Of the gaps of a run (`Gaps`)."""
GAPS_ANSWERED = _GAPS.columns(
    *("id", _length, "percent", _begin, "steps", _GAPS.column("call", "What the host did under the gap."))
)
"""Of the verb `gaps`."""

_LIMITS = Catalogue(
    texts("id", "Id", "Kind and name."),
    texts("what", "What", "op, collective, host code, launch, wait (the host goes on after one), or idle (a gap)."),
    texts("name", "Name", "Op without its number, or function; empty for what has none."),
    numbers("per_step_ps", "Per step", "ps", "In the chain of what determines how long steps take, as replayed."),
    numbers("share_percent", "Share", "%", "Of the base."),
)
LIMITS = _LIMITS.columns("id", "what", "name", "per_step_ps", "share_percent")
"""Of the verb `what_if`."""
