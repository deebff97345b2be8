"""The decomposition of the average step and of each step, as all pages show it; made of the time budget.

An object; times are picoseconds, averaged over the devices that take part:

* `base`: what every share is of: "step", "time from step to step" or "recording"; `base_ps`: its length on average;
* `step_ps`: the average step; `source`: "device", "host", "inferred", "dispatch" or "recording"; "" without steps;
* `left_out`: number of marked steps that are not among `steps` because the recording may have cut them, if any;
* `groups` [{id, name, help, parts: [ids]}]: the categories in the order of display; the last is `between_steps`, which
  has no parts; `labels` {id: {name, help}} of the parts;
* `average_ps` {id: ps} of the parts and of `between_steps`, without those that are 0; without
  `not_recorded` they add up to `base_ps`;
* `steps` {name, number, duration_ps, parts_ps: {id: [ps]}, devices, slowest, begin_ps, end_ps}: lists with an entry
  per step. `devices` counts those that take part; `slowest` is the index of the one with the longest step, and
  `begin_ps` and `end_ps` are that step on the time axis of its host;
* `devices` [{name, host, kind, steps}]: `steps` counts those in which the device takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, BETWEEN_LABEL, CATEGORIES, GROUPS, LABELS, Label
from tpu_profile_plugin.analysis.budget.run import RunBudget


def decomposition_json(budget: RunBudget, hosts: Sequence[str]) -> dict[str, Any]:
    """The object described above; `hosts` are the names of the run's hosts."""
    average = {name: budget.part_ps(name) for name in (BETWEEN, *CATEGORIES)}
    return {
        "base": budget.base,
        "base_ps": budget.base_ps,
        "step_ps": budget.step_ps,
        "source": next(iter(budget.sources), ""),
        **({"left_out": budget.left_out} if budget.left_out else {}),
        "groups": groups_json(),
        "labels": labels_json(),
        "average_ps": {key: ps for key, ps in average.items() if ps},
        "steps": _steps(budget),
        "devices": [
            {"name": one.name, "host": hosts[one.host], "kind": one.kind, "steps": steps}
            for one, steps in zip(budget.devices, budget.takes_part.sum(axis=0).tolist(), strict=True)
        ],
    }


def groups_json() -> list[dict[str, Any]]:
    """The categories with the ids of their parts, in the order of display."""
    groups = [{"id": group.id, **_label(group.label), "parts": list(group.parts)} for group in GROUPS]
    return [*groups, {"id": BETWEEN, **_label(BETWEEN_LABEL), "parts": []}]


def labels_json() -> dict[str, dict[str, str]]:
    """Names and explanations of the parts by id."""
    return {key: _label(label) for key, label in LABELS.items()}


def _label(label: Label) -> dict[str, str]:
    return {"name": label.name, "help": label.sentence}


def _steps(budget: RunBudget) -> dict[str, Any]:
    if not len(budget):
        return {"name": [], "number": [], "duration_ps": [], "parts_ps": {}, "devices": [], "slowest": []} | {
            "begin_ps": [],
            "end_ps": [],
        }
    length, parts = budget.of_steps_ps
    slowest = np.where(budget.takes_part, budget.duration_ps, -1).argmax(axis=1)
    step = np.arange(len(budget))
    begin = budget.begin_ps[step, slowest]
    return {
        "name": budget.labels,
        "number": budget.number.tolist(),
        "duration_ps": length.tolist(),
        "parts_ps": {key: parts[:, i].tolist() for i, key in enumerate(CATEGORIES) if bool(parts[:, i].any())},
        "devices": budget.takes_part.sum(axis=1).tolist(),
        "slowest": slowest.tolist(),
        "begin_ps": begin.tolist(),
        "end_ps": (begin + budget.duration_ps[step, slowest]).tolist(),
    }
