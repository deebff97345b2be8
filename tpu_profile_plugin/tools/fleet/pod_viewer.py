"""Pod viewer: time breakdown of each step on every worker."""

from __future__ import annotations

from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.steps.breakdown import POD_CATEGORIES, pod_ps
from tpu_profile_plugin.analysis.steps.slowest import core_parts, part_names
from tpu_profile_plugin.analysis.steps.table import host_among
from tpu_profile_plugin.analysis.summary.host import RunSummary
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.budget import LABELS, run_budget
from tpu_profile_plugin.run.figures.diagnostics import step_warnings
from tpu_profile_plugin.run.figures.steps import own_steps
from tpu_profile_plugin.run.figures.summary import run_summary
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.devices import device_names
from tpu_profile_plugin.tools.common.step_reading import PART_NAMES
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_US


def build(run: Run, query: Query) -> Json:
    """All steps, including the first and last; as arrays with the parameter `compact` (see `_arrays`)."""
    summary = run_summary(run, drop_edges=False)
    devices = _cpu_devices(run, query, summary)
    if devices is not None:
        return Json(_of_devices(devices, [host.name for host in run.readable], summary))
    steps: dict[str, Any]
    if query.flag("compact"):
        steps, categories = {"steps": _arrays(summary)}, [PART_NAMES[name] for name in part_names(own_steps(summary))]
    else:
        steps, categories = {"podStatsSequence": {"podStatsMap": _steps(summary)}}, list(POD_CATEGORIES)
    warnings = step_warnings(len(summary.steps), summary.steps.empty_intersection)
    return Json(
        {
            **steps,
            "diagnostics": {"info": [], "warnings": list(warnings), "errors": []},
            "stepBreakdownEvents": [{"id": i, "name": name} for i, name in enumerate(categories, start=1)],
            "deviceType": summary.environment.device_type,
        }
    )


def _cpu_devices(run: Run, query: Query, summary: RunSummary) -> RunBudget | None:
    """The steps of the CPU backend's devices, for the array form; None if hosts have at most one or other devices."""
    if not query.flag("compact") or summary.environment.hardware is not Hardware.CPU_ONLY or not summary.cpu_ops:
        return None
    budget = run_budget(run)
    several = len(budget.devices) > len(budget.hosts)
    return budget if several and "recording" not in budget.sources else None


def _of_devices(budget: RunBudget, hosts: list[str], summary: RunSummary) -> dict[str, Any]:
    """The array form with a column per device of the CPU backend, `labels`, and the parts of the time budget."""
    steps = {
        "numbers": budget.number.tolist(),
        "cores": list(range(len(budget.devices))),
        "hosts": [hosts[device.host] for device in budget.devices],
        "labels": device_names(budget.devices, hosts, several=len(budget.hosts) > 1),
        **_rounded(budget.time_ps),
    }
    return {
        "steps": steps,
        "diagnostics": {"info": [], "warnings": [], "errors": []},
        "stepBreakdownEvents": [{"id": i, "name": LABELS[key].name} for i, key in enumerate(CATEGORIES, start=1)],
        "deviceType": summary.environment.device_type,
    }


def _steps(summary: RunSummary) -> list[dict[str, Any]]:
    steps = summary.steps
    if not len(steps):
        return []
    times = pod_ps(steps) / PS_PER_US
    totals = steps.duration_ps[:, steps.dense_cores]
    sequence = []
    for row, number in enumerate(steps.number.tolist()):
        cores = {}
        for column, position in enumerate(steps.dense_cores):
            core = steps.cores[position]
            # As in XProf, only cores with a recorded ordinal; the arrays have all.
            if summary.cores.get(core, ("", -1))[1] >= 0 and totals[row, column] > 0:
                total = float(totals[row, column]) / PS_PER_US
                cores[str(core)] = _core(summary.cores[core][0], number, total, times[row, column].tolist())
        unknown: dict[str, Any] = {"channelDb": [], "coreIdToReplicaIdMap": {}, "allReduceOpDb": []}
        sequence.append({"stepNum": number, "podStatsPerCore": cores, **unknown})
    return sequence


def _arrays(summary: RunSummary) -> dict[str, Any]:
    """The steps in about a twentieth of the bytes, for pods of hundreds of hosts, in the parts of the other pages.

    `numbers`: step numbers; `cores`, `hosts`: one entry per column; `total_ns[step][column]`; `parts_ns`: the same
    by category id, without categories that are 0 throughout. The parts of a core add up to its step, to the nanosecond.
    Steps of GPUs include the host's events.
    """
    steps = own_steps(summary)
    positions = [position for position in steps.dense_cores if steps.cores[position] in summary.cores]
    if not len(steps) or not positions:
        return {"numbers": [], "cores": [], "hosts": [], "total_ns": [], "parts_ns": {}}
    columns = [at for at, position in enumerate(steps.dense_cores) if steps.cores[position] in summary.cores]
    hosts = len(summary.host_names)
    return {
        "numbers": steps.number.tolist(),
        "cores": [steps.cores[position] for position in positions],
        "hosts": [summary.host_names[host_among(hosts, steps.cores[position])] for position in positions],
        **_rounded(core_parts(steps)[:, columns]),
    }


def _rounded(ps: I64) -> dict[str, Any]:
    """Totals and parts in ns of picoseconds [step][column][category]: sums are rounded, so that parts add up."""
    ends = (np.cumsum(ps, axis=2) + 500) // 1000
    parts = enumerate(np.moveaxis(np.diff(ends, axis=2, prepend=0), 2, 0), start=1)
    return {"total_ns": ends[:, :, -1].tolist(), "parts_ns": {str(i): part.tolist() for i, part in parts if part.any()}}


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
        "stepBreakdownUs": {str(i): value for i, value in enumerate(parts, start=1)},
    }


TOOL = Tool(
    id="pod_viewer",
    title="Pod Viewer",
    group="Fleet",
    summary="Time of each worker in each step, by category, to find stragglers.",
    build=build,
    params=(Param("compact", "bool", False, "Arrays over steps and cores instead of one object per pair."),),
)
