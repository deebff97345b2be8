"""The answer of the time budget.

An object; all times in it are whole picoseconds:

* `steps` [{number, name, begin_ps, duration_ps: [per device], device_begin_ps: [per device]}], `devices` [{name, host,
  kind}], `categories` [ids]; begins are on the time axis of the device's host; `begin_ps` is that of the first device,
  `device_begin_ps` is left out if they are all the same;
* `time_ps` [step][device][category], with `sum(time_ps[s][d]) == steps[s].duration_ps[d]`;
* `average`: DataTable of device, category, time_ps (mean over the steps in which the device takes part), percent (of
  the time from step to step if the recording has time between steps, else of the step); `between_steps` is the last
  category of each device;
* `takes_part` [step][device]: the device works in the step; averages leave out the others;
* `decomposition`: the same by category of the user documents (`tools/common/decomposition.py`);
* `between` {duration_ps: [per device], time_ps: [device][category]}: the time between successive steps;
* `causes` [{name, inner, host, time_ps, percent}] of `idle_host`: code of the host, time per step and device, percent
  of the same base;
* `labels` {id: {name, help}}; `steps_from`: "device", "host", "inferred", "dispatch" or "recording";
* `largest` {category, percent}: the largest part that tells a cause; null below 5 percent;
* `notes` [sentences].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, NOT_RECORDED, PARTS
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.common.op_names import shown_event
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.spending import run_notes
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common.decomposition import decomposition_json, labels_json
from tpu_profile_plugin.tools.common.devices import device_names, lacks_devices
from tpu_profile_plugin.tools.payload import Json, Records
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

COLUMNS = (
    texts("device", "Device", "The device, with its host if there are several; `all`: their mean."),
    texts("category", "Category", "Id of the part of the step."),
    numbers("time_ps", "Time", "ps", "Time per step, averaged over the steps."),
    numbers("percent", "Share", "%", "Of the time from step to step; of the step if there is no time between steps."),
)
ALL = "all"
LEAST_LARGEST = 5.0
"""Percent of the steps below which no part is called the largest."""
_NO_CAUSE = ("compute", "data_movement", "idle_gap", "idle_other", "not_recorded")


def build(run: Run, query: Query) -> Json:
    """The parts of every step, their average and what is known about their causes."""
    budget = run_decomposition(run)
    hosts = [host.name for host in run.readable]
    return Json(
        {
            "steps": _steps(budget),
            "devices": [{"name": one.name, "host": hosts[one.host], "kind": one.kind} for one in budget.devices],
            "categories": list(CATEGORIES),
            "time_ps": budget.time_ps.stacked(PARTS),
            "average": _average(budget, hosts),
            "between": {"duration_ps": budget.between_ps, "time_ps": budget.between_time_ps},
            "causes": _causes(budget, hosts),
            "takes_part": budget.takes_part,
            "decomposition": decomposition_json(budget, hosts),
            "labels": labels_json(),
            "steps_from": next((source for source in budget.sources), None),
            "largest": _largest(budget),
            "notes": [*run_notes(run, budget), *run.warnings],
        }
    )


def _steps(budget: RunBudget) -> Records:
    begin = budget.begin_ps
    columns: dict[str, I64 | list[str]] = {
        "number": budget.number,
        "name": budget.labels,
        "begin_ps": begin[:, 0] if begin.shape[1] else budget.number,
        "duration_ps": budget.duration_ps,
    }
    same = not bool((begin != begin[:, :1]).any())
    return Records(columns if same else columns | {"device_begin_ps": begin})


def _average(budget: RunBudget, hosts: list[str]) -> Table:
    """The parts of each device's average step, then their mean over the devices that take part."""
    names = device_names(budget.devices, hosts, several=len(budget.hosts) > 1)
    times = np.column_stack([budget.of_devices_ps[1], budget.between_of_devices_ps()])
    if names:
        names, times = [*names, ALL], np.vstack([times, [*budget.parts_ps, budget.part_ps(BETWEEN)]])
    known = np.where(np.arange(times.shape[1]) == NOT_RECORDED, np.nan, times)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 100 * known / np.nansum(known, axis=1, keepdims=True)
    categories = [*CATEGORIES, BETWEEN]
    return Table(
        COLUMNS,
        {
            "device": [name for name in names for _ in categories],
            "category": categories * len(names),
            "time_ps": times.ravel(),
            "percent": shares.ravel(),
        },
    )


def _causes(budget: RunBudget, hosts: list[str]) -> list[dict[str, Any]]:
    """Host code per step, averaged over the devices of its host that take part."""
    return [
        {
            "name": shown_event(cause.name),
            "inner": shown_event(cause.inner),
            "host": hosts[i],
            "time_ps": ps,
            "percent": 100 * ps / budget.base_ps if budget.base_ps else None,
        }
        for i, cause, ps in budget.causes_per_step()
    ]


def _largest(budget: RunBudget) -> dict[str, Any] | None:
    """The part with most time other than computation and unexplained time, of the average step."""
    category = max((name for name in (*CATEGORIES, BETWEEN) if name not in _NO_CAUSE), key=budget.part_ps)
    share = 100 * budget.share(category)
    return {"category": category, "percent": share} if share >= LEAST_LARGEST else None


TOOL = Tool(
    id="time_budget",
    title="Time budget",
    group="Summary",
    summary="What a step consists of: computation, exposed communication and copies, and idle time by cause.",
    build=build,
    lacks=lacks_devices,
)
