"""The verb `steps`: how long each step takes, and what slow ones have more of; ids, pages and windows of steps."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, label_of
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.reasons import NO_STEPS, STEPS
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.steps import ANSWERED, SLOWEST
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.run.figures.spending import step_notes
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS

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


def step_ids(found: RunBudget) -> list[str]:
    """The name of each step, with its position, `NAME#ROW`, where several have the same name."""
    labels = found.labels
    often = Counter(labels)
    return [f"{label}#{row}" if often[label] > 1 else label for row, label in enumerate(labels)]


def row_of(found: RunBudget, id_: str) -> int:
    """The row of the step with this id. Raises NotFound with the choices."""
    ids = step_ids(found)
    if id_ not in ids:
        message = f"There is no step {id_[:80]!r}; the verb steps lists the ids of all."
        raise NotFound(message, code="step_not_found", argument="step", choices=ids)
    return ids.index(id_)


def left_out(found: RunBudget) -> dict[str, str]:
    """How many steps were marked, if the first and last are not among these because the recording may have cut them."""
    if not found.left_out:
        return {}
    return {"steps_marked": f"{len(found) + found.left_out}, the first and last left out"}


def page_of(run: OpenRun, found: RunBudget) -> str:
    """The page with the parts of steps: the overview where no device was recorded."""
    of_devices = any(device.kind != "host" for device in found.devices)
    return "time_budget" if of_devices and lacks_devices(run.facts) is None else "overview_page"


def slowest_devices(found: RunBudget) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """intp[s]: the device with the longest part in each step."""
    slowest: np.ndarray[tuple[int], np.dtype[np.intp]] = np.where(found.takes_part, found.duration_ps, -1).argmax(
        axis=1
    )
    return slowest


def window_of(run: OpenRun, found: RunBudget, row: int) -> tuple[dict[str, str | float], int, int]:
    """When a step was on its slowest device: arguments of the verb timeline, and begin and end in ps."""
    device = int(slowest_devices(found)[row])
    begin, length = int(found.begin_ps[row, device]), int(found.duration_ps[row, device])
    names = [host.name for host in run.readable]
    host = {"host": names[found.devices[device].host]} if len(names) > 1 else {}
    end = begin + length
    return {**host, "from": round(begin / PS_PER_MS, 6), "to": round(end / PS_PER_MS, 6)}, begin, end


def base_sentence(budget: RunBudget) -> str:
    """What the shares of the average step are of."""
    devices = "the host" if all(one.kind == "host" for one in budget.devices) else "the devices that take part"
    if budget.base == "recording":
        return f"of the recording ({budget_sentence(budget)}), averaged over {devices}"
    return f"of the average {budget.base} ({budget_sentence(budget)}), averaged over {devices}"


def budget_sentence(budget: RunBudget) -> str:
    """Where the steps come from."""
    sources = {
        "device": "steps as devices recorded them",
        "host": "steps as the host marked them",
        "inferred": "steps inferred from an event that repeats",
        "dispatch": "the time of all steps divided evenly",
        "recording": "without steps",
    }
    return sources[budget.sources[0]] if budget.sources else "no steps"


VERB = verb(steps, needs=STEPS)
