"""Pod viewer: each step on every worker side by side, by what the time was spent on."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.diagnostics import step_warnings
from tpu_profile_plugin.analysis.host_summary import RunSummary
from tpu_profile_plugin.analysis.step_breakdown import POD_CATEGORIES, pod_ps
from tpu_profile_plugin.tools.inputs import Inputs
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.summaries import run_summary
from tpu_profile_plugin.tools.tool import HostChoice, Tool


def build(inputs: Inputs) -> Json:
    """All steps, the first and last included."""
    run = run_summary(inputs, drop_edges=False)
    warnings = step_warnings(len(run.steps), run.steps.empty_intersection)
    return Json(
        {
            "podStatsSequence": {"podStatsMap": _steps(run)},
            "diagnostics": {"info": [], "warnings": list(warnings), "errors": []},
            "stepBreakdownEvents": [{"id": i, "name": name} for i, name in enumerate(POD_CATEGORIES, start=1)],
            "deviceType": run.environment.device_type,
        }
    )


def _steps(run: RunSummary) -> list[dict[str, Any]]:
    steps = run.steps
    if not len(steps):
        return []
    times = pod_ps(steps) / 1e6
    totals = steps.duration_ps[:, steps.dense_cores]
    found = []
    for row, number in enumerate(steps.number.tolist()):
        cores = {}
        for at, position in enumerate(steps.dense_cores):
            core = steps.cores[position]
            if core in run.cores:
                total = float(totals[row, at]) / 1e6
                cores[str(core)] = _core(run.cores[core][0], number, total, times[row, at].tolist())
        unknown: dict[str, Any] = {"channelDb": [], "coreIdToReplicaIdMap": {}, "allReduceOpDb": []}
        found.append({"stepNum": number, "podStatsPerCore": cores, **unknown})
    return found


def _core(host: str, number: int, total_us: float, parts: list[float]) -> dict[str, Any]:
    # The longest category; of equal ones the last by name.
    bottleneck = max(zip(parts, POD_CATEGORIES, strict=True))[1]
    return {
        "hostName": host,
        "chipId": 0,
        "nodeId": 0,
        "stepNum": number,
        "totalDurationUs": total_us,
        "bottleneck": bottleneck,
        "stepBreakdownUs": {str(i): value for i, value in enumerate(parts, start=1)},
    }


TOOL = Tool(
    id="pod_viewer",
    title="Pod Viewer",
    group="Fleet",
    summary="How long each worker took in each step and what for, to find stragglers.",
    build=build,
    hosts=HostChoice.ONE_OR_ALL,
)
