"""The verb `budget`: the parts of the average step, or of one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, GROUP_OF, label_of
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.reasons import PROFILE
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.answers.answer import Answer, Link, Next, table_of
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.steps import base_sentence, left_out, page_of, row_of, step_ids, window_of
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.steps import BUDGET, BUDGET_OF_DEVICES, BUDGET_OF_STEP
from tpu_profile_plugin.run.figures.spending import PART_IDS, Spent, most_first, run_notes

_MOST_CAUSES = 5
_NOTABLE = 0.01
"""Share of the base below which parts lead to no question, and differences between devices are not told."""
_OF_DEVICES = ("exposed_communication", "idle_peer", "peer_transfer")


def budget(
    asked: Asked, *, step: Annotated[str, "Id of one step, as steps lists them; default: the average."] = ""
) -> Answer:
    """What a step consists of: computation, exposed communication and copies, and idle time by its cause."""
    found = asked.run.decomposition()
    return _one_step(asked.run, found, step) if step else _average(asked.run, found)


def _average(run: OpenRun, found: RunBudget) -> Answer:
    hosts = [host.name for host in run.readable]
    facts: dict[str, Any] = {"shares_of": found.base, "base_ps": found.base_ps, "step_ps": found.step_ps}
    facts |= {"steps": 0 if "recording" in found.sources else len(found), "devices": len(found.devices)}
    facts |= left_out(found)
    spent = most_first(found, PART_IDS)
    rows: list[tuple[Any, ...]] = [(*_about(one.id), one.ps, one.percent) for one in spent]
    columns: tuple[Any, ...] = BUDGET
    if len(found.devices) > 1:
        columns = (*BUDGET, *BUDGET_OF_DEVICES)
        spread = _spread(found, device_names(found.devices, hosts, several=len(found.hosts) > 1))
        rows = [(*row, *spread[one.id]) for row, one in zip(rows, spent, strict=True)]
    page = page_of(run, found)
    if page == "time_budget" and (causes := _causes(found, hosts)):
        facts["host_code"] = causes
    if notes := [*run_notes(run, found), *run.warnings]:
        facts["notes"] = notes
    table = table_of(columns, rows, "parts")
    return Answer(Link(page), facts, table, base_sentence(found), tuple(_next(found, spent)))


def _about(part: str) -> tuple[str, str, str]:
    """Id, name and category of a part."""
    category = GROUP_OF.get(part)
    return part, label_of(part).name, label_of(category).name if category else label_of(part).name


def _spread(found: RunBudget, names: Sequence[str]) -> dict[str, tuple[str | None, float | None, float | None]]:
    """By part: the device with most of it, its time per step, and the least time of a device; None if all are alike."""
    times = np.column_stack([found.of_devices_ps[1], found.between_of_devices_ps()])
    at = np.flatnonzero(~np.isnan(times).any(axis=1))
    device, most, least = at[times[at].argmax(axis=0)], times[at].max(axis=0), times[at].min(axis=0)
    alike = most - least < _NOTABLE * found.base_ps
    return {
        part: (None, None, None) if alike[i] else (names[device[i]], float(most[i]), float(least[i]))
        for i, part in enumerate(PART_IDS)
    }


def _causes(found: RunBudget, hosts: Sequence[str]) -> list[dict[str, Any]]:
    """The host code that devices wait for, most time first."""
    return [
        {
            "code": cause.name.removeprefix("$"),
            **({"inner": cause.inner.removeprefix("$")} if cause.inner and cause.inner != cause.name else {}),
            **({"host": hosts[i]} if len(found.hosts) > 1 else {}),
            "per_step_ps": ps,
        }
        for i, cause, ps in found.causes_per_step()[:_MOST_CAUSES]
    ]


def _one_step(run: OpenRun, found: RunBudget, name: str) -> Answer:
    row = row_of(found, name)
    length, parts = found.of_steps_ps
    window, begin, end = window_of(run, found, row)
    own = dict(zip(CATEGORIES, parts[row].tolist(), strict=True))
    mean = dict(zip(CATEGORIES, found.parts_ps.tolist(), strict=True))
    shown = sorted((part for part in CATEGORIES if own[part] or mean[part]), key=lambda part: mean[part] - own[part])
    rows = [(*_about(part), own[part], mean[part]) for part in shown]
    facts = {"id": step_ids(found)[row], "step_ps": float(length[row]), "average_step_ps": found.step_ps}
    facts |= {"begin_ps": begin, "end_ps": end}
    table = table_of(BUDGET_OF_STEP, rows, "parts")
    more = (
        Next("timeline", window, "what ran in this step"),
        Next("steps", {}, "the other steps, the slowest first"),
        Next("budget", {}, "the average step, with shares"),
    )
    return Answer(Link(page_of(run, found)), facts, table, next=more)


def _next(found: RunBudget, spent: Sequence[Spent]) -> Iterator[Next]:
    """What to ask next, by the parts with most time."""
    notable = [one.id for one in spent if (one.share or 0.0) >= _NOTABLE]
    gaps = Next("gaps", {}, "the longest idle times of devices, and the host call under each")
    ops = Next("ops", {}, "the ops that take the devices' time")
    yield Next("explain", {}, "causes, savings and advice")
    if "exposed_copy" in notable:
        yield Next("ops", {"find": "copy"}, "the copies")
    yield from (ops, gaps) if GROUP_OF.get(spent[0].id) == "device_compute" else (gaps, ops)
    if any(part in notable for part in _OF_DEVICES):
        yield Next("collectives", {}, "which collectives take time, and which device or host is late")
    if "idle_compile" in notable:
        yield Next("programs", {}, "programs of one name, which were compiled anew")
    if "recording" not in found.sources and len(found) > 1:
        outliers = step_outliers(found)
        slow = f"{len(outliers)} steps are far longer than the median" if len(outliers) else "whether steps are alike"
        yield Next("steps", {}, slow)


VERB = verb(budget, needs=PROFILE)
