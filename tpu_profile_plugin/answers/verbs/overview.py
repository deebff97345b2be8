"""The verb `overview`: what a run is and what limits it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tpu_profile_plugin.analysis.common.reasons import PROFILE
from tpu_profile_plugin.answers.answer import Answer, Cannot, Link, Next, table_of
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.runs import run_before
from tpu_profile_plugin.answers.verbs.steps import base_sentence, left_out
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.run.catalogue.runs import FINDINGS_IN_SHORT
from tpu_profile_plugin.run.facts import NOT_RECORDED
from tpu_profile_plugin.run.figures.budget import lacks_planes
from tpu_profile_plugin.run.figures.overview import Overview
from tpu_profile_plugin.run.figures.steps import host_times
from tpu_profile_plugin.units import NS_PER_MS

_MOST_MESSAGES, _MOST_HOSTS = 5, 20
_OF_DEVICES = ("collectives", "device_to_device")


def overview(asked: Asked) -> Answer:
    """What the run is, what its average step is spent on, and the findings in short."""
    found = asked.run.overview()
    view, budget = found.view, found.decomposition
    facts: dict[str, Any] = {"headline": found.report.headline.title, "healthy": found.report.healthy}
    missing = lacks_planes(asked.run)
    facts |= _about(found, missing)
    known = bool(budget.base_ps)
    if known:
        facts |= {"shares_of": budget.base, "base_ps": round(budget.base_ps), "step_ps": round(budget.step_ps)}
        facts |= {"steps": 0 if view.whole_recording else len(budget), "steps_from": budget.sources[0]}
        facts |= left_out(budget)
        facts["spent_on"] = [
            {"id": one.id, "name": one.name, "per_step_ps": round(one.ps), "share_percent": one.percent}
            for one in found.spent
        ]
    if late := asked.run.once("late hosts", lambda: host_times(budget, list(view.hosts)).stragglers):
        facts["late_hosts"] = late[:_MOST_HOSTS]
    messages = found.diagnostics
    told = [
        *found.report.notes,
        *messages.errors,
        *messages.warnings,
        *asked.run.warnings,
    ]
    if told:
        facts["notes"] = list(dict.fromkeys(told))[:_MOST_MESSAGES]
    rows = [
        (cause.id, cause.title, 100 * cause.share if cause.share else None, cause.confidence, cause.line)
        for cause in found.report.causes
    ]
    table = table_of(FINDINGS_IN_SHORT, rows, "findings")
    base = base_sentence(budget) if known else ""
    cannot = None if known else Cannot(f"{found.report.headline.title}.", PROFILE.of(view.frameworks))
    if missing is not None:
        cannot = Cannot(missing.message, missing.remedy)
    before = run_before(asked.run.name, [run.name for run in asked.logdir.runs()])
    further = tuple(_next(found, before))
    return Answer(Link("overview_page"), facts, table, base, further, cannot)


def _about(found: Overview, missing: Problem | None) -> dict[str, Any]:
    """Devices, hosts and frameworks."""
    environment = found.environment
    facts: dict[str, Any] = {
        "device_type": NOT_RECORDED if missing else environment.device_type,
        **({"device_cores": environment.device_cores} if environment.device_cores else {}),
        "host_count": len(environment.hostnames),
        "frameworks": found.frameworks,
    }
    if not environment.device_cores and (cpus := sum(one.kind == "cpu" for one in found.decomposition.devices)):
        facts["cpu_devices"] = cpus
    if (covered := found.view.coverage) is not None:
        facts |= {"recording_ps": covered.length_ps, "covered_by_steps_ps": covered.steps_ps}
    elif environment.start_ns:
        facts["recording_ms"] = environment.duration_ns // NS_PER_MS
    return facts


def _next(found: Overview, before: str | None) -> Iterator[Next]:
    """What to ask next, the most useful first."""
    spent = [one.id for one in found.spent]
    yield Next("explain", {}, "all findings with evidence, saving and advice, and the checks that were not possible")
    if not spent:
        return
    yield Next("budget", {}, "all parts of the average step")
    if any(one in spent for one in _OF_DEVICES):
        yield Next("collectives", {}, "which collectives take time, and which device or host is late")
    if "device_compute" in spent:
        yield Next("ops", {}, "the ops that take the devices' time, with their source lines")
    yield Next("memory", {}, "whether memory is a limit")
    if before is not None:
        yield Next("compare", {"base": before}, "what changed since the run before")
    yield Next("gaps", {}, "the longest times in which a device does nothing, and what the host did")
    if slow := len(found.view.outliers):
        yield Next("steps", {}, f"{slow} of {found.view.steps} steps are far longer than the median")


VERB = verb(overview, needs=PROFILE)
