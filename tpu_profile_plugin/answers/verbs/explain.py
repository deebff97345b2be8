"""The verb `explain`: what slows a run down, with evidence and advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import PROFILE
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf, Rule, Silence
from tpu_profile_plugin.answers.answer import Answer, Cannot, Link, Next, table_of
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.steps import base_sentence
from tpu_profile_plugin.errors import NoData, NotFound
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.runs import FINDINGS
from tpu_profile_plugin.run.figures.findings import Cause
from tpu_profile_plugin.run.figures.overview import Overview
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US, duration

_PS = {"s": PS_PER_S, "ms": PS_PER_MS, "us": PS_PER_US, "ns": PS_PER_NS}
_CELL, _PART = re.compile(r"(?:\\.|[^\\;])+"), re.compile(r"((?:\\.|[^\\;~])*)~((?:\\.|[^\\;~])*)")

ProgramOf = Callable[[str, str], str]
"""(name of an op, id of its program) -> the id of the op for the verb `op`."""


def value_text(value: float | str, unit: str) -> str:
    """A value of evidence with its unit, such as "16.23 ms" or "44.5%"."""
    if not isinstance(value, (int, float)):
        return " ".join(part for part in (str(value).removeprefix("$"), unit) if part)
    if unit in _PS:
        return duration(round(value * _PS[unit]))
    text = f"{value:.1f}" if unit == "%" else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{text}{'' if unit in ('', '%') else ' '}{unit}"


def _written(line: tuple[str, int]) -> str:
    return f"{line[0]}:{line[1]}"


def further(evidence: Iterable[Evidence], hosts: int, op_id: ProgramOf) -> Iterator[Next]:
    """What to ask for more about each evidence of a finding, in its order.

    `hosts`: of the run; with several, the host that the evidence is about is named.
    """
    for one in evidence:
        for following in _verbs(one, op_id):
            host = {"host": one.query["host"]} if hosts > 1 and "host" in one.query else {}
            yield Next(following.verb, {**host, **following.arguments}, following.why)


def first(following: Iterable[Next]) -> tuple[Next, ...]:
    """Each question once, the most useful first: of each verb the one with most arguments, then the others.

    Questions without arguments, which are not about the evidence alone, come after those with some.
    """
    listed: list[Next] = []
    for one in following:
        if not any((one.verb, one.arguments) == (known.verb, known.arguments) for known in listed):
            listed.append(one)
    heads = {one.verb: max((of for of in listed if of.verb == one.verb), key=_precision) for one in listed}
    ordered = sorted(heads.values(), key=lambda one: not _precision(one))
    return (*ordered, *(one for one in listed if one not in ordered))


def _precision(one: Next) -> int:
    """How many arguments it has besides the host."""
    return len(one.arguments.keys() - {"host"})


def _verbs(one: Evidence, op_id: ProgramOf) -> Iterator[Next]:
    """The verbs that show what the page of this evidence shows."""
    cells = _cells(one.query)
    match one.tool.rstrip("@"):
        case "hlo_stats" | "roofline_model" if "hlo_op_name" in cells:
            name = cells["hlo_op_name"]
            why = "times, work, bound, shapes and source of this op"
            yield Next("op", {"name": op_id(name, cells.get("program_id", ""))}, why)
            if one.code is not None:
                yield Next("source", {"place": _written(one.code)}, "all ops of this line of code")
        case "hlo_stats" | "roofline_model":
            yield Next("ops", {}, "the ops with most time")
        case "framework_op_stats":
            yield Next("ops", {"find": one.query["filter"]} if "filter" in one.query else {}, "the ops of this kind")
        case "trace_viewer" if "window" in one.query:
            begin, end = (round(int(text) / PS_PER_MS, 6) for text in one.query["window"].split(","))
            find = {"find": one.query["find"]} if "find" in one.query else {}
            yield Next("timeline", {"from": begin, "to": end, **find}, f"what ran around it: {one.label}")
        case "communication":
            name = cells.get("op", "")
            yield Next("collectives", {"find": name} if name else {}, "times, waits and late devices of collectives")
        case "memory_profile" | "memory_viewer":
            program = one.query.get("module_name", "")
            yield Next("memory", {"program": program} if program else {}, "peak, capacity and the largest buffers")
        case _:
            pass


def _cells(query: Mapping[str, str]) -> dict[str, str]:
    """The cells of the row that the page marks, by column."""
    marked = query.get("row") or query.get("t1.row") or ""
    cells = filter(None, map(_PART.match, _CELL.findall(marked)))
    return {cell[1]: re.sub(r"\\(.)", r"\1", cell[2]) for cell in cells}


_SHOWN = 3
"""Evidence of each finding in the list."""
_MOST_REASONS = 6


def explain(
    asked: Asked, *, finding: Annotated[str, "Id of one finding, for all of its evidence; or of another check."] = ""
) -> Answer:
    """What slows the run down: causes with saving, confidence, evidence and advice, the largest saving first."""
    found = asked.run.overview()
    return _one(asked.run, found, finding) if finding else _all(asked.run, found)


def _all(run: OpenRun, found: Overview) -> Answer:
    report, budget = found.report, found.decomposition
    facts: dict[str, Any] = {"headline": report.headline.title, "healthy": report.healthy}
    if budget.base_ps:
        facts |= {"shares_of": budget.base, "base_ps": round(budget.base_ps)}
    by_state: dict[str, list[tuple[Rule, Silence]]] = {}
    for rule, silence in report.silent:
        by_state.setdefault(silence.state, []).append((rule, silence))
    clean, unknown = len(by_state.get("passed", ())), len(by_state.get("unknown", ()))
    facts["checks"] = f"{clean} clean, {unknown} not possible with this recording"
    if failed := by_state.get("failed"):
        facts["checks_failed"] = [f"{rule.id}: {silence.reason}" for rule, silence in failed]
    facts["not_possible"] = _reasons(by_state.get("unknown", ()))
    if run.warnings:
        facts["notes"] = list(run.warnings)
    rows = [_row(cause) for cause in report.causes]
    table = table_of(FINDINGS, rows, "findings")
    asked_next = [Next("explain", {"finding": one.id}, f"all evidence: {one.title}") for one in report.findings[:5]]
    if budget.base_ps:
        asked_next.append(Next("budget", {}, "all parts of the average step"))
    cannot = None if budget.base_ps else Cannot(f"{report.headline.title}.", PROFILE.of(found.view.frameworks))
    base = base_sentence(budget) if budget.base_ps else ""
    return Answer(Link("overview_page"), facts, table, base, tuple(asked_next), cannot)


def _row(cause: Cause) -> tuple[Any, ...]:
    evidence = "; ".join(f"{proof.label}: {value_text(proof.value, proof.unit)}" for proof in cause.evidence[:_SHOWN])
    share = 100 * cause.share if cause.saving_ps else None
    return (
        *(cause.id, cause.title, share, cause.saving_ps or None, cause.confidence),
        *(cause.line, evidence, cause.advice),
    )


def _reasons(silent: Sequence[tuple[Rule, Silence]]) -> list[dict[str, str]]:
    """Why checks are not possible, the reason of most first: {reason, checks}."""
    checks: dict[str, list[str]] = {}
    for rule, silence in silent:
        checks.setdefault(silence.reason, []).append(rule.id)
    most = sorted(checks.items(), key=lambda one: -len(one[1]))[:_MOST_REASONS]
    return [{"reason": reason, "checks": ", ".join(ids)} for reason, ids in most]


def _one(run: OpenRun, found: Overview, name: str) -> Answer:
    """A finding in full, or why there is none."""
    report = found.report
    cause = next((cause for cause in report.causes if cause.id == name), None)
    if cause is not None:
        return _in_full(run, found, cause)
    known = {rule.id: (rule, silence) for rule, silence in report.silent}
    if name not in known:
        ids = [*(one.id for one in report.findings), *known]
        message = f"There is no check {name[:80]!r}; the findings of this run come first among the choices."
        raise NotFound(message, argument="finding", choices=ids)
    rule, silence = known[name]
    facts = {"id": name, "looks_for": rule.looks_for, "state": silence.state, "reason": silence.reason}
    remedy = PROFILE if silence.missing is None else silence.missing.remedy
    cannot = None if silence.looked else Cannot(silence.reason, remedy.of(found.view.frameworks))
    more = (Next("explain", {}, "what does slow the run down"),)
    return Answer(Link("overview_page"), facts, next=more, cannot=cannot)


def _in_full(run: OpenRun, found: Overview, cause: Cause) -> Answer:
    hosts = found.view.hosts
    facts: dict[str, Any] = {"id": cause.id, "title": cause.title, "confidence": cause.confidence}
    if cause.saving_ps:
        facts |= {"share_percent": 100 * cause.share, "saving_ps": cause.saving_ps, "saving_is": cause.formula}
        facts["lies_in"] = [
            {"id": part.id, "name": part.name, "per_step_ps": round(part.ps)} for part in cause.segments
        ]
    if cause.line:
        facts["line"] = cause.line
    facts["advice"] = cause.advice
    if len(hosts) > 1:
        facts["on_hosts"] = list(cause.hosts)[:20]
    facts["evidence"] = [
        {"label": proof.label, "value": _value(proof.value), **({"unit": proof.unit} if proof.unit else {})}
        for proof in cause.evidence
    ]
    if ops := {proof.op: None for proof in cause.evidence if proof.op is not None}:
        facts["ops"] = list(map(_op, ops))
    more = [*further(cause.evidence, len(hosts), lambda name, program: _op_id(run, name, program))]
    more += [*_by_part([part.id for part in cause.segments]), Next("explain", {}, "the other findings")]
    base = base_sentence(found.decomposition) if cause.saving_ps else ""
    return Answer(Link("overview_page", {"finding": cause.id}), facts, None, base, first(more))


def _op(op: OpOf) -> dict[str, str]:
    """An op that the evidence is about: its HLO text, or its name, and its line of code."""
    return {"op": op.text or op.name, **({"line": f"{op.file}:{op.line}"} if op.file else {})}


def _value(value: float | str) -> float | str:
    return value.removeprefix("$") if isinstance(value, str) else value


def _by_part(segments: Sequence[str]) -> Iterator[Next]:
    """What tells more of the parts of the step that a saving lies in."""
    if "idle_compile" in segments:
        yield Next("programs", {}, "programs of one name, and how often each ran")
    if any(part.startswith(("idle_", "host_", "kernel_launch", "input", "output")) for part in segments):
        yield Next("gaps", {}, "the longest idle times of devices, and what the host did")
    if segments:
        yield Next("budget", {}, "all parts of the average step")


def _op_id(run: OpenRun, name: str, program: str) -> str:
    """The id of an op for the verb `op`: with the name of its program, if the run's ops tell it."""
    try:
        ops = run.ops()
    except NoData:
        return name
    end = f"({program})"
    pairs = zip(ops.name, ops.program, strict=True)
    return next((f"{name}@{of}" for known, of in pairs if known == name and of.endswith(end)), name)


VERB = verb(explain, needs=PROFILE)
