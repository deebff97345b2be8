"""The verb `steps`: how long each step takes, and what the slow ones have more of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, label_of
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.reasons import NO_STEPS, STEPS
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.steps import left_out, page_of, slowest_devices, step_ids, window_of
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.steps import ANSWERED, SLOWEST
from tpu_profile_plugin.run.figures.spending import step_notes
from tpu_profile_plugin.tables.table import Table

Order = Literal["slowest", "recorded"]


def steps(asked: Asked, *, sort: Annotated[Order, "Which steps come first."] = "slowest") -> Answer:
    """How long each step takes, and what the slow ones have more of than the average."""
    run, found = asked.run, asked.run.decomposition()
    if "recording" in found.sources:
        of_recording = Next("budget", {}, "the recording as one step"), Next("explain", {}, "what slows the run down")
        return Answer(Link(page_of(run, found)), next=of_recording, cannot=asked.cannot(NO_STEPS))
    table = run.once(("verb steps", sort), lambda: _table(run, found, sort))
    facts: dict[str, Any] = {
        "steps_recorded": len(found),
        **left_out(found),
        "steps_from": found.sources[0],
        "average_step_ps": found.step_ps,
        "far_longer_than_median": len(step_outliers(found)),
    }
    view = run.overview().view
    if notes := [*step_notes(found, view.coverage, view.frameworks), *run.warnings]:
        facts["notes"] = notes
    slowest = int(np.argmax(found.of_steps_ps[0]))
    window, _, _ = window_of(run, found, slowest)
    further = (
        Next("budget", {"step": step_ids(found)[slowest]}, "the parts of the slowest step beside the average"),
        Next("timeline", window, "what ran in the slowest step"),
        Next("explain", {}, "causes, savings and advice"),
    )
    return Answer(Link(page_of(run, found)), facts, table, next=further)


def _table(run: OpenRun, found: RunBudget, sort: Order) -> Table:
    """A row per step."""
    length, parts = found.of_steps_ps
    excess = parts - found.parts_ps
    most = excess.argmax(axis=1)
    rows = np.arange(len(found))
    more = (length > found.step_ps) & (excess[rows, most] > 0)
    slowest = slowest_devices(found)
    begin = found.begin_ps[rows, slowest]
    names = [label_of(part).name for part in CATEGORIES]
    data: list[Any] = [
        *(step_ids(found), length, begin, begin + found.duration_ps[rows, slowest]),
        [names[part] if some else None for part, some in zip(most.tolist(), more.tolist(), strict=True)],
        *(np.where(more, parts[rows, most], np.nan), np.where(more, found.parts_ps[most], np.nan)),
    ]
    columns = ANSWERED
    if len(found.devices) > 1:
        hosts = [host.name for host in run.readable]
        devices = device_names(found.devices, hosts, several=len(found.hosts) > 1)
        columns, data = (*columns, SLOWEST), [*data, [devices[device] for device in slowest.tolist()]]
    order = np.argsort(-length, kind="stable") if sort == "slowest" else rows
    return Table(columns, data, name="steps").take(order)


VERB = verb(steps, needs=STEPS)
