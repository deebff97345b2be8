"""Extensions of the overview, in addition to the tables that other clients read.

With `extended=true` the overview's answer has an eighth element, a JSON object:

* the members of `StepReading` (`tools/common/steps.py`).
* `inferred_steps`: steps of a profile without markers, or given by the event `step_event`: `evidence` for the steps,
  `table`, `statistics` in ms. Never part of the other tables. Null if there are markers or nothing was inferred.
* `efficiency`: shares of the peak, the roofline and goodput in percent, null where peaks or costs are unknown.
* `precision`: `narrow_percent`, `wide_percent` of the device's compute time on data of at most 16 bits and of more;
  null without any.
* `op_categories`: for each row of the first table the HLO category of the op that takes most of its time.
* `peak_gflops`: peak FLOP rate of a core; null if unknown. Ops with a higher rate work outside their recorded time.
* `session`: average latency of a request and its parts in ms, and a `histogram` (`edges_ms`, `counts`); null without
  requests.
* `frameworks`: names of those that wrote the profile; `cpu_ops`: whether the CPU ran XLA ops.
* `functions`: tf.functions with their share of tracing and eager execution.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import UNKNOWN, parse_op
from tpu_profile_plugin.analysis.common.statistics import statistics
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.serving import Inference, Phase
from tpu_profile_plugin.analysis.steps.core_steps import efficiency
from tpu_profile_plugin.analysis.steps.inferred import InferredSteps, named_steps, with_busy
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.run.figures.budget import inferred_steps
from tpu_profile_plugin.run.figures.steps import StepAnalysis
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common.steps import step_reading
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import KILO, PS_PER_MS

PARAMS = (
    Param("extended", "bool", False, "Adds an eighth element with extensions for our own pages."),
    Param("step_event", "string", "", "Name of the event that marks a step, for profiles without step markers."),
)
_MOST_BINS = 20

INFERRED_COLUMNS = (
    texts("stepnum", "Step", "Number of the inferred step, in time order."),
    numbers("beginMs", "Begin", "ms", "Begin, since the begin of the first inferred step."),
    numbers("stepTimeMs", "Step time", "ms", "Time until the next step begins, or the duration of the event."),
    numbers("deviceBusyMs", "Device busy", "ms", "Time in which the first device ran ops; empty without devices."),
    numbers("deviceIdleMs", "Device idle", "ms", "The rest."),
)


def extras(
    run: Run, query: Query, summary: RunSummary, analysis: StepAnalysis, serving: Inference, top_ops: Table
) -> dict[str, Any]:
    """The object described above; tables are not yet encoded."""
    return {
        **vars(step_reading(run, summary)),
        "inferred_steps": _inferred(run, query, analysis),
        "efficiency": asdict(efficiency(summary.steps, summary.device, summary.peaks)),
        "precision": _precision(summary),
        "op_categories": op_categories(summary.device, top_ops),
        "peak_gflops": summary.peaks.tera_flops * KILO or None,
        "session": _session(serving),
        "frameworks": [NAMES[name] for name in summary.frameworks],
        "cpu_ops": summary.cpu_ops,
        "functions": [
            {"name": f.name, "calls": f.calls, "self_ms": f.self_ps / PS_PER_MS, "expensive_share": f.expensive_share}
            for f in summary.functions
        ],
    }


def _precision(summary: RunSummary) -> dict[str, float] | None:
    narrow, wide = summary.precision.narrow_ps, summary.precision.wide_ps
    if not narrow + wide:
        return None
    return {"narrow_percent": 100.0 * narrow / (narrow + wide), "wide_percent": 100.0 * wide / (narrow + wide)}


def op_categories(device: OpTable, top_ops: Table) -> list[str]:
    """The HLO category of the device op with most self time in each row of the table of framework ops."""
    longest: dict[str, tuple[int, str]] = {}
    columns = (device.name, device.category, device.provenance, device.self_ps.tolist())
    for name, category, provenance, ps in zip(*columns, strict=True):
        op = (parse_op(provenance).name if provenance else "") or name
        if ps > longest.get(op, (-1, ""))[0]:
            longest[op] = (ps, category)
    shown = top_ops.columns.index(next(column for column in top_ops.columns if column.id == "operation"))
    return [longest.get(name, (0, ""))[1] or UNKNOWN for name in top_ops.data[shown]]


def _inferred(run: Run, query: Query, analysis: StepAnalysis) -> dict[str, Any] | None:
    """Inferred steps of the first host that has any; a given event name takes precedence over markers."""
    name = query.text("step_event")
    if analysis.steps and not name:
        return None
    inferred = run.map_hosts(host_inferred.given(name))
    for host, steps in zip(run.readable, inferred, strict=True):
        if steps is not None:
            times = statistics((steps.duration_ps / PS_PER_MS).tolist())
            return {
                "host": host.name,
                "evidence": asdict(steps.evidence),
                "table": inferred_table(steps),
                "statistics": asdict(times),
            }
    return None


@per_host()
def host_inferred(host: HostProfile, name: str) -> InferredSteps | None:
    """The steps of one host given by the event `name`, or inferred if it is empty."""
    if name:
        return named_steps(host.lazy, name)
    inferred = inferred_steps(host)
    return None if inferred is None else with_busy(host.lazy, inferred)


def inferred_table(steps: InferredSteps) -> Table:
    """One row per step."""
    begin = (steps.begin_ps - steps.begin_ps[:1]) / PS_PER_MS
    numbers = [str(i) for i in range(len(begin))]
    unknown = [None] * len(begin)
    busy = unknown if steps.busy_ps is None else steps.busy_ps / PS_PER_MS
    idle = unknown if steps.busy_ps is None else (steps.duration_ps - steps.busy_ps) / PS_PER_MS
    return Table(INFERRED_COLUMNS, (numbers, begin, steps.duration_ps / PS_PER_MS, busy, idle))


def _session(serving: Inference) -> dict[str, Any] | None:
    if not serving.requests:
        return None
    count = len(serving.requests)
    total = sum(request.duration_ps for request in serving.requests) / count / PS_PER_MS
    times = {
        p: sum(r.phases_ps[p] for r in serving.requests) / count / PS_PER_MS
        for p in (Phase.DEVICE, Phase.H2D, Phase.D2H)
    }
    device, transfer = times[Phase.DEVICE], times[Phase.H2D] + times[Phase.D2H]
    return {
        "requests": count,
        "average_ms": total,
        "host_ms": total - device - transfer,
        "device_ms": device,
        "communication_ms": transfer,
        "histogram": _histogram(np.array([request.duration_ps for request in serving.requests]) / PS_PER_MS),
    }


def _histogram(values: F64) -> dict[str, list[float]]:
    """Counts of the values between edges of equal distance; about as many bins as the root of their number."""
    bins = 1 if values.min() == values.max() else min(_MOST_BINS, math.ceil(math.sqrt(len(values))) + 1)
    counts, edges = np.histogram(values, bins=bins)
    return {"edges_ms": edges.tolist(), "counts": counts.tolist()}
