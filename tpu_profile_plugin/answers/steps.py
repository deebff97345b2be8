"""Steps in answers: their ids, the page that shows them, when each was, and what shares of them are of."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.units import PS_PER_MS


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
