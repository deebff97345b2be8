"""Pod viewer: time breakdown of each step on every worker."""

from __future__ import annotations

from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS
from tpu_profile_plugin.analysis.steps.breakdown import POD_CATEGORIES, pod_ps
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.budget import budget as host_budget
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.diagnostics import step_warnings
from tpu_profile_plugin.run.figures.spending import run_notes
from tpu_profile_plugin.run.figures.summary import run_summary
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.devices import device_names
from tpu_profile_plugin.tools.common.steps import CATEGORY_LABELS
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_US


def build(run: Run, query: Query) -> Json:
    """All steps in XProf's form, including the first and last; the time budget with the parameter `compact`."""
    if query.flag("compact"):
        return Json(_of_budget(run))
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


def _of_budget(run: Run) -> dict[str, Any]:
    """The steps of the time budget with a column per device, for pods of hundreds of hosts.

    `steps`: `numbers` and `names` of the steps; `left_out`, the number of marked ones beside them, if any; `hosts` and
    `labels` per column; `total_ns[step][column]`; `takes_part` of the same shape, null if all devices take part in all
    steps; `parts_ns` by id of the part, without parts that are 0 throughout. The parts of a column add up to its step,
    to the nanosecond. `groups`: the categories with their parts; `begin_ps` on the time axis of the
    column's host.
    """
    summary = run_summary(run, prefetch=(host_budget,))
    budget = run_decomposition(run)
    hosts = [host.name for host in run.readable]
    return {
        "steps": {
            "numbers": budget.number.tolist(),
            "names": budget.labels,
            **({"left_out": budget.left_out} if budget.left_out else {}),
            "hosts": [hosts[device.host] for device in budget.devices],
            "labels": device_names(budget.devices, hosts, several=len(budget.hosts) > 1),
            "begin_ps": budget.begin_ps.tolist(),
            "takes_part": None if bool(budget.takes_part.all()) else budget.takes_part.tolist(),
            **_rounded(budget.time_ps.stacked(PARTS)),
        },
        "groups": CATEGORY_LABELS[:-1],
        "notes": run_notes(run, budget),
        "deviceType": summary.environment.device_type,
    }


def _rounded(ps: I64) -> dict[str, Any]:
    """Totals and parts in ns of picoseconds [step][column][part]: sums are rounded, so that parts add up."""
    ends = (np.cumsum(ps, axis=2) + 500) // 1000
    parts = zip(CATEGORIES, np.moveaxis(np.diff(ends, axis=2, prepend=0), 2, 0), strict=True)
    return {"total_ns": ends[:, :, -1].tolist(), "parts_ns": {key: part.tolist() for key, part in parts if part.any()}}


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


TOOL = Tool(
    id="pod_viewer",
    title="Pod Viewer",
    group="Fleet",
    summary="Time of each worker in each step, by category, to find stragglers.",
    build=build,
    params=(Param("compact", "bool", False, "The time budget, as arrays over steps and devices."),),
)
