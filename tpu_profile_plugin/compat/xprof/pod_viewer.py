"""The pod viewer as XProf answers it, and our document with its figures: all steps, the first and last included."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.steps.breakdown import POD_CATEGORIES, pod_ps
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.figures.summary import run_summary, step_warnings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.steps import BudgetCategory, BudgetPart
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
    )


def _recorded_cores(summary: RunSummary) -> list[tuple[int, str, str]]:
    """Column among the dense cores, id and host of each core with a recorded ordinal: XProf shows no others."""
    ids = [summary.steps.cores[position] for position in summary.steps.dense_cores]
    named = [(str(core), summary.cores.get(core, ("", -1))) for core in ids]
    return [(column, core, host) for column, (core, (host, ordinal)) in enumerate(named) if ordinal >= 0]


def _steps(summary: RunSummary) -> list[dict[str, Any]]:
    steps = summary.steps
    if not len(steps):
        return []
    times = (pod_ps(steps) / PS_PER_US).tolist()
    totals = (steps.duration_ps[:, steps.dense_cores] / PS_PER_US).tolist()
    recorded = _recorded_cores(summary)
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


_CATEGORIES = (
    *("device_compute", "device_to_device", "collectives", "host_compute", "kernel_launch"),
    *("input", "output", "compilation", "other"),
)
"""The categories of our pages, whose colours `POD_CATEGORIES` have."""


def read(run: Run, query: Query) -> pod_viewer.Pod:
    """Our document with XProf's steps, cores and categories."""
    summary = run_summary(run, drop_edges=False)
    steps = summary.steps
    names: list[str] = []
    # Sorted as texts by host, then by number.
    cores = sorted(_recorded_cores(summary) if len(steps) else [], key=lambda core: (core[2], int(core[1])))
    columns, hosts = [column for column, _, _ in cores], [host for _, _, host in cores]
    workers, seen = Counter(hosts), Counter[str]()
    for host in hosts:
        names.append(host if workers[host] == 1 and not steps.on_tpu else f"{host}:{seen[host]}")
        seen[host] += 1
    total_ps = steps.duration_ps[:, steps.dense_cores][:, columns] if cores else np.empty((len(steps), 0), np.int64)
    parts_ps = pod_ps(steps)[:, columns] if cores else np.empty((len(steps), 0, len(_CATEGORIES)), np.int64)
    numbers = steps.number if len(steps) else np.empty(0, np.int64)
    return pod_viewer.Pod(
        steps=pod_viewer.PodSteps(
            numbers=numbers,
            # Those with negative numbers are cut off by the begin or end of the profile.
            names=[f"{-number} (incomplete)" if number < 0 else str(number) for number in numbers.tolist()],
            left_out=0,
            hosts=hosts,
            labels=names,
            begin_ps=None,
            takes_part=None if bool((total_ps > 0).all()) else total_ps > 0,
            total_ns=(total_ps + 500) // 1000,
            parts_ns={id_: (parts_ps[:, :, i] + 500) // 1000 for i, id_ in enumerate(_CATEGORIES)},
        ),
        groups=[
            BudgetCategory(id_, name, "", [BudgetPart(id_, name, "")])
            for id_, name in zip(_CATEGORIES, POD_CATEGORIES, strict=True)
        ],
        notes=step_warnings(len(steps), steps.empty_intersection),
        device_type=summary.environment.device_type,
    )


TOOL = replace(pod_viewer.TOOL, build=build, needs=())
READING = replace(pod_viewer.TOOL, build=read, needs=())
