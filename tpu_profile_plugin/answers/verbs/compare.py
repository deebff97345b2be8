"""The verb `compare`: what changed between two runs, and whether it is more than noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import COMPARABLE
from tpu_profile_plugin.answers.answer import Answer, Cannot, Link, Next, distinct_ids
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import op_ids
from tpu_profile_plugin.answers.verbs.runs import related_runs
from tpu_profile_plugin.errors import BadRequest, NoData, NotFound
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.runs import CHANGES
from tpu_profile_plugin.run.facts import frameworks_of
from tpu_profile_plugin.run.figures.comparison import LEAST_MATCHED, Comparison, op_names, what
from tpu_profile_plugin.tables.table import Table

_BASE = "of the time of all ops of each run, that of ops in programs that both have"
_MOST_OPS, _MOST_RUNS, _MOST_LOSSES = 2, 50, 3


def compare(
    asked: Asked,
    *,
    base: Annotated[str, "The run to compare with; by default the one that shares most programs."] = "",
) -> Answer:
    """What changed from a base to the run: how much longer a step takes, what contributes, and what is noise.

    Times are per step and device that takes part.
    """
    run = asked.whole_run
    if asked.host is not None and len(run.hosts) > 1:
        raise BadRequest("compare is about all hosts of both runs: ask without host.", argument="host", choices=[])
    against = _base(asked, run, base)
    answer = difference(run, against)
    return replace(answer, next=(*_instead(asked, run, against), *answer.next)) if "caution" in answer.facts else answer


def _instead(asked: Asked, run: OpenRun, base: OpenRun) -> list[Next]:
    """The comparison with a run that shares more programs than the base, with which hardly any is shared."""
    related = related_runs(asked.logdir, run)
    if not related or related[0][0] == base.name or related[0][1] < LEAST_MATCHED:
        return []
    return [Next("compare", {"base": related[0][0]}, f"a run that shares {related[0][1]:.0%} of the programs")]


def _base(asked: Asked, run: OpenRun, name: str) -> OpenRun:
    others = [one.name for one in asked.logdir.runs() if one.files != run.files][:_MOST_RUNS]
    if not name:
        related = related_runs(asked.logdir, run)
        if not related and not others:
            raise NoData("There is no other run in this logdir.")
        return asked.logdir.run(related[0][0] if related else others[0])
    try:
        return asked.logdir.run(name)
    except NotFound as error:
        raise NotFound(error.message, code=error.code, argument="base", choices=others) from None


def difference(run: OpenRun, base: OpenRun) -> Answer:
    """The answer for two runs of any logdirs."""
    comparison = run.on(None).compare(base.on(None))
    time, headline = comparison.length, comparison.headline
    facts: dict[str, Any] = {"headline": headline.text, "tone": headline.tone, "base": base.name}
    if comparison.caution:
        facts["caution"] = comparison.caution
    facts |= {
        "compared": comparison.compared,
        "base_ps": time.base,
        "run_ps": time.run,
        "delta_ps": time.delta,
        "interval_ps": [time.low, time.high] if time.low is not None else None,
        "noise_ps": round(comparison.floor_ps),
        "steps": {"base": comparison.base.steps, "run": comparison.run.steps},
    }
    matched = zip(("base", "run"), comparison.matched, strict=True)
    shares = {f"{side}_matched_percent": 100 * share for side, share in matched if share is not None}
    facts |= shares
    if notes := [*comparison.notes, *(f"Base: {problem.sentence}" for problem in base.losses[:_MOST_LOSSES])]:
        facts["notes"] = notes
    unknown = headline.tone == "unknown"
    cannot = Cannot(headline.text, COMPARABLE.of(frameworks_of(run))) if unknown else None
    table = _contributions(comparison)
    bases = {"delta_percent": "of delta_ms of the runs", **dict.fromkeys(shares, _BASE)}
    further = _further(run, base, table, unknown=unknown)
    return Answer(Link("compare", {"base": base.name}), facts, table, bases, further, cannot)


def _contributions(comparison: Comparison) -> Table:
    changes = comparison.changes
    data = {
        "id": distinct_ids(map(what, changes)),
        "change": [change.kind for change in changes],
        "delta_ps": [change.delta_ps for change in changes],
        "delta_percent": list(map(comparison.percent, changes)),
        "line": [change.line for change in changes],
        "base_ps": [round(change.base_ps) for change in changes],
        "run_ps": [round(change.run_ps) for change in changes],
        "certain": [change.certain for change in changes],
        "ops": [", ".join(op_names(change)) for change in changes],
    }
    return Table(CHANGES, data, name="contributions")


def _further(run: OpenRun, base: OpenRun, table: Table, *, unknown: bool) -> tuple[Next, ...]:
    """The ops behind the largest changes, where they still or already are, then the parts of a step."""
    further: list[Next] = []
    rows = zip(table.column("ops"), table.column("change"), table.column("id"), strict=True)
    for ops, change, name in [row for row in rows if row[0]][:_MOST_OPS]:
        side = base if change == "removed" else run
        ids = op_ids(side, ops.split(", ")[:1]) if side.logdir == run.logdir else []
        where = "in the base" if side is base else "in the run"
        further += [Next("op", {"name": id_, "run": side.name}, f"{name}: times and source {where}") for id_ in ids]
    explain = Next("explain", {}, "what slows the run down, where in the program, and what to do")
    if len(table) and not table["ops"][0]:  # a part of the step, whose cause the findings name
        further.insert(0, explain)
    if not unknown:
        further.append(Next("budget", {}, "the parts of the run's average step"))
        if base.logdir == run.logdir:
            further.append(Next("budget", {"run": base.name}, "the same of the base"))
    if explain not in further:
        further.append(explain)
    return tuple(further)


VERB = verb(compare, needs=COMPARABLE)
