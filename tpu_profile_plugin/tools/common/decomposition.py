"""The decomposition of the average step and of each step, as all pages show it; made of the time budget.

An object; times are picoseconds, averaged over the devices that take part:

* `base`: what every share is of: "step", "time from step to step" or "recording"; `base_ps`: its length on average;
* `step_ps`: the average step; `source`: "device", "host", "inferred", "dispatch" or "recording"; "" without steps;
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
from tpu_profile_plugin.analysis.devices.windows import StartUp
from tpu_profile_plugin.analysis.summary.coverage import Coverage
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.units import duration

_NO_FRAMES = (
    "No Python functions were recorded, so that idle time cannot be traced to host code. "
    "`tpu-profile capture --python-tracer 1` records them, or `with_stack=True` of PyTorch."
)
_DISPATCH = (
    "Work goes on after the last step ended: the markers enclose its dispatch only. The time from the first step to "
    "the end of the work is divided evenly among the steps."
)
_RECORDING = (
    "The profile has no steps; all of the recording counts as one. Mark steps with StepTraceAnnotation, in PyTorch "
    "with prof.step()."
)
_INFERRED = "The profile has no step markers. Steps are inferred from {event}, which repeats {count} times."
_SHARED = (
    "The devices of the CPU backend share the host's cores. The time that a device waits for a core while others are "
    "at work counts as gaps between ops."
)
_MISSING = (
    "{time} of the {of} of {whole} was not recorded: the host launched work of which no device event is there. "
    "Percentages are of the rest."
)
_START = {
    True: "{label} ({length}) is left out: its first {what} waited {wait} until other ranks had started.",
    False: "{label} ({length}) is left out: {count} of {what} lasted {wait}, as when kernels are loaded at first use.",
}
"""Why a step counts nowhere, by whether collectives are the cause."""
_SLOW = "The median step takes {median}; {count} of {steps} steps {take} longer than {limit}, up to {longest}."
_COVERED = "The steps cover {share:.1%} of the recording. Not in steps: {rest}."
_MEAN = 1.1
"""Least mean, in medians, for a note on what makes the difference."""
_LITTLE, _NOTABLE = 0.5, 0.02
"""Share of the recording below which a note says what lies outside of steps, and the least part that it names."""
_UNEXPLAINED = 0.1
"""Least share of unexplained time in the steps for a note."""


def reading_notes(budget: RunBudget) -> list[str]:
    """Sentences on where the steps come from, and on unexplained time."""
    sentences = []
    if "dispatch" in budget.sources:
        sentences.append(_DISPATCH)
    if "recording" in budget.sources:
        sentences.append(_RECORDING)
    if budget.evidence is not None and budget.inferred:
        sentences.append(_INFERRED.format(event=budget.evidence.event, count=budget.evidence.occurrences))
    on_cpu = [device.host for device in budget.devices if device.kind == "cpu"]
    if budget.share("idle_gap") >= _UNEXPLAINED and len(on_cpu) > len(set(on_cpu)):
        sentences.append(_SHARED)
    if budget.share("idle_other") >= _UNEXPLAINED and False in budget.traced:
        sentences.append(_NO_FRAMES)
    sentences += _start_up(budget)
    if budget.not_recorded_ps:
        whole = budget.base_ps + budget.not_recorded_ps
        sentences.append(_MISSING.format(time=duration(budget.not_recorded_ps), whole=duration(whole), of=budget.base))
    return sentences


def _start_up(budget: RunBudget) -> list[str]:
    longest: dict[str, StartUp] = {}
    for _, one in budget.start_up:
        if one.label not in longest or one.wait_ps > longest[one.label].wait_ps:
            longest[one.label] = one
    return [
        _START[one.first_collective].format(
            label=one.label if one.label[:1].isalpha() else f"Step {one.label}",
            what=one.what,
            count="one call" if one.calls == 1 else f"{one.calls} calls",
            length=duration(one.length_ps),
            wait=duration(one.wait_ps),
        )
        for one in longest.values()
    ]


def step_notes(budget: RunBudget, covered: Coverage | None) -> list[str]:
    """What pages and the command say of the steps: where they come from, exceptions, and what they leave out."""
    return [*reading_notes(budget), *_slow(budget), *_covered(covered)]


def _slow(budget: RunBudget) -> list[str]:
    found = step_outliers(budget)
    # Long steps in which devices end work that other steps launched are no exceptions, as in the headline.
    if found.slowest is None or found.idle_ps_per_step < found.excess_ps_per_step / 2:
        return []
    if found.mean_ps < _MEAN * found.median_ps:
        return []
    longest = float(found.length_ps[found.slowest])
    take = "takes" if len(found) == 1 else "take"
    times = {"median": found.median_ps, "limit": found.limit_ps, "longest": longest}
    shown = {name: duration(ps) for name, ps in times.items()}
    return [_SLOW.format(count=len(found), steps=len(found.length_ps), take=take, **shown)]


def _covered(found: Coverage | None) -> list[str]:
    if found is None or found.share >= _LITTLE:
        return []
    between = found.length_ps - found.steps_ps - found.before_ps - found.after_ps
    places = (("before", found.before_ps), ("between", between), ("after", found.after_ps))
    rest = [f"{duration(ps)} {where}" for where, ps in places if ps > _NOTABLE * found.length_ps]
    return [_COVERED.format(share=found.share, rest=", ".join(rest))]


def decomposition_json(budget: RunBudget, hosts: Sequence[str]) -> dict[str, Any]:
    """The object described above; `hosts` are the names of the run's hosts."""
    average = {name: budget.part_ps(name) for name in (BETWEEN, *CATEGORIES)}
    return {
        "base": budget.base,
        "base_ps": budget.base_ps,
        "step_ps": budget.step_ps,
        "source": next(iter(budget.sources), ""),
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
