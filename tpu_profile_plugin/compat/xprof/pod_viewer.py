"""The pod viewer as XProf answers it: all steps on every core, the first and the last included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tpu_profile_plugin.analysis.steps.breakdown import POD_CATEGORIES, pod_ps
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.figures.summary import run_summary, step_warnings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.fleet import pod_viewer
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import PS_PER_US


def build(run: Run, query: Query) -> Json:
    """Steps by core in microseconds, with XProf's categories."""
    summary = run_summary(run, drop_edges=False)
    warnings = step_warnings(len(summary.steps), summary.steps.empty_intersection)
    return Json(
        {
            "podStatsSequence": {"podStatsMap": _steps(summary)},
            "diagnostics": {"info": [], "warnings": list(warnings), "errors": []},
            "stepBreakdownEvents": [{"id": i, "name": name} for i, name in enumerate(POD_CATEGORIES, start=1)],
            "deviceType": summary.environment.device_type,
        },
        xprofs=True,
    )


def _steps(summary: RunSummary) -> list[dict[str, Any]]:
    steps = summary.steps
    if not len(steps):
        return []
    dense = steps.dense_cores
    times = (pod_ps(steps) / PS_PER_US).tolist()
    totals = (steps.duration_ps[:, dense] / PS_PER_US).tolist()
    # As in XProf, only cores with a recorded ordinal; the arrays have all.
    named = [(steps.cores[position], summary.cores.get(steps.cores[position], ("", -1))) for position in dense]
    recorded = [(column, str(core), host) for column, (core, (host, ordinal)) in enumerate(named) if ordinal >= 0]
    sequence = []
    for number, total, parts in zip(steps.number.tolist(), totals, times, strict=True):
        cores = {
            core: _core(host, number, total[column], parts[column])
            for column, core, host in recorded
            if total[column] > 0
        }
        unknown: dict[str, Any] = {"channelDb": [], "coreIdToReplicaIdMap": {}, "allReduceOpDb": []}
        sequence.append({"stepNum": number, "podStatsPerCore": cores, **unknown})
    return sequence


_BREAKDOWN_KEYS = tuple(str(i) for i in range(1, len(POD_CATEGORIES) + 1))


def _core(host: str, number: int, total_us: float, parts: list[float]) -> dict[str, Any]:
    # The longest category, the last by name among equals.
    bottleneck = max(zip(parts, POD_CATEGORIES, strict=True))[1]
    return {
        "hostName": host,
        "chipId": 0,
        "nodeId": 0,
        "stepNum": number,
        "totalDurationUs": total_us,
        "bottleneck": bottleneck,
        "stepBreakdownUs": dict(zip(_BREAKDOWN_KEYS, parts, strict=True)),
    }


TOOL = replace(pod_viewer.TOOL, build=build, needs=())
