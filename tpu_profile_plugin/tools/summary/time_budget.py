"""The answer of the time budget.

An object; all times in it are whole picoseconds:

* `steps` [{number, name, begin_ps, duration_ps: [per device], device_begin_ps: [per device]}], `devices` [{name, host,
  kind}], `categories` [ids]; begins are on the time axis of the device's host; `begin_ps` is that of the first device,
  `device_begin_ps` is left out if they are all the same;
* `time_ps` [step][device][category], with `sum(time_ps[s][d]) == steps[s].duration_ps[d]`;
* `average`: DataTable of device, category, time_ps (mean over the steps), percent;
* `between` {duration_ps: [per device], time_ps: [device][category]}: the time between successive steps;
* `causes` [{name, inner, host, time_ps, percent}] of `idle_host`: code of the host, time per step and device;
* `labels` {id: {name, help}}; `steps_from`: "device", "host", "inferred", "dispatch" or "recording";
* `largest` {category, percent}: the largest part other than compute and idle_other; null below 5 percent;
* `notes` [sentences].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, COMPUTE, IDLE_OTHER
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.budget import LABELS, run_budget
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common.devices import device_names, devices_available
from tpu_profile_plugin.tools.payload import Json, Records
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_NO_FRAMES = (
    "No Python functions were recorded, so that idle time cannot be traced to host code. Record with "
    "python_tracer_level=1."
)
_DISPATCH = (
    "Work goes on after the last step ended: the markers enclose its dispatch only. The time from the first step to "
    "the end of the work is divided evenly among the steps."
)
_RECORDING = "The profile has no steps; all of the recording counts as one. Mark steps with StepTraceAnnotation."
_INFERRED = "The profile has no step markers. Steps are inferred from {event}, which repeats {count} times."
_SHARED = (
    "The devices of the CPU backend share the host's cores. The time that a device waits for a core while others are "
    "at work counts as unexplained."
)
_UNEXPLAINED = 0.1
"""Least share of unexplained time in the steps for a note."""


def notes(budget: RunBudget) -> list[str]:
    """Sentences on how to read the answer."""
    sentences = []
    if "dispatch" in budget.sources:
        sentences.append(_DISPATCH)
    if "recording" in budget.sources:
        sentences.append(_RECORDING)
    if budget.evidence is not None and "inferred" in budget.sources:
        sentences.append(_INFERRED.format(event=budget.evidence.event, count=budget.evidence.occurrences))
    length = int(budget.duration_ps.sum())
    unexplained = int(budget.time_ps[:, :, -1].sum())
    if length and unexplained >= _UNEXPLAINED * length:
        on_cpu = [device.host for device in budget.devices if device.kind == "cpu"]
        sentences += [_SHARED] if len(on_cpu) > len(set(on_cpu)) else []
        sentences += [_NO_FRAMES] if False in budget.traced else []
    return sentences


COLUMNS = (
    texts("device", "Device", "The device, with its host if there are several; `all`: their mean."),
    texts("category", "Category", "Id of the part of the step."),
    numbers("time_ps", "Time", "ps", "Time per step, averaged over the steps."),
    numbers("percent", "Share", "%", "Share of the device's time in steps."),
)
ALL = "all"
LEAST_LARGEST = 5.0
"""Percent of the steps below which no part is called the largest."""
_NO_CAUSE = (CATEGORIES[COMPUTE], CATEGORIES[IDLE_OTHER])


def build(run: Run, query: Query) -> Json:
    """The parts of every step, their average and what is known about their causes."""
    budget = run_budget(run)
    hosts = [host.name for host in run.readable]
    return Json(
        {
            "steps": _steps(budget),
            "devices": [{"name": one.name, "host": hosts[one.host], "kind": one.kind} for one in budget.devices],
            "categories": list(CATEGORIES),
            "time_ps": budget.time_ps,
            "average": _average(budget, hosts),
            "between": {"duration_ps": budget.between_ps, "time_ps": budget.between_time_ps},
            "causes": _causes(budget, hosts),
            "labels": {key: {"name": label.name, "help": label.sentence} for key, label in LABELS.items()},
            "steps_from": next((source for source in budget.sources), None),
            "largest": _largest(budget),
            "notes": [*notes(budget), *run.warnings],
        }
    )


def _steps(budget: RunBudget) -> Records:
    begin = budget.begin_ps
    numbered = zip(budget.names, budget.number.tolist(), strict=True)
    columns: dict[str, I64 | list[str]] = {
        "number": budget.number,
        "name": [name or str(number) for name, number in numbered],
        "begin_ps": begin[:, 0] if begin.shape[1] else budget.number,
        "duration_ps": budget.duration_ps,
    }
    same = not bool((begin != begin[:, :1]).any())
    return Records(columns if same else columns | {"device_begin_ps": begin})


def _average(budget: RunBudget, hosts: list[str]) -> Table:
    """The parts of each device, then their mean over the devices."""
    names, totals = device_names(budget.devices, hosts, several=len(budget.hosts) > 1), budget.average_ps()
    if names:
        names, totals = [*names, ALL], np.vstack([totals, totals.sum(axis=0) / len(totals)])
    with np.errstate(divide="ignore", invalid="ignore"):
        per_step, shares = totals / len(budget), 100 * totals / totals.sum(axis=1, keepdims=True)
    return Table(
        COLUMNS,
        {
            "device": [name for name in names for _ in CATEGORIES],
            "category": list(CATEGORIES) * len(names),
            "time_ps": per_step.ravel(),
            "percent": shares.ravel(),
        },
    )


def _causes(budget: RunBudget, hosts: list[str]) -> list[dict[str, Any]]:
    """Host code per step, averaged over the devices of its host."""
    length = dict.fromkeys(budget.hosts, 0)
    count = dict(length)
    for device, ps in zip(budget.devices, budget.duration_ps.sum(axis=0).tolist(), strict=True):
        length[device.host] += ps
        count[device.host] += 1
    steps = max(len(budget), 1)
    return [
        {
            "name": cause.name,
            "inner": cause.inner,
            "host": hosts[i],
            "time_ps": sum(cause.time_ps) / count[i] / steps,
            "percent": 100 * sum(cause.time_ps) / length[i] if length[i] else None,
        }
        for i, cause in budget.causes
    ]


def _largest(budget: RunBudget) -> dict[str, Any] | None:
    """The part with most time other than computation and unexplained time, over all devices and steps."""
    totals = dict(zip(CATEGORIES, budget.time_ps.sum(axis=(0, 1)).tolist(), strict=True))
    length = sum(totals.values())
    category = max((name for name in CATEGORIES if name not in _NO_CAUSE), key=lambda name: totals[name])
    share = 100 * totals[category] / length if length else 0.0
    return {"category": category, "percent": share} if share >= LEAST_LARGEST else None


TOOL = Tool(
    id="time_budget",
    title="Time budget",
    group="Summary",
    summary="What a step consists of: computation, exposed communication and copies, and idle time by cause.",
    build=build,
    available=devices_available,
)
