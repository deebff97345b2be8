"""The verb `what_if`: how long the step would take without some of what it does."""

from __future__ import annotations

from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import NO_LAUNCHES, STEPS
from tpu_profile_plugin.answers.answer import Answer, Link, Next, distinct_ids
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.catalogue.steps import LIMITS
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.replay import edit_of, factors_in, keys_of, places_in, run_what_if
from tpu_profile_plugin.tables.table import Table


def what_if(
    asked: Asked,
    *,
    without: Annotated[
        str,
        "Places that take no time, separated by `;`: a function `file.py:line name`, its line or name, another event "
        "of the main thread, an op, a kind of op, a program, a line of source.",
    ] = "",
    scale: Annotated[str, "Places and the factor of their time, `PLACE=0.5`, separated by `;`."] = "",
    hide_collectives: Annotated[bool, "Collectives take no time beyond waits for late devices."] = False,
    ranks_equal: Annotated[
        bool, "What devices do is spread evenly over them: each op takes the mean of all devices."
    ] = False,
    input_free: Annotated[bool, "Waits for input, and copies to devices, take no time."] = False,
) -> Answer:
    """How long the average step would take without some of what it does, and what would limit it then.

    Without arguments, what limits the recorded step.
    """
    run = asked.run
    edit = edit_of(places_in(without), factors_in(scale), hide_collectives, ranks_equal, input_free)
    link = Link("what_if", keys_of(edit))
    try:
        found = run_what_if(run, edit)
    except NoData as error:
        if error.reason != NO_LAUNCHES.code:
            raise
        return Answer(link, cannot=asked.cannot(NO_LAUNCHES))
    whole = run_decomposition(run).base
    facts: dict[str, Any] = {
        "shares_of": whole,
        "base_ps": found.step_ps,
        "after_ps": found.after_ps,
        "after_low_ps": found.low_ps,
        "after_high_ps": found.high_ps,
        "saving_ps": found.saving_ps,
        "saving_percent": 100 * found.saving_ps / found.step_ps if found.step_ps else 0.0,
        "median_step_ps": found.median_ps,
        "median_after_ps": found.after_median_ps,
        "confidence": found.confidence,
    }
    if notes := [*found.reasons, *run.warnings]:
        facts["notes"] = notes
    limits = found.limits
    columns: list[Any] = [
        distinct_ids(f"{one.what}: {one.name}" if one.name else one.what for one in limits),
        [one.what for one in limits],
        [one.name for one in limits],
        [one.time_ps for one in limits],
        [100 * one.time_ps / found.after_ps if found.after_ps else 0.0 for one in limits],
    ]
    base = {
        "saving_percent": f"of the average {whole} as recorded",
        "share_percent": f"of the average {whole} afterwards",
    }
    further = (
        Next("budget", {}, "the parts of the step as recorded"),
        Next("explain", {}, "causes of lost time, and what to do"),
    )
    return Answer(link, facts, Table(LIMITS, columns, name="limits"), base, further)


VERB = verb(what_if, needs=STEPS)
